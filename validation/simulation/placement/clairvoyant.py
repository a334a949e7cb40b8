"""Least cost of a day for those who know its rates: a dynamic program over replicas and backlogs with a certified bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.validation.simulation.placement.fluid_job import DayCost, FluidJob

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
