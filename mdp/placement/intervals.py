"""The lower bound at given multipliers: a shortest path over intervals without change, whose lengths are evaluated lazily.

An interval is one priced problem of kind `edrp`: latencies and rates are averaged over its periods by their weights. The mean of
maxima over paths is at least the maximum of the means, so that its optimum is a lower bound. Bounds of the parts of an interval
sum to one of the whole, since multipliers telescope; only intervals on a shortest path under these bounds are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.tolerances import SAME_VALUE
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.pool import DeploymentPool
from edrp.mdp.placement.relaxation import Origin
from edrp.placement.compiled import Compiled
from edrp.placement.sequence_arrays import SequenceArrays

SolvePriced = Callable[..., Any]
"""`edrp.formulations.placement.priced.solve_priced`, which this room gets from those that know both."""


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
    free : shape (periods,), proven least cost of each period without any price.
    """

    arrays: SequenceArrays
    coordinates: ChangeCoordinates
    origin: Origin
    pool: DeploymentPool
    solve: SolvePriced
    priced: int = 0
    infeasible: int | None = None
    free: Floats = field(init=False)
    _averages: dict[tuple[int, int], Compiled] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = np.zeros(len(self.arrays.periods))

    def bound(self, multipliers: Floats, precision: float, units: Callable[[], float | None], best: float = np.inf) -> float:
        """A lower bound on the cost of all courses.

        Parameters
        ----------
        multipliers
            Shape (periods + 1, coordinates), within [0, upper]; 0 at the last border.
        precision
            Seconds of objective by which the bounds of all periods together may miss their optima.
        units
            Called before each priced problem for the units of work that it may take, None for any number.
        best
            Cost of the best course: a path that is as expensive needs no more evaluations.
        """
        path = _IntervalPath(self, multipliers, precision / len(self.arrays.periods), units)
        try:
            path.evaluate_periods()
            while self.infeasible is None and (todo := path.unknown(best)):
                for interval in todo:
                    path.evaluate(*interval)
        except OutOfTimeError:
            pass  # prefixes that were evaluated make a bound, too
        return path.value()

    def average(self, start: int, end: int) -> Compiled:
        """The averaged problem of an interval; kept, because only prices change."""
        if (start, end) not in self._averages:
            self._averages[start, end] = averaged(self.arrays.periods[start:end])
        return self._averages[start, end]

    def solve_interval(self, start: int, end: int, net: Floats, precision: float, units: float | None) -> float:
        """A lower bound on the cost of deployments in an interval under net multipliers, shape (coordinates,)."""
        compiled, pool = self.average(start, end), self.pool
        total = pool.values[:, start:end].sum(axis=1) + pool.coordinates @ net
        member = int(total.argmin()) if total.size else -1
        known = member >= 0 and bool(np.isfinite(total[member]))
        level = abs(float(total[member])) if known else 0.0
        shape = (*compiled.latency.shape, compiled.candidate.shape[1])
        prices = self.coordinates.replica_prices(net, shape) if net.any() else None
        answer = self.solve(
            replace(compiled, replica_prices=prices),
            units,
            start=pool.counts[member] if known else None,
            gap=max(SAME_VALUE, (end - start) * precision / max(level, precision)),
        )
        self.priced += 1
        if answer.counts is not None:
            pool.add(np.array([answer.counts, *answer.others]))
            pool.expand([pool.index(answer.counts)] if pool.index(answer.counts) >= 0 else [])
        if end == start + 1 and answer.bound == np.inf:
            self.infeasible = start
        return max(float(answer.bound), self._trivial(net))

    def _trivial(self, net: Floats) -> float:
        """Costs are at least 0, and coordinates within their ranges."""
        return self.coordinates.least_worth(net, self.arrays.periods[0].max_replicas)


class _IntervalPath:
    """Bounds of intervals at some multipliers, and the shortest path over them."""

    def __init__(self, bounds: IntervalBounds, multipliers: Floats, precision: float, units: Callable[[], float | None]) -> None:
        self.bounds, self.multipliers, self.precision, self.units = bounds, multipliers, precision, units
        self.periods = len(bounds.arrays.periods)
        self.fixed = bounds.coordinates.fixed
        self.exact: dict[tuple[int, int], float] = {}
        self.low = np.full((self.periods + 1, self.periods + 1), -np.inf)

    def evaluate(self, start: int, end: int) -> None:
        net = self.multipliers[start] - self.multipliers[end]
        self.exact[start, end] = self.bounds.solve_interval(start, end, net, self.precision, self.units())
        self.low[start, end] = max(self.low[start, end], self.exact[start, end])
        if not net.any() and end == start + 1:
            self.bounds.free[start] = max(self.bounds.free[start], self.exact[start, end])

    def evaluate_periods(self) -> None:
        """Evaluate intervals of one period, in order, so that those known at any time are a prefix."""
        for t in range(self.periods):
            if self.bounds.infeasible is not None:
                return
            self.evaluate(t, t + 1)

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
        low = self.low
        for length in range(2, self.periods + 1):
            for start in range(self.periods - length + 1):
                end = start + length
                parts = low[start, start + 1 : end] + low[start + 1 : end, end]
                low[start, end] = max(low[start, end], float(parts.max()))

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
