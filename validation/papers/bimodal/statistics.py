"""Crossings of curves and exponents of growth, estimated from the samples of bi-modal networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats
from edrp.report.estimates import MIN_RESAMPLED, RESAMPLES, TAIL, Estimate, percentile_estimate


def crossing(x: Sequence[float], y: ArrayLike, level: float) -> float:
    """Return the x at which a piecewise linear curve first reaches a level; infinity where it never does.

    A curve that begins above the level crosses at its first x, or before.

    >>> crossing([50, 100, 150], [0.2, 0.4, 0.8], 0.5)
    112.5
    >>> crossing([50, 100], [0.6, 0.9], 0.5), crossing([50, 100], [0.1, 0.2], 0.5)
    (50.0, inf)
    """
    height = np.asarray(y, dtype=np.float64)
    above = np.flatnonzero(height >= level)
    if not above.size:
        return float("inf")
    index = int(above[0])
    if index == 0:
        return float(x[0])
    share = (level - height[index - 1]) / (height[index] - height[index - 1])
    return float(x[index - 1] + share * (x[index] - x[index - 1]))


def estimate_crossing(curves: Mapping[float, Floats], level: float) -> Estimate:
    """Estimate the x at which the mean of curves first reaches a level; the interval comes from resampled networks.

    >>> estimate_crossing({50: np.array([0.2, 0.2]), 100: np.array([0.6, 0.8])}, 0.5).mean
    80.0
    """
    first, *resampled = _crossings(curves, level)
    return percentile_estimate(float(first), np.array(resampled), "nearest")


def estimate_crossing_ratio(curves: Mapping[float, Floats], others: Mapping[float, Floats], level: float) -> Estimate:
    """Estimate the ratio between the x at which the means of two sets of curves on the same networks first reach a level.

    >>> ours, others = ({x: np.array([x / end, x / end]) for x in (50, 100)} for end in (100, 200))
    >>> estimate_crossing_ratio(ours, others, 0.5).mean
    0.5
    """
    with np.errstate(invalid="ignore"):
        ratios = _crossings(curves, level) / _crossings(others, level)
    first, *resampled = np.where(np.isnan(ratios), np.inf, ratios)
    return percentile_estimate(float(first), np.array(resampled), "nearest")


def estimate_exponent(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The exponent p of y ~ xᵖ: the slope of a least-squares line through the logarithms, with its interval.

    >>> round(estimate_exponent([1, 2, 4, 8], [3, 6, 12, 24]).mean, 9)
    1.0
    """
    from scipy import stats

    logs = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    line = stats.linregress(*logs)
    freedom = logs[0].size - 2
    if freedom < 1:
        return Estimate(float(line.slope), None, None)
    reach = float(stats.t.ppf(1 - TAIL, freedom) * line.stderr)
    return Estimate(float(line.slope), float(line.slope) - reach, float(line.slope) + reach)


def _crossings(curves: Mapping[float, Floats], level: float) -> Floats:
    """Return the x at which the mean reaches the level, of all networks, then of networks resampled by a fixed seed."""
    x = sorted(curves)
    heights = np.array([curves[at] for at in x])
    count = heights.shape[1]
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES if count >= MIN_RESAMPLED else 0, count))
    samples = np.vstack([np.arange(count), drawn])
    return np.array([crossing(x, curve, level) for curve in heights[:, samples].mean(axis=2).T])
