"""S-EDRP on a small Storm cluster through a real day: EDRP, section 7.3, Table V and Fig. 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edrp.datasets import debs2015_storm, storm_cluster
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, Weights
from edrp.validation.simulation.placement.replay import Replay, StepProgress, place_first, replay, solver

ROUND = 60.0
"""Seconds between two decisions. Replayed 60 times faster, a round is an hour of the original day."""


@dataclass(frozen=True, slots=True)
class StormOutcome:
    """A row of Table V: seconds, money/h, share of the time."""

    response_time: float
    cost: float
    downtime_share: float


TABLE_V = {
    "Baseline": StormOutcome(0.1036, 9.3, 0.1018),
    "Balanced": StormOutcome(0.0900, 9.8, 0.0236),
    "Response time": StormOutcome(0.0888, 9.9, 0.0127),
    "Cost": StormOutcome(0.1166, 8.9, 0.0400),
}
"""Table V as printed."""


def run_storm_day(
    rates: Sequence[float], weights: Weights, *, method: str = "auto", seed: int = 0, progress: StepProgress | None = None
) -> Replay:
    """Decide again at every rate, a round of 60 s apart.

    The delays between the nodes are measured again in every round, as in the paper, whose S-EDRP "enacts a few
    migrations" for their slight changes.

    Parameters
    ----------
    rates
        Tuples/s by round, at most 320.
    weights
        Of the objective from round 1 on; the initial deployment weighs response time and cost equally.
    method
        Of the registry.
    seed
        Of the measured delays.
    progress
        Called after every round.
    """

    def problem_at(number: int, rate: float, current: Deployment | None) -> EdrpProblem:
        return debs2015_storm(rate, storm_cluster(seed * 10_000 + number), weights=weights, current=current)

    decide = solver(method)
    rates = [float(rate) for rate in rates]
    start = place_first(debs2015_storm(rates[0], storm_cluster(seed * 10_000)), decide)
    return replay(rates, problem_at, start, decide, progress)


def storm_outcome(day: Replay) -> StormOutcome:
    """Mean response time, mean cost and share of the time that the application was down."""
    return StormOutcome(day.mean("response_time"), day.mean("cost"), day.downtime / (ROUND * (len(day.steps) - 1)))
