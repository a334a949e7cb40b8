"""Preemptive open shop in whole ticks: phases in which every node sends to one and receives from one other at most.

Vertices are the n senders, then the n receivers; an edge is one pair with something to send. Times are
integers, so that sums, ties and "done" are exact.

The rule of Gonzalez and Sahni (1976): as long as every *tight* vertex, whose remaining time equals the time
that remains for the whole schedule, is busy, the schedule ends on time. A matching that covers all tight
vertices always exists (otherwise some tight vertices would have more time left than all their partners), and
is repaired by alternating paths from phase to phase. A phase lasts until an edge is done or an idle vertex
becomes tight. Tight vertices stay tight, so there are at most (edges + 2n) phases, each found in O(n · edges)
and mostly far less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.kernels import kernel


class OpenShop(NamedTuple):
    """Remaining transfers, and the matching in use.

    Attributes
    ----------
    source, target : shape (edges,), sender and receiver of each transfer.
    remaining : shape (edges,), ticks that are left of each transfer.
    vertex_ticks : shape (2n,), ticks that are left of each vertex.
    first_edge, incident : edges of each vertex, from `_incident_edges`.
    match : shape (2n,), edge that each vertex is matched by, or −1.
    reached_by : shape (2n,), working array: edge by which a search has reached each vertex.
    queue : shape (n,), working array: vertices to search from.
    """

    source: Ints
    target: Ints
    remaining: Ints
    vertex_ticks: Ints
    first_edge: Ints
    incident: Ints
    match: Ints
    reached_by: Ints
    queue: Ints


@kernel
def open_shop_phases(source: Ints, target: Ints, ticks: Ints, nodes: int) -> tuple[Ints, Ints, Ints]:
    """Compute the phases of a shortest schedule.

    Parameters
    ----------
    source, target, ticks : shape (edges,)
        Sender, receiver and time of each transfer; pairs differ, times are at least 1.
    nodes
        Number of nodes.

    Returns
    -------
    durations : shape (phases,)
    first : shape (phases + 1,)
        Where each phase begins in `active`.
    active : shape (any,)
        Edges in use, phase after phase.
    """
    edges = source.size
    first_edge, incident = _incident_edges(source, target, nodes)
    vertex_ticks = np.zeros(2 * nodes, np.int64)
    for e in range(edges):
        vertex_ticks[source[e]] += ticks[e]
        vertex_ticks[nodes + target[e]] += ticks[e]
    remaining = ticks.copy()
    match = np.full(2 * nodes, -1, np.int64)
    reached_by, queue = np.empty(2 * nodes, np.int64), np.empty(nodes, np.int64)
    shop = OpenShop(source, target, remaining, vertex_ticks, first_edge, incident, match, reached_by, queue)
    durations = np.empty(edges + 2 * nodes, np.int64)
    first = np.zeros(edges + 2 * nodes + 1, np.int64)
    active = np.empty(4 * edges + 2 * nodes, np.int64)
    phases, used = 0, 0
    total = vertex_ticks.max() if edges else 0
    while total > 0:
        for vertex in range(2 * nodes):
            if vertex_ticks[vertex] == total and match[vertex] < 0:
                _cover(shop, vertex, total)
        _fill(shop)
        length = total
        for vertex in range(2 * nodes):
            length = min(length, total - vertex_ticks[vertex] if match[vertex] < 0 else remaining[match[vertex]])
        if used + nodes > active.size:
            longer = np.empty(2 * active.size + nodes, np.int64)
            longer[:used] = active[:used]
            active = longer
        for sender in range(nodes):
            e = match[sender]
            if e >= 0:
                active[used] = e
                used += 1
                remaining[e] -= length
                vertex_ticks[sender] -= length
                vertex_ticks[nodes + target[e]] -= length
                if remaining[e] == 0:
                    match[sender] = -1
                    match[nodes + target[e]] = -1
        total -= length
        durations[phases] = length
        phases += 1
        first[phases] = used
    return durations[:phases].copy(), first[: phases + 1].copy(), active[:used].copy()


@kernel
def _incident_edges(source: Ints, target: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Edges of each vertex: those of vertex x are `incident[first[x]:first[x + 1]]`."""
    first = np.zeros(2 * nodes + 1, np.int64)
    for e in range(source.size):
        first[source[e] + 1] += 1
        first[nodes + target[e] + 1] += 1
    for vertex in range(2 * nodes):
        first[vertex + 1] += first[vertex]
    at = first[:-1].copy()
    incident = np.empty(2 * source.size, np.int64)
    for e in range(source.size):
        for vertex in (source[e], nodes + target[e]):
            incident[at[vertex]] = e
            at[vertex] += 1
    return first, incident


@kernel
def _cover(shop: OpenShop, start: int, total: int) -> None:
    """Match a tight vertex without uncovering another tight one.

    Breadth first along alternating paths: to a free vertex of the other side, or to a vertex of the same
    side that is not tight and gives up its partner. All vertices of the other side stay as covered as they were.
    """
    source, target, remaining, vertex_ticks, first_edge, incident, match, reached_by, queue = shop
    nodes = match.size // 2
    reached_by[:] = -1
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        vertex = queue[head]
        head += 1
        for position in range(first_edge[vertex], first_edge[vertex + 1]):
            e = incident[position]
            other = source[e] + nodes + target[e] - vertex
            if remaining[e] == 0 or reached_by[other] >= 0:
                continue
            reached_by[other] = e
            matched_edge = match[other]
            if matched_edge >= 0:
                partner = source[matched_edge] + nodes + target[matched_edge] - other
                if vertex_ticks[partner] == total:
                    queue[tail] = partner
                    tail += 1
                    continue
                match[partner] = -1
            while True:
                step = reached_by[other]
                near = source[step] + nodes + target[step] - other
                dropped = match[near]
                match[near] = step
                match[other] = step
                if near == start:
                    return
                other = source[dropped] + nodes + target[dropped] - near


@kernel
def _fill(shop: OpenShop) -> None:
    """Let idle senders send the most that they have left for an idle receiver: not needed to end on time, but ends sooner."""
    target, remaining, match = shop.target, shop.remaining, shop.match
    first_edge, incident, nodes = shop.first_edge, shop.incident, shop.match.size // 2
    for sender in range(nodes):
        if match[sender] >= 0:
            continue
        best = -1
        for position in range(first_edge[sender], first_edge[sender + 1]):
            e = incident[position]
            if remaining[e] > 0 and match[nodes + target[e]] < 0 and (best < 0 or remaining[e] > remaining[best]):
                best = e
        if best >= 0:
            match[sender] = best
            match[nodes + target[best]] = best
