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

    The price of a course is that of its replicas and of all late tuples. What has piled up when a later change begins is late,
    and does not delay what comes after it.
    """
    levels, steps = capacity_levels(operators), expected.demand.shape[1]
    now = np.array([running[operator.name] for operator in operators])
    delays = np.full((steps, len(levels.capacity)), prices.silence)
    delays[0] += expected.backlog / levels.capacity
    intervals = _interval_prices(levels, delays, expected, prices)
    intervals[0][:, (levels.replicas == now).all(axis=1)] = np.inf
    values, following = np.zeros(steps + 1), [(steps, 0)] * steps
    for begin in range(steps - 1, -1, -1):
        totals = intervals[begin] + values[1:, None]
        end, level = np.unravel_index(int(np.argmin(totals)), totals.shape)
        values[begin], following[begin] = totals[end, level], (int(end) + 1, int(level))
    capacity = min(operator.of(running[operator.name]) for operator in operators)
    kept_levels = CapacityLevels(now[None], np.array([capacity]))
    kept = _interval_prices(kept_levels, np.array([[expected.backlog / capacity]]), expected, prices)[0, :, 0] + values[1:]
    changing = () if np.isinf(values[0]) else tuple(_changes(following, 0))
    waiting = tuple(_changes(following, int(np.argmin(kept)) + 1))
    return Courses(float(values[0]), float(kept.min()), changing, waiting)


def _changes(following: Sequence[tuple[int, int]], begin: int) -> Iterator[CourseStep]:
    while begin < len(following):
        end, level = following[begin]
        yield CourseStep(begin, level)
        begin = end


def _interval_prices(levels: CapacityLevels, delays: Floats, expected: Expected, prices: ControlPrices) -> Floats:
    """Prices of levels from one step up to and with another, (first steps, last steps, levels); infinite where that is before.

    `delays` are those of tuples that arrive at the beginning, (first steps, levels).
    """
    (firsts, count), steps = delays.shape, expected.demand.shape[1]
    intervals = np.full((firsts, steps, count), np.inf)
    delay = np.repeat(delays[:, None, :], len(expected.demand), axis=1)  # first steps, scenarios, levels
    price = np.zeros((firsts, count))
    rent = prices.replica * levels.replicas.sum(axis=1)
    for step in range(steps):
        begun = slice(0, min(firsts, step + 1))
        load, seconds = expected.demand[:, step, None], float(expected.seconds[step])
        late, delay[begun] = late_seconds(load / levels.capacity, delay[begun], seconds, prices.late_after)
        price[begun] += rent * seconds + prices.late * (load * late).mean(axis=1)
        intervals[begun, step] = price[begun]
        if step + 1 < steps:
            piled_up = np.multiply(delay[begun], levels.capacity, out=np.zeros_like(delay[begun]), where=delay[begun] > 0)
            intervals[begun, step] += prices.late * piled_up.mean(axis=1)
    return intervals


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
