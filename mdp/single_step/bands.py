"""Bands of boundaries that a layer of SSM has to compute, limited by loads and by a given cost.

Layer k holds boundaries which are followed by k intervals. The loads leave those from which k intervals reach the last task
and to which n′ − k intervals reach from the first: neighbours, from `low[k]` to `high[k]`. Once the least cost is known, those
at both ends of a layer drop out behind which more state is lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.mdp.partitions import Boundaries


class Bands(NamedTuple):
    """Range of boundaries of each layer.

    Attributes
    ----------
    reach : shape (m + 1,), greatest end of an interval that begins at a boundary.
    low, high : shape (n′ + 1,), least and greatest boundary in layer k.
    """

    reach: Boundaries
    low: Boundaries
    high: Boundaries


@kernel
def room_for_bands(tasks: int, nodes: int) -> Bands:
    """Allocate the arrays that `set_bands` fills."""
    return Bands(np.empty(tasks + 1, np.int64), np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64))


@inner_loop
def set_bands(bands: Bands, work_before: Floats, limit: float, allow_empty: bool) -> bool:
    """Fill the bands for a load limit, in O(m + n′); return False where no partition keeps it."""
    reach, low, high = bands
    tasks, nodes = work_before.size - 1, low.size - 1
    end = 0
    for first in range(tasks + 1):
        while end < tasks and work_before[end + 1] - work_before[first] <= limit:
            end += 1
        if end <= first < tasks:
            return False
        reach[first] = end
    high[nodes] = 0
    for k in range(nodes - 1, -1, -1):
        high[k] = reach[high[k + 1]]
    low[0] = tasks
    for k in range(nodes):
        first = low[k]
        while first > 0 and reach[first - 1] >= low[k]:
            first -= 1
        low[k + 1] = first
    for k in range(nodes + 1):
        if not allow_empty:
            low[k], high[k] = max(low[k], nodes - k), min(high[k], tasks - k)
        if low[k] > high[k]:
            return False
    return True


@inner_loop
def narrow(bands: Bands, low: Boundaries, high: Boundaries) -> bool:
    """Intersect the bands with others; return False where a layer becomes empty."""
    feasible = True
    for k in range(low.size):
        bands.low[k], bands.high[k] = max(bands.low[k], low[k]), min(bands.high[k], high[k])
        feasible = feasible and bands.low[k] <= bands.high[k]
    return feasible


@inlined
def tighten(bands: Bands, k: int) -> bool:
    """Drop boundaries that no longer reach the previous layer; return False where none is left."""
    reach, low, high = bands
    behind = high[k - 1]
    high[k] = min(high[k], behind if behind == reach.size - 1 else behind - 1)
    while low[k] <= high[k] and reach[low[k]] < low[k - 1]:
        low[k] += 1
    return bool(low[k] <= high[k])


@inlined
def trim(bands: Bands, k: int, state_before: Floats, gain: Floats, max_lost: float) -> bool:
    """Drop boundaries at both ends that lose more than `max_lost`; `gain` is the layer's best; False if none is left."""
    low, high, total = bands.low, bands.high, state_before[-1]
    while low[k] <= high[k] and total - state_before[low[k]] - gain[low[k]] > max_lost:
        low[k] += 1
    while low[k] <= high[k] and total - state_before[high[k]] - gain[high[k]] > max_lost:
        high[k] -= 1
    return bool(low[k] <= high[k])
