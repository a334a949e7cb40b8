"""A placement under search as counts per operator and node, and what every change keeps up to date.

Moving any number of instances is one change, whose work is that of an operator's neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.heuristics.search.count_tables import CountTables
from edrp.kernels import inlined

SLACK = 5e-10
"""Relative overload that rounding may leave; half of what the evaluation allows."""

OPEN, CLOCK, CURSOR, WORK = range(4)
"""Places in `Counts.tally`: nodes in use, changes so far, the operator whose turn it is, targets looked at."""


class Counts(NamedTuple):
    """Instances per operator a and node s, and the parts of the score.

    `held` (operators, nodes). `joined` (operators, nodes) is what one instance of a would gain on s by the instances
    of other operators there. `total` (nodes,) instances, `used` (nodes, resources). `opened[:tally[OPEN]]` are the nodes
    in use and `place` (nodes,) where each stands there. `empty[class_start[k]:][:spare[k]]` are the empty nodes of class k,
    whose last one stands for all; `seat` (nodes,) is where each stands.

    `changed` (nodes,) is when a node last changed, `looked` (operators,) when all changes of an operator were last
    compared: a change between two nodes that have not changed since cannot have become better.

    `zone_nodes` and `zone_sum` (operators, zones) are the number of a's nodes in a zone and the sum of their indices;
    `reach` (streams,) is a stream's longest delay, `stale` where that is not known; `trial` is room for a second one.
    """

    held: NDArray[np.int64]
    joined: NDArray[np.float64]
    total: NDArray[np.int64]
    used: NDArray[np.float64]
    opened: NDArray[np.int64]
    place: NDArray[np.int64]
    empty: NDArray[np.int64]
    spare: NDArray[np.int64]
    seat: NDArray[np.int64]
    changed: NDArray[np.int64]
    looked: NDArray[np.int64]
    recent: NDArray[np.int64]
    left: NDArray[np.int64]
    tally: NDArray[np.int64]
    zone_nodes: NDArray[np.int64]
    zone_sum: NDArray[np.int64]
    reach: NDArray[np.float64]
    stale: NDArray[np.bool_]
    trial: NDArray[np.float64]
    finish: NDArray[np.float64]

    @classmethod
    def nothing(cls, t: CountTables) -> Counts:
        """No instance placed; all of them in `left`."""
        operators, nodes = t.candidate.shape
        zones, streams = len(t.zone_delay), t.source.size
        seat = np.empty(nodes, np.int64)
        seat[t.members] = np.arange(nodes)
        return cls(
            held=np.zeros((operators, nodes), np.int64),
            joined=np.zeros((operators, nodes)),
            total=np.zeros(nodes, np.int64),
            used=np.zeros(t.capacity.shape),
            opened=np.zeros(nodes, np.int64),
            place=np.full(nodes, -1),
            empty=t.members.copy(),
            spare=np.diff(t.class_start),
            seat=seat,
            changed=np.ones(nodes, np.int64),
            looked=np.zeros(operators, np.int64),
            recent=np.zeros(nodes, np.int64),
            left=t.instances.copy(),
            tally=np.array([0, 1, 0, 0]),
            zone_nodes=np.zeros((operators, zones), np.int64),
            zone_sum=np.zeros((operators, zones), np.int64),
            reach=np.zeros(streams),
            stale=np.zeros(streams, np.bool_),
            trial=np.zeros(streams),
            finish=np.zeros(operators),
        )


@inlined
def _take_from_empty(t: CountTables, c: Counts, s: int) -> None:
    """Node s is in use from now on."""
    k = t.class_of[s]
    c.spare[k] -= 1
    last = c.empty[t.class_start[k] + c.spare[k]]
    c.empty[c.seat[s]] = last
    c.seat[last] = c.seat[s]
    c.place[s] = c.tally[OPEN]
    c.opened[c.tally[OPEN]] = s
    c.tally[OPEN] += 1


@inlined
def _give_back(t: CountTables, c: Counts, s: int) -> None:
    """Node s is empty from now on."""
    k = t.class_of[s]
    c.seat[s] = t.class_start[k] + c.spare[k]
    c.empty[c.seat[s]] = s
    c.spare[k] += 1
    c.tally[OPEN] -= 1
    last = c.opened[c.tally[OPEN]]
    c.opened[c.place[s]] = last
    c.place[last] = c.place[s]
    c.place[s] = -1
    for b in range(c.held.shape[0]):  # what rounding has left
        c.joined[b, s] = 0.0
    for m in range(c.used.shape[1]):
        c.used[s, m] = 0.0


@inlined
def add(t: CountTables, c: Counts, a: int, s: int, q: int) -> None:
    """q more instances of operator a on node s; q is negative to take some away."""
    held = c.held[a, s]
    if c.total[s] == 0:
        _take_from_empty(t, c, s)
    c.held[a, s] = held + q
    c.total[s] += q
    c.left[a] -= q
    c.tally[CLOCK] += 1
    c.changed[s] = c.tally[CLOCK]
    for k in range(t.start[a], t.start[a + 1]):
        b = t.neighbours[k]
        c.joined[b, s] += q * t.pair[a, b]
    for m in range(c.used.shape[1]):
        c.used[s, m] += q * t.demand[a, m]
    if (held == 0) != (held + q == 0):
        step = 1 if held == 0 else -1
        c.zone_nodes[a, t.zone[s]] += step
        c.zone_sum[a, t.zone[s]] += step * s
        for k in range(t.streams_start[a], t.streams_start[a + 1]):
            c.stale[t.streams[k]] = True
    if c.total[s] == 0:
        _give_back(t, c, s)


@inlined
def room(t: CountTables, c: Counts, a: int, s: int, most: int) -> int:
    """How many more instances of operator a fit on node s, at most `most`."""
    if not t.candidate[a, s]:
        return 0
    for m in range(c.used.shape[1]):
        if t.demand[a, m] > 0:
            free = (t.capacity[s, m] * (1 + SLACK) - c.used[s, m]) / t.demand[a, m]
            if free < most:
                most = int(max(0.0, free))
    return most


@inlined
def broken(t: CountTables, c: Counts, s: int) -> int:
    """How many resources node s has too little of."""
    count = 0
    for m in range(c.used.shape[1]):
        if c.used[s, m] > t.capacity[s, m] * (1 + SLACK):
            count += 1
    return count


@inlined
def excess(t: CountTables, c: Counts, s: int) -> float:
    """What node s holds beyond its capacity, relative to it, over all resources."""
    total = 0.0
    for m in range(c.used.shape[1]):
        over = c.used[s, m] - t.capacity[s, m]
        if c.used[s, m] > t.capacity[s, m] * (1 + SLACK):
            total += over / max(t.capacity[s, m], 1e-3 * over)
    return total


@inlined
def refresh(t: CountTables, c: Counts) -> None:
    """Recompute sums from the counts, which removes what rounding has added up."""
    for k in range(c.tally[OPEN]):
        s = c.opened[k]
        for m in range(c.used.shape[1]):
            c.used[s, m] = 0.0
        for a in range(c.held.shape[0]):
            for m in range(c.used.shape[1]):
                c.used[s, m] += c.held[a, s] * t.demand[a, m]
            c.joined[a, s] = 0.0
            for j in range(t.start[a], t.start[a + 1]):
                b = t.neighbours[j]
                c.joined[a, s] += c.held[b, s] * t.pair[a, b]


@inlined
def score(t: CountTables, c: Counts) -> float:
    """The score without the term of latency."""
    apart = t.everything
    for k in range(c.tally[OPEN]):
        s = c.opened[k]
        apart += t.node_price[s]
        for a in range(c.held.shape[0]):
            held = c.held[a, s]
            if held > 0:
                apart -= held * (0.5 * c.joined[a, s] + held * t.pair[a, a])
    return apart


@inlined
def _farthest(t: CountTables, c: Counts, e: int) -> float:
    """The longest delay of stream e."""
    i, j = t.source[e], t.target[e]
    longest = 0.0
    for g in range(t.zone_delay.shape[0]):
        here = c.zone_nodes[i, g]
        if here == 0:
            continue
        for h in range(t.zone_delay.shape[0]):
            there = c.zone_nodes[j, h]
            if there == 0 or t.zone_delay[g, h] <= longest:
                continue
            if g != h or here > 1 or there > 1 or c.zone_sum[i, g] != c.zone_sum[j, g]:
                longest = t.zone_delay[g, h]
    return longest


@inlined
def _path(t: CountTables, c: Counts, reach: np.ndarray) -> float:
    """The longest path, given the delay of each stream."""
    longest = 0.0
    for i in range(c.finish.size):
        c.finish[i] = 0.0
        for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
            e = t.incoming[k]
            c.finish[i] = max(c.finish[i], c.finish[t.source[e]] + reach[e])
        longest = max(longest, c.finish[i])
    return longest


@inlined
def latency(t: CountTables, c: Counts) -> float:
    """The path latency in seconds; only what has changed is looked up again."""
    for e in range(c.stale.size):
        if c.stale[e]:
            c.reach[e] = _farthest(t, c, e)
            c.stale[e] = False
    return _path(t, c, c.reach)


@inlined
def _resettle(t: CountTables, c: Counts, a: int, s: int, step: int) -> None:
    c.zone_nodes[a, t.zone[s]] += step
    c.zone_sum[a, t.zone[s]] += step * s


@inlined
def latency_if_moved(t: CountTables, c: Counts, a: int, s: int, d: int, q: int) -> float:
    """The path latency with q instances of operator a on d instead of s; `latency` must have been called."""
    leaves, arrives = c.held[a, s] == q, c.held[a, d] == 0
    for e in range(c.reach.size):
        c.trial[e] = c.reach[e]
    if leaves:
        _resettle(t, c, a, s, -1)
    if arrives:
        _resettle(t, c, a, d, 1)
    for k in range(t.streams_start[a], t.streams_start[a + 1]):
        c.trial[t.streams[k]] = _farthest(t, c, t.streams[k])
    if leaves:
        _resettle(t, c, a, s, 1)
    if arrives:
        _resettle(t, c, a, d, -1)
    return _path(t, c, c.trial)


@inlined
def latency_if_replaced(t: CountTables, c: Counts, s: int, d: int) -> float:
    """The path latency with everything on node s on the empty node d instead."""
    for a in range(c.held.shape[0]):
        if c.held[a, s] > 0:
            _resettle(t, c, a, s, -1)
            _resettle(t, c, a, d, 1)
    for k in range(t.incoming.size):
        c.trial[t.incoming[k]] = _farthest(t, c, t.incoming[k])
    for a in range(c.held.shape[0]):
        if c.held[a, s] > 0:
            _resettle(t, c, a, s, 1)
            _resettle(t, c, a, d, -1)
    return _path(t, c, c.trial)
