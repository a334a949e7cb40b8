"""The interface between searches and representations of a placement, and their common code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from edrp.core import budget
from edrp.core.arrays import Ints
from edrp.heuristics.placement.problem_arrays import CHUNK_UNITS
from edrp.heuristics.placement.search.acceptance import WORK, LocalSearchRun
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters, Rule
from edrp.placement.compiled import Compiled


class PlacementValue(NamedTuple):
    """The quality of a placement; tuples compare as the repaired rule does.

    Attributes
    ----------
    violations : number of limits broken, one per node and resource overloaded.
    overload : sum over these of the excess relative to the capacity.
    objective : the objective as the problem evaluates it, up to rounding.

    Examples
    --------
    >>> PlacementValue(1, 0.2, 5.0) < PlacementValue(1, 0.3, 1.0) < PlacementValue(2, 0.1, 0.0)
    True
    """

    violations: int
    overload: float
    objective: float


Construct = Callable[[int], None]
"""Function that lets a number of ants construct placements."""

EndIteration = Callable[[float], None]
"""Function that updates pheromone after an iteration; the argument is the number of deposits of the best placement."""


class SearchEngine(ABC):
    """A problem in arrays, and the best placement visited since `reset`.

    A search is an iterator: each step is a bounded piece of compiled work (`CHUNK_UNITS`), after which it yields the value
    of the best placement met so far. The caller looks at the clock between steps, reports improvements, and may drop the
    iterator at any step: `value` and `counts` still describe the best placement, and the next search continues from it.
    Steps only divide the work: the same seed ends in the same placement whatever their number.

    Attributes
    ----------
    compiled
        The problem.
    memory
        Arrays that keep the best placement, `best` (operators, nodes), and its value, `best_value` (3,).
    scale
        The problem's objective over that of the kernels.
    units, ant_units
        Units of work for what kernels count, and for one ant.
    """

    compiled: Compiled
    memory: Any
    scale = 1.0
    units: float
    ant_units: float

    @abstractmethod
    def reset(self, start: Ints | None, random: np.random.Generator) -> None:
        """Start from a given placement, or from the engine's own greedy one; either may break limits."""

    @abstractmethod
    def climb(self, rule: Rule) -> Iterator[PlacementValue]:
        """Climb from the best placement to a local optimum."""

    @abstractmethod
    def kicks(self, parameters: KickParameters, seed: int) -> Iterator[PlacementValue]:
        """Run iterated local search from the best placement: climb, accept, kick."""

    @abstractmethod
    def begin_colony(self, parameters: ColonyParameters, seed: int) -> tuple[Construct, EndIteration]:
        """Begin an ant system; a given placement deposits the current placement's pheromone."""

    def colony(self, parameters: ColonyParameters, seed: int) -> Iterator[PlacementValue]:
        """Run the ant system until a number of iterations brings no better placement."""
        construct, end_iteration = self.begin_colony(parameters, seed)
        max_ants, idle = max(1, int(CHUNK_UNITS / self.ant_units)), 0
        elitist = parameters.elitist_deposits if parameters.rule == "repaired" else 0.0
        for _ in range(parameters.iterations):
            before = self.value()
            for first in range(0, parameters.ants, max_ants):
                ants = min(max_ants, parameters.ants - first)
                construct(ants)
                budget.spend(ants * self.ant_units)
                yield self.value()
            end_iteration(elitist)
            idle = 0 if self.value() < before else idle + 1
            if idle == parameters.stagnation:
                return

    def value(self) -> PlacementValue:
        """Return the value of the best placement visited since `reset`."""
        violations, overload, objective = self.memory.best_value.tolist()
        return PlacementValue(int(violations), overload, objective * self.scale)

    def counts(self) -> Ints:
        """Return the best placement as replicas per operator and node, shape (operators, nodes)."""
        return np.array(self.memory.best)

    def _run(self, kicks: int, tolerance: float, overload_rule: int) -> LocalSearchRun:
        return LocalSearchRun(kicks, tolerance, overload_rule, max(1, int(CHUNK_UNITS / self.units)))

    def _steps(
        self, iterate: Callable[[Any, LocalSearchRun], bool], search: Any, run: LocalSearchRun
    ) -> Iterator[PlacementValue]:
        ended = False
        while not ended:
            ended = iterate(search, run)
            budget.spend(self.units * float(search.progress[WORK]))
            yield self.value()
