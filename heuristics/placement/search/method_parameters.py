"""Parameters of the searches, one dataclass per method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from edrp.heuristics.placement.search.acceptance import OverloadRule

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
