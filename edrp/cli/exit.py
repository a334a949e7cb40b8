"""Exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from edrp.core.errors import VerificationError

if TYPE_CHECKING:
    from edrp.core.solution import Solution


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    SOLVED = 0
    DEFECT = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NOTHING_FOUND = 4
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 optimal or feasible, 2 bad input, 3 infeasible, 4 nothing found in time, "
    "130 interrupted with nothing, 1 a defect of edrp. Of several files the gravest counts."
)

_BY_GRAVITY = (
    ExitCode.SOLVED,
    ExitCode.INFEASIBLE,
    ExitCode.NOTHING_FOUND,
    ExitCode.BAD_INPUT,
    ExitCode.INTERRUPTED,
    ExitCode.DEFECT,
)


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """The code that counts when several files had one each.

    >>> gravest([ExitCode.SOLVED, ExitCode.BAD_INPUT, ExitCode.INFEASIBLE]).name
    'BAD_INPUT'
    """
    return max(codes, key=_BY_GRAVITY.index, default=ExitCode.SOLVED)


def outcome_code(outcome: Solution | Exception) -> ExitCode:
    """The exit code of an answer or of an error."""
    if isinstance(outcome, VerificationError):
        return ExitCode.DEFECT
    if isinstance(outcome, Exception):
        return ExitCode.BAD_INPUT
    if outcome.status in ("optimal", "feasible"):
        return ExitCode.SOLVED
    if outcome.status == "infeasible":
        return ExitCode.INFEASIBLE
    return ExitCode.INTERRUPTED if outcome.stopped_because == "interrupted" else ExitCode.NOTHING_FOUND
