"""Numbers of replicas for the hours to come: change now, later or not at all, whichever is cheapest over a rolling horizon.

A job takes as many tuples/s as its slowest operator. Of all vectors of replicas with the same capacity only the one with the
fewest replicas can be best, so that a dynamic program over these levels of capacity is exact: the sum of all operators' numbers
of replicas instead of their product.

Tuples are followed as a fluid. The delay D of a tuple that arrives now changes by (λ/μ - 1) per second under load λ and
capacity μ, and a change that silences the job for S seconds starts at D = S plus what has piled up before. So a change under
load λ makes λ S / (1 - λ/μ) tuples late: those of the silence and those of the time in which the job catches up. Backlog is a
delay here, never a load: what a change has caused itself does not lead to the next change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError

STEP_SLACK = 0.01
"""Share of a step by which a forecast may be shorter than the horizon."""


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


class LaterChange(NamedTuple):
    """A change that is planned: when, in seconds since 1970, and the replicas from then on."""

    at: float
    replicas: dict[str, int]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to do now, and what is planned.

    Attributes
    ----------
    replicas : number of replicas of each operator from now on.
    change : whether they are others than those that run.
    reason : why, in a sentence.
    at : changes planned for later, in the order of time; each decision plans anew.
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
        faults = [*_operator_faults(self.operators), *_price_faults(self.prices)]
        if faults:
            raise InvalidInstanceError(faults, "controller")

    def capacity(self, replicas: Mapping[str, int]) -> float:
        """Tuples/s that a vector of replicas keeps up with; of numbers that are not listed, as much as the next smaller one."""
        return min((_capacity(operator, replicas[operator.name]) for operator in self.operators), default=np.inf)

    def decide(
        self,
        now: float,
        running: Mapping[str, int],
        rate: float | None,
        backlog: float | None,
        demand: Floats,
        step: float,
        last_change: float | None = None,
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

        Raises
        ------
        InvalidInstanceError
            The forecast is shorter than the horizon or not of numbers from 0, or replicas of an operator are missing.
        """
        scenarios = np.atleast_2d(np.asarray(demand, dtype=float))
        _refuse(list(self._faults(running, scenarios, step)))
        if self.horizon is not None:
            scenarios = scenarios[:, : max(1, round(self.horizon / step))]
        if rate is not None:
            scenarios = scenarios.copy()
            scenarios[:, 0] = np.maximum(scenarios[:, 0], rate)
        until = self._catching_up(now, running, rate, backlog, last_change)
        if until is not None:
            began = clock_time(last_change or 0.0)
            why = f"the job catches up with the change of {began} until about {clock_time(until)}; that backlog is no load"
            return Outlook(dict(running), False, why)
        course = _Course(self, dict(running), scenarios, step, backlog or 0.0)
        return course.outlook(now, rate)

    def _catching_up(
        self, now: float, running: Mapping[str, int], rate: float | None, backlog: float | None, last_change: float | None
    ) -> float | None:
        """Time until which the backlog of the last change lasts; None where it is over, or the load passes the capacity."""
        if last_change is None or rate is None or backlog == 0:
            return None
        used = rate / self.capacity(running)
        if used >= 1.0:
            return None
        until = last_change + self.prices.silence / (1.0 - used)
        return until if now < until else None

    def _faults(self, running: Mapping[str, int], scenarios: Floats, step: float) -> Iterator[Fault]:
        for operator in self.operators:
            if operator.name not in running:
                yield Fault("running", operator.name, "is missing; name the replicas of every operator")
        if not step > 0:
            yield Fault("step", step, "must be positive")
        if scenarios.ndim != 2 or not scenarios.shape[1]:
            yield Fault("demand", str(scenarios.shape), "must have the shape (steps,) or (scenarios, steps), with a step or more")
        elif not (np.isfinite(scenarios).all() and (scenarios >= 0).all()):
            yield Fault("demand", "", "must be numbers from 0 on")
        elif self.horizon is not None and scenarios.shape[1] < self.horizon / step - STEP_SLACK:
            seconds = scenarios.shape[1] * step
            yield Fault("demand", f"{seconds:g} s", f"is a forecast shorter than the horizon of {self.horizon:g} s")


