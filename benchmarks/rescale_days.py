"""Days of departures, rescaled hour by hour: what is decided for an hour is what runs when the next one comes.

`keys` compares methods at the load of each hour. `ahead` asks whether it pays to decide for the loads that will probably follow:
a decision knows the load of the five minutes before the hour (a mean of half an hour) and the key frequencies of the hour, and
lasts for the hour. The objective takes the mean response time of the twelve steps of the hour, in which a step that overloads a
replica counts as the limit. Deciders: the load of now with a utilisation that leaves headroom, and load scenarios, which come
from a Markov chain over ten levels of the loads of the first half of the year. Both are commands of `rescale.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
import typer

import edrp
from edrp.batch.tasks import Choice
from edrp.core.arrays import Floats
from edrp.datasets.families.migration.flight_day import FIRST_DAY, FlightHour, flight_day
from edrp.datasets.traces.flights import flights
from edrp.mdp.chain.load_scenarios import load_scenarios
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.rescale.scenarios import multiplied

METHODS = (
    *("auto", "even-ranges", "ds2-even-ranges", "ds2-even-ranges:utilisation=0.35", "sticky-ranges"),
    "edrp-then-ssm",
)
"""Of Flink's rule also one with half of its usual target, which keeps replicas with hot keys stable more often."""

STEP, STEPS = 300.0, 12
"""Seconds of a step, and steps of an hour."""

SMOOTHING, KNOWN_DAYS = 6, 180
"""Steps over which departures are averaged, and days from which the chain is estimated."""

QUIETEST = 2.0
"""Departures in an hour that are taken at least: a load of 0 asks for nothing."""


class HourResult(NamedTuple):
    """Outcome of an hour: objective and metrics; steps in which the limit was broken; whether a decider had no answer."""

    objective: float
    metrics: dict[str, float]
    broken_steps: int = 0
    refused: bool = False


def first_deployment(hour: FlightHour) -> KeyedDeployment:
    """The deployment that runs when a day begins: even ranges for its first hour."""
    found = edrp.solve(hour.problem, "even-ranges").deployment
    assert found is not None
    return found


def follow_day(
    hours: Sequence[FlightHour], start: KeyedDeployment, decide: Callable[[RescaleProblem], KeyedDeployment | None]
) -> list[HourResult]:
    """Decide hour by hour; where there is no answer, what ran goes on and the hour is not served."""
    served, current = [], start
    for hour in hours:
        problem = hour.problem.replace(current=current)
        deployment = decide(problem)
        if deployment is not None:
            evaluation = problem.evaluate(deployment)
            served.append(HourResult(evaluation.objective, dict(evaluation.metrics)))
            current = deployment
    return served


def keys(
    day: Annotated[int, typer.Option(help="Day of 2013, from 0.")] = FIRST_DAY,
    limit: Annotated[float, typer.Option(help="Seconds for each decision.")] = 1.0,
    method: Annotated[list[str] | None, typer.Option(help="Methods, instead of all.")] = None,
) -> None:
    """Methods over a day of departures by route, airport and carrier, its load multiplied."""
    print(f"| load | method | hours served | mean objective | {HEADINGS} |\n{'|---' * 8}|")
    for factor in (0.5, 1.5, 2.0):
        hours = list(flight_day(day, factor))
        start = first_deployment(hours[0])
        for name in method or METHODS:
            choice = Choice.read(name, time_limit=limit)
            served = follow_day(hours, start, lambda p, c=choice: edrp.solve(p, c.name, **c.arguments).deployment)
            objective = np.mean([hour.objective for hour in served]) if served else np.nan
            cells = f"{len(served)} of {len(hours)} | {objective:.4f} | {_cells(served, 1)}"
            print(f"| × {factor:g} | {name} | {cells} |", flush=True)


HEADINGS = "response time, ms | cost, money/h | downtime, s | moved, MB"


def _cells(hours: Sequence[HourResult], days: int) -> str:
    """Cells of a row: means over hours, and sums for each day."""

    def total(metric: str) -> float:
        return math.fsum(hour.metrics[metric] for hour in hours)

    count = len(hours) or np.nan
    means = f"{1e3 * total('response_time') / count:.2f} | {total('cost') / count:.2f}"
    return f"{means} | {total('downtime') / days:.1f} | {total('moved_state') / days / 1e6:.0f}"


