"""Rules that decide which of two placements is better, and from which one a search continues.

Placements are compared by three numbers: limits broken, total relative overload, objective.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

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
