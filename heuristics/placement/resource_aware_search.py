"""Executors placed one after the other, each on the first node in Storm's order that has room, with backtracking."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import LIMIT_SLACK

DEPTH, STATES, DEEPEST = range(3)
"""Indices of `ExecutorQueue.counters`: executors placed, executors placed so far counting those taken back, maximum at once."""

PLACED, DEAD_END, UNFINISHED = range(3)
"""Ends of a piece of the search."""


class ExecutorQueue(NamedTuple):
    """Executors k in the order in which they are placed, nodes u, racks r, resources m.

    `order` (executors,) is the component of each; `node` where it is, and `tried` the node that was last tried. Free
    resources: `free` (nodes, resources), `rack_free` (racks, resources), `all_free` (resources,); `saved` (executors, 3,
    resources) keeps all three of its node from before an executor was placed. `held` and `rack_held` count executors.
    `nodes[start[r]:...]` are the nodes of rack r; nodes and racks are in the order in which ties are settled.
    """

    order: Ints
    node: Ints
    tried: Ints
    demand: Floats
    capacity: Floats
    candidate: Bools
    rare: Bools
    rack: Ints
    nodes: Ints
    start: Ints
    free: Floats
    rack_free: Floats
    all_free: Floats
    saved: Floats
    held: Ints
    rack_held: Ints
    counters: Ints

    @classmethod
    def of(
        cls,
        order: Ints,
        demand: Floats,
        capacity: Floats,
        candidate: Bools,
        rack: Ints,
        rare: Bools,
    ) -> Self:
        """A queue of which nothing is placed.

        Parameters
        ----------
        order : shape (executors,)
            Component of each.
        demand, capacity, candidate
            As in `Compiled`, nodes and racks numbered in the order in which ties are settled.
        rack : shape (nodes,)
            Number of each node's rack, from 0.
        rare : shape (resources,)
            Whether a node ranks lower for having it where it is not asked for.
        """
        racks = int(rack.max()) + 1
        nodes = np.argsort(rack, kind="stable")
        rack_free = np.zeros((racks, capacity.shape[1]))
        np.add.at(rack_free, rack, capacity)
        return cls(
            order=order,
            node=np.full(order.size, -1),
            tried=np.full(order.size, -1),
            demand=demand,
            capacity=capacity,
            candidate=candidate,
            rare=rare,
            rack=rack,
            nodes=nodes,
            start=np.searchsorted(rack[nodes], np.arange(racks + 1)),
            free=capacity.copy(),
            rack_free=rack_free,
            all_free=capacity.sum(axis=0),
            saved=np.zeros((order.size, 3, capacity.shape[1])),
            held=np.zeros(rack.size, np.int64),
            rack_held=np.zeros(racks, np.int64),
            counters=np.zeros(3, np.int64),
        )


@inlined
def _shares(free: np.ndarray, total: np.ndarray, rare: np.ndarray, demand: np.ndarray, u: int, a: int) -> tuple[float, float]:
    """The share that a node or rack has of all that is free: the mean over resources, and the minimum."""
    added, minimum, number = 0.0, 1.0, 0
    for m in range(total.size):
        if total[m] <= 0:
            continue
        share = free[u, m] / total[m] if total[m] < np.inf else (1.0 if free[u, m] == np.inf else 0.0)
        if rare[m] and demand[a, m] == 0:
            share = -share
        added += share
        minimum = min(minimum, share)
        number += 1
    return (added / number if number > 0 else 1.0), minimum


@inlined
def _before(held: int, mean: float, minimum: float, rank: int, than: tuple[int, float, float, int]) -> bool:
    """Whether one comes before another: more of the topology's executors, a larger mean share, a larger minimum one."""
    if held != than[0]:
        return held > than[0]
    if mean != than[1]:
        return mean > than[1]
    if minimum != than[2]:
        return minimum > than[2]
    return rank < than[3]


