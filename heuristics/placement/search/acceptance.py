"""Rules that decide which of two placements is better, and from which one a search continues.

Placements are compared by three numbers: limits broken, total relative overload, objective.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from edrp.core.kernels import inlined
from edrp.core.tolerances import SEARCH_NOISE

VIOLATIONS, OVERLOAD, OBJECTIVE = 0, 1, 2
"""Indices of an array that holds a placement's value."""


KICKS, WORK = range(2)
"""Indices of a search's `progress`: kicks made, and work done since the kernel was called."""


class LocalSearchRun(NamedTuple):
    """Parameters of one run of iterated local search.

    Attributes
    ----------
    kicks : how often a local optimum is disturbed.
    tolerance : how much worse than the best a placement may be to go on from.
    overload_rule : an `OverloadRule` as a number.
    work : after how much work, in the engine's own unit, the kernel returns.
    """

    kicks: int
    tolerance: float
    overload_rule: int
    work: int


class OverloadRule(IntEnum):
    """Whether a comparison includes the total overload; kernels multiply the overload by the rule's number."""

    IGNORED = 0
    COMPARED = 1


COMPARED = OverloadRule.COMPARED.value
"""`OverloadRule.COMPARED` as a plain number, for kernels."""


@inlined
def compare_strain(violations: float, overload: float, than: np.ndarray) -> int:
    """Compare overloads with a value: 1 if fewer limits are broken, or as many by less; 0 if equal; -1 if more."""
    if violations != than[VIOLATIONS]:
        return 1 if violations < than[VIOLATIONS] else -1
    if abs(overload - than[OVERLOAD]) > SEARCH_NOISE:
        return 1 if overload < than[OVERLOAD] else -1
    return 0


@inlined
def better(value: np.ndarray, than: np.ndarray) -> bool:
    """Hill climbing's acceptance (latency-aware placement, 4.3.1): fewer violations, less overload, a lower objective."""
    comparison = compare_strain(value[VIOLATIONS], value[OVERLOAD], than)
    return comparison > 0 or (comparison == 0 and value[OBJECTIVE] < than[OBJECTIVE] - SEARCH_NOISE)


@inlined
def near(value: np.ndarray, to: np.ndarray, tolerance: float) -> bool:
    """Whether a placement breaks no more limits than another, and its objective is worse by at most `tolerance`."""
    comparison = compare_strain(value[VIOLATIONS], value[OVERLOAD], to)
    return comparison > 0 or (comparison == 0 and value[OBJECTIVE] <= to[OBJECTIVE] + tolerance)
