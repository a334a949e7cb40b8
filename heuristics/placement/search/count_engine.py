"""The engine for latency-aware placement, which represents a placement by counts per operator and node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from edrp.core import budget
from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.core.kernel_helpers import below, copy_vector, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import COUNTED_LOAD_SLACK, MIN_ANT_SCORE, MIN_MOVE_GAIN
from edrp.heuristics.placement.replica_counts import random_stream, strain, variable
from edrp.heuristics.placement.search.acceptance import (
    COMPARED,
    KICKS,
    OBJECTIVE,
    OVERLOAD,
    VIOLATIONS,
    WORK,
    LocalSearchRun,
    better,
    near,
)
from edrp.heuristics.placement.search.count_arrays import CountArrays, CountPaths, count_arrays, count_paths, latency_now
from edrp.heuristics.placement.search.count_moves import climb_batches
from edrp.heuristics.placement.search.count_state import CLOCK, OPEN, CountState, fitting, put, refresh, score, waiting
from edrp.heuristics.placement.search.search_engine import (
    OVERLOAD_RULES,
    ColonyParameters,
    Construct,
    EndIteration,
    KickParameters,
    PlacementValue,
    Rule,
    SearchEngine,
)
from edrp.placement.compiled import Compiled

COMPARED_NODE_UNITS = 4e-8
"""Units of work per comparison of a target node, or of an operator and a node in use when nodes are filled.

Calibrated on topologies of 42 to 721 instances: processor time over units 0.5 to 2.
"""

MIN_FILLINGS, FILLING_UNITS = 20, 2e-3
"""Fillings with noise that are tried after the greedy one while nodes are overloaded, and units of work up to which there are
more: on some paper topologies at 70 % load one in 25 fits."""


MAX_LATENCY_SHARE = 0.1
"""Largest part of the score that latency may decide, relative to that of all instances apart, for which this engine is made."""


def suits_counts(compiled: Compiled) -> bool:
    """Whether co-location decides the score of a latency-aware problem, which this engine evaluates in constant time.

    Where latency decides, a change has to be evaluated whole to be valued. Measured on random topologies of 8 and 20
    operators with no other weight than that of latency: this engine's answers are 13 % worse than what evaluates all.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> suits_counts(compile_problem(paper_problem("T-R7", 0.7)))
    True
    """
    return count_paths(compiled).span <= MAX_LATENCY_SHARE * float(compiled.stream_rate.sum())


class CountEngine(SearchEngine):
    """Searches for topologies of any number of instances on any number of nodes; the work grows with operators and nodes.

    Equal empty nodes are one place to go, and instances move by the batch: as many as there are and fit, which for a
    given pair of nodes is always best, or none.
    """

    units = COMPARED_NODE_UNITS

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self._paths = count_paths(compiled)
        self._arrays = count_arrays(compiled, self._paths)
        parts = int(np.minimum(self._arrays.instances, MIN_PARTS).sum())
        nodes = min(len(compiled.nodes), int(compiled.max_replicas.sum()))
        self.ant_units = COMPARED_NODE_UNITS * len(compiled.operators) * (parts + nodes)
        self._now, self.memory = CountState.nothing(self._arrays), CountMemory.nothing(self._arrays)

    def reset(self, start: Ints | None, random: np.random.Generator) -> None:
        """Start from a given placement, or fill nodes by the operators that join most, with noise where they find no room."""
        self._now, self.memory = CountState.nothing(self._arrays), CountMemory.nothing(self._arrays)
        if start is not None:
            self._adopt(start)
            return
        rule = FillingRule.of(self._arrays, random.integers(2**63, size=1).astype(np.uint64))
        self._build(rule)
        for _ in range(max(MIN_FILLINGS, int(FILLING_UNITS / self.ant_units))):
            if self.value().violations == 0:
                break
            rule.noise[0] = 1.0
            self._build(rule)

    def climb(self, rule: Rule) -> Iterator[PlacementValue]:
        """Climb until no change is better: batches move, trade places, or leave a node for an empty one of another class."""
        run = self._run(0, 0.0, OVERLOAD_RULES[rule].value)
        yield from self._iterate(FillingRule.of(self._arrays, np.zeros(1, np.uint64)), run)

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[PlacementValue]:
        """Climb; then place again what up to three nodes run, or two operators that belong together, and climb again."""
        run = self._run(parameters.kicks_per_run, parameters.tolerance, COMPARED)
        yield from self._iterate(FillingRule.of(self._arrays, random_stream(seed)), run)

    def begin_colony(self, parameters: ColonyParameters, seed: int) -> tuple[Construct, EndIteration]:
        """Begin an ant system with trails between operators instead of between operators and nodes.

        Equal nodes can trade names, so that a trail from an operator to a node would say nothing that holds for the next
        ant. Ants fill node by node, and the trail between an operator and those on the node takes the place of the trail in
        eq. 2; an ant deposits on the trail of two operators its deposit times the share of their pairs that it co-locates.
        Ants overload nodes only where nothing has room, at any load.
        """
        best, p, instances = self.memory.best, parameters, self._arrays.instances
        trail = np.full((instances.size, instances.size), max(p.initial_pheromone, p.minimum_pheromone))
        search = self._search(FillingRule.of(self._arrays, random_stream(seed), p.heuristic_power, p.pheromone_power, trail))
        fresh = np.zeros_like(trail)

        def deposit(times: float) -> None:
            score = self.value().objective + PAPER_VIOLATION_PENALTY * self.value().violations
            shares = best[:, best.any(axis=0)] / instances[:, None]
            trail[:] += times * p.deposit / max(score, MIN_ANT_SCORE) * (shares @ shares.T)

        def end_iteration(elitist: float) -> None:
            trail[:] = np.maximum(p.persistence * trail, p.minimum_pheromone) + p.deposit * fresh
            fresh[:] = 0.0
            deposit(elitist)

        deposit(p.current_deposits)
        return lambda ants: build(search, ants, 1.0, fresh), end_iteration

    def _nothing_is_better(self) -> bool:
        """Whether all instances are on one node that costs no more than any other."""
        violations, _, objective = self.value()
        return violations == 0 and objective <= self._arrays.node_price.min() + MIN_MOVE_GAIN * self._arrays.score_apart

    def _search(self, rule: FillingRule) -> CountSearch:
        return CountSearch(self._arrays, self._now, self._paths, self.memory, rule, np.zeros(2, np.int64))

    def _build(self, rule: FillingRule) -> None:
        build(self._search(rule), 1, 0.0, np.zeros((0, 0)))
        budget.spend(self.ant_units)

    def _adopt(self, counts: Ints) -> None:
        self._now = CountState.nothing(self._arrays)
        self.memory.clocks[:] = 0
        for a, s in zip(*np.nonzero(counts), strict=True):
            put(self._arrays, self._now, a, s, counts[a, s])
        evaluate_placement(self._arrays, self._now, self._paths, self.memory)

    def _iterate(self, rule: FillingRule, run: LocalSearchRun) -> Iterator[PlacementValue]:
        if not np.array_equal(self._now.counts.replicas, self.memory.best):  # the caller dropped the search before
            self._adopt(self.memory.best)
        yield from self._steps(lambda search, run: self._nothing_is_better() or iterate(search, run), self._search(rule), run)


# Kicks of the search over counts: some nodes, or operators that belong together, are emptied and filled again.

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


# Placements built node by node over counts: the operator that joins most of what a node already runs comes next.

MIN_PARTS = 64
"""Minimum number of batches in which an operator's instances are placed, so that operators mix on a node."""