@inlined
def _next_rack(t: ExecutorQueue, a: int, after: tuple[int, float, float, int]) -> tuple[int, float, float, int]:
    """The first rack behind a given one; of those without another its number is -1."""
    best = (-1, -np.inf, -np.inf, -1)
    for r in range(t.rack_held.size):
        mean, minimum = _shares(t.rack_free, t.all_free, t.rare, t.demand, r, a)
        # Not the same, and not before.
        if (after[3] < 0 or (r != after[3] and not _before(t.rack_held[r], mean, minimum, r, after))) and (
            best[3] < 0 or _before(t.rack_held[r], mean, minimum, r, best)
        ):
            best = (t.rack_held[r], mean, minimum, r)
    return best


@inlined
def _fits(t: ExecutorQueue, a: int, u: int) -> bool:
    if not t.candidate[a, u]:
        return False
    for m in range(t.all_free.size):
        if t.demand[a, m] > t.free[u, m] + LIMIT_SLACK * t.capacity[u, m]:
            return False
    return True


@inlined
def _next_node(t: ExecutorQueue, a: int, r: int, after: int) -> int:
    """The first node of rack r with room for component a, behind a given one unless that is -1; -1 for none."""
    chosen, best, last = -1, (-1, -np.inf, -np.inf, -1), (-1, -np.inf, -np.inf, -1)
    if after >= 0:
        mean, minimum = _shares(t.free, t.rack_free[r], t.rare, t.demand, after, a)
        last = (t.held[after], mean, minimum, after)
    for k in range(t.start[r], t.start[r + 1]):
        u = t.nodes[k]
        if u == after or not _fits(t, a, u):
            continue
        mean, minimum = _shares(t.free, t.rack_free[r], t.rare, t.demand, u, a)
        if after >= 0 and _before(t.held[u], mean, minimum, u, last):
            continue
        if chosen < 0 or _before(t.held[u], mean, minimum, u, best):
            chosen, best = u, (t.held[u], mean, minimum, u)
    return chosen


@inlined
def _place(t: ExecutorQueue, k: int, a: int, u: int) -> None:
    r = t.rack[u]
    for m in range(t.all_free.size):
        t.saved[k, 0, m], t.saved[k, 1, m], t.saved[k, 2, m] = t.free[u, m], t.rack_free[r, m], t.all_free[m]
        t.free[u, m] -= t.demand[a, m]
        t.rack_free[r, m] -= t.demand[a, m]
        t.all_free[m] -= t.demand[a, m]
    t.held[u] += 1
    t.rack_held[r] += 1
    t.node[k], t.tried[k] = u, u


@inlined
def _take_back(t: ExecutorQueue, k: int) -> None:
    """Take executor k back, with exactly the sums from before, so that nodes are tried in the same order again."""
    u = t.node[k]
    r = t.rack[u]
    for m in range(t.all_free.size):
        t.free[u, m], t.rack_free[r, m], t.all_free[m] = t.saved[k, 0, m], t.saved[k, 1, m], t.saved[k, 2, m]
    t.held[u] -= 1
    t.rack_held[r] -= 1
    t.node[k] = -1


@inlined
def _find(t: ExecutorQueue, a: int, after: int) -> int:
    """The first node with room for component a behind the one that was last tried; -1 for none."""
    rack = (-1, -np.inf, -np.inf, -1)
    if after >= 0:
        r = t.rack[after]
        u = _next_node(t, a, r, after)
        if u >= 0:
            return u
        mean, minimum = _shares(t.rack_free, t.all_free, t.rare, t.demand, r, a)
        rack = (t.rack_held[r], mean, minimum, r)
    while True:
        rack = _next_rack(t, a, rack)
        if rack[3] < 0:
            return -1
        u = _next_node(t, a, rack[3], -1)
        if u >= 0:
            return u


@inner_loop
def place_on(t: ExecutorQueue, states: int) -> int:
    """Place executors until all are, nothing is left to try, or `states` have been placed in all; which of these."""
    while True:
        k = t.counters[DEPTH]
        if k == t.order.size:
            return PLACED
        if t.counters[STATES] >= states:
            return UNFINISHED
        u = _find(t, t.order[k], t.tried[k])
        if u >= 0:
            _place(t, k, t.order[k], u)
            t.counters[STATES] += 1
            t.counters[DEPTH] += 1
            t.counters[DEEPEST] = max(t.counters[DEEPEST], t.counters[DEPTH])
        else:
            t.tried[k] = -1
            if k == 0:
                return DEAD_END
            t.counters[DEPTH] -= 1
            _take_back(t, k - 1)
