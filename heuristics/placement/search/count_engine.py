"""The engine for latency-aware placement, which represents a placement by counts per operator and node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from edrp import _native
from edrp.core import budget
from edrp.core.arrays import Floats, Ints, UInts
from edrp.core.tolerances import MIN_ANT_SCORE, MIN_MOVE_GAIN
from edrp.heuristics.placement.deployment_state import ReplicaCounts, random_stream
from edrp.heuristics.placement.search.count_arrays import CountArrays, CountPaths, count_arrays, count_paths
from edrp.heuristics.placement.search.search_engine import (
    OVERLOAD_RULES,
    ColonyParameters,
    Construct,
    EndIteration,
    KickParameters,
    LocalSearchRun,
    OverloadRule,
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

MIN_PARTS = 64
"""Minimum number of batches in which an operator's instances are placed, so that operators mix on a node."""

PAPER_VIOLATION_PENALTY = 10_000.0
"""Score of one violation (latency-aware placement, 4.3.2)."""

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
        rule = FillingRule.of(random.integers(2**63, size=1).astype(np.uint64))
        self._build(rule)
        for _ in range(max(MIN_FILLINGS, int(FILLING_UNITS / self.ant_units))):
            if self.value().violations == 0:
                break
            rule.noise[0] = 1.0
            self._build(rule)

    def climb(self, rule: Rule) -> Iterator[PlacementValue]:
        """Climb until no change is better: batches move, trade places, or leave a node for an empty one of another class."""
        run = self._run(0, 0.0, OVERLOAD_RULES[rule])
        yield from self._iterate(FillingRule.of(np.zeros(1, np.uint64)), run)

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[PlacementValue]:
        """Climb; then place again what up to three nodes run, or two operators that belong together, and climb again."""
        run = self._run(parameters.kicks_per_run, parameters.tolerance, OverloadRule.COMPARED)
        yield from self._iterate(FillingRule.of(random_stream(seed)), run)

    def begin_colony(self, parameters: ColonyParameters, seed: int) -> tuple[Construct, EndIteration]:
        """Begin an ant system with trails between operators instead of between operators and nodes.

        Equal nodes can trade names, so that a trail from an operator to a node would say nothing that holds for the next
        ant. Ants fill node by node, and the trail between an operator and those on the node takes the place of the trail in
        eq. 2; an ant deposits on the trail of two operators its deposit times the share of their pairs that it co-locates.
        Ants overload nodes only where nothing has room, at any load.
        """
        best, p, instances = self.memory.best, parameters, self._arrays.instances
        trail = np.full((instances.size, instances.size), max(p.initial_pheromone, p.minimum_pheromone))
        search = self._search(FillingRule.of(random_stream(seed), p.heuristic_power, p.pheromone_power, trail))
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
        return lambda ants: _native.build_counts(search, ants, 1.0, fresh), end_iteration

    def _nothing_is_better(self) -> bool:
        """Whether all instances are on one node that costs no more than any other."""
        violations, _, objective = self.value()
        return violations == 0 and objective <= self._arrays.node_price.min() + MIN_MOVE_GAIN * self._arrays.score_apart

    def _search(self, rule: FillingRule) -> CountSearch:
        return CountSearch(self._arrays, self._now, self._paths, self.memory, rule, np.zeros(2, np.int64))

    def _build(self, rule: FillingRule) -> None:
        _native.build_counts(self._search(rule), 1, 0.0, np.zeros((0, 0)))
        budget.spend(self.ant_units)

    def _adopt(self, counts: Ints) -> None:
        self._now = CountState.nothing(self._arrays)
        self.memory.clocks[:] = 0
        for a, s in zip(*np.nonzero(counts), strict=True):
            _native.put_instances(self._arrays, self._now, a, s, counts[a, s])
        _native.evaluate_counts(self._arrays, self._now, self._paths, self.memory)

    def _iterate(self, rule: FillingRule, run: LocalSearchRun) -> Iterator[PlacementValue]:
        if not np.array_equal(self._now.counts.replicas, self.memory.best):  # the caller dropped the search before
            self._adopt(self.memory.best)
        yield from self._steps(
            lambda search, run: self._nothing_is_better() or _native.iterate_counts(search, run), self._search(rule), run
        )


OPEN, CLOCK, CURSOR, TURN, BEGAN, SWEEP, SWEPT = range(7)
"""Indices of `CountState.counters`: nodes in use, changes so far, the operator whose turn it is, the index of its node whose
turn it is and the clock when the first had its, the index of the node that is to be dissolved next, and the clock when all had
been tried."""


class CountState(NamedTuple):
    """A placement under search: `counts` of operators a on nodes s, and what the score and the changes of it need.

    Moving any number of instances is one change, whose work is that of an operator's neighbours.

    Arrays of `put_instances` (edrp/native/heuristics/placement/search/count_state.hpp).
    `joined` (operators, nodes) is what one instance of a would gain on s by the instances of other operators there, `total`
    (nodes,) the number of instances. `opened[:counters[OPEN]]` are the nodes in use and `opened_index` (nodes,) is where each
    stands there. `empty[class_start[k]:][:empty_number[k]]` are the empty nodes of class k, whose last one stands for all;
    `empty_index` (nodes,) is where each stands.

    `last_changed` (nodes,) is when a node last changed, `last_compared` (operators,) when all changes of an operator were last
    compared: a change between two nodes that have not changed since cannot have become better. `recent` lists the
    nodes that have.
    """

    counts: ReplicaCounts
    joined: Floats
    total: Ints
    opened: Ints
    opened_index: Ints
    empty: Ints
    empty_number: Ints
    empty_index: Ints
    last_changed: Ints
    last_compared: Ints
    recent: Ints
    counters: Ints

    @classmethod
    def nothing(cls, t: CountArrays) -> CountState:
        """Create a state in which no instance is placed."""
        operators, nodes = t.candidate.shape
        empty_index = np.empty(nodes, np.int64)
        empty_index[t.members] = np.arange(nodes)
        return cls(
            counts=ReplicaCounts.from_matrix(t.demand, np.zeros((operators, nodes), np.int64)),
            joined=np.zeros((operators, nodes)),
            total=np.zeros(nodes, np.int64),
            opened=np.zeros(nodes, np.int64),
            opened_index=np.full(nodes, -1),
            empty=t.members.copy(),
            empty_number=np.diff(t.class_start),
            empty_index=empty_index,
            last_changed=np.ones(nodes, np.int64),
            last_compared=np.zeros(operators, np.int64),
            recent=np.zeros(nodes, np.int64),
            counters=np.array([0, 1, 0, 0, 0, 0, 0]),
        )


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

    Arrays of `iterate_counts` and `build_counts` (edrp/native/heuristics/placement/search/count_engine.cpp).
    `progress` (2,) is as in `KICKS`; work is counted in places compared, and for a kick in operators times nodes in use.
    """

    arrays: CountArrays
    now: CountState
    paths: CountPaths
    memory: CountMemory
    rule: FillingRule
    progress: Ints


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
    """

    power: float
    trail_power: float
    noise: Floats
    first: Ints
    trail: Floats
    random: UInts

    @classmethod
    def of(cls, random: UInts, power: float = 1.0, trail_power: float = 0.0, trail: Floats | None = None) -> Self:
        """Create a rule that takes the largest worth, or draws by worth and pheromone where there is a trail."""
        return cls(
            power=power,
            trail_power=trail_power,
            noise=np.full(1, 0.0 if trail is None else 1.0),
            first=np.zeros(1, np.int64),
            trail=np.zeros((1, 1)) if trail is None else trail,
            random=random,
        )
