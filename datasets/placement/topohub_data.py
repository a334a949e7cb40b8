"""What `topohub`, which takes all coordinates for decimal degrees, does not say: drawings, minutes, and nodes left out."""

from __future__ import annotations

import math
from typing import Any

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
