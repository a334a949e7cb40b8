"""Estimates with intervals, and the service rate of a replica from how busy it was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal, NamedTuple

RateMethod = Literal["ratio", "intercept", "understated"]

BUSY_ENOUGH = 0.4
"""Share of time busy above which tuples per busy second no longer depend on the load; below it, waiting counts as busy."""

LOADS_APART = 1.5
"""Ratio of the highest to the lowest load from which on a line through several loads is trusted."""

UNDERSTATED = 1.5
"""How far a service rate that was measured at low load may be below the true one; 460/s against 331/s were measured."""

FEW_POINTS, MANY_POINTS = 0.10, 0.03
"""Least relative half-width of an interval: from one or two measurements, and from more."""


MIN_LOW = 0.1
"""Least lower end of an interval of a rate, as a share of the rate: a rate of 0 would make everything infinitely busy."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 90 % interval."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> Estimate:
        """The estimate of so many times as much."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


class BusyPoint(NamedTuple):
    """How busy a replica was at a rate: tuples/s, and share of its own clock."""

    rate: float
    busy: float


def service_rate(points: Sequence[BusyPoint]) -> tuple[Estimate, RateMethod]:
    """Tuples/s that a replica serves when it never waits.

    Where some measurements were busy enough, tuples per busy second of these ("ratio"). Else, where loads lie far apart, what
    a line through them reaches when all time is busy ("intercept"): at low load a part of waiting counts as busy. Else tuples
    per busy second, which is probably too low ("understated").

    Examples
    --------
    >>> estimate, method = service_rate([BusyPoint(100.0, 0.5), BusyPoint(160.0, 0.8), BusyPoint(20.0, 0.15)])
    >>> estimate.value, method
    (200.0, 'ratio')
    >>> service_rate([BusyPoint(20.0, 0.15), BusyPoint(60.0, 0.35)])[1], service_rate([BusyPoint(20.0, 0.15)])[1]
    ('intercept', 'understated')
    """
    enough = [point for point in points if point.busy >= BUSY_ENOUGH]
    if enough:
        return _ratio(enough), "ratio"
    ratio = _ratio(points)
    rates = [point.rate for point in points]
    if max(rates) >= LOADS_APART * min(rates):
        slope = _slope(points)
        if slope > 0:
            waiting = max(0.0, fmean(point.busy for point in points) - slope * fmean(rates))
            reached = (1.0 - waiting) / slope
            return Estimate(reached, min(ratio.low, reached), max(ratio.high, 1.0 / slope)), "intercept"
    return Estimate(ratio.value, ratio.low, ratio.high * UNDERSTATED), "understated"


def _ratio(points: Sequence[BusyPoint]) -> Estimate:
    """Tuples per busy second of all points together, and how far single points are from that."""
    value = sum(point.rate for point in points) / sum(point.busy for point in points)
    half = FEW_POINTS
    if len(points) > 2:
        ratios = [point.rate / point.busy for point in points]
        half = max(MANY_POINTS, _student(len(points) - 1) * stdev(ratios) / math.sqrt(len(points)) / value)
    return Estimate(value, value * max(MIN_LOW, 1.0 - half), value * (1.0 + half))


def _student(freedom: int) -> float:
    """95th percentile of Student's t, from above, without a table."""
    return 1.645 * (1.0 + 1.55 / freedom)


def _slope(points: Sequence[BusyPoint]) -> float:
    """Seconds that a tuple takes, by least squares."""
    rate, busy = fmean(point.rate for point in points), fmean(point.busy for point in points)
    variance = sum((point.rate - rate) ** 2 for point in points)
    return sum((point.rate - rate) * (point.busy - busy) for point in points) / variance
