"""Executors placed one after the other, each on the first node in Storm's order that has room, with backtracking."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop

DEPTH, STATES, DEEPEST = range(3)
"""Places in `Turns.tally`: executors placed, executors placed so far counting those taken back, and most at once."""

PLACED, DEAD_END, UNFINISHED = range(3)
"""How a piece of the search ends."""

SLACK = 1e-9
"""Relative overload that rounding may leave, as the evaluation allows."""


class Turns(NamedTuple):
    """Executors k in the order in which they are placed, nodes u, racks r, resources m.

    `order` (executors,) is the component of each; `node` where it is, and `tried` the node that was last tried. What is
    free: `free` (nodes, resources), `rack_free` (racks, resources), `all_free` (resources,); `saved` (executors, 3,
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
    tally: Ints

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
        """Nothing placed yet.

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
            tally=np.zeros(3, np.int64),
        )


@inlined
def _shares(free: np.ndarray, of: np.ndarray, rare: np.ndarray, demand: np.ndarray, u: int, a: int) -> tuple[float, float]:
    """What a node or rack has of all that is free: the mean over resources, and the least."""
    total, least, number = 0.0, 1.0, 0
    for m in range(of.size):
        if of[m] <= 0:
            continue
        share = free[u, m] / of[m] if of[m] < np.inf else (1.0 if free[u, m] == np.inf else 0.0)
        if rare[m] and demand[a, m] == 0:
            share = -share
        total += share
        least = min(least, share)
        number += 1
    return (total / number if number > 0 else 1.0), least


@inlined
def _before(held: int, mean: float, least: float, rank: int, than: tuple[int, float, float, int]) -> bool:
    """Whether one comes before another: more of the topology's executors, a larger mean share, a larger least one."""
    if held != than[0]:
        return held > than[0]
    if mean != than[1]:
        return mean > than[1]
    if least != than[2]:
        return least > than[2]
    return rank < than[3]


@inlined
def _next_rack(t: Turns, a: int, after: tuple[int, float, float, int]) -> tuple[int, float, float, int]:
    """The first rack behind a given one; of those without another its number is -1."""
    best = (-1, -np.inf, -np.inf, -1)
    for r in range(t.rack_held.size):
        mean, least = _shares(t.rack_free, t.all_free, t.rare, t.demand, r, a)
        # Not the same, and not before.
        if (after[3] < 0 or (r != after[3] and not _before(t.rack_held[r], mean, least, r, after))) and (
            best[3] < 0 or _before(t.rack_held[r], mean, least, r, best)
        ):
            best = (t.rack_held[r], mean, least, r)
    return best


@inlined
def _fits(t: Turns, a: int, u: int) -> bool:
    if not t.candidate[a, u]:
        return False
    for m in range(t.all_free.size):
        if t.demand[a, m] > t.free[u, m] + SLACK * t.capacity[u, m]:
            return False
    return True


@inlined
def _next_node(t: Turns, a: int, r: int, after: int) -> int:
    """The first node of rack r with room for component a, behind a given one unless that is -1; -1 for none."""
    found, best, last = -1, (-1, -np.inf, -np.inf, -1), (-1, -np.inf, -np.inf, -1)
    if after >= 0:
        mean, least = _shares(t.free, t.rack_free[r], t.rare, t.demand, after, a)
        last = (t.held[after], mean, least, after)
    for k in range(t.start[r], t.start[r + 1]):
        u = t.nodes[k]
        if u == after or not _fits(t, a, u):
            continue
        mean, least = _shares(t.free, t.rack_free[r], t.rare, t.demand, u, a)
        if after >= 0 and _before(t.held[u], mean, least, u, last):
            continue
        if found < 0 or _before(t.held[u], mean, least, u, best):
            found, best = u, (t.held[u], mean, least, u)
    return found


@inlined
def _place(t: Turns, k: int, a: int, u: int) -> None:
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
def _take_back(t: Turns, k: int) -> None:
    """Exactly as it was before, so that nodes are tried in the same order again."""
    u = t.node[k]
    r = t.rack[u]
    for m in range(t.all_free.size):
        t.free[u, m], t.rack_free[r, m], t.all_free[m] = t.saved[k, 0, m], t.saved[k, 1, m], t.saved[k, 2, m]
    t.held[u] -= 1
    t.rack_held[r] -= 1
    t.node[k] = -1


@inlined
def _find(t: Turns, a: int, after: int) -> int:
    """The first node with room for component a behind the one that was last tried; -1 for none."""
    rack = (-1, -np.inf, -np.inf, -1)
    if after >= 0:
        r = t.rack[after]
        u = _next_node(t, a, r, after)
        if u >= 0:
            return u
        mean, least = _shares(t.rack_free, t.all_free, t.rare, t.demand, r, a)
        rack = (t.rack_held[r], mean, least, r)
    while True:
        rack = _next_rack(t, a, rack)
        if rack[3] < 0:
            return -1
        u = _next_node(t, a, rack[3], -1)
        if u >= 0:
            return u


@inner_loop
def place_on(t: Turns, states: int) -> int:
    """Place executors until all are, nothing is left to try, or `states` have been placed in all; which of these."""
    while True:
        k = t.tally[DEPTH]
        if k == t.order.size:
            return PLACED
        if t.tally[STATES] >= states:
            return UNFINISHED
        u = _find(t, t.order[k], t.tried[k])
        if u >= 0:
            _place(t, k, t.order[k], u)
            t.tally[STATES] += 1
            t.tally[DEPTH] += 1
            t.tally[DEEPEST] = max(t.tally[DEEPEST], t.tally[DEPTH])
        else:
            t.tried[k] = -1
            if k == 0:
                return DEAD_END
            t.tally[DEPTH] -= 1
            _take_back(t, k - 1)
