"""The engine for latency-aware placement, which represents a placement by counts per operator and node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core import budget
from edrp.core.arrays import Ints
from edrp.core.tolerances import MIN_ANT_SCORE, MIN_MOVE_GAIN
from edrp.heuristics.placement.replica_counts import random_stream
from edrp.heuristics.placement.search.acceptance import COMPARED, LocalSearchRun
from edrp.heuristics.placement.search.count_arrays import count_arrays, count_paths
from edrp.heuristics.placement.search.count_filling import MIN_PARTS, PAPER_VIOLATION_PENALTY, FillingRule
from edrp.heuristics.placement.search.count_kicks import CountMemory, CountSearch, build, evaluate_placement, iterate
from edrp.heuristics.placement.search.count_state import CountState, put
from edrp.heuristics.placement.search.method_parameters import OVERLOAD_RULES, ColonyParameters, KickParameters, Rule
from edrp.heuristics.placement.search.search_engine import Construct, EndIteration, PlacementValue, SearchEngine
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
