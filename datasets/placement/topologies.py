"""Real networks from the package `topohub` (Internet Topology Zoo, SNDlib, CAIDA)."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import networkx as nx

from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.core.problem import warn_caller
from edrp.core.wording import suggestion
from edrp.datasets.placement.edrp_parameters import NODE_RESOURCES, logical_network
from edrp.datasets.placement.topohub_data import DRAWINGS, lengths, nodes_left_out
from edrp.placement.network import Network

LIGHT_IN_FIBRE = 200_000.0
"""Kilometres per second."""

ANSNET_NOT_USED = ("Chicago", "Dallas", "St Louis")
"""The three of the 18 nodes of ANSNET without which the mean delay is the paper's 32 ms; they still forward."""


def topology(name: str, *, without: tuple[str, ...] = (), round_trip: bool = True, resources: float = NODE_RESOURCES) -> Network:
    """Build a logical network from a graph of `topohub`, with shortest-path delays and the prices and times of EDRP, Table II.

    129 of the 203 networks of the Topology Zoo lack nodes whose places the Zoo does not know, and the links of these: a
    `ProblemWarning` says how many. Do not cite their sizes, or what happens if a link fails. Four networks of SNDlib write
    degrees and minutes (`topohub` takes them for decimals); their lengths are computed again. Thirteen are drawings, refused.

    Parameters
    ----------
    name
        Name in `topohub`, such as "topozoo/Ans" or "sndlib/germany50".
    without
        Nodes that forward traffic but run nothing.
    round_trip
        Whether a logical link's delay is the round-trip time of its path, as published network delays are
        (default), or one way.
    resources
        Resources of each node.

    Raises
    ------
    BackendUnavailableError
        When `topohub` is not installed.
    InvalidInstanceError
        For an unknown topology or node, one that is not connected, or a drawing, whose links have no lengths.

    Examples
    --------
    >>> round(topology("topozoo/Ans").delay("San Jose", "San Francisco"), 6)
    0.00067
    """
    graph = physical_graph(name, round_trip=round_trip)
    for index, node in enumerate(without):
        if node not in graph:
            raise InvalidInstanceError([Fault(f"without[{index}]", repr(node), f"is no node of {name}{suggestion(node, graph)}")])
    if missing := graph.graph["left_out"]:
        nodes = f"{missing} of {len(graph) + missing} nodes of the Topology Zoo"
        warn_caller([f"{name} lacks {nodes}, whose places are unknown, and their links"])
    return logical_network(graph, [node for node in graph if node not in without], resources)


def ansnet(nodes: int = 15) -> Network:
    """ANSNET, reconstructed: `topozoo/Ans` without Chicago, Dallas and St Louis (15 nodes), or whole (18).

    The paper prints neither the nodes nor their distances, only "15 computing nodes" and "non-negligible
    network delays (whose average is 32 ms)". The delay of a logical link is taken as the round-trip time of
    its shortest path at 200 km per ms, over the links of all 18 nodes: these average 31.93 ms. One way they
    would average 16 ms, and no two nodes would be the 80 ms or more apart that the response times of Table III need.

    Raises
    ------
    ValueError
        For a number of nodes other than 15 and 18.

    Examples
    --------
    >>> network = ansnet(15)
    >>> pairs = [link.delay for link in network.links]
    >>> len(network.nodes), round(sum(pairs) / len(pairs), 5)
    (15, 0.03193)
    """
    if nodes not in (15, 18):
        raise ValueError(f"ansnet has 15 nodes (the paper's portion) or 18 (all), not {nodes}")
    return topology("topozoo/Ans", without=ANSNET_NOT_USED if nodes == 15 else ())


def physical_graph(name: str, *, round_trip: bool = True, corrected: bool = True) -> nx.Graph[str]:
    """Load a graph with the edge attribute `delay` in seconds; nodes of equal or no names get their number appended.

    Unless `corrected`, lengths are those of `topohub`, also where coordinates are no decimal degrees.
    """
    try:
        import topohub
    except ImportError as error:
        raise BackendUnavailableError('topologies need the package topohub: pip install "edrp[data]"') from error
    try:
        with warnings.catch_warnings():
            # topohub 1.5 leaves its file to the garbage collector.
            warnings.simplefilter("ignore", ResourceWarning)
            described: dict[str, Any] = topohub.get(name)
    except KeyError as error:
        why = "is no topology of topohub; names look like topozoo/Ans, sndlib/germany50"
        raise InvalidInstanceError([Fault("topology", repr(name), why)]) from error
    if corrected and name in DRAWINGS:
        why = f"has no lengths: {DRAWINGS[name]}; take another, such as sndlib/germany50"
        raise InvalidInstanceError([Fault("topology", repr(name), why)])
    labels = {node["id"]: str(node.get("name") or "") for node in described["nodes"]}
    counts = Counter(labels.values())
    names = {node: label if label and counts[label] == 1 else f"{label}#{node}" for node, label in labels.items()}
    graph: nx.Graph[str] = nx.Graph(left_out=nodes_left_out(name, described))
    graph.add_nodes_from(names.values())
    trips = 2 if round_trip else 1
    kilometres = lengths(name, described) if corrected else [edge["dist"] for edge in described["edges"]]
    for edge, length in zip(described["edges"], kilometres, strict=True):
        graph.add_edge(names[edge["source"]], names[edge["target"]], delay=trips * length / LIGHT_IN_FIBRE)
    return graph
