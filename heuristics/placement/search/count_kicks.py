"""Kicks of the search over counts: some nodes, or operators that belong together, are emptied and filled again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import below, copy_vector, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS, better, near
from edrp.heuristics.placement.search.count_arrays import CountArrays, CountPaths, latency_now
from edrp.heuristics.placement.search.count_filling import FillingRule, empty_node, fill
from edrp.heuristics.placement.search.count_moves import climb_batches
from edrp.heuristics.placement.search.count_state import CLOCK, OPEN, CountState, put, refresh, score, strain
from edrp.heuristics.placement.search.local_search import WORK, LocalSearchRun, compile_loop

BEST_CLOCK, HOME_CLOCK = range(2)
"""Indices of `CountMemory.clocks`: when each copy was made."""

MAX_EMPTIED = 3
"""Maximum number of nodes that a kick empties."""

NODES = 0.6
"""Share of the kicks that empty nodes."""

FRESH = 0.3
"""Share of the kicks that fill an empty node first."""

MAX_NOISE = 0.3
"""Maximum noise of the filling after a kick."""


class CountMemory(NamedTuple):
    """The best placement met, and the one to which a kick may return.

    Attributes
    ----------
    best, home : shape (operators, nodes); counts.
    best_value, value : shape (3,); value of the best placement, and of the one under search.
    clocks : shape (2,).
    """

    best: Ints
    best_value: Floats
    home: Ints
    value: Floats
    clocks: Ints

    @classmethod
    def nothing(cls, t: CountArrays) -> CountMemory:
        """Memory before any placement is met."""
        counts = np.zeros(t.candidate.shape, np.int64)
        return cls(counts, np.full(3, np.inf), counts.copy(), np.zeros(3), np.zeros(2, np.int64))


class CountSearch(NamedTuple):
    """A search over counts: the problem, the placement, what is remembered, and how nodes are filled after a kick.

    `progress` (2,) is as in `local_search`; work is counted in places compared, and for a kick in operators times nodes in use.
    """

    arrays: CountArrays
    now: CountState
    paths: CountPaths
    memory: CountMemory
    rule: FillingRule
    progress: Ints


@inlined
def _copy(c: CountState, held: np.ndarray, since: int) -> None:
    """Bring a copy of the counts up to date."""
    for s in range(c.total.size):
        if c.changed[s] > since:
            for a in range(c.counts.held.shape[0]):
                held[a, s] = c.counts.held[a, s]


@inner_loop
def appraise(t: CountArrays, c: CountState, p: CountPaths, memory: CountMemory) -> None:
    """Evaluate the placement under search, and remember it if it is the best so far."""
    refresh(t, c)
    value = memory.value
    value[VIOLATIONS], value[OVERLOAD], value[OBJECTIVE] = 0.0, 0.0, score(t, c)
    for k in range(c.counters[OPEN]):
        violations, overload = strain(t.capacity, c.counts.used, c.opened[k])
        value[VIOLATIONS] += violations
        value[OVERLOAD] += overload
    if p.price > 0:
        value[OBJECTIVE] += p.price * latency_now(p, c.counts)
    if better(value, memory.best_value):
        _copy(c, memory.best, memory.clocks[BEST_CLOCK])
        memory.clocks[BEST_CLOCK] = c.counters[CLOCK]
        copy_vector(value, memory.best_value)


@inlined
def _remove(t: CountArrays, c: CountState, a: int) -> None:
    """Take all instances of operator a away."""
    for k in range(c.counters[OPEN] - 1, -1, -1):  # from the end: an emptied node is replaced by the last one
        s = c.opened[k]
        if c.counts.held[a, s] > 0:
            put(t, c, a, s, -c.counts.held[a, s])


@inner_loop
def build(search: CountSearch) -> None:
    """Place all instances again from scratch."""
    t, c = search.arrays, search.now
    while c.counters[OPEN] > 0:
        empty_node(t, c, c.opened[c.counters[OPEN] - 1])
    fill(t, c, search.rule, np.int64(-1))
    appraise(t, c, search.paths, search.memory)


@inlined
def climb(search: CountSearch, run: LocalSearchRun) -> bool:
    """Climb to a local optimum or until the work is used up, and evaluate; whether it is an optimum."""
    ended = climb_batches(search.arrays, search.now, search.paths, search.progress, run)
    appraise(search.arrays, search.now, search.paths, search.memory)
    return ended


@inlined
def keep(search: CountSearch) -> None:
    """Do nothing: `climb` remembers the best placement."""


@inlined
def accept(search: CountSearch, run: LocalSearchRun) -> None:
    """Go on from here if it is about as good as the best, else from where the kick was."""
    t, c, memory = search.arrays, search.now, search.memory
    since = memory.clocks[HOME_CLOCK]
    if near(memory.value, memory.best_value, run.tolerance):
        _copy(c, memory.home, since)
    else:
        for s in range(c.total.size):
            for a in range(c.counts.held.shape[0] if c.changed[s] > since else 0):
                if c.counts.held[a, s] != memory.home[a, s]:
                    put(t, c, a, s, memory.home[a, s] - c.counts.held[a, s])
    memory.clocks[HOME_CLOCK] = c.counters[CLOCK]


@inlined
def kick(search: CountSearch, run: LocalSearchRun) -> None:
    """Remove what some nodes run, or an operator and one that it exchanges tuples with; then place that again.

    It goes to what is left of the nodes in use, or first to one that is empty.
    """
    t, c, rule = search.arrays, search.now, search.rule
    if uniform(rule.random) < NODES:
        for _ in range(1 + below(rule.random, MAX_EMPTIED)):
            if c.counters[OPEN] > 0:
                empty_node(t, c, c.opened[below(rule.random, c.counters[OPEN])])
    else:
        a = below(rule.random, c.counts.degree.size)
        for step in range(2):
            if step == 1 and t.start[a + 1] > t.start[a]:
                a = t.neighbours[t.start[a] + below(rule.random, t.start[a + 1] - t.start[a])]
            _remove(t, c, a)
    k = below(rule.random, c.spare.size)
    fresh = uniform(rule.random) < FRESH and c.spare[k] > 0
    rule.noise[0] = MAX_NOISE * uniform(rule.random)
    rule.first[0] = below(rule.random, c.counters[OPEN])
    search.progress[WORK] += c.counts.degree.size * c.counters[OPEN]
    fill(t, c, rule, c.empty[t.class_start[k] + c.spare[k] - 1] if fresh else np.int64(-1))


iterate = compile_loop(climb=climb, keep=keep, accept=accept, kick=kick)
"""Iterated local search over counts."""
