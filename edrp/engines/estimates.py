"""Estimates with intervals, and the service rate of a replica from how busy it was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Literal, NamedTuple

RateMethod = Literal["ratio", "intercept", "understated"]

BUSY_ENOUGH = 0.4
"""Share of time busy above which tuples per busy second no longer depend on the load; below it, waiting counts as busy."""

LOADS_APART = 1.5
"""Ratio of the highest to the lowest load from which on a line through several loads is trusted."""

UNDERSTATED = 1.5
"""Factor by which the true service rate may exceed one measured at low load; 460/s against 331/s were measured."""

WINDOW_SPREAD, REPLICA_SPREAD = 0.06, 0.03
"""Relative standard deviation of tuples per busy second that is expected, before anything is measured, between windows of one
replica, and between replicas or captures. Captures of a cluster show 1 to 15 % between replicas of which there is one window of
10 to 50 s each, half of them less than 4 %; two predictions that were compared with a cluster were wrong by 1.6 and 1.8 %."""

DURATION_SPREAD, DURATION_FREEDOM = 0.45, 8
"""Standard deviation of the logarithm of the time that a stop, a deployment or a checkpoint takes, expected before anything is
measured, and how many degrees of freedom that counts for. Of 35 rescales of a cluster on two shared cores the silence differed
from what the start before it had taken by 0.66, which is 0.45 for either of the two."""

PRIOR_FREEDOM = 2
"""Degrees of freedom that these expectations count for: they weigh as much as this number of measurements."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 90 % interval."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> Estimate:
        """The estimate of `factor` times the quantity."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


class BusyPoint(NamedTuple):
    """Work of a replica in a window: tuples/s, busy share of its own clock, and the number of the replica."""

    rate: float
    busy: float
    replica: int = 0


def service_rate(points: Sequence[BusyPoint]) -> tuple[Estimate, RateMethod]:
    """Tuples/s that a replica serves when it never waits.

    Where some measurements were busy enough, tuples per busy second of these ("ratio"). Else, where loads lie far apart and busy
    time clearly grows with them, what a line through them reaches when all time is busy ("intercept"): at low load a part of
    waiting counts as busy. Else tuples per busy second, which is probably too low ("understated").

    The interval of a ratio is for what another replica would be measured to serve over as long a time: windows and replicas
    differ. That of an intercept reaches from the ratio at the highest load, which is right if no waiting counts as busy there, to
    the inverse of the smallest slope that fits, which is right if waiting counts as busy at any load that leaves room for it.

    >>> estimate, method = service_rate([BusyPoint(100.0, 0.5), BusyPoint(160.0, 0.8), BusyPoint(20.0, 0.15)])
    >>> estimate.value, method
    (200.0, 'ratio')
    >>> service_rate([BusyPoint(20.0, 0.15), BusyPoint(60.0, 0.35)])[1], service_rate([BusyPoint(20.0, 0.15)])[1]
    ('intercept', 'understated')
    """
    enough = [point for point in points if point.busy >= BUSY_ENOUGH]
    if enough:
        return _ratio(enough), "ratio"
    line = _line(points)
    if line is not None:
        return line, "intercept"
    ratio = _ratio(points)
    return Estimate(ratio.value, ratio.low, ratio.high * UNDERSTATED), "understated"


def next_duration(seconds: Sequence[float]) -> Estimate | None:
    """Estimate the next duration of a step from its past durations (s); None where none was measured or all are 0.

    Times are positive and vary by factors, so that the interval is Student's about the mean of their logarithms, whose variance
    is mixed with the one that is expected before anything is measured: a single measurement has an interval, too.

    >>> single, several = next_duration([0.4]), next_duration([0.4, 0.4, 0.4, 0.4])
    >>> round(single.low, 2), single.value, round(single.high, 2)
    (0.12, 0.4, 1.3)
    >>> several.high < single.high
    True
    """
    logs = [math.log(value) for value in seconds if value > 0]
    if not logs:
        return None
    middle = fmean(logs)
    freedom = DURATION_FREEDOM + len(logs) - 1
    squares = DURATION_FREEDOM * DURATION_SPREAD**2 + sum((log - middle) ** 2 for log in logs)
    factor = math.exp(_student(freedom) * math.sqrt(squares / freedom * (1.0 + 1.0 / len(logs))))
    value = math.exp(middle)
    return Estimate(value, value / factor, value * factor)


def _ratio(points: Sequence[BusyPoint]) -> Estimate:
    """Tuples per busy second of all points together, with the interval for another replica."""
    value = sum(point.rate for point in points) / sum(point.busy for point in points)
    ratios: dict[int, list[float]] = {}
    for point in points:
        ratios.setdefault(point.replica, []).append(point.rate / point.busy / value)
    half = _half_width(list(ratios.values()))  # divided by, so that no rate is 0, with which everything would be infinitely busy
    return Estimate(value, value / (1.0 + half), value * (1.0 + half))


def _half_width(ratios: Sequence[Sequence[float]]) -> float:
    """Relative half-width of the interval for the mean of another replica, from those of each replica's windows.

    Variances between windows and between replicas are those measured, mixed with what is expected before. The first, over the
    number of windows, and the second are what another mean varies by, and the mean of all of them once more by their number.
    """
    replicas, windows = len(ratios), fmean(map(len, ratios))
    means = [fmean(row) for row in ratios]
    freedom = PRIOR_FREEDOM + sum(len(row) - 1 for row in ratios)
    squares = sum((ratio - mean) ** 2 for row, mean in zip(ratios, means, strict=True) for ratio in row)
    within = (PRIOR_FREEDOM * WINDOW_SPREAD**2 + squares) / freedom / windows
    measured = max(0.0, variance(means) - within) * (replicas - 1) if replicas > 1 else 0.0
    between_freedom = PRIOR_FREEDOM + replicas - 1
    between = (PRIOR_FREEDOM * REPLICA_SPREAD**2 + measured) / between_freedom
    joint_freedom = (within + between) ** 2 / (within**2 / freedom + between**2 / between_freedom)
    return _student(joint_freedom) * math.sqrt((within + between) * (1.0 + 1.0 / replicas))


def _student(freedom: float) -> float:
    """95th percentile of Student's t by its expansion about the normal one; too small by 5 % for 2 degrees of freedom."""
    z = 1.645
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _line(points: Sequence[BusyPoint]) -> Estimate | None:
    """Rate at which a line through several loads has all time busy; None where loads are too near to one another for it."""
    rates, shares = [point.rate for point in points], [point.busy for point in points]
    if max(rates) < LOADS_APART * min(rates):
        return None
    rate, busy = fmean(rates), fmean(shares)
    spread = sum((other - rate) ** 2 for other in rates)
    slope = sum((point.rate - rate) * (point.busy - busy) for point in points) / spread
    residuals = sum((point.busy - busy - slope * (point.rate - rate)) ** 2 for point in points)
    freedom = PRIOR_FREEDOM + len(points) - 2
    error = math.sqrt((PRIOR_FREEDOM * (WINDOW_SPREAD * busy) ** 2 + residuals) / freedom / spread)
    smallest = slope - _student(freedom) * error
    if smallest <= 0:
        return None
    reached = (1.0 - max(0.0, busy - slope * rate)) / slope
    highest = _ratio([point for point in points if point.rate >= max(rates) / LOADS_APART])
    return Estimate(reached, min(highest.low, reached), max(highest.high, 1.0 / smallest))
