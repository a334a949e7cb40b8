"""Which of two placements is better, and from which a search goes on.

Placements are compared by three numbers: limits broken, total relative overload, objective. The printed rule has no
eye for the second, which is then 0 everywhere.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined

VIOLATIONS, OVERLOAD, OBJECTIVE = 0, 1, 2
"""Places in an array of a placement's value."""

NOISE = 1e-11
"""Differences of overload and objective below this are rounding."""


@inlined
def strained_less(violations: float, overload: float, than: np.ndarray) -> int:
    """1 where fewer limits are broken, or as many by less, than in a value; 0 where the same; -1 where more."""
    if violations != than[VIOLATIONS]:
        return 1 if violations < than[VIOLATIONS] else -1
    if abs(overload - than[OVERLOAD]) > NOISE:
        return 1 if overload < than[OVERLOAD] else -1
    return 0


@inlined
def better(value: np.ndarray, than: np.ndarray) -> bool:
    """Hill climbing's acceptance (latency-aware placement, 4.3.1): fewer violations, less overload, a lower objective."""
    strained = strained_less(value[VIOLATIONS], value[OVERLOAD], than)
    return strained > 0 or (strained == 0 and value[OBJECTIVE] < than[OBJECTIVE] - NOISE)


@inlined
def near(value: np.ndarray, to: np.ndarray, tolerance: float) -> bool:
    """Whether a placement breaks no more than another, and its objective is worse by at most `tolerance`."""
    strained = strained_less(value[VIOLATIONS], value[OVERLOAD], to)
    return strained > 0 or (strained == 0 and value[OBJECTIVE] <= to[OBJECTIVE] + tolerance)
