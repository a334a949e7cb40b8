"""The engine for latency-aware problems: instances one by one, changes of the score from pulls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts
from edrp.heuristics.placement.search.engine import Value
from edrp.heuristics.placement.search.instance_ants import Pheromone, forage, mark
from edrp.heuristics.placement.search.instance_arrays import ScoreState, score_tables
from edrp.heuristics.placement.search.instance_climbing import climb
from edrp.heuristics.placement.search.instance_kicks import iterate
from edrp.heuristics.placement.search.instance_state import open_by_first_fit, stand
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters, Rule
from edrp.heuristics.placement.start import Placement
from edrp.placement.compiled import Compiled

WORK = 100_000
"""Changes looked at between two looks at the clock: below 1 ms."""

STEP = 4
"""What an ant's look at one node costs, in changes looked at."""


class ScoreEngine:
    """A latency-aware problem under search (see `Engine`).

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> engine = ScoreEngine(compile_problem(paper_problem("T-M3", 0.2)))
    >>> engine.reset(None, np.random.default_rng(0))
    >>> [*engine.kicks(KickParameters(kicks=10), seed=0)][-1].violations
    0
    >>> engine.counts().sum(axis=1).tolist()
    [1, 1, 1]
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.tables = score_tables(compiled)
        self.now = ScoreState.empty(self.tables)
        self.best = self.now.place.copy()
        self.best_value = Value(0, 0.0, np.inf)
        self.given = False
        self.scan_size = scan_size(compiled)

    def reset(self, start: Placement | None, random: np.random.Generator) -> None:
        """Stand on a given placement, or on first fit in topological order."""
        self.given = start is not None
        if start is None:
            open_by_first_fit(self.tables, self.now)
            self.best[:] = self.now.place
        else:
            self.best[:] = np.concatenate([row[:degree] for row, degree in zip(start.place, start.degree, strict=True)])
            self._stand(1.0)
        self.best_value = value_of(self.now.value)

    def climb(self, rule: Rule) -> Iterator[Value]:
        """Hill climbing from where it stands."""
        eye = 0.0 if rule == "printed" else 1.0
        self._stand(eye)
        scans = max(1, WORK // self.scan_size)
        more = True
        while more:
            more = climb(self.tables, self.now, eye, scans)
            self.best[:] = self.now.place
            self._stand(eye)
            self.best_value = value_of(self.now.value)
            yield self.best_value

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[Value]:
        """The ant system; a placement given to `reset` counts as the current one, and as the best so far."""
        self._stand(1.0)
        pheromone, random = Pheromone.of(self.tables, parameters), seeded(seed)
        best_value = np.array([np.inf, np.inf, np.inf])
        if self.given:
            best_value[:] = self.now.value
            mark(pheromone, self.best, best_value, parameters.current_deposits)
        colony = np.zeros(2, np.int64)
        chunk = max(1, WORK // (STEP * self.now.place.size * self.now.crowd.size))
        left, stagnant = parameters.iterations * parameters.ants, False
        while left > 0 and not stagnant:
            arguments = (self.best, best_value, random, colony, min(chunk, left), parameters.stagnation)
            stagnant = forage(self.tables, self.now, pheromone, *arguments)
            left -= chunk
            self.best_value = value_of(best_value)
            yield self.best_value

    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[Value]:
        """Iterated local search from where it stands."""
        self._stand(1.0)
        home, best_value = ScoreState.empty(self.tables), self.now.value.copy()
        stand(self.tables, home, self.best, 1.0)
        random, scans, left = seeded(seed), max(1, WORK // self.scan_size), parameters.kicks
        while left >= 0:
            left = iterate(self.tables, self.now, home, self.best, best_value, random, left, parameters.tolerance, scans)
            self.best_value = value_of(best_value)
            yield self.best_value

    def value(self) -> Value:
        """Of the best placement met since `reset`."""
        return self.best_value

    def counts(self) -> Ints:
        """Instances per operator and node of that placement."""
        counts = np.zeros(self.compiled.candidate.shape, np.int64)
        np.add.at(counts, (self.tables.operator, self.best), 1)
        return counts

    def _stand(self, eye: float) -> None:
        stand(self.tables, self.now, self.best, eye)


def scan_size(compiled: Compiled) -> int:
    """How many changes there are: moves of an instance, swaps of two, moves of all on a node.

    Examples
    --------
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.datasets.placement.latency_aware_test_bed import paper_problem
    >>> scan_size(compile_problem(paper_problem("T-R7", 0.7)))
    1465
    """
    instances, nodes = int(compiled.max_replicas.sum()), len(compiled.nodes)
    return instances * (nodes + instances // 2) + nodes * nodes


def value_of(numbers: Floats) -> Value:
    """From the three numbers that kernels work with.

    Examples
    --------
    >>> value_of(np.array([1.0, 0.5, 2.0]))
    Value(violations=1, overload=0.5, objective=2.0)
    """
    violations, overload, objective = numbers.tolist()
    return Value(int(violations), overload, objective)


def seeded(seed: int) -> UInts:
    """A stream of random numbers for kernels.

    Examples
    --------
    >>> (seeded(3) == seeded(3)).all() and (seeded(3) != seeded(4)).all()
    np.True_
    """
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
