"""Random rates on the public network: draws by stream and counter, and the expected amount that gets through.

A number depends on its stream and its place in it alone. So the flows of a task meet the same network whatever becomes of other
tasks, and two runs that differ in one decision only are compared on the same draws.

Numbers come from a ziggurat of 256 layers of equal area (Marsaglia and Tsang), which is exact: the layer and the place within
it are drawn at once, and only what falls outside of the next layer, one in seventy, needs a logarithm or an exponential.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from edrp.core.arrays import Floats
from edrp.core.kernels import inlined, inner_loop

LAYERS = 256
TAIL = 3.6541528853610088
"""Abscissa at which the lowest of 256 layers of equal area has its corner, in the ziggurat method."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SPREAD = np.uint64(0xD1342543DE82EF95)
"""Odd constants that take consecutive numbers far from one another."""

UNIT = 2.0**-53


def _edges() -> Floats:
    """Right edge of each layer, from the lowest, whose tail is cut to a rectangle of the same area, to the top."""
    area = TAIL * _height(TAIL) + math.sqrt(math.pi / 2) * math.erfc(TAIL / math.sqrt(2))
    edges = [area / _height(TAIL), TAIL]
    while len(edges) < LAYERS:
        edges.append(math.sqrt(-2 * math.log(area / edges[-1] + _height(edges[-1]))))
    return np.array([*edges, 0.0])


def _height(x: float) -> float:
    return math.exp(-0.5 * x * x)


_EDGES = _edges()
_HEIGHTS = np.exp(-0.5 * _EDGES**2)
_WIDTH = _EDGES[:-1] * UNIT
_INSIDE = (_EDGES[1:] / _EDGES[:-1] / UNIT).astype(np.uint64)
"""Places below these, of 2^53, are within the next layer too, and so below the curve."""


@inlined
def mixed(state: np.uint64) -> np.uint64:
    """Apply the last step of SplitMix64: 64 bits, each of which depends on all bits of the state."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@inner_loop
def stream(seed: int, task: int, hop: int) -> np.uint64:
    """Return the stream of a hop of a task.

    Examples
    --------
    >>> len({int(stream(seed, task, hop)) for seed in range(3) for task in range(5) for hop in range(7)})
    105
    """
    key = mixed(np.uint64(seed) + GOLDEN)
    key = mixed(key + (np.uint64(task) + np.uint64(1)) * GOLDEN)
    return mixed(key + (np.uint64(hop) + np.uint64(1)) * SPREAD)


@inlined
def normal(key: np.uint64, counter: int) -> float:
    """Return the standard normal number at a position of a stream."""
    bits = mixed(key + np.uint64(counter) * GOLDEN)
    layer = bits & np.uint64(LAYERS - 1)
    place = bits >> np.uint64(11)
    if place < _INSIDE[layer]:
        size = place * _WIDTH[layer]
        return -size if bits & np.uint64(LAYERS) else size
    return _outside(bits)


@inner_loop
def normals(seed: int, task: int, hop: int, out: Floats) -> None:
    """Write the first numbers of the stream of a hop of a task to `out`."""
    key = stream(seed, task, hop)
    for counter in range(out.size):
        out[counter] = normal(key, counter)


@inner_loop
def _outside(bits: np.uint64) -> float:
    """Return a number whose first draw fell outside of the next layer: accepted, from the tail, or drawn again."""
    state = bits
    while True:
        layer = bits & np.uint64(LAYERS - 1)
        place = bits >> np.uint64(11)
        size = place * _WIDTH[layer]
        if place < _INSIDE[layer]:
            break
        if layer == 0:
            size = _tail(state)
            break
        state += SPREAD
        height = _HEIGHTS[layer] + _open(state) * (_HEIGHTS[layer + 1] - _HEIGHTS[layer])
        if height < math.exp(-0.5 * size * size):
            break
        state += SPREAD
        bits = mixed(state)
    return -size if bits & np.uint64(LAYERS) else size


@inlined
def _tail(state: np.uint64) -> float:
    """Draw a number beyond the corner of the lowest layer (Marsaglia)."""
    while True:
        state += SPREAD
        beyond = -math.log(_open(state)) / TAIL
        state += SPREAD
        if -2 * math.log(_open(state)) > beyond * beyond:
            return TAIL + beyond


@inlined
def _open(state: np.uint64) -> float:
    """Return a number within (0, 1)."""
    return ((mixed(state) >> np.uint64(11)) + 0.5) * UNIT


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
