"""Numbers of replicas for the hours to come: change now, later or not at all, whichever is cheapest over a rolling horizon.

A job takes as many tuples/s as its slowest operator. Of all vectors of replicas with the same capacity only the one with the
fewest replicas can be best, so that a dynamic program over these levels of capacity is exact: the sum of all operators' numbers
of replicas instead of their product.

Tuples are followed as a fluid. The delay D of a tuple that arrives now changes by λ/μ - 1 per second under load λ and capacity μ,
and a change that silences the job for S seconds starts at D = S plus what has piled up before. So a change under load λ makes
λ S / (1 - λ/μ) tuples late: those of the silence and those of the time in which the job catches up.

Backlog is a delay, never a load: what a change has caused itself does not lead to the next change. There are no bands around a
target: that a change costs is all that keeps replicas from following every minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError

STEP_SLACK = 0.01
"""Share of a step by which a forecast may be shorter than the horizon."""

IN_FLIGHT = 1.0
"""Seconds of load that are on their way at any time and no backlog."""


class LaterChange(NamedTuple):
    """A change that is planned: when, in seconds since 1970, and the replicas from then on."""

    at: float
    replicas: dict[str, int]


@dataclass(frozen=True, slots=True)
class Outlook:
    """A decision for now, and the changes planned for later.

    Attributes
    ----------
    replicas : number of replicas of each operator from now on.
    change : whether they are others than those that run.
    reason : why, in a sentence.
    at : changes planned for later, in the order of time; each decision plans again.
    saving : price of the best course that does not change now, less that of the best one that does; 0 while nothing is weighed.
    """

    replicas: dict[str, int]
    change: bool
    reason: str
    at: tuple[LaterChange, ...] = ()
    saving: float = 0.0


@dataclass(frozen=True, slots=True)
class RollingHorizon:
    """Decides numbers of replicas of all operators of a job together.

    Attributes
    ----------
    operators : capacities of each operator.
    prices : prices of replicas, late tuples and changes.
    horizon : seconds that are planned; None for as many as are forecast.

    Raises
    ------
    InvalidInstanceError
        All faults of capacities and prices.

    Examples
    --------
    >>> counter = OperatorCapacity("counter", np.array([1, 2]), np.array([100.0, 200.0]))
    >>> controller = RollingHorizon((counter,), ControlPrices(replica=1.0, late=1.0, silence=2.0))
    >>> outlook = controller.decide(0.0, {"counter": 1}, 80.0, 0.0, np.array([80.0, 80.0, 150.0, 150.0]), 600.0, None)
    >>> outlook.replicas, outlook.at
    ({'counter': 1}, (LaterChange(at=600.0, replicas={'counter': 2}),))
    >>> print(outlook.reason)
    counter 1 → 2 is planned for 00:10; a change now costs 600 late tuples more than it saves
    """

    operators: tuple[OperatorCapacity, ...]
    prices: ControlPrices
    horizon: float | None = None

    def __post_init__(self) -> None:
        faults = list(_operator_faults(self.operators))
        for name in ("replica", "late", "silence", "late_after"):
            value = getattr(self.prices, name)
            if not (np.isfinite(value) and value >= 0):
                faults.append(Fault(f"prices.{name}", f"{value:g}", "must be a number from 0 on"))
        InvalidInstanceError.raise_if_any(faults, "controller")

    def capacity(self, replicas: Mapping[str, int]) -> float:
        """Tuples/s that a vector of replicas keeps up with; of numbers that are not listed, as much as the next smaller one."""
        return min(operator.of(replicas[operator.name]) for operator in self.operators)

    def decide(
        self,
        now: float,
        running: Mapping[str, int],
        rate: float | None,
        backlog: float | None,
        demand: Floats,
        step: float,
        last_change: float | None = None,
        first: float | None = None,
    ) -> Outlook:
        """Decide whether to change now.

        Parameters
        ----------
        now
            Time in seconds since 1970.
        running
            Replicas that run, by operator.
        rate
            Tuples/s that are offered now; None where that is not known.
        backlog
            Tuples that are offered and not processed; None where that is not known, which counts as none.
        demand
            (steps,) tuples/s expected of the next steps, or (scenarios, steps) of scenarios that are equally likely.
        step
            Seconds of a step.
        last_change
            When the last change began, in seconds since 1970; None for none.
        first
            Seconds that are left of the first step; None for all of it.

        Raises
        ------
        InvalidInstanceError
            The forecast is shorter than the horizon or not of numbers from 0, or replicas of an operator are missing.
        """
        scenarios = np.atleast_2d(np.asarray(demand, dtype=float))
        InvalidInstanceError.raise_if_any(list(self._faults(running, scenarios, step)), "controller")
        if self.horizon is not None:
            scenarios = scenarios[:, : max(1, round(self.horizon / step))]
        if rate is not None:
            scenarios = scenarios.copy()
            scenarios[:, 0] = np.maximum(scenarios[:, 0], rate)
        if last_change is not None:
            load = float(scenarios[:, 0].mean()) if rate is None else rate
            until = self.catching_up(now, running, load, last_change, backlog)
            if until is not None:
                times = f"{clock_time(last_change)} until about {clock_time(until)}"
                why = f"the job catches up with the change of {times}; that backlog is no load"
                return Outlook(dict(running), False, why)
        seconds = np.full(scenarios.shape[1], float(step))
        seconds[0] = step if first is None else first
        return _Weighing(self, running, Expected(scenarios, seconds, backlog or 0.0), now).outlook(rate)

    def catching_up(
        self, now: float, running: Mapping[str, int], rate: float, last_change: float, backlog: float | None = None
    ) -> float | None:
        """Time until which the backlog of the last change lasts; None where it is over, or the load passes the capacity."""
        capacity = self.capacity(running)
        if rate >= capacity or (backlog is not None and backlog <= IN_FLIGHT * rate):
            return None
        until = last_change + self.prices.silence * capacity / (capacity - rate) if np.isfinite(capacity) else last_change
        if backlog is not None:
            until = min(until, now + backlog / (capacity - rate))
        return until if now < until else None

    def _faults(self, running: Mapping[str, int], scenarios: Floats, step: float) -> Iterator[Fault]:
        for operator in self.operators:
            if operator.name not in running:
                yield Fault("running", operator.name, "is missing; name the replicas of every operator")
        if not step > 0:
            yield Fault("step", f"{step:g}", "must be positive")
        if scenarios.ndim != 2 or not scenarios.shape[1]:
            yield Fault("demand", str(scenarios.shape), "must have the shape (steps,) or (scenarios, steps), with a step or more")
        elif not (np.isfinite(scenarios).all() and (scenarios >= 0).all()):
            yield Fault("demand", "", "must be numbers from 0 on")
        elif self.horizon is not None and (scenarios.shape[1] + STEP_SLACK) * step < self.horizon:
            seconds = scenarios.shape[1] * step
            yield Fault("demand", f"{seconds:g} s", f"is a forecast shorter than the horizon of {self.horizon:g} s")


class _Weighing:
    """Weighs a change now against the best course without one, and says why."""

    def __init__(self, controller: RollingHorizon, running: Mapping[str, int], expected: Expected, now: float) -> None:
        self._running, self._expected, self._now = dict(running), expected, now
        self._prices, self._levels = controller.prices, capacity_levels(controller.operators)
        self._names = [operator.name for operator in controller.operators]
        self._capacity = controller.capacity(running)
        self._begins = now + np.concatenate([[0.0], np.cumsum(expected.seconds)])
        self._courses = best_courses(controller.operators, running, expected, controller.prices)

    def outlook(self, rate: float | None) -> Outlook:
        """The cheaper of both."""
        courses = self._courses
        saving = courses.wait_price - courses.change_price
        steps = courses.changing if saving > 0 else courses.waiting
        later = tuple(LaterChange(float(self._begins[step]), self._vector(level)) for step, level in steps if step > 0)
        if saving > 0:
            vector = self._vector(steps[0].level)
            return Outlook(vector, True, self._why_change(vector, later, rate, saving), later, saving)
        return Outlook(dict(self._running), False, self._why_wait(later, saving), later, saving)

    def _vector(self, level: int) -> dict[str, int]:
        return {**self._running, **dict(zip(self._names, map(int, self._levels.replicas[level]), strict=True))}

    def _amount(self, price: float) -> str:
        """A price in late tuples, or in replica-seconds where these cost nothing."""
        worth, unit = (self._prices.late, "late tuples") if self._prices.late > 0 else (self._prices.replica, "replica-seconds")
        amount = price / (worth or 1.0)
        return f"{amount:,.0f} {unit}" if amount >= 100 else f"{amount:.3g} {unit}"

    def _why_wait(self, later: Sequence[LaterChange], saving: float) -> str:
        if np.isinf(saving):
            return "no other numbers of replicas are allowed"
        more = f"a change now costs {self._amount(-saving)} more than it saves"
        back = self._load_returns()
        if back is not None and (not later or later[0].at > back[1]):
            return f"the load {back[0]} again at {clock_time(back[1])}; {more}"
        if later:
            planned = _changes_text(self._running, later[0].replicas)
            return f"{planned} is planned for {clock_time(later[0].at)}; {more}"
        return f"what runs is best until {clock_time(self._begins[-1])}; {more}"

    def _load_returns(self) -> tuple[str, float] | None:
        """Whether the load falls or rises back to what runs, and when; None where it does not."""
        demand = self._expected.demand
        high = demand[:, 0].mean() > self._capacity
        if high:
            back = np.flatnonzero(demand.mean(axis=0) <= self._capacity)
        else:
            level = np.searchsorted(self._levels.capacity, demand.max(axis=0)).clip(max=len(self._levels.capacity) - 1)
            back = np.flatnonzero(self._levels.capacity[level] >= self._capacity)
            back = back if len(back) and back[0] > 0 else back[:0]
        return ("falls" if high else "rises", float(self._begins[back[0]])) if len(back) else None

    def _why_change(self, vector: Mapping[str, int], later: Sequence[LaterChange], rate: float | None, saving: float) -> str:
        until = clock_time(later[0].at if later else self._begins[-1])
        why = f"{_changes_text(self._running, vector)} is best until {until}"
        if rate is not None and rate > self._capacity:
            why = f"{rate:.4g} tuples/s are offered, and what runs takes {self._capacity:.4g}"
        return f"{why}; a change now saves {self._amount(saving)} more than it costs"


def clock_time(seconds: float) -> str:
    """Time of day of a second since 1970, in UTC.

    >>> clock_time(51000.0)
    '14:10'
    """
    return time.strftime("%H:%M", time.gmtime(seconds))


def _changes_text(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {before[name]} → {count}" for name, count in after.items() if count != before[name])


def _operator_faults(operators: Sequence[OperatorCapacity]) -> Iterator[Fault]:
    if not operators:
        yield Fault("operators", "", "are empty; give at least one")
    for index, operator in enumerate(operators):
        place = f"operators[{index}]"
        replicas, capacity = np.asarray(operator.replicas), np.asarray(operator.capacity, dtype=float)
        if not len(replicas) or replicas.shape != capacity.shape:
            yield Fault(place, operator.name, "needs as many capacities as numbers of replicas, and one or more")
        elif replicas[0] < 1 or (np.diff(replicas) <= 0).any():
            yield Fault(f"{place}.replicas", operator.name, "must rise from 1 or more")
        elif not (capacity > 0).all():
            yield Fault(f"{place}.capacity", operator.name, "must be positive")


@dataclass(frozen=True, slots=True)
class OperatorCapacity:
    """The load that an operator can take.

    Attributes
    ----------
    replicas : (choices,) numbers of replicas that are allowed, ascending.
    capacity : (choices,) tuples/s offered to the job that each number of replicas keeps up with; infinite where it is never the
        bottleneck.
    """

    name: str
    replicas: Ints
    capacity: Floats

    def of(self, replicas: int) -> float:
        """Capacity of `replicas` replicas; of a number that is not listed, that of the next smaller one."""
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
