"""Days of real keys, hour by hour: what a method decides for an hour is what runs when the next one comes.

python benchmarks/rescale_days.py keys                   # methods at 0.5, 1.5 and 2 times the load of a day
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import typer

import edrp
from edrp.batch.tasks import Choice
from edrp.datasets.families.migration.flight_day import FIRST_DAY, FlightHour, flight_day
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution

HEADROOM = "ds2-even-ranges:utilisation=0.35"
"""Flink's rule with half of its usual target, which keeps replicas with hot keys stable more often."""

METHODS = ("auto", "even-ranges", "ds2-even-ranges", HEADROOM, "sticky-ranges", "edrp-then-ssm")
FACTORS = (0.5, 1.5, 2.0)

Decide = Callable[[FlightHour, RescaleProblem], RescaleSolution]
"""A decision for an hour, from the problem with what runs."""


@dataclass
class DayTotals:
    """Totals of a day.

    Attributes
    ----------
    hours : number of hours for which something was to be decided.
    metrics, objectives : of the hours in which the answer was feasible; in the others what ran goes on.
    """

    hours: int = 0
    metrics: list[dict[str, float]] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)

    def total(self, metric: str) -> float:
        """Sum over the served hours."""
        return float(sum(metrics[metric] for metrics in self.metrics))

    def mean(self, metric: str) -> float:
        """Mean over the served hours."""
        return self.total(metric) / len(self.metrics) if self.metrics else np.nan


def follow_day(hours: Sequence[FlightHour], start: KeyedDeployment, decide: Decide) -> DayTotals:
    """Decide hour by hour."""
    totals, current = DayTotals(), start
    for hour in hours:
        problem = hour.problem.replace(current=current)
        solution = decide(hour, problem)
        totals.hours += 1
        if solution.deployment is not None:
            evaluation = problem.evaluate(solution.deployment)
            totals.metrics.append(dict(evaluation.metrics))
            totals.objectives.append(evaluation.objective)
            current = solution.deployment
    return totals


def first_deployment(hour: FlightHour) -> KeyedDeployment:
    """The deployment that runs when a day begins: even ranges for its first hour."""
    found = edrp.solve(hour.problem, "even-ranges").deployment
    assert found is not None
    return found


def keys(
    day: Annotated[int, typer.Option(help="Day of 2013, from 0.")] = FIRST_DAY,
    limit: Annotated[float, typer.Option(help="Seconds for each decision.")] = 1.0,
    method: Annotated[list[str] | None, typer.Option(help="Methods, instead of all.")] = None,
) -> None:
    """Methods over a day of departures by route, airport and carrier, its load multiplied."""
    print("| load | method | hours served | objective | moved, MB | downtime, s | response time, ms | cost, money/h |")
    print("|---|---|---|---|---|---|---|---|")
    for factor in FACTORS:
        hours = list(flight_day(day, factor))
        start = first_deployment(hours[0])
        for name in method or METHODS:
            choice = Choice.read(name, time_limit=limit)
            totals = follow_day(hours, start, lambda _, problem, c=choice: edrp.solve(problem, c.name, **c.arguments))
            cells = [f"× {factor:g}", name, f"{len(totals.metrics)} of {totals.hours}", *_figures(totals)]
            print("|", " | ".join(cells), "|", flush=True)


def _figures(totals: DayTotals) -> list[str]:
    """Cells of a row: objective, moved megabytes, downtime, response time and cost."""
    objective = float(np.mean(totals.objectives)) if totals.objectives else np.nan
    return [
        f"{objective:.4f}",
        f"{totals.total('moved_state') / 1e6:.0f}",
        f"{totals.total('downtime'):.1f}",
        f"{1e3 * totals.mean('response_time'):.2f}",
        f"{totals.mean('cost'):.2f}",
    ]
