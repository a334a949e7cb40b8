"""Link re-allocation, compiled: server by server, direct links by priority, then the shortest other routes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.kernels import inlined, kernel

SLACK = 1e-9
"""Part of a rate that may be missing on an arc: what rounding makes of an exact fit."""


class FreeArcs(NamedTuple):
    """Arcs out of each of n servers: `first` (n + 1,), `source`, `target` and `free` bandwidth (a,), as in `NetworkArrays`."""

    first: np.ndarray
    source: np.ndarray
    target: np.ndarray
    free: np.ndarray


class RouteProbe(NamedTuple):
    """Arrays for a search among n servers.

    `out` and `into` (n,) are at least the max_links that one arc out of or into each server has free. `seen` (n,) holds the
    number of the last search that came by, `depth` and `by` (n,) at which distance and over which arc it came first, and
    `queue` (n,) in which order.
    """

    out: np.ndarray
    into: np.ndarray
    seen: np.ndarray
    depth: np.ndarray
    by: np.ndarray
    queue: np.ndarray


@kernel
def improve_routes(
    arcs: FreeArcs,
    order: np.ndarray,
    source: np.ndarray,
    destination: np.ndarray,
    rate: np.ndarray,
    max_links: np.ndarray,
    links: np.ndarray,
    route: np.ndarray,
) -> int:
    """Give flows the direct link or a shorter route where there is room; return the number of flows that changed.

    `order` has the flows that may change, server by server and by falling priority; the other arrays are those of all flows:
    `rate` and `max_links` links that a route may have; `links` and `route`, what they hold, are changed, as are the free arcs.
    """
    servers = arcs.first.size - 1
    probe = RouteProbe(
        np.zeros(servers),
        np.zeros(servers),
        np.zeros(servers, np.int64),
        np.zeros(servers, np.int64),
        np.zeros(servers, np.int64),
        np.zeros(servers, np.int64),
    )
    for arc in range(arcs.free.size):
        _note_free(arcs, probe, arc)
    changed, searches, begin = 0, 0, 0
    while begin < order.size:
        end = begin + 1
        while end < order.size and source[order[end]] == source[order[begin]]:
            end += 1
        for direct in (True, False):
            for position in range(begin, end):
                flow = order[position]
                limit = 1 if direct else max_links[flow] if links[flow] == 0 else min(max_links[flow], links[flow] - 1)
                if limit == 0:
                    continue
                searches += 1
                length = _search(arcs, probe, source[flow], destination[flow], rate[flow], limit, searches)
                if length:
                    _take(arcs, probe, destination[flow], rate[flow], length, links, route, flow)
                    changed += 1
        begin = end
    return changed


@inlined
def _search(arcs: FreeArcs, probe: RouteProbe, origin: int, destination: int, rate: float, limit: int, number: int) -> int:
    """Search breadth first for the route with fewest arcs that has room; return its length, 0 for no such route."""
    needed = rate * (1 - SLACK)
    if probe.out[origin] < needed or probe.into[destination] < needed:
        return 0
    probe.seen[origin] = number
    probe.depth[origin] = 0
    probe.queue[0] = origin
    head, tail = 0, 1
    while head < tail:
        server = probe.queue[head]
        head += 1
        length = probe.depth[server] + 1
        if length > limit:
            break
        for arc in range(arcs.first[server], arcs.first[server + 1]):
            following = arcs.target[arc]
            if arcs.free[arc] >= needed and probe.seen[following] != number:
                probe.seen[following] = number
                probe.depth[following] = length
                probe.by[following] = arc
                if following == destination:
                    return length
                probe.queue[tail] = following
                tail += 1
    return 0


@inlined
def _take(
    arcs: FreeArcs,
    probe: RouteProbe,
    destination: int,
    rate: float,
    length: int,
    links: np.ndarray,
    route: np.ndarray,
    flow: int,
) -> None:
    """Reserve the route that was found, and only then release the one that the flow had."""
    server = destination
    for _ in range(length):
        arc = probe.by[server]
        arcs.free[arc] -= rate
        server = arcs.source[arc]
    for position in range(links[flow]):
        arcs.free[route[flow, position]] += rate
        _note_free(arcs, probe, route[flow, position])
    server = destination
    for position in range(length - 1, -1, -1):
        route[flow, position] = probe.by[server]
        server = arcs.source[probe.by[server]]
    links[flow] = length


@inlined
def _note_free(arcs: FreeArcs, probe: RouteProbe, arc: int) -> None:
    """Remember that so much is free on an arc."""
    probe.out[arcs.source[arc]] = max(probe.out[arcs.source[arc]], arcs.free[arc])
    probe.into[arcs.target[arc]] = max(probe.into[arcs.target[arc]], arcs.free[arc])