WAITING_WEIGHT = 1e-3
"""Weight of the potential gain by instances that still wait, relative to the gain by placed ones."""

PAPER_VIOLATION_PENALTY = 10_000.0
"""Score of one violation (latency-aware placement, 4.3.2)."""


class FillingRule(NamedTuple):
    """Rule by which the next operator on a node is chosen: the one of largest weight, or one drawn by weight.

    The weight is worth^`power` · mean trail^`trail_power`, where worth is the gain per share of the node. With `noise` 1
    operators are drawn in proportion to it, with 0 the largest one is taken, and in between chance counts for less.

    Attributes
    ----------
    noise : shape (1,).
    first : shape (1,); index of the node in use that is filled first.
    trail : shape (operators, operators); pheromone between operators. Its mean is over the instances on the node.
    random : shape (1,); state of the random numbers.
    trail_sum, useless : shapes (operators,) and (classes,); scratch.
    """

    power: float
    trail_power: float
    noise: Floats
    first: Ints
    trail: Floats
    random: UInts
    trail_sum: Floats
    useless: Bools

    @classmethod
    def of(cls, t: CountArrays, random: UInts, power: float = 1.0, trail_power: float = 0.0, trail: Floats | None = None) -> Self:
        """Create a rule that takes the largest worth, or draws by worth and pheromone where there is a trail."""
        return cls(
            power=power,
            trail_power=trail_power,
            noise=np.full(1, 0.0 if trail is None else 1.0),
            first=np.zeros(1, np.int64),
            trail=np.zeros((1, 1)) if trail is None else trail,
            random=random,
            trail_sum=np.zeros(1 if trail is None else len(trail)),
            useless=np.zeros(t.class_start.size - 1, np.bool_),
        )


@inlined
def _log_weight(t: CountArrays, c: CountState, rule: FillingRule, a: int, d: int) -> float:
    """Logarithm of the weight of operator a for node d, with the noise that makes the largest one a draw."""
    share = 1e-9
    for m in range(t.demand.shape[1]):
        if t.demand[a, m] > 0 and t.capacity[d, m] < np.inf:
            share = max(share, t.demand[a, m] / t.capacity[d, m])
    future = t.pair[a, a] * waiting(t, c, a)
    for j in range(t.start[a], t.start[a + 1]):
        future += t.pair[a, t.neighbours[j]] * waiting(t, c, t.neighbours[j])
    worth = c.joined[a, d] + 2.0 * t.pair[a, a] * c.counts.replicas[a, d] + WAITING_WEIGHT * future
    log_weight = rule.power * np.log((worth + 1e-12 * t.score_apart) / share)
    if rule.trail_power > 0 and c.total[d] > 0:
        log_weight += rule.trail_power * np.log(rule.trail_sum[a] / c.total[d])
    if rule.noise[0] > 0:
        log_weight -= rule.noise[0] * np.log(-np.log(uniform(rule.random) + 1e-300) + 1e-300)
    return log_weight


