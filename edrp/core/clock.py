"""The clock of a solve: phases that only prepare look at it, and are given up when the time limit has passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter

from edrp.core.errors import OutOfTimeError

_deadline: ContextVar[float] = ContextVar("deadline", default=inf)


_read: Callable[[], float] = perf_counter
_skipped = 0.0


def now() -> float:
    """Seconds on the clock by which time limits are kept."""
    return _read() - _skipped


def skip(seconds: float) -> None:
    """Have the clock of this process go back by what was no solving, such as compiling kernels once and for all."""
    global _skipped
    _skipped += seconds


def skipped() -> float:
    """Seconds that were skipped so far."""
    return _skipped


@contextmanager
def clock_replaced(read: Callable[[], float]) -> Iterator[None]:
    """Have everything read another clock inside the block, so that a test can let time pass without waiting."""
    global _read
    before, _read = _read, read
    try:
        yield
    finally:
        _read = before


@contextmanager
def deadline(moment: float) -> Iterator[None]:
    """Let `look` give up what is done inside the block after this moment, or after that of a block outside.

    Examples
    --------
    >>> with deadline(now() - 1):
    ...     look("the arrays")
    Traceback (most recent call last):
    edrp.core.errors.OutOfTimeError: the time limit passed during the preparation of the arrays
    """
    token = _deadline.set(min(moment, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float:
    """Seconds until the deadline, infinite without one; negative once it has passed."""
    return _deadline.get() - now()


def look(subject: str) -> None:
    """Look at the clock between two steps of preparing something that holds no answer yet.

    Raises
    ------
    OutOfTimeError
        When the deadline has passed; `edrp.solve` answers that nothing was found in time.
    """
    if seconds_left() <= 0:
        raise OutOfTimeError(f"the time limit passed during the preparation of {subject}")
