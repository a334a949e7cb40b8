"""Flows between servers as flat arrays, which all methods for link allocation use."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.mapping.link_allocation import SLACK, LinkAllocationProblem
from edrp.mapping.mapping_arrays import NetworkArrays


@dataclass(slots=True)
class FlowArrays:
    """F flows between servers, each on a route of dedicated links or on the public network.

    Attributes
    ----------
    source, target : shape (F,), servers.
    rate : shape (F,), bytes/s; 0 for a flow that is not there.
    price : shape (F,), money per byte.
    links : shape (F,), arcs of the dedicated route; 0: over the public network.
    arcs : shape (F, L), the route: its first `links` entries, in order.
    """

    source: Ints32
    target: Ints32
    rate: Floats
    price: Floats
    links: Ints32
    arcs: Ints32

    def route(self, flow: int) -> Ints32:
        """Arcs of the dedicated route of a flow; none over the public network."""
        return self.arcs[flow, : self.links[flow]]


def flow_arrays(problem: LinkAllocationProblem, network: NetworkArrays) -> FlowArrays:
    """Compile the flows of a problem, with their current routes, to arrays that hold at least `max_links` arcs per route.

    Examples
    --------
    >>> from edrp.mapping.mapping_arrays import network_arrays
    >>> problem = LinkAllocationProblem(
    ...     network={"nodes": [{"name": name, "capacity": 0} for name in "abc"],
    ...              "links": [{"source": "a", "target": "b", "bandwidth": 5.0},
    ...                        {"source": "b", "target": "c", "bandwidth": 5.0}]},
    ...     flows=[{"name": "f", "source": "a", "target": "c", "rate": 4.0, "price": 1.0, "route": ["a", "b", "c"]}],
    ... )
    >>> flow_arrays(problem, network_arrays(problem.network)).route(0)
    array([0, 2], dtype=int32)
    """
    index = {name: position for position, name in enumerate(network.names)}
    numbers = arc_numbers(network)
    routes = [[numbers[index[u], index[v]] for u, v in pairwise(flow.route or ())] for flow in problem.flows]
    arcs = np.zeros((len(routes), max(problem.max_links, *map(len, routes))), np.int32)
    for held, route in zip(arcs, routes, strict=True):
        held[: len(route)] = route
    return FlowArrays(
        source=np.array([index[flow.source] for flow in problem.flows], np.int32),
        target=np.array([index[flow.target] for flow in problem.flows], np.int32),
        rate=np.array([flow.rate for flow in problem.flows]),
        price=np.array([flow.price for flow in problem.flows]),
        links=np.array([len(route) for route in routes], np.int32),
        arcs=arcs,
    )


def arc_numbers(network: NetworkArrays) -> dict[tuple[int, int], int]:
    """Return the number of the arc between two servers, in the order of the arcs."""
    return {arc: number for number, arc in enumerate(zip(network.source.tolist(), network.target.tolist(), strict=True))}


def route_limits(price: Floats, max_links: int, forwarding_price: float) -> Ints:
    """Return the links that a route of each flow may have: at most `max_links`, and no more than its price per byte pays for."""
    if not forwarding_price:
        return np.full(price.shape, max_links, np.int64)
    paid = 1 + np.floor(price * (1 + SLACK) / forwarding_price)
    return np.asarray(np.minimum(max_links, paid), np.int64)


def route_names(network: NetworkArrays, arcs: Ints32) -> tuple[str, ...] | None:
    """Return the servers on a route of arcs; None for no arcs."""
    if not len(arcs):
        return None
    return (network.names[network.source[arcs[0]]], *(network.names[server] for server in network.target[arcs]))
