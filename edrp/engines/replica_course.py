"""The cheapest courses of replicas over the steps of a forecast, with and without a change now.

A job takes as many tuples/s as its slowest operator. Of all vectors of replicas with the same capacity only the one with the
fewest replicas can be best, so that a dynamic program over these levels of capacity is exact: the sum of all operators' numbers
of replicas instead of their product.

Tuples are followed as a fluid. The delay D of a tuple that arrives now changes by λ/μ - 1 per second under load λ and capacity μ,
and a change that silences the job for S seconds starts at D = S plus what has piled up before. So a change under load λ makes
λ S / (1 - λ/μ) tuples late: those of the silence and those of the time in which the job catches up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class OperatorCapacity:
    """The load that an operator can take.

    Attributes
    ----------
    replicas : (choices,) numbers of replicas that are allowed, ascending.
    capacity : (choices,) tuples/s offered to the job that so many replicas keep up with; infinite where it is never the
        bottleneck.
    """

    name: str
    replicas: Ints
    capacity: Floats

    def of(self, replicas: int) -> float:
        """Capacity of so many replicas; of a number that is not listed, that of the next smaller one."""
        return float(self.capacity[max(0, int(np.searchsorted(self.replicas, replicas, side="right")) - 1)])


@dataclass(frozen=True, slots=True)
class ControlPrices:
    """Prices between which a controller weighs.

    Attributes
    ----------
    replica : price per replica and second.
    late : price per late tuple.
    silence : seconds without processing of a change.
    late_after : delay in seconds from which a tuple is late.
    """

    replica: float
    late: float
    silence: float
    late_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The load that is expected.

    Attributes
    ----------
    demand : (scenarios, steps) tuples/s of equally likely scenarios.
    seconds : (steps,) length of each step.
    backlog : tuples that wait at the beginning.
    """

    demand: Floats
    seconds: Floats
    backlog: float = 0.0


class CapacityLevels(NamedTuple):
    """Vectors of replicas that are the cheapest of those with at least their capacity.

    Attributes
    ----------
    replicas : (levels, operators).
    capacity : (levels,) tuples/s of the job, ascending.
    """

    replicas: Ints
    capacity: Floats


class CourseStep(NamedTuple):
    """A change in a course: the step before which it is made, and the level from then on."""

    step: int
    level: int


@dataclass(frozen=True, slots=True)
class Courses:
    """The cheapest course that changes now, and the cheapest that does not.

    Attributes
    ----------
    change_price, wait_price : of both; infinite where there is none.
    changing, waiting : their changes, in the order of time; the first one of `changing` is now.
    """

    change_price: float
    wait_price: float
    changing: tuple[CourseStep, ...]
    waiting: tuple[CourseStep, ...]


def capacity_levels(operators: Sequence[OperatorCapacity]) -> CapacityLevels:
    """For each capacity that an operator can have, the fewest replicas of all with at least as much, where possible.

    >>> a = OperatorCapacity("a", np.array([1, 2]), np.array([10.0, 20.0]))
    >>> b = OperatorCapacity("b", np.array([1, 2, 3]), np.array([6.0, 12.0, 18.0]))
    >>> capacity_levels([a, b]).replicas.tolist(), capacity_levels([a, b]).capacity.tolist()
    ([[1, 1], [1, 2], [2, 2], [2, 3]], [6.0, 10.0, 12.0, 18.0])
    """
    highest = [np.maximum.accumulate(operator.capacity) for operator in operators]
    most = min(float(values[-1]) for values in highest)
    wanted = np.unique(np.minimum(np.concatenate(highest), most))
    columns = [operator.replicas[np.searchsorted(values, wanted)] for operator, values in zip(operators, highest, strict=True)]
    replicas = np.unique(np.column_stack(columns), axis=0)
    capacity = np.array([min(o.of(int(n)) for o, n in zip(operators, row, strict=True)) for row in replicas])
    order = np.argsort(capacity, kind="stable")
    return CapacityLevels(replicas[order], capacity[order])


def best_courses(
    operators: Sequence[OperatorCapacity], running: Mapping[str, int], expected: Expected, prices: ControlPrices
) -> Courses:
    """Find the cheapest course with a change now, and the cheapest without one.

    The price of a course is that of its replicas and of all late tuples. Until a later change all scenarios are followed one by
    one; what has then piled up on average delays tuples until the new replicas have worked it off at the mean load. What waits at
    the end is late and takes replicas' time, so that load is never dropped.
    """
    levels, steps = capacity_levels(operators), expected.demand.shape[1]
    now = np.array([running[operator.name] for operator in operators])
    delays = np.full((steps, len(levels.capacity)), prices.silence)
    delays[0] += expected.backlog / levels.capacity
    program = _Program(levels, _intervals(levels, delays, expected, prices), expected, prices)
    others = np.where((levels.replicas == now).all(axis=1), np.inf, program.values[0])
    change_price = float(others.min())
    changing = () if np.isinf(change_price) else tuple(program.changes(CourseStep(0, int(others.argmin()))))
    kept = CapacityLevels(now[None], np.array([min(operator.of(running[operator.name]) for operator in operators)]))
    waiting = _intervals(kept, expected.backlog / kept.capacity[None], expected, prices)
    totals, following = program.continued(waiting, 0)
    end = int(totals[:, 0].argmin())
    return Courses(change_price, float(totals[end, 0]), changing, tuple(program.changes(CourseStep(end + 1, following[end, 0]))))


