"""The lower bound at given multipliers: a shortest path over intervals without change, whose lengths are evaluated lazily.

An interval is one priced problem of kind `edrp`: latencies and rates are averaged over its periods by their weights. The mean of
maxima over paths is at least the maximum of the means, so that its optimum is a lower bound. Bounds of the parts of an interval
sum to one of the whole, since multipliers telescope; only intervals on a shortest path under these bounds are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.errors import OutOfTimeError
from edrp.core.tolerances import SAME_VALUE
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.pool import DeploymentPool, Origin
from edrp.placement.compiled import Compiled
from edrp.placement.counted_values import CELL_WORK
from edrp.placement.sequence_arrays import SequenceArrays

SolvePriced = Callable[..., Any]
"""`edrp.formulations.placement.priced.solve_priced`, which this room gets from those that know both."""

SolveUnderLoads = Callable[..., Any]
"""`edrp.formulations.placement.priced.solve_under_loads`."""

LOSS_SHARE = 1.5e-3
"""Loss of an interval by means, relative to the cost of the best course, from which on its periods are told apart."""

MAX_REFINED = 10
"""Intervals at most whose periods are told apart in one pass."""

APART_SHARE = 0.25
"""Share of a priced problem's units that telling its periods apart may take; most take a few."""

PRICED_WORK = 8e-4
"""Units of work of a priced problem per operator and node, beyond what its search counts."""


def differing_rows(periods: Sequence[Compiled], method: str) -> str | None:
    """Why a method whose periods have the same rows does not take these; None where they are the same."""
    first = periods[0].rules
    if all(period.rules.same_rows(first) for period in periods[1:]):
        return None
    return f"rules or metrics of your own, or limits on these, differ between loads, which {method} does not take into account"


def averaged(periods: tuple[Compiled, ...]) -> Compiled:
    """One problem for several periods, whose objective is at most the sum of theirs for every deployment.

    Latencies, rates and limits are means by the weights of the periods, which are proportional to their durations.
    """
    if len(periods) == 1:
        return periods[0]
    weight = {metric: sum(period.weight[metric] for period in periods) for metric in periods[0].weight}
    leading = next((metric for metric in weight if weight[metric] > 0), None)
    share = np.array([period.weight[leading] / weight[leading] if leading else 1 / len(periods) for period in periods])
    limits = {metric: float(share @ [period.limit[metric] for period in periods]) for metric in periods[0].limit}
    rules = replace(periods[0].rules, penalty=np.sum([period.rules.penalty for period in periods], axis=0))
    return replace(
        periods[0],
        latency=np.tensordot(share, [period.latency for period in periods], 1),
        fewest_replicas=np.max([period.fewest_replicas for period in periods], axis=0),
        stream_rate=share @ [period.stream_rate for period in periods],
        load=share @ [period.load for period in periods],
        weight=weight,
        limit=limits,
        rules=rules,
    )


def worst(periods: tuple[Compiled, ...]) -> Compiled:
    """One problem whose deployments are feasible in all of several periods, and whose objective is at least their sum."""
    return replace(
        averaged(periods),
        latency=np.max([period.latency for period in periods], axis=0),
        stream_rate=np.max([period.stream_rate for period in periods], axis=0),
        load=np.max([period.load for period in periods], axis=0),
        limit={metric: min(period.limit[metric] for period in periods) for metric in periods[0].limit},
    )


