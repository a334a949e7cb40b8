"""Kicks of the search over counts: some nodes, or operators that belong together, are emptied and filled again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import below, copy_vector, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import COUNTED_LOAD_SLACK, MIN_ANT_SCORE
from edrp.heuristics.placement.replica_counts import strain, variable
from edrp.heuristics.placement.search.acceptance import KICKS, OBJECTIVE, OVERLOAD, VIOLATIONS, WORK, LocalSearchRun, better, near
from edrp.heuristics.placement.search.count_arrays import CountArrays, CountPaths, latency_now
from edrp.heuristics.placement.search.count_filling import PAPER_VIOLATION_PENALTY, FillingRule, empty_node, fill
from edrp.heuristics.placement.search.count_moves import climb_batches
from edrp.heuristics.placement.search.count_state import CLOCK, OPEN, CountState, put, refresh, score

BEST_CLOCK, HOME_CLOCK = range(2)
"""Indices into `CountMemory.clocks`, the times at which each copy was made."""

MAX_EMPTIED = 3
"""Maximum number of nodes that a kick empties."""

EXCHANGE_KICKS, NODE_KICKS = 0.25, 0.7
"""Cumulated shares of the kicks that exchange what two unequal nodes run, and of those that empty nodes."""

EMPTY_NODE_SHARE = 0.3
"""Share of the kicks that fill an empty node first."""

MAX_NOISE = 0.3
"""Maximum noise of the filling after a kick."""


class CountMemory(NamedTuple):
    """The best placement visited, and the one to which a kick may return.

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
        """Allocate the memory before any placement is visited."""
        counts = np.zeros(t.candidate.shape, np.int64)
        return cls(counts, np.full(3, np.inf), counts.copy(), np.zeros(3), np.zeros(2, np.int64))


class CountSearch(NamedTuple):
    """A search over counts: problem, placement, best placements, and the rule that fills nodes after a kick.

    `progress` (2,) is as in `acceptance`; work is counted in places compared, and for a kick in operators times nodes in use.
    """

    arrays: CountArrays
    now: CountState
    paths: CountPaths
    memory: CountMemory
    rule: FillingRule
    progress: Ints


@inlined
def _copy(c: CountState, copy: np.ndarray, since: int) -> None:
    """Bring a copy of the counts up to date."""
    for s in range(c.total.size):
        if c.last_changed[s] > since:
            for a in range(c.counts.replicas.shape[0]):
                copy[a, s] = c.counts.replicas[a, s]


@inner_loop
def evaluate_placement(t: CountArrays, c: CountState, p: CountPaths, memory: CountMemory) -> None:
    """Evaluate the present placement, and copy it to `best` if it is the best so far."""
    refresh(t, c)
    value = memory.value
    value[VIOLATIONS], value[OVERLOAD], value[OBJECTIVE] = 0.0, 0.0, score(t, c)
    for k in range(c.counters[OPEN]):
        violations, overload = strain(t.capacity, c.counts.used, c.opened[k], COUNTED_LOAD_SLACK)
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
    """Remove all instances of operator a."""
    for k in range(c.counters[OPEN] - 1, -1, -1):  # from the end: an emptied node is replaced by the last one
        s = c.opened[k]
        if c.counts.replicas[a, s] > 0:
            put(t, c, a, s, -c.counts.replicas[a, s])


@inner_loop
def build(search: CountSearch, ants: int, amount: float, fresh: np.ndarray) -> None:
    """Build placements from scratch, one per ant.

    Each placement deposits `amount` over its score on `fresh` (operators, operators): that times the share of two operators'
    pairs of instances that it co-locates (latency-aware placement, eq. 5).
    """
    t, c = search.arrays, search.now
    for _ in range(ants):
        while c.counters[OPEN] > 0:
            empty_node(t, c, c.opened[c.counters[OPEN] - 1])
        fill(t, c, search.rule, variable(-1))
        evaluate_placement(t, c, search.paths, search.memory)
        total = search.memory.value[OBJECTIVE] + PAPER_VIOLATION_PENALTY * search.memory.value[VIOLATIONS]
        for k in range(c.counters[OPEN] if amount > 0 else 0):
            s = c.opened[k]
            for a in range(c.counts.degree.size):
                share = amount / max(total, MIN_ANT_SCORE) * c.counts.replicas[a, s] / t.instances[a]
                for b in range(c.counts.degree.size if share > 0 else 0):
                    fresh[a, b] += share * c.counts.replicas[b, s] / t.instances[b]


