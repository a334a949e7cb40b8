"""Does it pay to decide for the loads that will probably follow? Days of departures, decided hour by hour.

    python benchmarks/rescale.py ahead --days 188 191 --load 1.5

A decision knows the load of the five minutes before the hour (a mean of half an hour, as in the enactment of departures) and the
key frequencies of the hour, and lasts for the hour. What it comes to is computed with the loads of the twelve steps of the
hour: the mean response time, in which a step that overloads a replica counts as the limit, and cost, downtime and moved state.
Deciders: the load of now with a utilisation that leaves headroom, and load scenarios, which come from a Markov chain over ten
levels of the loads of the first half of the year. Where a decider has no answer, the load of now alone is decided for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rescale_days import first_deployment

import edrp
from edrp.core.arrays import Floats
from edrp.datasets.families.migration.flight_day import FlightHour, flight_day
from edrp.datasets.traces.flights import flights
from edrp.mdp.chain.load_scenarios import load_scenarios
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.rescale.scenarios import multiplied

STEP, STEPS = 300.0, 12
"""Seconds of a step, and steps of an hour."""

SMOOTHING, KNOWN_DAYS = 6, 180
"""Steps over which departures are averaged, and days from which the chain is estimated."""

QUIETEST = 2.0
"""Departures in an hour that are taken at least: a load of 0 asks for nothing."""

DAYS = (188, 191, 195, 200, 213)


class Decider(NamedTuple):
    """How an hour is decided: the utilisation, and the least probability of a scenario; None without scenarios."""

    utilisation: float
    least: float | None

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


DECIDERS = (*(Decider(share, None) for share in (1.0, 0.9, 0.8, 0.7, 0.6)), *(Decider(1.0, least) for least in (0.01, 0.05, 0.1)))


class HourResult(NamedTuple):
    """Outcome of an hour; steps are those in which a replica was overloaded or the response time beyond its limit."""

    objective: float
    response_time: float
    cost: float
    downtime: float
    moved_state: float
    steps: int
    refused: bool


def ahead(
    days: Annotated[list[int] | None, typer.Option(help="Days of 2013, from 0.")] = None,
    load: Annotated[list[float] | None, typer.Option(help="By which the loads of the days are multiplied.")] = None,
    runs: Annotated[int, typer.Option(help="Runs of the search for each decision.")] = 3,
) -> None:
    """Deciders for the load of now, with headroom, and for load scenarios, over hours of real days."""
    chosen = tuple(days or DAYS)
    print(f"days {', '.join(map(str, chosen))}; sums and means a day\n")
    print(
        "| load | decided for | objective | of each day | bad steps | refused | response, ms | cost | downtime, s | moved, MB |"
    )
    print("|---" * 10 + "|")
    for factor in load or (1.0, 1.5):
        for decider in DECIDERS:
            found = [list(follow(day, factor, decider, runs)) for day in chosen]
            print(f"| × {factor:g} | {decider} |", " | ".join(_cells(found)), "|", flush=True)


def follow(day: int, factor: float, decider: Decider, runs: int) -> Iterator[HourResult]:
    """A day under a decider."""
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
        yield _result(hour, now, current, departure_rates()[at : at + STEPS], refused)


def with_rate(hour: FlightHour, rate: float) -> RescaleProblem:
    """The problem of an hour with the load of so many departures an hour."""
    return hour.problem.replace(application=multiplied(hour.problem.application, rate / hour.departures))


def _result(hour: FlightHour, now: RescaleProblem, current: KeyedDeployment, rates: Floats, refused: bool) -> HourResult:
    """Metrics of an hour under a deployment, its objective with the true response time."""
    metrics = now.evaluate(current).metrics
    limit = now.limits.response_time
    assert limit is not None
    responses = [with_rate(hour, float(rate)).evaluate(current).metrics["response_time"] for rate in rates]
    bad = sum(not response <= limit for response in responses)
    response = math.fsum(min(limit, value) if math.isfinite(value) else limit for value in responses) / len(responses)
    true = {**metrics, "response_time": response}
    objective = math.fsum(term.coefficient * true[term.metric] for term in now.terms if term.metric in true)
    return HourResult(objective, response, true["cost"], true["downtime"], true["moved_state"], bad, refused)


@lru_cache(maxsize=1)
def departure_rates() -> Floats:
    """Departures an hour in every step of the year, averaged over half an hour."""
    counts = np.bincount((flights().time // STEP).astype(np.int64), minlength=365 * 24 * STEPS)
    return np.maximum(QUIETEST, np.convolve(counts, np.full(SMOOTHING, STEPS / SMOOTHING), "same"))


def _cells(found: Sequence[Sequence[HourResult]]) -> list[str]:
    """Cells of a decider's row: totals by day, and means of what the hours came to."""
    objectives = [math.fsum(hour.objective for hour in day) for day in found]
    count, hours = len(found), [hour for day in found for hour in day]
    return [
        f"{np.mean(objectives):.3f}",
        " ".join(f"{value:.2f}" for value in objectives),
        f"{sum(hour.steps for hour in hours) / count:.1f}",
        f"{sum(hour.refused for hour in hours) / count:.1f}",
        f"{1e3 * np.mean([hour.response_time for hour in hours]):.2f}",
        f"{np.mean([hour.cost for hour in hours]):.2f}",
        f"{math.fsum(hour.downtime for hour in hours) / count:.1f}",
        f"{math.fsum(hour.moved_state for hour in hours) / count / 1e6:.0f}",
    ]
