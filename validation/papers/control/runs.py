"""Runs of all policies on traced days, each next to the certified bound of the day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edrp.core.arrays import Ints
from edrp.report.progress import Tell
from edrp.validation.papers.control.days import TracedDay
from edrp.validation.papers.control.policies import autoscaler, ds2, follow, hold_peak, look_ahead, myopic, paying
from edrp.validation.papers.control.setting import SPEED, control_job
from edrp.validation.simulation.placement.clairvoyant import clairvoyant_day
from edrp.validation.simulation.placement.fluid_job import DayCost, FluidJob

OWN_PEAK, PAST_PEAK, MYOPIC, PAYING = "static, the day's peak", "static, past peak", "myopic", "myopic with penalty"
AUTOSCALER, DS2, ROLLING = "autoscaler's rule", "DS2", "rolling horizon"
KNOWING, OPTIMUM = "rolling horizon, rates known", "clairvoyant"

BASELINES = (OWN_PEAK, PAST_PEAK, MYOPIC, PAYING, AUTOSCALER, DS2)
"""Policies that the rolling horizon is compared with."""

Follow = Callable[[FluidJob, TracedDay], Ints]

COURSES: dict[str, Follow] = {
    OWN_PEAK: lambda job, day: follow(hold_peak(job, day.rates), job, day),
    PAST_PEAK: lambda job, day: follow(hold_peak(job, day.history), job, day),
    MYOPIC: lambda job, day: follow(myopic(job), job, day),
    PAYING: lambda job, day: follow(paying(job), job, day),
    AUTOSCALER: lambda job, day: follow(autoscaler(job), job, day),
    DS2: lambda job, day: follow(ds2(job), job, day),
    ROLLING: lambda job, day: follow(look_ahead(job, day), job, day),
    KNOWING: lambda job, day: follow(look_ahead(job, day, knowing=True), job, day),
}
"""Replicas of each period of a day, by the name of the policy."""


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
    rows: list[DayRow] = []
    for silence in silences:
        job = control_job(silence)
        for day in days:
            tell(f"{silence:g} s of silence, {day.data_set}, {day.name}")
            best = clairvoyant_day(job, day.rates)
            costs = {name: job.course(day.rates, course(job, day)) for name, course in COURSES.items()} | {OPTIMUM: best.day}
            tuples = float(day.rates.sum()) * job.period
            rows += [DayRow(day.data_set, day.name, silence, name, best.bound, cost, tuples) for name, cost in costs.items()]
    return rows
