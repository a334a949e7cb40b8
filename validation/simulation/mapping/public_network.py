"""The amount that is expected to get through the public network."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from edrp.core.arrays import Floats

_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
"""Gauss-Legendre nodes: enough for 16 standard deviations of any number of hops to about 1e-10."""

_REACH = 8.0
"""Standard deviations beyond which a normal number is not expected."""

_NOTHING = 40.0
"""Exponents beyond which an exponential is nothing."""


def expected_fractions(levels: Floats, scale: float) -> Floats:
    """Return the mean of the least of 1 and exp(level + scale * Z) over the hops of each task, Z standard normal.

    The mean of a number between 0 and 1 is the integral of the probability that it exceeds x; with x = exp(-y), that is
    exp(-y) times the product over the hops of the normal distribution function at (level + y) / scale. Below the range in
    which the slowest hop may be, the product is 0; above it, 1.

    Parameters
    ----------
    levels
        Shape (tasks, hops): logarithms of the shares; infinite where a task has no more hops.
    scale
        Standard deviation of the logarithm of the rate.

    Returns
    -------
    numpy.ndarray
        Shape (tasks,).
    """
    slowest = np.maximum(0.0, -levels.min(axis=1, initial=np.inf))
    if scale == 0 or not levels.size:
        return np.exp(-slowest)
    low = np.maximum(0.0, slowest - _REACH * scale)
    high = np.minimum(slowest + _REACH * scale, low + _NOTHING)
    half = (high - low) / 2
    y = (low + half)[:, None] + half[:, None] * _PLACES
    passing = ndtr((levels[:, :, None] + y[:, None, :]) / scale).prod(axis=1)
    return np.asarray(half * ((passing * np.exp(-y)) @ _WEIGHTS) + np.exp(-high))
