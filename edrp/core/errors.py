"""All errors that `edrp` raises on purpose."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edrp.core.visible import visible


class EdrpError(Exception):
    """Base of all errors that the package raises on purpose."""


class RecoveryWarning(UserWarning):
    """Something that was kept is damaged or was lost, and is computed again; the message names it. Shown every time."""


warnings.filterwarnings("always", category=RecoveryWarning, append=True)  # after the filters of the user


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input: where, what was there, why it is wrong and what would be right."""

    place: str
    value: str
    why: str

    def __str__(self) -> str:
        return visible(f"{self.place}: {self.why} (got {self.value})" if self.value else f"{self.place}: {self.why}")


class InvalidInstanceError(EdrpError, ValueError):
    """The input cannot be used; `faults` lists every reason with its place.

    Parameters
    ----------
    faults
        All faults found, in the order of the document.
    source
        File name or other origin, shown first.
    """

    def __init__(self, faults: Sequence[Fault], source: str = "") -> None:
        self.faults = tuple(faults)
        self.source = source
        super().__init__(self._text())

    def _text(self) -> str:
        head = f"{visible(self.source)}: " if self.source else ""
        count = len(self.faults)
        lines = "\n".join(f"  {fault}" for fault in self.faults[:20])
        more = f"\n  … and {count - 20} more" if count > 20 else ""
        return f"{head}{count} fault{'s' if count != 1 else ''} in the input\n{lines}{more}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults, self.source)


class NoSuchFileError(InvalidInstanceError):
    """A file or folder that is to be read does not exist.

    Parameters
    ----------
    path
        Its path.
    hint
        What would be right, shown last.

    Examples
    --------
    >>> print(NoSuchFileError("wordcount.json"))
    wordcount.json: there is no such file or folder
    """

    def __init__(self, path: str, hint: str = "") -> None:
        self.path = path
        self.hint = hint
        super().__init__([Fault("file", path, "there is no such file or folder" + (f"; {hint}" if hint else ""))])

    def _text(self) -> str:
        return visible(f"{self.path}: {self.faults[0].why}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.hint)


class UnwritableError(EdrpError, OSError):
    """A file or folder must not or cannot be written; the message names it, says why and what would be right.

    Parameters
    ----------
    path
        Its path.
    why
        Why not, and what would be right.

    Examples
    --------
    >>> print(UnwritableError("plan.json", "is a folder; name a file"))
    plan.json: is a folder; name a file
    """

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__(visible(f"{path}: {why}"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.why)


class UnsupportedProblemError(EdrpError):
    """A method cannot express this problem; the message names one that can."""


class ProblemTooLargeError(EdrpError):
    """The problem would need more memory than there is; the message says how much, before allocating it."""


class OutOfTimeError(EdrpError):
    """The time limit passed while a method was still preparing; the message says what. `edrp.solve` makes an answer of it."""


class BackendUnavailableError(EdrpError):
    """A solver backend or optional package is not installed; the message names the extra to install."""


class VerificationError(EdrpError):
    """A solver and the independent evaluator disagree. Always a defect of ours: please report it.

    Parameters
    ----------
    message
        The difference, in words.
    claimed, evaluated
        Both sides, for the report.
    """

    def __init__(self, message: str, claimed: object = None, evaluated: object = None) -> None:
        self.claimed = claimed
        self.evaluated = evaluated
        super().__init__(message)


class PolicyError(EdrpError):
    """A policy of enactment asks for what cannot be done.

    Parameters
    ----------
    message
        The action that it asked for, why that cannot be done, and the hosts at that moment.
    state, action
        The state that it saw, and the action.
    """

    def __init__(self, message: str, state: object = None, action: object = None) -> None:
        self.state = state
        self.action = action
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.state, self.action)
