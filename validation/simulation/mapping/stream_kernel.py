"""Arrays of `advance_tasks` (edrp/native/validation/simulation/mapping/stream_kernel.cpp): running tasks between two events.

Progress is counted in seconds of a task's nominal rate. A task that sheds data on the way has another rate on each hop, but
what a hop passes is a fraction of its own rate, so that one number tells how far all hops are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from edrp.core.arrays import Floats, Ints, UInts

START, TOTAL, SENT, DONE, GOT, WINDOWS, SHORTFALL = range(7)
"""Columns of `Streams.progress`: when the task began (s); how much it has, how much its source has sent, how much was delivered,
how much of that in the current window (nominal seconds); windows that are over, and the sum of their shortfalls."""


class Streams(NamedTuple):
    """Running tasks, one row each, in the order in which they came; the last row is for trials.

    Attributes
    ----------
    hops : shape (r,), how many hops lead over the public network.
    places : shape (r, h), which of the task's hops these are.
    keys : shape (r, h), the stream of draws of each of them.
    levels : shape (r, h), logarithm of the share of its rate that it gets in the mean.
    mean : shape (r,), fraction of the rate that gets through where nothing is drawn; negative: it is drawn.
    waiting : shape (r, h), what waits before each hop of the task, public or not, nominal seconds.
    progress : shape (r, 7), see `START`.
    """

    hops: Ints
    places: Ints
    keys: UInts
    levels: Floats
    mean: Floats
    waiting: Floats
    progress: Floats


class Physics(NamedTuple):
    """Parameters that are the same for all tasks.

    Attributes
    ----------
    interval : seconds from one draw to the next.
    scale : standard deviation of the logarithm of the rate.
    buffer : seconds of its rate that may wait before a hop.
    window : seconds in which the delivered rate is measured.
    """

    interval: float
    scale: float
    buffer: float
    window: float


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
