"""Families of networks: real backbones, nodes in the plane, and networks with hubs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np

from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.edrp_parameters import MEAN_DELAY, NODE_RESOURCES, logical_network
from edrp.datasets.placement.topologies import ansnet, physical_graph
from edrp.placement.network import Network

NetworkMaker = Callable[[int, np.random.Generator], Network]
"""Function that makes a network of a number of nodes, or of all that it has if these are fewer."""

LINKS_PER_NEWCOMER = 2

ZOO = (
    "Abilene", "Agis", "Arn", "BtEurope", "Canerie", "Cesnet200304", "Compuserve", "Darkstrand", "Garr200112", "Geant2001",
    "HurricaneElectric", "Ibm", "Integra", "Internetmci", "Nsfnet", "PionierL3", "Quest", "Renater2001", "Sprint", "Xspedius",
)  # fmt: skip
"""Backbones of the Internet Topology Zoo of which `topohub` has 11 to 34 nodes; seven of them have more in the Zoo."""

SNDLIB = (
    "abilene", "cost266", "dfn-bwin", "dfn-gwin", "geant", "germany50", "janos-us", "janos-us-ca", "nobel-eu", "nobel-germany",
    "nobel-us", "pdh", "polska",
)  # fmt: skip
"""Networks of SNDlib that lie on a map, 10 to 50 nodes; the others are drawings (`topohub_data`)."""

CAIDA = (
    "1213", "1653", "1741", "17557", "1955", "2018", "224", "2852", "293", "3320",
    "4739", "4766", "4771", "5089", "5466", "5607", "577", "7575", "766", "812",
)  # fmt: skip
"""Autonomous systems of CAIDA's map of August 2024 by number, 11 to 30 nodes."""


def ans(nodes: int, random: np.random.Generator) -> Network:
    """Nodes of ANSNET, among the 15 of the EDRP paper."""
    network = ansnet(15)
    nodes_kept = [network.nodes[index] for index in _drawn(len(network.nodes), nodes, random)]
    names = {node.name for node in nodes_kept}
    links = tuple(link for link in network.links if link.source in names and link.target in names)
    return network.replace(nodes=tuple(nodes_kept), links=links)


def zoo(nodes: int, random: np.random.Generator) -> Network:
    """Nodes of a backbone of the Internet Topology Zoo; those that are not drawn still forward."""
    return _backbone([f"topozoo/{name}" for name in ZOO], nodes, random)


def sndlib(nodes: int, random: np.random.Generator) -> Network:
    """Nodes of a network of SNDlib; those that are not drawn still forward."""
    return _backbone([f"sndlib/{name}" for name in SNDLIB], nodes, random)


def sndlib_1(nodes: int, random: np.random.Generator) -> Network:
    """Nodes of a network of SNDlib, as version 1 of the families drew them: the lengths of five are wrong."""
    return _backbone([f"sndlib/{name}" for name in sorted((*SNDLIB, "india35"))], nodes, random, corrected=False)


def caida(nodes: int, random: np.random.Generator) -> Network:
    """Nodes of an autonomous system in CAIDA's map; those that are not drawn still forward."""
    return _backbone([f"caida/2024-08/{name}" for name in CAIDA], nodes, random)


def geometric_random(nodes: int, random: np.random.Generator) -> Network:
    """Nodes at random in the unit square, delays proportional to distance."""
    return geometric(nodes, int(random.integers(2**32)))


def barabasi_albert(nodes: int, random: np.random.Generator) -> Network:
    """Hubs: every node joins two others, by preference those that have many links.

    Delays of links are random; the mean delay between all pairs is 32 ms, as in EDRP, section 7.2.

    >>> network = barabasi_albert(12, np.random.default_rng(1))
    >>> len(network.nodes), round(sum(link.delay for link in network.links) / len(network.links), 6)
    (12, 0.032)
    """
    if nodes <= LINKS_PER_NEWCOMER:
        return geometric_random(nodes, random)
    drawn: nx.Graph[int] = nx.barabasi_albert_graph(nodes, LINKS_PER_NEWCOMER, seed=int(random.integers(2**32)))
    weights = random.uniform(0.2, 1.0, drawn.number_of_edges())
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(f"n{node}" for node in drawn)
    for (u, v), weight in zip(drawn.edges, weights, strict=True):
        graph.add_edge(f"n{u}", f"n{v}", delay=float(weight))
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="delay"))
    mean = sum(sum(row.values()) for row in lengths.values()) / (nodes * (nodes - 1))
    for _, _, edge in graph.edges(data=True):
        edge["delay"] *= MEAN_DELAY / mean
    return logical_network(graph)


NETWORKS: dict[str, tuple[NetworkMaker, tuple[str, ...]]] = {
    "ans": (ans, ("topohub",)),
    "zoo": (zoo, ("topohub",)),
    "sndlib": (sndlib, ("topohub",)),
    "caida": (caida, ("topohub",)),
    "geometric": (geometric_random, ()),
    "barabasi": (barabasi_albert, ()),
}
"""Makers of networks by name, each with the packages of the extra `data` that it needs."""

EARLIER_NETWORKS: dict[str, tuple[NetworkMaker, ...]] = {"sndlib": (sndlib_1,)}
"""Makers of versions 1, 2, … of the families of some networks, before those of today."""

_graph = lru_cache(maxsize=128)(physical_graph)


def _backbone(names: list[str], nodes: int, random: np.random.Generator, *, corrected: bool = True) -> Network:
    graph = _graph(names[int(random.integers(len(names)))], corrected=corrected)
    labels = list(graph)
    return logical_network(graph, [labels[index] for index in _drawn(len(labels), nodes, random)], NODE_RESOURCES)


def _drawn(available: int, count: int, random: np.random.Generator) -> list[int]:
    """Draw the indices to keep, in ascending order."""
    if count >= available:
        return list(range(available))
    return sorted(random.choice(available, count, replace=False).tolist())
