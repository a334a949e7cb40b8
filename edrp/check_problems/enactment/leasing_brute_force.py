"""Brute force for leasing over a few periods: every purchase of units, and in each period every packing of the hosts.

It shares no table and no algorithm with the methods that it checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from edrp.check_problems.enactment.snapshot_brute_force import host_contents
from edrp.enactment.leasing import LeasingProblem, PlannedHost

Counts = tuple[int, ...]
"""Instances of each operator."""


def brute_force_leasing(problem: LeasingProblem) -> float | None:
    """Least objective over all decisions of a small problem; None where there is none.

    Units are bought type by type and period by period, no more at a time than there can be instances of use. In each
    period all numbers of instances that fit into the hosts are tried, but for those that others exceed throughout: more
    instances never leave more items.

    >>> problem = LeasingProblem(
    ...     application={"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}],
    ...     period=300.0, forecast=[2, 4, 2],
    ... )
    >>> brute_force_leasing(problem)
    2.0
    """
    search = _LeasingSearch(problem)
    search.buy(0, 0.0)
    return None if math.isinf(search.best) else search.best


@dataclass
class _LeasingSearch:
    """Depth first over (type, period) pairs; the price of the units bought is a bound."""

    problem: LeasingProblem
    best: float = math.inf
    bought: dict[tuple[str, int], int] = field(default_factory=dict)
    packings: dict[Counts, list[Counts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        self.operators = problem.application.operators
        self.periods = len(problem.forecast)
        self.pairs = [(host_type.name, period) for period in range(self.periods) for host_type in problem.host_types]
        self.useful = {operator.name: self._useful(operator.name) for operator in self.operators}
        self.contents = [list(host_contents(self.operators, host_type, self.useful)) for host_type in problem.host_types]

    def buy(self, depth: int, price: float) -> None:
        """Try all numbers of units of the next pair."""
        if price >= self.best:
            return
        if depth == len(self.pairs):
            self._settle(price)
            return
        name, period = self.pairs[depth]
        limit = self.problem.types[name].limit
        max_hosts = sum(self.useful.values()) if limit is None else limit
        unit = self.problem.price(PlannedHost(name="new", type=name, first=period, units=1, instances=()))
        for units in range(max_hosts + 1):
            if units and price + units * unit >= self.best:
                break
            self.bought[name, period] = units
            last_of_period = depth + 1 == len(self.pairs) or self.pairs[depth + 1][1] > period
            if not last_of_period or self._possible(period):
                self.buy(depth + 1, price + units * unit)
        self.bought[name, period] = 0

    def _useful(self, name: str) -> int:
        """Number of instances that serves in one period all items that ever arrive."""
        fewest = max(counts[name] for counts in self.problem.minimum_instances)
        if not self.problem.penalty:
            return fewest
        total = self._items(name) * self.problem.application.by_name[name].occupied / self.problem.period
        return max(fewest, math.ceil(total))

    def _items(self, name: str) -> float:
        """Return the number of items that arrive over the horizon or wait at its start."""
        rate = self.problem.application.load(name) * self.problem.period
        return self.problem.queues.get(name, 0.0) + rate * sum(self.problem.forecast)

    def _leased(self, period: int) -> Counts:
        counts = []
        for host_type in self.problem.host_types:
            length = self.problem.unit_periods(host_type.name)
            paid = sum(host.type == host_type.name and host.paid_periods > period for host in self.problem.leased)
            begins = range(max(0, period - length + 1), period + 1)
            counts.append(paid + sum(self.bought.get((host_type.name, begin), 0) for begin in begins))
        return tuple(counts)

    def _possible(self, period: int) -> bool:
        """Whether the hosts of a period keep to the limits and hold the fewest instances."""
        leased = self._leased(period)
        limits = [host_type.limit for host_type in self.problem.host_types]
        if any(limit is not None and count > limit for count, limit in zip(leased, limits, strict=True)):
            return False
        return any(True for _ in self._choices(period, leased))

    def _choices(self, period: int, leased: Counts) -> Iterator[Counts]:
        fewest = self.problem.minimum_instances[period].values()
        allowed = [math.inf if operator.max_instances is None else operator.max_instances for operator in self.operators]
        if any(few > limit for few, limit in zip(fewest, allowed, strict=True)):
            return
        for counts in self._packings(leased):
            if all(count >= few for count, few in zip(counts, fewest, strict=True)):
                yield counts

    def _packings(self, leased: Counts) -> list[Counts]:
        """Numbers of instances that fit into hosts and are not exceeded throughout, none above what is useful or allowed."""
        if leased not in self.packings:
            max_counts = [min(self.useful[operator.name], operator.max_instances or math.inf) for operator in self.operators]
            reached: set[Counts] = {(0,) * len(max_counts)}
            for kind, hosts in enumerate(leased):
                for _ in range(hosts):
                    sums = (zip(a, b, max_counts, strict=True) for a in reached for b in self.contents[kind])
                    reached = {tuple(int(min(x + y, top)) for x, y, top in pairs) for pairs in sums}
            exceeded = (any(a != b and all(x <= y for x, y in zip(a, b, strict=True)) for b in reached) for a in reached)
            self.packings[leased] = [counts for counts, worse in zip(reached, exceeded, strict=True) if not worse]
        return self.packings[leased]

    def _settle(self, price: float) -> None:
        """Try all numbers of instances, period by period."""
        queued = [tuple(self.problem.queues.get(operator.name, 0.0) for operator in self.operators)]
        values = {queued[0]: price}
        for period in range(self.periods):
            following: dict[tuple[float, ...], float] = {}
            for waiting, value in values.items():
                for counts in self._choices(period, self._leased(period)):
                    after = self._after(period, waiting, counts)
                    total = value + self.problem.penalty * math.fsum(after)
                    if total < following.get(after, self.best):
                        following[after] = total
            values = following
        self.best = min(values.values(), default=self.best)

    def _after(self, period: int, waiting: tuple[float, ...], counts: Counts) -> tuple[float, ...]:
        length, load = self.problem.period, self.problem.application.load
        arriving = (load(operator.name) * self.problem.forecast[period] * length for operator in self.operators)
        rows = zip(waiting, arriving, counts, self.operators, strict=True)
        return tuple(max(0.0, queue + items - count * length / operator.occupied) for queue, items, count, operator in rows)
