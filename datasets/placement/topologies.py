"""Real networks from the package `topohub` (Internet Topology Zoo, SNDlib, CAIDA).

`topohub` takes all coordinates for decimal degrees. What it does not say stands here: drawings, minutes, and nodes left out.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

import networkx as nx

from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.core.problem import warn_caller
from edrp.core.wording import suggestion
from edrp.datasets.placement.edrp_parameters import NODE_RESOURCES, logical_network
from edrp.placement.network import Network

LIGHT_IN_FIBRE = 200_000.0
"""Kilometres per second."""

ANSNET_NOT_USED = ("Chicago", "Dallas", "St Louis")
"""The three of the 18 nodes of ANSNET without which the mean delay is the paper's 32 ms; they still forward."""

DRAWINGS = {
    **{
        f"sndlib/{name}": "its positions are points of a drawing, with latitudes beyond 90°"
        for name in ["atlanta", "di-yuan", "france", "giul39", "newyork", "norway", "pioro40", "sun", "ta1", "ta2", "zib54"]
    },
    "sndlib/brain": "its nodes are institutes in Berlin, which a drawing spreads over all of Germany",
    "sndlib/india35": "its positions are whole numbers from 0 to 49, in a drawing of India, where longitudes are 68° to 97°",
}
"""Networks whose coordinates are those of a drawing, and the reason to think so: their links have no lengths."""

MINUTES = ("sndlib/dfn-bwin", "sndlib/nobel-eu", "sndlib/nobel-us", "sndlib/pdh")
"""Networks that write 8°24′ as 8.24: the decimals of all their coordinates are below 60."""

ZOO_NODES = {
    "Airtel": 16, "Basnet": 7, "Cesnet2001": 23, "Evolink": 37, "HiberniaIreland": 8, "Internode": 66, "Jgn2Plus": 18,
    "Marwan": 16, "Myren": 37, "Nordu1989": 7, "Pacificwave": 18, "PionierL3": 38, "Renam": 5, "UniC": 25,
}  # fmt: skip
"""Nodes of networks of the Topology Zoo whose last ones are left out, so that the numbers of the others do not tell."""


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
        # topohub 1.5 leaves its file to the garbage collector.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
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


def lengths(name: str, described: dict[str, Any]) -> list[float]:
    """Lengths of the links of a network in kilometres, in their order; of coordinates in minutes they are computed again."""
    if name not in MINUTES:
        return [edge["dist"] for edge in described["edges"]]
    from topohub.graph import haversine

    places = {node["id"]: tuple(map(decimal_degrees, node["pos"])) for node in described["nodes"]}
    return [round(haversine(places[edge["source"]], places[edge["target"]]), 2) for edge in described["edges"]]


def decimal_degrees(written: float) -> float:
    """Degrees of a coordinate that is written as degrees, a point and two digits of minutes.

    >>> decimal_degrees(8.24), decimal_degrees(-0.35)
    (8.4, -0.5833333333333334)
    """
    minutes, degrees = math.modf(written)
    return degrees + round(100 * minutes) / 60


def nodes_left_out(name: str, described: dict[str, Any]) -> int:
    """Number of nodes of the Topology Zoo that `topohub` lacks: the Zoo numbers nodes from 0, and `topohub` keeps the numbers."""
    if not name.startswith("topozoo/"):
        return 0
    numbered = max(int(node["id"]) for node in described["nodes"]) + 1
    return ZOO_NODES.get(name.removeprefix("topozoo/"), numbered) - len(described["nodes"])