class Decider(NamedTuple):
    """How an hour is decided: the utilisation, and the least probability of a scenario; None without scenarios."""

    utilisation: float
    least: float | None = None

    def __str__(self) -> str:
        if self.least is not None:
            return f"scenarios of at least {100 * self.least:g} %"
        return f"load of now, utilisation {self.utilisation:g}"

    def problem(self, now: RescaleProblem, rate: float) -> RescaleProblem:
        """The problem to be solved when so many departures an hour are under way."""
        if self.least is None:
            return now.replace(utilisation=self.utilisation)
        known = departure_rates()[: KNOWN_DAYS * 24 * STEPS]
        return now.replace(scenarios=load_scenarios(known[known > QUIETEST], rate, STEPS, least=self.least))


DECIDERS = (*map(Decider, (1.0, 0.9, 0.8, 0.7, 0.6)), *(Decider(1.0, least) for least in (0.01, 0.05, 0.1)))


def ahead(
    days: Annotated[list[int] | None, typer.Option(help="Days of 2013, from 0.")] = None,
    load: Annotated[list[float] | None, typer.Option(help="By which the loads of the days are multiplied.")] = None,
    runs: Annotated[int, typer.Option(help="Runs of the search for each decision.")] = 3,
) -> None:
    """Deciders for the load of now, with headroom, and for load scenarios, over hours of real days."""
    chosen = tuple(days or (188, 191, 195, 200, 213))
    print(f"days {', '.join(map(str, chosen))}; sums and means a day\n")
    print(f"| load | decided for | objective | of each day | bad steps | refused | {HEADINGS} |\n{'|---' * 10}|")
    for factor in load or (1.0, 1.5):
        for decider in DECIDERS:
            found = [list(follow_ahead(day, factor, decider, runs)) for day in chosen]
            hours, sums = [hour for day in found for hour in day], [math.fsum(hour.objective for hour in day) for day in found]
            broken, refused = (sum(getattr(h, name) for h in hours) / len(found) for name in ("broken_steps", "refused"))
            cells = f"{np.mean(sums):.3f} | {' '.join(f'{value:.2f}' for value in sums)} | {broken:.1f} | {refused:.1f}"
            print(f"| × {factor:g} | {decider} | {cells} | {_cells(hours, len(found))} |", flush=True)


def follow_ahead(day: int, factor: float, decider: Decider, runs: int) -> Iterable[HourResult]:
    """A day under a decider; where it has no answer, the load of now alone is decided for."""
    current: KeyedDeployment | None = None
    for hour in flight_day(day, factor):
        at = (24 * day + hour.hour) * STEPS
        rate = float(departure_rates()[at - 1])
        now = with_rate(hour, rate)
        current = current or first_deployment(hour._replace(problem=now))
        now = now.replace(current=current)
        answer = edrp.solve(decider.problem(now, rate), "range-annealing", runs=runs).deployment
        refused = answer is None
        if refused and decider != DECIDERS[0]:
            answer = edrp.solve(now, "range-annealing", runs=runs).deployment
        current = answer or current
        yield hour_result(hour, now, current, departure_rates()[at : at + STEPS], refused)


def with_rate(hour: FlightHour, rate: float) -> RescaleProblem:
    """The problem of an hour with the load of so many departures an hour."""
    return hour.problem.replace(application=multiplied(hour.problem.application, rate / hour.departures))


def hour_result(hour: FlightHour, now: RescaleProblem, current: KeyedDeployment, rates: Floats, refused: bool) -> HourResult:
    """Metrics of an hour under a deployment, its objective with the true response time."""
    limit = now.limits.response_time
    assert limit is not None
    responses = [with_rate(hour, float(rate)).evaluate(current).metrics["response_time"] for rate in rates]
    response = math.fsum(min(limit, value) if math.isfinite(value) else limit for value in responses) / len(responses)
    metrics = {**now.evaluate(current).metrics, "response_time": response}
    objective = math.fsum(term.coefficient * metrics[term.metric] for term in now.terms if term.metric in metrics)
    return HourResult(objective, metrics, sum(not value <= limit for value in responses), refused)


@lru_cache(maxsize=1)
def departure_rates() -> Floats:
    """Departures an hour in every step of the year, averaged over half an hour."""
    counts = np.bincount((flights().time // STEP).astype(np.int64), minlength=365 * 24 * STEPS)
    return np.maximum(QUIETEST, np.convolve(counts, np.full(SMOOTHING, STEPS / SMOOTHING), "same"))