class _Intervals(NamedTuple):
    """Levels of capacity from one step up to and with another, each of shape (first steps, last steps, levels).

    Attributes
    ----------
    prices : of replicas and late tuples; infinite where the last step is before the first.
    piled_up : tuples that wait at the end, mean of the scenarios.
    """

    prices: Floats
    piled_up: Floats


class _Program:
    """The dynamic program over the steps at which a level begins.

    Attributes
    ----------
    values : (steps, levels) price of the best course from the beginning of a step on in which the level begins there.
    """

    def __init__(self, levels: CapacityLevels, intervals: _Intervals, expected: Expected, prices: ControlPrices) -> None:
        self._late, self._capacity = prices.late, levels.capacity
        self._at_end = prices.late + prices.replica * float((levels.replicas.sum(axis=1) / levels.capacity).min())
        self._load, self._rest = expected.demand.mean(axis=0), expected.seconds[::-1].cumsum()[::-1]
        steps, count = len(self._load), len(levels.capacity)
        self.values = np.zeros((steps, count))
        self._ends, self._following = np.zeros((2, steps, count), dtype=np.int64)
        for begin in range(steps - 1, -1, -1):
            totals, following = self.continued(intervals, begin)
            ends = totals.argmin(axis=0)
            self.values[begin] = np.take_along_axis(totals, ends[None], axis=0)[0]
            self._ends[begin] = begin + 1 + ends
            self._following[begin] = np.take_along_axis(following, ends[None], axis=0)[0]

    def continued(self, intervals: _Intervals, begin: int) -> tuple[Floats, Ints]:
        """Prices of intervals from a step on with the best that follows them, and the level of that, (last steps, levels)."""
        totals = intervals.prices[begin, begin:].copy()
        following = np.zeros(totals.shape, dtype=np.int64)
        load, rest = self._load[begin + 1 :, None, None], self._rest[begin + 1 :, None, None]
        piled_up, spare = intervals.piled_up[begin, begin:-1, :, None], self._capacity - load
        seconds = np.divide(
            piled_up, spare, out=np.full(np.broadcast_shapes(piled_up.shape, spare.shape), np.inf), where=spare > 0
        )
        seconds = np.where(piled_up > 0, np.minimum(seconds, rest), 0.0)
        after = self.values[begin + 1 :, None, :] + self._late * load * seconds
        totals[-1] += self._at_end * intervals.piled_up[begin, -1]
        following[:-1] = after.argmin(axis=2)
        totals[:-1] += after.min(axis=2)
        return totals, following

    def changes(self, first: CourseStep) -> Iterator[CourseStep]:
        """A change and all that follow it in the best course; none from the end on."""
        step, level = first
        while step < len(self.values):
            yield CourseStep(step, level)
            step, level = int(self._ends[step, level]), int(self._following[step, level])


def _intervals(levels: CapacityLevels, delays: Floats, expected: Expected, prices: ControlPrices) -> _Intervals:
    """All intervals that begin with one of the first steps.

    `delays` are those of tuples that arrive at the beginning, (first steps, levels).
    """
    (firsts, count), steps = delays.shape, expected.demand.shape[1]
    totals, waiting = np.full((firsts, steps, count), np.inf), np.zeros((firsts, steps, count))
    delay = np.repeat(delays[:, None, :], len(expected.demand), axis=1)  # first steps, scenarios, levels
    price = np.zeros((firsts, count))
    rent = prices.replica * levels.replicas.sum(axis=1)
    for step in range(steps):
        begun = slice(0, min(firsts, step + 1))
        load, seconds = expected.demand[:, step, None], float(expected.seconds[step])
        late, delay[begun] = late_seconds(load / levels.capacity, delay[begun], seconds, prices.late_after)
        price[begun] += rent * seconds + prices.late * (load * late).mean(axis=1)
        totals[begun, step] = price[begun]
        mean = delay[begun].mean(axis=1)
        waiting[begun, step] = np.multiply(mean, levels.capacity, out=np.zeros_like(mean), where=mean > 0)
    return _Intervals(totals, waiting)


def late_seconds(used: Floats, delay: Floats, step: float, late_after: float) -> tuple[Floats, Floats]:
    """Seconds of a step in which arriving tuples are late, and the delay at its end.

    Parameters
    ----------
    used
        Load over capacity.
    delay
        Seconds that a tuple waits which arrives at the beginning of the step.

    Examples
    --------
    >>> late, delay = late_seconds(np.array([0.5, 1.5, 1.0]), np.array([2.0, 0.0, 0.0]), 10.0, 0.0)
    >>> late.tolist(), delay.tolist()
    ([4.0, 10.0, 0.0], [0.0, 5.0, 0.0])
    """
    slope = np.broadcast_to(used - 1.0, delay.shape)
    crossing = np.divide(late_after - delay, slope, out=np.full(delay.shape, np.inf), where=slope != 0)
    crossing = np.clip(crossing, 0.0, step)  # when the delay passes what is late, if it ever does
    level = np.where(delay > late_after, step, 0.0)
    late = np.where(slope > 0, step - crossing, np.where(slope < 0, crossing, level))
    return late, np.maximum(0.0, delay + slope * step)