class _Levels(NamedTuple):
    """Levels of capacity: vectors of replicas that are the cheapest of those with at least their capacity.

    Attributes
    ----------
    replicas : (levels, operators).
    capacity : (levels,) tuples/s, ascending.
    """

    replicas: Ints
    capacity: Floats


class _Course:
    """The best courses from now on, with and without a change now."""

    def __init__(self, controller: RollingHorizon, running: dict[str, int], demand: Floats, step: float, backlog: float) -> None:
        self._controller, self._running, self._demand, self._step = controller, running, demand, step
        self._prices = controller.prices
        self._names = [operator.name for operator in controller.operators]
        self._levels = _capacity_levels(controller.operators)
        self._capacity_now = controller.capacity(running)
        now = np.array([running[name] for name in self._names])
        self._same: Bools = (self._levels.replicas == now).all(axis=1)
        steps = demand.shape[1]
        values, self._next = np.zeros(steps + 1), [(steps, 0)] * steps
        for begin in range(steps - 1, -1, -1):
            delays = self._prices.silence + (backlog / self._levels.capacity if begin == 0 else np.zeros(len(self._same)))
            totals = self._totals(self._levels.replicas.sum(axis=1), self._levels.capacity, delays, begin, values)
            if begin == 0:
                totals[:, self._same] = np.inf
            end, level = np.unravel_index(int(np.argmin(totals)), totals.shape)
            values[begin], self._next[begin] = totals[end, level], (begin + 1 + int(end), int(level))
        kept = self._totals(
            np.array([now.sum()]), np.array([self._capacity_now]), np.array([backlog / self._capacity_now]), 0, values
        )[:, 0]
        self._kept_until = int(np.argmin(kept)) + 1
        self.change_value, self.wait_value = float(values[0]), float(kept.min())

    def _totals(self, replicas: Ints, capacity: Floats, delays: Floats, begin: int, values: Floats) -> Floats:
        """Price of vectors of replicas from one step up to every end, and of the best course from there on, (ends, vectors)."""
        demand, step, prices = self._demand, self._step, self._prices
        delay = np.tile(delays, (len(demand), 1))
        totals = np.empty((demand.shape[1] - begin, len(replicas)))
        price = np.zeros(len(replicas))
        for index in range(begin, demand.shape[1]):
            load = demand[:, index, None]
            seconds, delay = _late_seconds(load / capacity, delay, step, prices.late_after)
            price = price + prices.replica * replicas * step + prices.late * (load * seconds).mean(axis=0)
            totals[index - begin] = price + values[index + 1]
            if index + 1 < demand.shape[1]:  # whoever follows inherits what has piled up
                piled_up = np.where(delay > 0, delay * capacity, 0.0)
                totals[index - begin] += prices.late * piled_up.mean(axis=0)
        return totals

    def outlook(self, now: float, rate: float | None) -> Outlook:
        """The cheaper of both: change now, or not."""
        saving = self.wait_value - self.change_value
        change = saving > 0
        later = tuple(self._later_changes(now, change))
        if change:
            vector = self._vector(self._next[0][1])
            return Outlook(vector, True, self._why_change(now, vector, later, rate, saving), later, saving)
        return Outlook(dict(self._running), False, self._why_wait(now, later, saving), later, saving)

    def _vector(self, level: int) -> dict[str, int]:
        return {**self._running, **dict(zip(self._names, map(int, self._levels.replicas[level]), strict=True))}

    def _later_changes(self, now: float, change: bool) -> Iterator[LaterChange]:
        begin = self._next[0][0] if change else self._kept_until
        while begin < self._demand.shape[1]:
            end, level = self._next[begin]
            yield LaterChange(now + begin * self._step, self._vector(level))
            begin = end

    def _amount(self, price: float) -> str:
        """A price in the unit that the user thinks in."""
        if self._prices.late > 0:
            return f"{price / self._prices.late:.3g} late tuples"
        return f"{price / (self._prices.replica or 1.0):.3g} replica-seconds"

    def _why_wait(self, now: float, later: Sequence[LaterChange], saving: float) -> str:
        if np.isinf(saving):
            return "no other numbers of replicas are allowed"
        more = f"a change now costs {self._amount(-saving)} more than it saves"
        back = self._load_returns()
        if back is not None and (not later or later[0].at > now + back[1] * self._step):
            return f"the load {back[0]} again at {clock_time(now + back[1] * self._step)}; {more}"
        if later:
            planned = _changes_text(self._running, later[0].replicas)
            return f"{planned} is planned for {clock_time(later[0].at)}; {more}"
        return f"what runs is best until {clock_time(now + self._demand.shape[1] * self._step)}; {more}"

    def _load_returns(self) -> tuple[str, int] | None:
        """Whether the load falls or rises back to what runs, and after how many steps; None where it does not."""
        seconds = np.where(self._demand[:, :, None] > self._levels.capacity, self._step, 0.0)
        late = (self._demand[:, :, None] * seconds).mean(axis=0) * self._prices.late
        wanted = self._levels.capacity[
            (self._prices.replica * self._levels.replicas.sum(axis=1) * self._step + late).argmin(axis=1)
        ]
        if wanted[0] == self._capacity_now:
            return None
        high = wanted[0] > self._capacity_now
        back = np.flatnonzero(wanted <= self._capacity_now if high else wanted >= self._capacity_now)
        return ("falls" if high else "rises", int(back[0])) if len(back) else None

    def _why_change(
        self, now: float, vector: Mapping[str, int], later: Sequence[LaterChange], rate: float | None, saving: float
    ) -> str:
        until = clock_time(later[0].at if later else now + self._demand.shape[1] * self._step)
        if rate is not None and rate > self._capacity_now:
            why = f"{rate:.4g} tuples/s are offered, and what runs takes {self._capacity_now:.4g}"
        else:
            why = f"{_changes_text(self._running, vector)} is best until {until}"
        return f"{why}; a change now saves {self._amount(saving)} more than it costs"


