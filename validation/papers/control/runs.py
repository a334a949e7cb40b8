"""Runs of all policies on traced days, each next to the certified bound of the day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edrp.report.progress import Tell
from edrp.validation.papers.control.days import TracedDay
from edrp.validation.papers.control.policies import (
    Policy,
    autoscaler,
    ds2,
    follow,
    forecasts,
    hold_peak,
    known_rates,
    look_ahead,
    myopic,
    paying,
)
from edrp.validation.papers.control.setting import SPEED, control_job
from edrp.validation.simulation.placement.clairvoyant import clairvoyant_day
from edrp.validation.simulation.placement.fluid_job import DayCost, FluidJob

OWN_PEAK, PAST_PEAK, MYOPIC, PAYING = "static, the day's peak", "static, past peak", "myopic", "myopic with penalty"
AUTOSCALER, DS2, ROLLING = "autoscaler's rule", "DS2", "rolling horizon"
KNOWING, OPTIMUM = "rolling horizon, rates known", "clairvoyant"

Start = Callable[[FluidJob, TracedDay], Policy]

RULES: dict[str, Start] = {
    OWN_PEAK: lambda job, day: hold_peak(job, day.rates),
    PAST_PEAK: lambda job, day: hold_peak(job, day.history),
    MYOPIC: lambda job, day: myopic(job),
    PAYING: lambda job, day: paying(job),
    AUTOSCALER: lambda job, day: autoscaler(job),
    DS2: lambda job, day: ds2(job),
}
"""Policies that the rolling horizon is compared with, by their names."""


@dataclass(frozen=True, slots=True)
class DayRow:
    """A day under a policy.

    Attributes
    ----------
    bound : certified bound on the cost of any course, in replica-seconds.
    cost : what the policy came to.
    tuples : of the day.
    """

    data_set: str
    day: str
    silence: float
    policy: str
    bound: float
    cost: DayCost
    tuples: float

    @property
    def ratio(self) -> float:
        """The certificate: the cost is at most so many times the least possible."""
        return self.cost.cost / self.bound

    @property
    def late(self) -> float:
        """Share of the tuples that are late."""
        return self.cost.late / self.tuples

    @property
    def replica_hours(self) -> float:
        """Hours of replicas, of the original day."""
        return self.cost.replica_seconds * SPEED / 3600


def run_days(days: Sequence[TracedDay], silences: Sequence[float], tell: Tell = str) -> list[DayRow]:
    """Run every policy on every day at every silence; the last row of a day is the course of the bound itself."""
    return [row for day in days for row in _run_day(day, silences, tell)]


def _run_day(day: TracedDay, silences: Sequence[float], tell: Tell) -> Iterator[DayRow]:
    tell(f"{day.data_set}, {day.name}")
    demands = {ROLLING: forecasts(day), KNOWING: known_rates(day)}
    for silence in silences:
        job = control_job(silence)
        best, tuples = clairvoyant_day(job, day.rates), float(day.rates.sum()) * job.period
        policies = {name: start(job, day) for name, start in RULES.items()}
        policies |= {name: look_ahead(job, expected) for name, expected in demands.items()}
        costs = {name: job.course(day.rates, follow(policy, job, day)) for name, policy in policies.items()}
        for name, cost in {**costs, OPTIMUM: best.day}.items():
            yield DayRow(day.data_set, day.name, silence, name, best.bound, cost, tuples)
