"""All errors that `edrp` raises on purpose, and texts from elsewhere, such as names, made fit for a terminal and for files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, escape sequences of terminals among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of what follows
    "\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb"  # invisible, or ending a line
    "\U000e0000-\U000e007f"  # tags
    "\ud800-\udfff"  # halves of characters
    "]"
)
"""Characters that a terminal obeys or that nobody sees."""


def numbered(count: int, noun: str) -> str:
    """A count of something, with the plural of a regular noun.

    >>> numbered(1, "replica"), numbered(2, "replica")
    ('1 replica', '2 replicas')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def visible(text: str) -> str:
    r"""A text of one line in which characters that a terminal would obey, or that nobody would see, are written as escapes.

    >>> print(visible("a\x1b[31mb\u202e\n"))
    a\x1b[31mb\u202e\n
    """
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def visible_lines(text: str) -> str:
    r"""As `visible`, but lines stay lines.

    >>> visible_lines("a\tb\nc")
    'a\\tb\nc'
    """
    return "\n".join(map(visible, text.split("\n")))


def encodable(text: str) -> str:
    r"""A text that files can hold: halves of characters, which are no Unicode text, are written as escapes.

    >>> encodable("a\ud800")
    'a\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class EdrpError(Exception):
    """Base of all errors that the package raises on purpose; they can be pickled, whatever they are made of."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__new__, (type(self),), {**self.__dict__, "args": self.args}


class RecoveryWarning(UserWarning):
    """Something that was kept is damaged or was lost, and is computed again; the message names it. Shown every time."""


warnings.filterwarnings("always", category=RecoveryWarning, append=True)  # after the filters of the user


class ProblemWarning(UserWarning):
    """Valid input is probably not what was meant, such as a field without effect or a network without some of its nodes."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input: where, what was there, why it is wrong and what would be right."""

    place: str
    value: str
    why: str

    @property
    def sentence(self) -> str:
        """The place and what is wrong there, without the value.

        >>> Fault("weights.cost", "0.3", "has no effect: no replica costs anything").sentence
        'weights.cost has no effect: no replica costs anything'
        """
        return visible(f"{self.place} {self.why}")

    def __str__(self) -> str:
        return visible(f"{self.place}: {self.why} (got {self.value})" if self.value else f"{self.place}: {self.why}")


MAX_SHOWN_FAULTS = 20
"""Number of faults that a message lists; it counts the others."""


def first_faults(faults: Iterable[Fault], count: int) -> list[Fault]:
    """The first of `count` faults, as many as are shown; if there are more, the last one says how many are left out.

    >>> str(first_faults((Fault(f"rate[{i}]", "", "is negative") for i in range(30)), 30)[-1])
    'rate: … and 11 more like these'
    """
    if count <= MAX_SHOWN_FAULTS:
        return list(faults)
    shown = list(islice(faults, MAX_SHOWN_FAULTS - 1))
    return [*shown, Fault(shown[0].place.partition("[")[0], "", f"… and {count - len(shown)} more like these")]


class InvalidInstanceError(EdrpError, ValueError):
    """The input cannot be used; `faults` lists every reason with its place.

    Parameters
    ----------
    faults
        All faults found, in the order of the document.
    source
        File name or other origin, shown first.
    """

    of: ClassVar[str] = "input"
    """Subject that has the faults, for the message."""

    def __init__(self, faults: Sequence[Fault], source: str = "") -> None:
        self.faults = tuple(faults)
        self.source = source
        super().__init__(self._text())

    @classmethod
    def raise_if_any(cls, faults: Sequence[Fault], source: str = "") -> None:
        """Raise this error unless there are no faults."""
        if faults:
            raise cls(faults, source)

    def _text(self) -> str:
        head = f"{visible(self.source)}: " if self.source else ""
        lines = "\n".join(f"  {fault}" for fault in self.faults[:MAX_SHOWN_FAULTS])
        more = f"\n  … and {len(self.faults) - MAX_SHOWN_FAULTS} more" if len(self.faults) > MAX_SHOWN_FAULTS else ""
        return f"{head}{numbered(len(self.faults), 'fault')} in the {self.of}\n{lines}{more}"


class InvalidArgumentError(InvalidInstanceError, TypeError):
    """An argument of a function is not what it takes; the message says what was given and what would be right.

    Examples
    --------
    >>> print(InvalidArgumentError([Fault("seed", "null", "must be a whole number of at least 0")], "edrp.solve"))
    edrp.solve: 1 fault in the arguments
      seed: must be a whole number of at least 0 (got null)
    """

    of: ClassVar[str] = "arguments"


class NoSuchFileError(InvalidInstanceError):
    """A file or folder that is to be read does not exist.

    Parameters
    ----------
    path
        Its path.
    hint
        Advice on what would be right, shown last.

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


class RefusedError(EdrpError):
    """A method does not take a problem.

    Parameters
    ----------
    why
        What stands in the way.
    remedy
        What to do about it; "" where only another method helps.
    instead
        Names of methods without this obstacle. `edrp.solve` names the first one that takes the problem, which it asks.

    Examples
    --------
    >>> print(RefusedError("30000 nodes need 1024 GiB", "narrow the candidates", ("greedy",)))
    30000 nodes need 1024 GiB; narrow the candidates
    """

    def __init__(self, why: str, remedy: str = "", instead: tuple[str, ...] = ()) -> None:
        self.why, self.remedy, self.instead = why, remedy, instead
        super().__init__(f"{why}; {remedy}" if remedy else why)


class UnsupportedProblemError(RefusedError):
    """A method cannot express this problem; the message names one that can, if there is one."""


class ProblemTooLargeError(RefusedError):
    """The problem would need more memory than there is; the message says how much, before allocating it."""


class OutOfTimeError(EdrpError):
    """The time limit passed while a method was still preparing; the message says what. `edrp.solve` makes an answer of it."""


class BackendUnavailableError(EdrpError):
    """A solver backend or optional package is not installed; the message names the extra to install."""


class KernelsMissingError(EdrpError, ImportError):
    """The compiled part of the package is missing, damaged or made for another Python; the message says what to do."""


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