def clock_time(seconds: float) -> str:
    """Time of day of a second since 1970, in UTC.

    >>> clock_time(51000.0)
    '14:10'
    """
    return time.strftime("%H:%M", time.gmtime(seconds))


def _late_seconds(used: Floats, delay: Floats, step: float, late_after: float) -> tuple[Floats, Floats]:
    """Seconds of a step in which arriving tuples are late, and the delay at its end; `used` is the load over the capacity."""
    slope = used - 1.0
    end = np.maximum(0.0, delay + slope * step)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (late_after - delay) / slope  # when the delay passes what is late, if it ever does
    crossing = np.where(slope == 0, np.inf, np.clip(crossing, 0.0, step))
    late = np.where(slope > 0, step - crossing, np.where(slope < 0, crossing, np.where(delay > late_after, step, 0.0)))
    return late, end


def _capacity(operator: OperatorCapacity, replicas: int) -> float:
    index = int(np.searchsorted(operator.replicas, replicas, side="right")) - 1
    return float(operator.capacity[max(0, index)])


def _capacity_levels(operators: Sequence[OperatorCapacity]) -> _Levels:
    """For each capacity that an operator can have, the fewest replicas of all with at least as much, if possible."""
    highest = [np.maximum.accumulate(operator.capacity) for operator in operators]
    most = min(float(values[-1]) for values in highest)
    wanted = np.unique(np.minimum(np.concatenate(highest), most))
    columns = [operator.replicas[np.searchsorted(values, wanted)] for operator, values in zip(operators, highest, strict=True)]
    replicas = np.unique(np.column_stack(columns), axis=0)
    capacity = np.array([min(_capacity(o, int(n)) for o, n in zip(operators, row, strict=True)) for row in replicas], dtype=float)
    order = np.argsort(capacity, kind="stable")
    return _Levels(replicas[order], capacity[order])


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


def _price_faults(prices: ControlPrices) -> Iterator[Fault]:
    for name in ("replica", "late", "silence", "late_after"):
        value = getattr(prices, name)
        if not (np.isfinite(value) and value >= 0):
            yield Fault(f"prices.{name}", value, "must be a number from 0 on")


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise InvalidInstanceError(faults, "controller")