@inlined
def climb(search: CountSearch, run: LocalSearchRun) -> bool:
    """Climb to a local optimum or until the work limit, and evaluate; return whether it is an optimum."""
    ended = climb_batches(search.arrays, search.now, search.paths, search.progress, run)
    evaluate_placement(search.arrays, search.now, search.paths, search.memory)
    return ended


@inlined
def accept(search: CountSearch, run: LocalSearchRun) -> None:
    """Continue from here if it is nearly as good as the best, else return to the placement before the kick."""
    t, c, memory = search.arrays, search.now, search.memory
    since = memory.clocks[HOME_CLOCK]
    if near(memory.value, memory.best_value, run.tolerance):
        _copy(c, memory.home, since)
    else:
        for s in range(c.total.size):
            for a in range(c.counts.replicas.shape[0] if c.last_changed[s] > since else 0):
                if c.counts.replicas[a, s] != memory.home[a, s]:
                    put(t, c, a, s, memory.home[a, s] - c.counts.replicas[a, s])
    memory.clocks[HOME_CLOCK] = c.counters[CLOCK]


@inlined
def _exchange(t: CountArrays, c: CountState, u: int, v: int) -> None:
    """Exchange everything allowed between nodes u and v, whether there is room or not."""
    for a in range(c.counts.degree.size):
        more = c.counts.replicas[a, u] - c.counts.replicas[a, v]
        if more != 0 and t.candidate[a, v if more > 0 else u]:
            for side in range(2):
                put(t, c, a, v if side == 0 else u, more if side == 0 else -more)


@inlined
def kick(search: CountSearch) -> None:
    """Exchange two nodes, or empty some nodes or remove two communicating operators and place the instances again.

    Removed instances go to the nodes in use, or to an empty one first.
    """
    t, c, rule = search.arrays, search.now, search.rule
    search.progress[WORK] += c.counts.degree.size * c.counters[OPEN]
    kind = uniform(rule.random)
    if kind < EXCHANGE_KICKS and c.counters[OPEN] > 0:
        u, v = c.opened[below(rule.random, c.counters[OPEN])], below(rule.random, c.total.size)
        if t.class_of[u] != t.class_of[v]:
            _exchange(t, c, u, v)
            return
    if kind < NODE_KICKS:
        for _ in range(1 + below(rule.random, MAX_EMPTIED)):
            if c.counters[OPEN] > 0:
                empty_node(t, c, c.opened[below(rule.random, c.counters[OPEN])])
    else:
        a = below(rule.random, c.counts.degree.size)
        for step in range(2):
            if step == 1 and t.start[a + 1] > t.start[a]:
                a = t.neighbours[t.start[a] + below(rule.random, t.start[a + 1] - t.start[a])]
            _remove(t, c, a)
    k = below(rule.random, c.empty_number.size)
    fresh = uniform(rule.random) < EMPTY_NODE_SHARE and c.empty_number[k] > 0
    rule.noise[0] = MAX_NOISE * uniform(rule.random)
    rule.first[0] = below(rule.random, c.counters[OPEN])
    fill(t, c, rule, c.empty[t.class_start[k] + c.empty_number[k] - 1] if fresh else variable(-1))


@inner_loop
def iterate(search: CountSearch, run: LocalSearchRun) -> bool:
    """Continue iterated local search for a bounded amount of work; return whether it has ended."""
    search.progress[WORK] = 0
    while climb(search, run):
        if search.progress[KICKS] == run.kicks:
            return True
        accept(search, run)
        kick(search)
        search.progress[KICKS] += 1
    return False
