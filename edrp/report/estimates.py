"""Estimated quantities with their confidence intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats

CONFIDENCE = 0.95
RESAMPLES = 2000
TAIL = (1 - CONFIDENCE) / 2
MIN_RESAMPLED = 8
"""Samples below which resampling says too little of how far others might be off."""


class Estimate(NamedTuple):
    """A mean and the ends of its 95 % confidence interval; the ends are None where there are too few samples for one."""

    mean: float
    low: float | None
    high: float | None

    def transformed(self, function: Callable[[float], float]) -> Estimate:
        """The estimate of an increasing function of the quantity.

        >>> Estimate(0.5, 0.25, None).transformed(lambda share: 100 * share)
        Estimate(mean=50.0, low=25.0, high=None)
        """
        low, high = (None if end is None else function(end) for end in (self.low, self.high))
        return Estimate(function(self.mean), low, high)


def estimate_mean(values: Floats) -> Estimate:
    """The mean of a sample with its confidence interval by Student's t.

    >>> estimate = estimate_mean(np.array([1.0, 2.0, 3.0]))
    >>> estimate.mean, round(estimate.low, 2), round(estimate.high, 2)
    (2.0, -0.48, 4.48)
    >>> estimate_mean(np.array([1.0]))
    Estimate(mean=1.0, low=None, high=None)
    """
    from scipy import stats

    mean = float(values.mean())
    if values.size < 2:
        return Estimate(mean, None, None)
    reach = float(stats.t.ppf(1 - TAIL, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    return Estimate(mean, mean - reach, mean + reach)


def bootstrap_mean(values: ArrayLike, seed: int = 0) -> Estimate:
    """The mean of a sample with its bias-corrected and accelerated bootstrap interval, for skewed samples.

    >>> bootstrap_mean([3.0, 3.0, 3.0])
    Estimate(mean=3.0, low=3.0, high=3.0)
    >>> estimate = bootstrap_mean([1.0, 2.0, 3.0, 4.0, 50.0])
    >>> estimate.low < 12 < estimate.high
    True
    """
    data = np.asarray(values, dtype=np.float64)
    mean = float(data.mean()) if data.size else float("nan")
    if data.size < 2:
        return Estimate(mean, None, None)
    if np.ptp(data) == 0:
        return Estimate(mean, float(data[0]), float(data[0]))
    from scipy import stats

    random = np.random.default_rng(seed)
    interval = stats.bootstrap(
        (data,), np.mean, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, rng=random, batch=200
    ).confidence_interval
    return Estimate(mean, float(interval.low), float(interval.high))


def estimate_share(count: int, total: int) -> Estimate:
    """A share with Wilson's interval, which stays sensible at 0 and at 1.

    >>> estimate = estimate_share(700, 700)
    >>> estimate.mean, round(estimate.low, 4), estimate.high
    (1.0, 0.9945, 1.0)
    """
    from scipy import stats

    if total == 0:
        return Estimate(float("nan"), None, None)
    interval = stats.binomtest(count, total).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(count / total, float(interval.low), float(interval.high))


def percentile_estimate(value: float, resampled: Floats, method: Literal["linear", "nearest"] = "linear") -> Estimate:
    """A value with the percentiles of resampled ones as its interval; without any there is no interval.

    >>> percentile_estimate(2.0, np.arange(81.0), "nearest")
    Estimate(mean=2.0, low=2.0, high=78.0)
    """
    if not resampled.size:
        return Estimate(value, None, None)
    low, high = np.quantile(resampled, [TAIL, 1 - TAIL], method=method)
    return Estimate(value, float(low), float(high))
