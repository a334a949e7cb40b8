"""The engine for latency-aware problems that represents a placement by the node of each instance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Ints
from edrp.heuristics.placement.search.acceptance import COMPARED, OverloadRule
from edrp.heuristics.placement.search.engine import Value, random_stream
from edrp.heuristics.placement.search.instance_ants import InstancePheromone, deposit_current, run_ants
from edrp.heuristics.placement.search.instance_arrays import InstanceSearch, InstanceState, instance_arrays
from edrp.heuristics.placement.search.instance_climbing import climb_scans
from edrp.heuristics.placement.search.instance_kicks import iterate
from edrp.heuristics.placement.search.instance_state import adopt, place_by_first_fit
from edrp.heuristics.placement.search.local_search import LocalSearchRun
from edrp.heuristics.placement.search.method_parameters import OVERLOAD_RULES, ColonyParameters, KickParameters, Rule
from edrp.heuristics.placement.start import Placement
from edrp.placement.compiled import Compiled

WORK = 100_000
"""Changes evaluated in one step: below 1 ms."""

ANT_LOOK = 4
"""Time for an ant's look at one node, in the time for one change."""


class InstanceEngine:
    """A latency-aware problem under search (see `SearchEngine`).

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> engine = InstanceEngine(compile_problem(paper_problem("T-M3", 0.2)))
    >>> engine.reset(None, np.random.default_rng(0))
    >>> [*engine.kicks(KickParameters(kicks=10), seed=0)][-1].violations
    0
    >>> engine.counts().sum(axis=1).tolist()
    [1, 1, 1]
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.arrays = instance_arrays(compiled)
        self.now = InstanceState.empty(self.arrays)
        self.best = self.now.place.copy()
        self.best_value = Value(0, 0.0, np.inf)
        self.has_start = False
        self.scan_size = scan_size(compiled)

    def reset(self, start: Placement | None, random: np.random.Generator) -> None:
        """Start from a given placement, or from first fit in topological order."""
        self.has_start = start is not None
        if start is None:
            place_by_first_fit(self.arrays, self.now)
            self.best[:] = self.now.place
        else:
            self.best[:] = np.concatenate([row[:degree] for row, degree in zip(start.place, start.degree, strict=True)])
            self._adopt_best(OverloadRule.COMPARED)
        self.best_value = Value.from_array(self.now.value)

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Climb from the best placement to a local optimum."""
        overload_rule = OVERLOAD_RULES[rule]
        self._adopt_best(overload_rule)
        scans = max(1, WORK // self.scan_size)
        more = True
        while more:
            more = climb_scans(self.arrays, self.now, overload_rule.value, scans)
            self.best[:] = self.now.place
            self._adopt_best(overload_rule)
            self.best_value = Value.from_array(self.now.value)
            yield self.best_value

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        """Run the ant system; a placement given to `reset` counts as the current one, and as the best so far."""
        self._adopt_best(OverloadRule.COMPARED)
        pheromone, search = InstancePheromone.of(self.arrays, parameters), self._search(seed)
        if self.has_start:
            deposit_current(pheromone, self.best, search.best_value, parameters.current_deposits)
        else:
            search.best_value[:] = np.inf
        step = max(1, WORK // (ANT_LOOK * self.now.place.size * self.now.total.size))
        left, stagnant = parameters.iterations * parameters.ants, False
        while left > 0 and not stagnant:
            stagnant = run_ants(search, pheromone, min(step, left), parameters.stagnation)
            left -= step
            self.best_value = Value.from_array(search.best_value)
            yield self.best_value

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Run iterated local search from the best placement."""
        self._adopt_best(OverloadRule.COMPARED)
        search = self._search(seed)
        adopt(self.arrays, search.home, self.best, COMPARED)
        run = LocalSearchRun(parameters.kicks, parameters.tolerance, COMPARED, max(1, WORK // self.scan_size))
        ended = False
        while not ended:
            ended = iterate(search, run)
            self.best_value = Value.from_array(search.best_value)
            yield self.best_value

    def value(self) -> Value:
        """The value of the best placement met since `reset`."""
        return self.best_value

    def counts(self) -> Ints:
        """Instances per operator and node of that placement."""
        counts = np.zeros(self.compiled.candidate.shape, np.int64)
        np.add.at(counts, (self.arrays.operator, self.best), 1)
        return counts

    def _adopt_best(self, rule: OverloadRule) -> None:
        adopt(self.arrays, self.now, self.best, rule.value)

    def _search(self, seed: int) -> InstanceSearch:
        """A search that begins at the placement in `now`, which is the best one."""
        home, progress = InstanceState.empty(self.arrays), np.zeros(2, np.int64)
        return InstanceSearch(self.arrays, self.now, home, self.best, self.now.value.copy(), random_stream(seed), progress)


def scan_size(compiled: Compiled) -> int:
    """Number of changes: moves of an instance, swaps of two, moves of everything on a node.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> scan_size(compile_problem(paper_problem("T-R7", 0.7)))
    1465
    """
    instances, nodes = int(compiled.max_replicas.sum()), len(compiled.nodes)
    return instances * (nodes + instances // 2) + nodes * nodes