@inlined
def _fill_node(t: CountArrays, c: CountState, rule: FillingRule, d: int) -> bool:
    """Place waiting instances on node d as long as some fit; return whether any did."""
    placed = 0
    operators = rule.trail_sum.size if rule.trail_power > 0 else 0
    for a in range(operators):
        rule.trail_sum[a] = 0.0
        for b in range(operators):
            rule.trail_sum[a] += c.counts.replicas[b, d] * rule.trail[a, b]
    while True:
        best, max_weight = variable(-1), -np.inf
        for a in range(c.counts.degree.size):
            if waiting(t, c, a) == 0 or fitting(t, c, a, d, variable(1)) == 0:
                continue
            log_weight = _log_weight(t, c, rule, a, d)
            if best < 0 or log_weight > max_weight:
                best, max_weight = a, log_weight
        if best < 0:
            return placed > 0
        part = min(max(1, t.instances[best] // MIN_PARTS), waiting(t, c, best))
        q = fitting(t, c, best, d, part)
        put(t, c, best, d, q)
        placed += q
        for a in range(operators):
            rule.trail_sum[a] += q * rule.trail[a, best]


@inlined
def _next_node(t: CountArrays, c: CountState, rule: FillingRule, previous: int) -> int:
    """Choose the empty node that can take most waiting instances, preferably in the zone of the previous one; -1: none."""
    best, max_value = variable(-1), 0.0
    for k in range(c.empty_number.size):
        if c.empty_number[k] == 0 or rule.useless[k]:
            continue
        d = c.empty[t.class_start[k] + c.empty_number[k] - 1]
        share, count = 1.0, 0.0
        for a in range(c.counts.degree.size):
            count += waiting(t, c, a) * t.candidate[a, d]
        for m in range(t.demand.shape[1]):
            need = 0.0
            for a in range(c.counts.degree.size):
                need += waiting(t, c, a) * t.candidate[a, d] * t.demand[a, m]
            if need > 0:
                share = min(share, t.capacity[d, m] / need)
        value = share * count * (1.0 + 1e-6 * (previous >= 0 and t.zone[d] == t.zone[previous]))
        if rule.noise[0] > 0:
            value *= 1.0 + rule.noise[0] * uniform(rule.random)
        if value > max_value:
            best, max_value = d, value
    return best


@inlined
def _squeeze(t: CountArrays, c: CountState) -> None:
    """Place the instances that find no room where they cause the least overload."""
    for a in range(c.counts.degree.size):
        while waiting(t, c, a) > 0:
            q, best, min_violations, min_overload = max(1, waiting(t, c, a) // MIN_PARTS), variable(-1), 0, np.inf
            for d in range(c.total.size):
                if not t.candidate[a, d]:
                    continue
                for m in range(c.counts.used.shape[1]):
                    c.counts.used[d, m] += q * t.demand[a, m]
                violations, overload = strain(t.capacity, c.counts.used, d, COUNTED_LOAD_SLACK)
                for m in range(c.counts.used.shape[1]):
                    c.counts.used[d, m] -= q * t.demand[a, m]
                if best < 0 or violations < min_violations or (violations == min_violations and overload < min_overload):
                    best, min_violations, min_overload = d, violations, overload
            put(t, c, a, best, q)


@inner_loop
def fill(t: CountArrays, c: CountState, rule: FillingRule, first: int) -> None:
    """Place all waiting instances: on node `first` (-1 for none), on nodes in use, on empty ones, and finally anywhere."""
    before = c.counters[OPEN]
    turn, previous = -1 if first >= 0 else 0, variable(-1)
    for k in range(rule.useless.size):
        rule.useless[k] = False
    while True:
        unplaced = 0
        for a in range(c.counts.degree.size):
            unplaced += waiting(t, c, a)
        if unplaced == 0:
            return
        d = first
        if turn >= 0:
            d = c.opened[(rule.first[0] + turn) % before] if turn < before else _next_node(t, c, rule, previous)
        if d < 0:
            _squeeze(t, c)
            return
        filled = _fill_node(t, c, rule, d)
        if turn < 0:
            before = c.counters[OPEN]
        elif filled:
            previous = d
        elif turn >= before:
            rule.useless[t.class_of[d]] = True
        turn += 1


@inlined
def empty_node(t: CountArrays, c: CountState, s: int) -> None:
    """Take every instance away from node s."""
    for a in range(c.counts.degree.size):
        if c.counts.replicas[a, s] > 0:
            put(t, c, a, s, -c.counts.replicas[a, s])