@dataclass
class IntervalBounds:
    """Lower bounds on the cost of a sequence at multipliers; the pool takes up what priced problems find.

    Attributes
    ----------
    priced : number of priced problems that were solved.
    infeasible : period in which no deployment is feasible; None where none is known.
    cut : whether the work of some priced problem ended before its proof.
    free : shape (periods,), proven least cost of each period without any price.
    """

    arrays: SequenceArrays
    coordinates: ChangeCoordinates
    origin: Origin
    pool: DeploymentPool
    solve: SolvePriced
    solve_under_loads: SolveUnderLoads
    priced: int = 0
    infeasible: int | None = None
    cut: bool = False
    free: Floats = field(init=False)
    _averages: dict[tuple[int, int], Compiled] = field(default_factory=dict)
    _proven: dict[tuple[int, int], tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = np.zeros(len(self.arrays.periods))

    def bound(
        self, multipliers: Floats, precision: float, units: Callable[[], float | None], levels: Floats, best: float = np.inf
    ) -> float:
        """A lower bound on the cost of all courses.

        Parameters
        ----------
        multipliers
            Shape (periods + 1, coordinates), within [0, upper]; 0 at the last border.
        precision
            Seconds of objective by which the bounds of all periods together may miss their optima.
        units
            Called before each priced problem for the units of work that it may take, None for any number.
        levels
            Of the borders, shape (periods + 1,), that the pool's relaxation has: what they ask of an interval is enough.
        best
            Cost at which a path needs no more evaluations.
        """
        path = _IntervalPath(self, multipliers, precision / len(self.arrays.periods), units, levels)
        try:
            for t in range(path.periods):  # in order, so that those known at any time are a prefix
                if self.infeasible is None:
                    path.evaluate(t, t + 1)
            while self.infeasible is None and (todo := path.unknown(best) or path.lossy(best)):
                for interval in todo:
                    path.refine(*interval) if interval in path.exact else path.evaluate(*interval)
        except OutOfTimeError:
            pass  # prefixes that were evaluated make a bound, too
        return path.value()

    def average(self, start: int, end: int) -> Compiled:
        """The averaged problem of an interval; kept, because only prices change."""
        if (start, end) not in self._averages:
            self._averages[start, end] = averaged(self.arrays.periods[start:end])
        return self._averages[start, end]

    def known(self, multipliers: Floats) -> Floats:
        """Bounds under these multipliers that those under others imply, shape (periods + 1, periods + 1), by start and end."""
        count = len(multipliers)
        low = np.full((count, count), -np.inf)
        for t in range(count - 1):
            low[t, t + 1] = self._least(multipliers[t] - multipliers[t + 1])
        for (start, end), (net, value) in self._proven.items():
            implied = value + self._least(multipliers[start] - multipliers[end] - net)
            low[start, end] = max(low[start, end], implied)
        return low

    def solve_interval(
        self, start: int, end: int, net: Floats, precision: float, units: float | None, cutoff: float = np.inf
    ) -> float:
        """A lower bound on the cost of deployments in an interval under net multipliers, shape (coordinates,).

        At `cutoff` a bound is good enough.
        """
        compiled, pool = self.average(start, end), self.pool
        known, gap = self._begin(start, end, net, precision)
        answer = self.solve(
            self.coordinates.priced(compiled, net),
            units,
            start=known,
            cutoff=cutoff,
            gap=gap,
        )
        self.priced += 1
        spend(PRICED_WORK * compiled.candidate.size)
        self.cut |= not answer.proven
        if answer.counts is not None:
            pool.add(np.array([answer.counts, *answer.others]))
            pool.expand([pool.index(answer.counts)] if pool.index(answer.counts) >= 0 else [])
        if end == start + 1 and answer.bound == np.inf:
            self.infeasible = start
        return self._prove(start, end, net, float(answer.bound))

    def solve_apart(self, start: int, end: int, net: Floats, precision: float, units: float | None) -> float:
        """The same with the response time of each period by itself, which takes longer."""
        known, gap = self._begin(start, end, net, precision)
        answer = self.solve_under_loads(
            self.coordinates.priced(self.average(start, end), net),
            self.arrays.periods[start:end],
            np.inf if units is None else APART_SHARE * units,
            start=known,
            gap=gap,
        )
        self.priced += 1
        if answer.counts is not None:
            self.pool.add(answer.counts[None])
        return self._prove(start, end, net, float(answer.bound))

    def _begin(self, start: int, end: int, net: Floats, precision: float) -> tuple[Ints | None, float]:
        """The best deployment of the pool for an interval, None without any, and a relative gap that is good enough."""
        total = self.pool.values[:, start:end].sum(axis=1) + self.pool.coordinates @ net
        member = int(total.argmin()) if total.size else -1
        known = member >= 0 and bool(np.isfinite(total[member]))
        level = abs(float(total[member])) if known else 0.0
        gap = max(SAME_VALUE, (end - start) * precision / max(level, precision))
        return (self.pool.counts[member] if known else None), gap

    def loss(self, start: int, end: int, net: Floats, bound: float) -> float:
        """By how much the best deployment of the pool for an interval is above a bound."""
        total = self.pool.values[:, start:end].sum(axis=1) + self.pool.coordinates @ net
        return float(total.min()) - bound

    def _prove(self, start: int, end: int, net: Floats, bound: float) -> float:
        """Keep a bound; what an earlier one implies may be more."""
        bound = max(bound, self._least(net))
        if (start, end) in self._proven:
            before, value = self._proven[start, end]
            bound = max(bound, value + self._least(net - before))
        self._proven[start, end] = net, bound
        return bound

    def _least(self, prices: Floats) -> float:
        """Costs are at least 0, and coordinates within their ranges."""
        return self.coordinates.least_worth(prices, self.arrays.periods[0])


class _IntervalPath:
    """Bounds of intervals at some multipliers, and the shortest path over them."""

    def __init__(
        self,
        bounds: IntervalBounds,
        multipliers: Floats,
        precision: float,
        units: Callable[[], float | None],
        levels: Floats,
    ) -> None:
        self.bounds, self.multipliers, self.precision, self.units = bounds, multipliers, precision, units
        self.levels = levels
        self.periods = len(bounds.arrays.periods)
        self.fixed = bounds.coordinates.fixed
        self.exact: dict[tuple[int, int], float] = {}
        self.apart: set[tuple[int, int]] = set()
        self.low = bounds.known(multipliers)

    def evaluate(self, start: int, end: int) -> None:
        """Bound an interval; one of several periods by no more than what two intervals in its place have to cost."""
        net = self.multipliers[start] - self.multipliers[end]
        cutoff = np.inf
        if end > start + 1 and np.isfinite(rise := float(self.levels[end]) - float(self.levels[start])):
            cutoff = rise + (0.0 if start else self.fixed - self.bounds.origin.entry(self.fixed))
        self.exact[start, end] = self.bounds.solve_interval(start, end, net, self.precision, self.units(), cutoff)
        self.low[start, end] = max(self.low[start, end], self.exact[start, end])
        if not net.any() and end == start + 1:
            self.bounds.free[start] = max(self.bounds.free[start], self.exact[start, end])

    def refine(self, start: int, end: int) -> None:
        """Bound an interval with its periods apart."""
        net = self.multipliers[start] - self.multipliers[end]
        self.apart.add((start, end))
        self.exact[start, end] = self.bounds.solve_apart(start, end, net, self.precision, self.units())
        self.low[start, end] = max(self.low[start, end], self.exact[start, end])

    def lossy(self, best: float) -> list[tuple[int, int]]:
        """The interval of the shortest path that loses most by the means of its periods; none where all lose little."""
        potential, before = self._potentials()
        if self.fixed == 0 or potential[-1] >= best or len(self.apart) >= MAX_REFINED:
            return []
        losses, end = {}, self.periods
        while end:
            start = int(before[end])
            if end > start + 1 and (start, end) in self.exact and (start, end) not in self.apart:
                net = self.multipliers[start] - self.multipliers[end]
                losses[start, end] = self.bounds.loss(start, end, net, self.low[start, end])
            end = start
        least = LOSS_SHARE * abs(float(potential[-1]))
        worst_first = sorted(losses, key=losses.__getitem__, reverse=True)
        return [interval for interval in worst_first[:1] if losses[interval] > least]

    def unknown(self, best: float) -> list[tuple[int, int]]:
        """Intervals on a shortest path that are not evaluated yet; none where this path costs as much as the best course."""
        if self.fixed == 0:
            return []
        self._sum_parts()
        potential, before = self._potentials()
        if potential[-1] >= best:
            return []
        todo, end = [], self.periods
        while end:
            if (before[end], end) not in self.exact and not (before[end] == 0 and self._stays(end) <= potential[end]):
                todo.append((before[end], end))
            end = before[end]
        return todo

    def _sum_parts(self) -> None:
        """Let every interval be worth at least the sum of two parts."""
        count = self.periods + 1
        from_start, to_end = np.full((count, count), -np.inf), np.full((count, count), -np.inf)
        for length in range(1, count):
            start = np.arange(count - length)
            end = start + length
            value = self.low[start, end]
            if length > 1:
                parts = from_start[start, 1:length] + to_end[end, length - 1 : 0 : -1]
                value = np.maximum(value, parts.max(axis=1))
            self.low[start, end] = from_start[start, length] = to_end[end, length] = value
        spend(CELL_WORK * count**3 / 6)

    def _stays(self, end: int) -> float:
        """Cost of keeping the initial deployment up to a border, multipliers of that border included."""
        member = self.bounds.origin.member
        if member < 0:
            return np.inf
        pool = self.bounds.pool
        return float(pool.values[member, :end].sum() - self.multipliers[end] @ pool.coordinates[member])

    def _potentials(self) -> tuple[Floats, Ints]:
        """Least cost of a path to each border, and the border before it on that path."""
        potential, before = np.full(self.periods + 1, np.inf), np.zeros(self.periods + 1, np.int64)
        origin = self.bounds.origin
        potential[0] = origin.potential(self.multipliers)
        entry = np.full(self.periods, self.fixed)
        entry[0] = origin.entry(self.fixed)
        for end in range(1, self.periods + 1):
            reach = potential[:end] + entry[:end] + self.low[:end, end]
            if self.fixed == 0:
                reach[: end - 1] = np.inf  # changes are free, so that intervals of one period are the best
            reach[0] = min(reach[0], self._stays(end))
            before[end] = int(reach.argmin())
            potential[end] = reach[before[end]]
        return potential, before

    def value(self) -> float:
        """The best bound of all prefixes, each with the proven least costs of the other periods.

        After a prefix all multipliers may be taken as 0: its last ones then only add to the cost of the next period.
        """
        if self.bounds.infeasible is not None:
            return np.inf
        self._sum_parts()
        potential, _ = self._potentials()
        rest = np.append(np.cumsum(self.bounds.free[::-1])[::-1], 0.0)
        return float((potential + rest).max())
