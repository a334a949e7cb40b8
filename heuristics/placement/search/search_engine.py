"""The interface between searches and representations of a placement, and their common code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from edrp.core import budget
from edrp.core.arrays import Ints
from edrp.heuristics.placement.problem_arrays import CHUNK_UNITS
from edrp.placement.compiled import Compiled

KICKS, WORK = range(2)
"""Indices of a search's `progress`: kicks made, and work done since the kernel was called."""


class LocalSearchRun(NamedTuple):
    """Parameters of one run of iterated local search.

    Attributes
    ----------
    kicks : how often a local optimum is disturbed.
    tolerance : how much worse than the best a placement may be to go on from.
    overload_rule : an `OverloadRule` as a number.
    work : after how much work, in the engine's own unit, the kernel returns.
    """

    kicks: int
    tolerance: float
    overload_rule: int
    work: int


class OverloadRule(IntEnum):
    """Whether a comparison includes the total overload; kernels multiply the overload by the rule's number."""

    IGNORED = 0
    COMPARED = 1


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


# Parameters of the searches, one dataclass per method.

Rule = Literal["repaired", "printed"]
"""Name of the rule by which a search compares placements that break a limit.

"printed" is the paper's text: fewer broken limits, then a lower score. Everything on one node is then one broken limit
with the best of all scores, and no single change leads out of it. "repaired" compares total relative overload between
the two.
"""

OVERLOAD_RULES: dict[Rule, OverloadRule] = {"repaired": OverloadRule.COMPARED, "printed": OverloadRule.IGNORED}
"""Rules for kernels, by the names that users give."""

Positive = Annotated[float, Field(gt=0)]
AtLeastZero = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True)
class ClimbingParameters:
    """Parameters of hill climbing (latency-aware placement, 4.3.1).

    Attributes
    ----------
    rule : which of two placements is better.
    """

    rule: Rule = "repaired"


@dataclass(frozen=True, slots=True)
class ColonyParameters:
    """Parameters of the ant system (latency-aware placement, eqs. 2–5); the paper leaves their values open.

    Where there are thousands of instances, ants fill node by node, and overload nodes only where nothing has room: "printed"
    then leaves out the best placement's deposits alone.

    Attributes
    ----------
    rule : "printed" lets ants overload nodes at any load and gives the best placement no pheromone of its own.
    ants : placements built per iteration, m.
    iterations : maximum number of iterations.
    stagnation : iterations without a better placement after which the search ends.
    pheromone_power, heuristic_power : α and β of eq. 2.
    persistence : share of the pheromone that an iteration leaves, ρ of eq. 4.
    deposit : pheromone of an ant whose score is 1, Q of eq. 5.
    initial_pheromone, minimum_pheromone : of each pair of operator and node at first, and at least, p_i and p_m.
    current_deposits : how often the current placement deposits pheromone before the first iteration, p_c.
    elitist_deposits : how often the best placement met deposits pheromone in each iteration.
    """

    rule: Rule = "repaired"
    ants: AtLeastOne = 20
    iterations: AtLeastOne = 200
    stagnation: AtLeastOne = 100
    pheromone_power: AtLeastZero = 1.2
    heuristic_power: AtLeastZero = 4.0
    persistence: Annotated[float, Field(ge=0, le=1)] = 0.9
    deposit: Positive = 0.03
    initial_pheromone: Positive = 10.0
    minimum_pheromone: Positive = 0.03
    current_deposits: AtLeastZero = 5.0
    elitist_deposits: AtLeastZero = 50.0


@dataclass(frozen=True, slots=True)
class KickParameters:
    """Parameters of iterated local search.

    Attributes
    ----------
    kicks : how often the placement is disturbed and climbed again; None for 2,000, and under a limit for as often as it allows.
    tolerance : how much worse, in units of the objective, a placement may be to go on from; where every change is evaluated
        whole, it falls from three times as much to nothing, again and again.
    """

    kicks: Count | None = None
    tolerance: AtLeastZero = 0.01

    @property
    def kicks_per_run(self) -> int:
        """Kicks after which a run ends."""
        return 2000 if self.kicks is None else self.kicks
