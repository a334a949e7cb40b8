"""Claims of methods, looked at for themselves: an answer that contradicts itself or what is known needs no evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Final, get_args

from edrp.core.document import Document
from edrp.core.errors import VerificationError
from edrp.core.methods import find_method
from edrp.core.plugins import is_ours
from edrp.core.solution import Answer, Proof, StageOutcome, Status, StoppedBecause
from edrp.core.tolerances import CONTRADICTION

HOLDING: Final = ("optimal", "feasible")
"""Statuses that claim a decision; every other one claims that there is none."""

SETTLED: Final = ("optimal", "infeasible", "unbounded")
"""Statuses that leave nothing to be decided: no limit, no interrupt and no error has stopped what claims them."""

CERTIFIED: Final = "checked certificate"
"""Proof that no method claims by itself: the checker gives it."""


def contradiction(answer: object) -> str:
    """Fault of an answer by itself, or an empty string.

    >>> contradiction(None)
    'gives NoneType, which is no Answer'
    >>> contradiction(Answer("optimal", "finished"))
    "claims status 'optimal' without a decision"
    """
    if not isinstance(answer, Answer):
        return f"gives {type(answer).__name__}, which is no Answer"
    looks = (_wrong_word, _wrong_number, _wrong_record, _contradictory_status)
    return next((wrong for look in looks if (wrong := look(answer))), "")


def refutation(answer: Answer, objective: float) -> str:
    """How a feasible decision of a certain objective, which the method was given, refutes its answer, or an empty string.

    >>> refutation(Answer("infeasible", "finished"), 3.0)
    "claims status 'infeasible', but a decision that it was given is feasible"
    """
    if answer.status == "infeasible":
        return "claims status 'infeasible', but a decision that it was given is feasible"
    if answer.bound is not None and answer.bound > objective + CONTRADICTION * max(1.0, abs(objective)):
        return f"bound {answer.bound!r} above the objective {objective!r} of a feasible decision that it was given"
    return ""


@contextmanager
def left_alone(problem: Any, name: str) -> Iterator[None]:
    """Make sure that a method of another package leaves the problem as it is: its answer would be to another one.

    Our own methods are checked by the tests, which saves large problems from being written twice.

    Raises
    ------
    VerificationError
        The problem is another at the end of the block.
    """
    method = find_method(name)
    if method is None or is_ours(method.origin) or not isinstance(problem, Document):
        yield
        return
    before = _text(problem)
    try:
        yield
    finally:
        if _text(problem) != before:
            raise VerificationError(f"method {name}: has changed the problem")


def _text(problem: Document) -> str:
    """The problem as text, whatever has been written into it."""
    return problem.model_dump_json(warnings=False, fallback=repr)


def _wrong_word(answer: Answer) -> str:
    words: tuple[tuple[str, object, Any], ...] = (
        ("status", answer.status, Status),
        ("stopped_because", answer.stopped_because, StoppedBecause),
        ("proof", answer.proof, Proof),
    )
    for name, value, known in words:
        if value not in get_args(known) and not (name == "proof" and value is None):
            return f"{name} must be one of {', '.join(get_args(known))}, not {value!r}"
    if answer.proof == CERTIFIED:
        return f"claims a {CERTIFIED}, which only the checker gives"
    return f"gives {answer.proof!r} as proof and claims nothing" if answer.proof and not answer.claims else ""


def _wrong_number(answer: Answer) -> str:
    for name in ("objective", "bound"):
        value = getattr(answer, name)
        if value is not None and not (_is_number(value) and math.isfinite(value)):
            return f"claims {value!r} as {name}, which must be a finite number or None"
    return ""


def _wrong_record(answer: Answer) -> str:
    """The first part of an answer that the solution document could not hold, or an empty string."""
    records: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
        ("build_seconds", lambda value: _is_number(value) and 0 <= value < math.inf, "a finite number of at least 0"),
        ("size", _is_size, "whole numbers of at least 0 by name"),
        ("notes", lambda value: _holds(value, str), "a tuple of texts"),
        ("method", lambda value: isinstance(value, str), "text"),
        ("stages", lambda value: _holds(value, StageOutcome), "a tuple of outcomes of stages"),
    )
    for name, fits, words in records:
        value = getattr(answer, name)
        if not fits(value):
            return f"{name} is {value!r}, which must be {words}"
    return ""


def _contradictory_status(answer: Answer) -> str:
    """Part of an answer that contradicts its status, or an empty string.

    A method that has settled a problem has finished. A bound without a decision is what a search leaves that was stopped: one
    that went on to its end has found a decision or knows that there is none.
    """
    if answer.status in HOLDING:
        if answer.decision is None:
            return f"claims status {answer.status!r} without a decision"
        if answer.status == "optimal" and answer.bound is None:
            return "claims status 'optimal' without a bound"
    elif answer.decision is not None:
        return f"claims status {answer.status!r} and gives a decision"
    elif answer.objective is not None:
        return f"claims status {answer.status!r} and gives an objective, {answer.objective!r}"
    if answer.status in SETTLED and answer.stopped_because != "finished":
        return f"claims status {answer.status!r}, but was stopped because of {answer.stopped_because!r}"
    may_be_bounded = answer.status in HOLDING or (answer.status == "none" and answer.stopped_because not in ("finished", "error"))
    if answer.bound is not None and not may_be_bounded:
        return f"claims status {answer.status!r} ({answer.stopped_because}) and gives a bound, {answer.bound!r}"
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_size(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) and isinstance(count, Integral) and not isinstance(count, bool) and int(count) >= 0
        for name, count in value.items()
    )


def _holds(value: object, kind: type) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(item, kind) for item in value)
