"""A job as a fluid queue, and the least cost of a day for those who know its rates, with a certified bound.

Replicas serve what arrives, every change of them silences the job, and tuples that wait are late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints


@dataclass(frozen=True)
class FluidJob:
    """A chain of operators with its prices. A cost is in replica-seconds: the cost of one replica for a second is 1.

    The job is one queue, served in order at the capacity of its bottleneck. It is not served for `silence` seconds from the
    begin of a period whose replicas are not those of the period before. A tuple is late if the wait that it meets when it
    arrives, at the capacity of then, is longer than `bound`.

    Attributes
    ----------
    names : of the operators.
    capacities : for each operator, tuples/s of the job that 1, 2, … replicas serve together, increasing.
    period : seconds from one decision to the next.
    silence : seconds, at most `period`.
    bound : seconds.
    late_price : replica-seconds for each late tuple.

    Examples
    --------
    >>> job = FluidJob(("parser", "counter"), ((100.0, 200.0), (50.0, 100.0, 150.0)), 10.0, 2.0, 0.5, 0.1)
    >>> job.fewest(90.0).tolist(), job.capacity([2, 3])
    ([1, 2], 150.0)
    >>> job.course([30.0, 75.0], [[1, 1], [1, 2]]).late  # the change takes 2 s, and three quarters of a second per second
    450.0
    """

    names: tuple[str, ...]
    capacities: tuple[tuple[float, ...], ...]
    period: float
    silence: float
    bound: float
    late_price: float

    def __post_init__(self) -> None:
        if not 0 <= self.silence <= self.period:
            raise ValueError(f"a silence of {self.silence:g} s does not fit into a period of {self.period:g} s")

    def capacity(self, replicas: Sequence[int] | Ints) -> float:
        """Tuples/s that the bottleneck serves."""
        return min(curve[number - 1] for curve, number in zip(self.capacities, replicas, strict=True))

    def fewest(self, rate: float) -> Ints:
        """Fewest replicas of each operator that serve a rate; all of them where these are too few."""
        return np.array([min(len(curve), 1 + int(np.searchsorted(curve, rate))) for curve in self.capacities])

    @cached_property
    def levels(self) -> Ints:
        """Vectors of replicas, one a row, of which none has a smaller bottleneck than one with as few or fewer replicas.

        Others are never worth their cost: the vector with the fewest replicas for the same bottleneck has no more late tuples.
        """
        rates = sorted({rate for curve in self.capacities for rate in curve})
        return np.unique([self.fewest(rate) for rate in rates], axis=0)

    @cached_property
    def vectors(self) -> Ints:
        """All vectors of replicas, one a row."""
        return np.array(list(product(*(range(1, len(curve) + 1) for curve in self.capacities))))

    def step(
        self, rate: float, capacity: float | Floats, backlog: float | Floats, silence: float | Floats
    ) -> tuple[Floats, Floats]:
        """Late tuples and the backlog at the end of a period; arguments may be arrays that broadcast.

        The wait of a tuple that arrives s seconds into the period is silence + backlog / capacity + (rate / capacity − 1)·s,
        and never negative: it is linear during the silence and after it alike.
        """
        wait = silence + np.divide(backlog, capacity)
        slope = np.divide(rate, capacity) - 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.clip((self.bound - wait) / slope, 0.0, self.period)  # when the wait passes the bound
        falling = np.where(wait > self.bound, crossing, 0.0)
        level = np.where(wait > self.bound, self.period, 0.0)
        late_time = np.where(slope < 0, falling, np.where(slope > 0, self.period - crossing, level))
        left = backlog + rate * self.period - capacity * (self.period - silence)
        return rate * late_time, np.maximum(left, 0.0)

    def course(self, rates: Sequence[float] | Floats, replicas: Sequence[Sequence[int]] | Ints) -> DayCost:
        """The cost of a day by the replicas of each of its periods, the first of which cost no change."""
        seconds, late, changes, backlog = 0.0, 0.0, 0, 0.0
        before = None
        for rate, row in zip(rates, replicas, strict=True):
            vector = tuple(int(number) for number in row)
            changed = before not in (None, vector)
            lost, left = self.step(rate, self.capacity(vector), backlog, changed * self.silence)
            seconds, late, changes = seconds + self.period * sum(vector), late + float(lost), changes + changed
            before, backlog = vector, float(left)
        return DayCost(seconds, late, changes, seconds + self.late_price * late)


class DayCost(NamedTuple):
    """Totals of a day: replica-seconds, late tuples, changes, and the cost in replica-seconds."""

    replica_seconds: float
    late: float
    changes: int
    cost: float


FIRST_BACKLOG = 0.5
"""Least backlog above 0 that the dynamic program tells from 0, in tuples."""

BACKLOG_RATIO = 1.02
"""Ratio of neighbouring backlogs of the dynamic program."""


@dataclass(frozen=True, slots=True)
class ClairvoyantDay:
    """A bound on the cost of every course of replicas, and a course that comes near to it.

    Attributes
    ----------
    bound : no course costs less, in replica-seconds.
    course : replicas by period and operator.
    day : what this course costs.
    """

    bound: float
    course: Ints
    day: DayCost

    @property
    def gap(self) -> float:
        """Share of the bound by which the cost of the course is above it."""
        return self.day.cost / self.bound - 1.0


def clairvoyant_day(job: FluidJob, rates: Floats) -> ClairvoyantDay:
    """Bound the cost of a day from below, and give a course of replicas for it.

    The dynamic program goes backward over the periods; its states are the replicas of the period before and the backlog. After
    each period the backlog is rounded down to the next one of a list. Less backlog never costs more, so the value of the empty
    queue before the first period is a lower bound for all courses. The course takes in each period what is best by these
    values, with the true backlog. Replicas that serve no more than fewer ones are left out, as `FluidJob.levels` explains.

    Parameters
    ----------
    rates : shape (periods,)
        Tuples/s.

    Examples
    --------
    >>> job = FluidJob(("a",), ((50.0, 100.0),), 10.0, 1.0, 0.5, 0.1)
    >>> day = clairvoyant_day(job, np.array([40.0, 90.0, 90.0]))
    >>> day.bound, day.course.ravel().tolist(), day.day.changes  # a change would make 450 tuples late, another replica costs 10
    (60.0, [2, 2, 2], 0)
    """
    levels = job.levels
    capacities = np.array([job.capacity(level) for level in levels])
    rent = job.period * levels.sum(axis=1)
    backlogs = _backlogs(job, rates, float(capacities.min()))
    rows = np.arange(len(levels))[:, None]
    values = np.zeros((len(levels), backlogs.size))
    later = []  # by period, from the last to the first: values after it
    for rate in rates[::-1]:
        later.append(values)
        by_silence = []
        for silence in (0.0, job.silence):
            late, left = job.step(rate, capacities[:, None], backlogs[None], silence)
            next_backlog = np.searchsorted(backlogs, left, side="right") - 1
            by_silence.append(rent[:, None] + job.late_price * late + values[rows, next_backlog])
        stay, change = by_silence
        values = np.minimum(stay, change.min(axis=0))
    bound = float(stay[:, 0].min())
    course = levels[_chosen(job, rates, capacities, backlogs, rent, later[::-1])]
    return ClairvoyantDay(bound, course, job.course(rates, course))


def _backlogs(job: FluidJob, rates: Floats, capacity: float) -> Floats:
    """Backlogs from 0 to more than there can ever be, at this smallest capacity, growing by a constant ratio."""
    most = FIRST_BACKLOG + capacity * job.silence * rates.size + float(np.maximum(rates - capacity, 0.0).sum()) * job.period
    count = 1 + int(np.ceil(np.log(most / FIRST_BACKLOG) / np.log(BACKLOG_RATIO)))
    return np.concatenate([[0.0], FIRST_BACKLOG * BACKLOG_RATIO ** np.arange(count)])


def _chosen(job: FluidJob, rates: Floats, capacities: Floats, backlogs: Floats, rent: Floats, later: list[Floats]) -> list[int]:
    """Rows of the levels that are best by the values after each period, from the empty queue on."""
    rows = np.arange(capacities.size)
    chosen: list[int] = []
    backlog = 0.0
    for rate, values in zip(rates, later, strict=True):
        silences = np.where(rows == chosen[-1], 0.0, job.silence) if chosen else np.zeros(rows.size)
        late, left = job.step(rate, capacities, backlog, silences)
        next_backlog = np.searchsorted(backlogs, left, side="right") - 1
        chosen.append(int(np.argmin(rent + job.late_price * late + values[rows, next_backlog])))
        backlog = float(left[chosen[-1]])
    return chosen
