"""The search over counts in pieces of bounded work: build, climb, and empty some nodes, fill anew and climb again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import below, uniform
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS, better, near
from edrp.heuristics.placement.search.count_arrays import NOBODY, CountTables, Paths, path_latency
from edrp.heuristics.placement.search.count_filling import Taste, empty_node, fill
from edrp.heuristics.placement.search.count_moves import climb
from edrp.heuristics.placement.search.count_state import CLOCK, OPEN, WORK, Counts, add, refresh, score, strain

DONE, CLIMBING, BEST_CLOCK, KEPT_CLOCK = range(4)
"""Places in `Memory.tally`: kicks done, whether one is being climbed from, and when each copy was made."""

MOST_EMPTIED = 3
"""Nodes that a kick empties at most."""

NODES = 0.6
"""Share of the kicks that empty nodes."""

FRESH = 0.3
"""Share of the kicks that fill an empty node first."""

STRAY = 0.3
"""Noise of the filling after a kick, at most."""


class Memory(NamedTuple):
    """The best placement met, and the one that the search goes on from: counts (operators, nodes) and values (3,)."""

    best: Ints
    best_value: Floats
    kept: Ints
    value: Floats
    tally: Ints

    @classmethod
    def nothing(cls, t: CountTables) -> Memory:
        """Before anything is met."""
        counts = np.zeros(t.candidate.shape, np.int64)
        return cls(counts, np.full(3, np.inf), counts.copy(), np.zeros(3), np.zeros(4, np.int64))


@inlined
def _copy(c: Counts, held: np.ndarray, since: int) -> None:
    """Bring a copy of the counts up to date."""
    for s in range(c.total.size):
        if c.changed[s] > since:
            for a in range(c.held.shape[0]):
                held[a, s] = c.held[a, s]


@inner_loop
def keep(t: CountTables, c: Counts, p: Paths, memory: Memory) -> None:
    """Evaluate where the search stands, and remember it if it is the best so far."""
    refresh(t, c)
    value = memory.value
    value[VIOLATIONS], value[OVERLOAD], value[OBJECTIVE] = 0.0, 0.0, score(t, c)
    for k in range(c.tally[OPEN]):
        violations, overload = strain(t.capacity, c.used, c.opened[k])
        value[VIOLATIONS] += violations
        value[OVERLOAD] += overload
    if p.price > 0:
        value[OBJECTIVE] += p.price * path_latency(p, c.held, c.opened, c.tally[OPEN], NOBODY, 0, 0, 0)
    if better(value, memory.best_value):
        _copy(c, memory.best, memory.tally[BEST_CLOCK])
        memory.tally[BEST_CLOCK] = c.tally[CLOCK]
        for k in range(3):
            memory.best_value[k] = value[k]


@inlined
def _go_on_or_back(t: CountTables, c: Counts, memory: Memory, tolerance: float) -> None:
    """Go on from here if it is about as good as the best, otherwise from where the kick was."""
    since = memory.tally[KEPT_CLOCK]
    if near(memory.value, memory.best_value, tolerance):
        _copy(c, memory.kept, since)
    else:
        for s in range(c.total.size):
            for a in range(c.held.shape[0] if c.changed[s] > since else 0):
                if c.held[a, s] != memory.kept[a, s]:
                    add(t, c, a, s, memory.kept[a, s] - c.held[a, s])
    memory.tally[KEPT_CLOCK] = c.tally[CLOCK]


@inlined
def _lift(t: CountTables, c: Counts, a: int) -> None:
    """Take all instances of operator a away."""
    for k in range(c.tally[OPEN] - 1, -1, -1):  # from the end: an emptied node is replaced by the last one
        s = c.opened[k]
        if c.held[a, s] > 0:
            add(t, c, a, s, -c.held[a, s])


@inlined
def _kick(t: CountTables, c: Counts, taste: Taste) -> None:
    """Take away what some nodes run, or an operator and one that it exchanges tuples with; then place it anew.

    It goes to what is left of the nodes in use, or first to one that is empty.
    """
    if uniform(taste.random) < NODES:
        for _ in range(1 + below(taste.random, MOST_EMPTIED)):
            if c.tally[OPEN] > 0:
                empty_node(t, c, c.opened[below(taste.random, c.tally[OPEN])])
    else:
        a = below(taste.random, c.left.size)
        _lift(t, c, a)
        if t.start[a + 1] > t.start[a]:
            _lift(t, c, t.neighbours[t.start[a] + below(taste.random, t.start[a + 1] - t.start[a])])
    k = below(taste.random, c.spare.size)
    fresh = uniform(taste.random) < FRESH and c.spare[k] > 0
    taste.noise[0] = STRAY * uniform(taste.random)
    fill(t, c, taste, c.empty[t.class_start[k] + c.spare[k] - 1] if fresh else -1)


@inner_loop
def build(t: CountTables, c: Counts, p: Paths, memory: Memory, taste: Taste) -> None:
    """Place everything anew."""
    while c.tally[OPEN] > 0:
        empty_node(t, c, c.opened[c.tally[OPEN] - 1])
    fill(t, c, taste, -1)
    keep(t, c, p, memory)


@inner_loop
def search_on(
    t: CountTables, c: Counts, p: Paths, memory: Memory, taste: Taste, repaired: bool, kicks: int, tolerance: float, work: int
) -> bool:
    """Climb, and kick and climb again, for about `work` comparisons; whether all is done."""
    c.tally[WORK] = 0
    while memory.tally[CLIMBING] > 0 or memory.tally[DONE] < kicks:
        if memory.tally[CLIMBING] == 0:
            _kick(t, c, taste)
            memory.tally[CLIMBING] = 1
            memory.tally[DONE] += 1
        done = climb(t, c, p, repaired, work)
        keep(t, c, p, memory)
        if not done:
            return False
        _go_on_or_back(t, c, memory, tolerance)
        memory.tally[CLIMBING] = 0
    return True
