"""The computational budget of a solve: its clock and deadline, compiling, which may stop the clock, and memory.

Phases that only prepare look at the clock, and are given up when the time limit has passed; what memory cannot hold is refused
before any of it is allocated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter

from edrp.core.errors import OutOfTimeError, ProblemTooLargeError

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


_spent = 0.0


def spend(units: float) -> None:
    """Advance the work clock by what was done; one unit is about a second of an idle core."""
    global _spent
    _spent += units


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


def look(subject: str, expected: float = 0.0) -> None:
    """Look at the clock between two steps of preparing something that holds no answer yet.

    Parameters
    ----------
    subject
        Name of the part that is being prepared.
    expected
        Seconds that the next step is likely to take, where it cannot look at the clock itself.

    Raises
    ------
    OutOfTimeError
        When the deadline has passed, or will have; `edrp.solve` answers that nothing was found in time.
    """
    left = seconds_left()
    if left <= expected:
        raise OutOfTimeError(f"the time limit {'passed' if left <= 0 else 'would pass'} during the preparation of {subject}")


_may_compile: ContextVar[bool] = ContextVar("may_compile", default=True)


FOR_WHEEL = "EDRP_KERNELS_FOR_WHEEL"
"""Environment variable: folder to which machine code for a wheel is written, too."""


class KernelNotCompiledError(Exception):
    """A kernel would have to be compiled where there is no time for that."""


@contextmanager
def compiled_kernels_only() -> Iterator[None]:
    """Have a kernel whose machine code is not there yet raise `KernelNotCompiledError` instead of compiling it.

    >>> with compiled_kernels_only():
    ...     may_compile()
    False
    """
    token = _may_compile.set(False)
    try:
        yield
    finally:
        _may_compile.reset(token)


def may_compile() -> bool:
    """Whether kernels are compiled here when they are called."""
    return _may_compile.get()


class CompilationClock:
    """Seconds that this process has waited for the compiler, and who is told when it begins.

    Attributes
    ----------
    seconds : waited for so far.
    counts : whether the clock of time limits goes on meanwhile, as it does for somebody who waits for this process.
    patient : whether kernels are compiled under a time limit, too, because many solves will share them.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.counts = False
        self.patient = False
        self._listeners: list[Callable[[], None]] = []

    def spent(self, seconds: float) -> None:
        """Add what one kernel took."""
        self.seconds += seconds
        if not self.counts:
            skip(seconds)

    def begin(self) -> None:
        """Tell the listeners that a kernel is being compiled."""
        for listener in self._listeners:
            listener()

    @contextmanager
    def told(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call a function whenever compiling begins, as long as the block lasts.

        >>> with CompilationClock().told(print):
        ...     pass
        """
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


compilation = CompilationClock()
"""That of this process."""


@contextmanager
def compiling_under_limits() -> Iterator[None]:
    """Compile kernels inside the block also where there is a time limit, which does not count that.

    >>> with compiling_under_limits():
    ...     compilation.patient
    True
    """
    before, compilation.patient = compilation.patient, True
    try:
        yield
    finally:
        compilation.patient = before


CEILING = 4 * 2**30
"""Bytes that one table or set of documents may take on the largest of machines."""


def memory_limit() -> float:
    """Bytes that one table or set of documents may take here: at most half of the machine's memory."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        return CEILING
    return min(CEILING, physical / 2)


def refuse_beyond_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse work that needs `needed` bytes when that is more than `memory_limit()`.

    Raises
    ------
    ProblemTooLargeError
        Naming what needs how much, and what to do instead.

    Examples
    --------
    >>> refuse_beyond_memory(2.0**40, "30000 nodes", "narrow the operators' candidates")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    edrp.core.errors.ProblemTooLargeError: 30000 nodes need 1024.0 GiB, ...
    """
    limit = memory_limit()
    if needed > limit:
        raise ProblemTooLargeError(
            f"{what} need {needed / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} GiB set aside; {remedy}"
        )


def amount(number: float) -> str:
    """Write a count that may be astronomically large.

    >>> amount(1234567), amount(10**40 + 1)
    ('1,234,567', 'more than 10^40')
    """
    return f"{number:,.0f}" if number < 1e15 else f"more than 10^{math.floor(math.log10(number))}"
