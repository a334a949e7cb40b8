"""Numbers that the report of bi-modal networks draws from its samples: crossings, shares, exponents, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats
from edrp.validation.report.intervals import CONFIDENCE, Interval

RESAMPLES = 2000
LEAST_RESAMPLED = 8
"""Networks below which resampling says too little of how far others might be off."""


def crossing(x: Sequence[float], y: ArrayLike, level: float) -> float:
    """Where a curve first reaches a level, between its points on straight lines.

    Returns
    -------
    float
        The first x where the curve is there already (so it crosses at most here), infinity where it never gets there.

    Examples
    --------
    >>> crossing([50, 100, 150], [0.2, 0.4, 0.8], 0.5)
    112.5
    >>> crossing([50, 100], [0.6, 0.9], 0.5), crossing([50, 100], [0.1, 0.2], 0.5)
    (50.0, inf)
    """
    height = np.asarray(y, dtype=np.float64)
    there = np.flatnonzero(height >= level)
    if not there.size:
        return float("inf")
    index = int(there[0])
    if index == 0:
        return float(x[0])
    share = (level - height[index - 1]) / (height[index] - height[index - 1])
    return float(x[index - 1] + share * (x[index] - x[index - 1]))


def crossing_interval(curves: Mapping[float, Floats], level: float) -> Interval:
    """Where the mean of curves, one of each network, first reaches a level; percentiles over resampled networks.

    Parameters
    ----------
    curves
        By x the values over the networks, in the same order for each x.
    level
        To reach.

    Examples
    --------
    >>> crossing_interval({50: np.array([0.2, 0.2]), 100: np.array([0.6, 0.8])}, 0.5).mean
    80.0
    """
    return _percentiles(_crossings(curves, level))


def crossing_ratio(curves: Mapping[float, Floats], others: Mapping[float, Floats], level: float) -> Interval:
    """Where the mean of curves first reaches a level, as a share of where that of others on the same networks does.

    Examples
    --------
    >>> ours, others = ({x: np.array([x / most, x / most]) for x in (50, 100)} for most in (100, 200))
    >>> crossing_ratio(ours, others, 0.5).mean
    0.5
    """
    with np.errstate(invalid="ignore"):
        found = _crossings(curves, level) / _crossings(others, level)
    return _percentiles(np.where(np.isnan(found), np.inf, found))


def share_interval(count: int, of: int) -> Interval:
    """A share with Wilson's interval, which is sensible at 0 and at 1.

    >>> found = share_interval(700, 700)
    >>> found.mean, round(found.low, 4), found.high
    (1.0, 0.9945, 1.0)
    """
    from scipy import stats

    if of == 0:
        return Interval(float("nan"), None, None)
    found = stats.binomtest(count, of).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(count / of, float(found.low), float(found.high))


def growth_exponent(x: ArrayLike, y: ArrayLike) -> Interval:
    """The exponent p of y ~ xᵖ by least squares of the logarithms, with the interval of the slope.

    Parameters
    ----------
    x, y
        Shape (n,), positive.

    Examples
    --------
    >>> found = growth_exponent([1, 2, 4, 8], [3, 6, 12, 24])
    >>> round(found.mean, 9)
    1.0
    """
    from scipy import stats

    logs = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    found = stats.linregress(*logs)
    freedom = logs[0].size - 2
    if freedom < 1:
        return Interval(float(found.slope), None, None)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * found.stderr)
    return Interval(float(found.slope), float(found.slope) - reach, float(found.slope) + reach)


def _crossings(curves: Mapping[float, Floats], level: float) -> Floats:
    """Where the mean reaches the level: first of all networks, then of networks drawn with replacement, always the same."""
    x = sorted(curves)
    heights = np.array([curves[each] for each in x])
    count = heights.shape[1]
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES if count >= LEAST_RESAMPLED else 0, count))
    samples = np.vstack([np.arange(count), drawn])
    return np.array([crossing(x, curve, level) for curve in heights[:, samples].mean(axis=2).T])


def _percentiles(found: Floats) -> Interval:
    """The first value, and percentiles of the others; none where nothing was resampled."""
    estimate, rest = float(found[0]), found[1:]
    if not rest.size:
        return Interval(estimate, None, None)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(np.quantile(rest, end, method="nearest")) for end in (tail, 1 - tail))
    return Interval(estimate, low, high)
