"""The computational budget of a solve: its one clock, which counts work, its limits, and memory.

A unit of work is about a second of an idle core of the usual kind. Kernels and loops say what they have done (`spend`), solvers
by counters of their own, so that the clock advances alike at any load and in any process, and everything that asks it decides
alike. Seconds end a run, where a time limit says so, and decide nothing else: when they are over the clock jumps beyond every
limit. So it does at Ctrl-C, which therefore ends a run like a time limit: whatever was found and proven is kept. Phases that
only prepare look at the clock, and are given up when the limit has passed; what memory cannot hold is refused before any of it
is allocated.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from math import inf
from time import perf_counter
from types import FrameType
from typing import Any, TypeVar

from edrp.core.errors import OutOfTimeError, ProblemTooLargeError

T = TypeVar("T")

OVER = 1e15
"""Reading of the clock once the time limit has passed: later than any limit, and finite, so that differences are numbers."""

LOOK = 2e-5
"""Units that a step of a loop costs which looks at the clock, beyond what it says itself: every loop comes to an end."""

SATURATION = 1 - 2**-20
"""Share of a time limit that is never exceeded by work: where there is no work limit, seconds alone end a run."""


class TooMuchWorkError(Exception):
    """More work than was meant to be done this way; it begins again in another one."""


class Clock:
    """The clock of one run.

    Parameters
    ----------
    time_limit
        Seconds after which the clock jumps; None for never.
    work_limit
        Units after which the run ends; None for the number of seconds of the time limit, which is then never reached.
    outer
        Clock of the run that this one is a part of.
    """

    def __init__(self, time_limit: float | None = None, work_limit: float | None = None, outer: Clock | None = None) -> None:
        self.work, self.ceiling, self.over = 0.0, inf, False
        self._outer, self._interrupted = outer, False
        end = inf if time_limit is None else perf_counter() + time_limit
        self._end: float = end if outer is None else min(end, outer._end)
        self._most = time_limit * SATURATION if time_limit is not None and work_limit is None else inf
        self.limit = min(inf if time_limit is None else time_limit, inf if work_limit is None else work_limit)

    def read(self) -> float:
        """Units of work so far; `OVER` from the moment at which the time limit has passed, or the run was interrupted."""
        self.over = self.over or self.seconds_left() <= 0
        return OVER if self.over else min(self.work, self._most)

    @property
    def interrupted(self) -> bool:
        """Whether the user wants the run, or one that it is a part of, to end now."""
        return self._interrupted or (self._outer is not None and self._outer.interrupted)

    def interrupt(self) -> None:
        """Let all limits pass now, those that were never set included."""
        self._interrupted = True

    def seconds_left(self) -> float:
        """Seconds until the time limit, infinite without one, where no clock is read; none once the run is interrupted."""
        left = inf if self._end == inf else self._end - perf_counter()
        return min(left, 0.0) if self.interrupted else left


OUTSIDE = Clock()
"""The clock outside of all runs, which has no limits."""

_clock: ContextVar[Clock] = ContextVar("clock", default=OUTSIDE)
_deadline: ContextVar[float] = ContextVar("deadline", default=inf)


clock: Callable[[], Clock] = _clock.get
"""The clock of the run that this is a part of, or `OUTSIDE`."""


step_begins: ContextVar[Callable[[str], object]] = ContextVar("step_begins", default=lambda step: None)
"""Called with the name of each step beside the method's own that may take long, such as certifying."""


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable of the context a value inside the block.

    >>> variable = ContextVar("variable", default=0)
    >>> with setting(variable, 1):
    ...     variable.get()
    1
    """
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that counts on this thread's clock, and keeps to its limits, in whichever thread it is called."""
    context = copy_context()
    return lambda *arguments: context.copy().run(function, *arguments)


def now() -> float:
    """Units on the clock by which limits are kept."""
    return clock().read()


def spend(units: float) -> None:
    """Advance the clock by what was done; one unit is about a second of an idle core.

    Examples
    --------
    >>> with running(work_limit=5.0):
    ...     spend(2.0)
    ...     units_left()
    3.0
    """
    own = clock()
    own.work += units
    if own.work > own.ceiling:
        raise TooMuchWorkError


@contextmanager
def interruptible(run: Clock) -> Iterator[None]:
    """Have the first Ctrl-C inside the block interrupt a run, which answers then; the second one raises `KeyboardInterrupt`.

    An exception in the midst of anything would leave halves behind: a bound that is no longer counted, a value without its
    decision. Handlers of others, and threads that no signal reaches, are left alone.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if run.interrupted:
            signal.default_int_handler(number, frame)
        run.interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def running(time_limit: float | None = None, work_limit: float | None = None) -> Iterator[Clock]:
    """Give what is done inside the block a clock of its own, which ends it at `time_limit` or `work_limit`.

    A run inside another one keeps to the limits of both, and its work counts for both.
    """
    outer = clock()
    own = Clock(time_limit, work_limit, outer)
    left = inf if outer is OUTSIDE else units_left()
    try:
        with setting(_clock, own), setting(_deadline, min(own.limit, left)):
            yield own
    finally:
        outer.work += own.work


@contextmanager
def deadline(moment: float) -> Iterator[None]:
    """Let `look` give up what is done inside the block after this moment, or after that of a block outside.

    Examples
    --------
    >>> with deadline(now() - 1):
    ...     look("the arrays")
    Traceback (most recent call last):
    edrp.core.errors.OutOfTimeError: the limit passed during the preparation of the arrays
    """
    with setting(_deadline, min(moment, _deadline.get())):
        yield


def units_left() -> float:
    """Units until the deadline, infinite without one; negative once it has passed, or the run was interrupted."""
    moment = now()
    return -OVER if clock().interrupted else _deadline.get() - moment


def passed(moment: float) -> bool:
    """Whether the clock has passed a moment, perhaps an infinite one, which an interrupt passes, too.

    >>> passed(now() - 1), passed(inf)
    (True, False)
    """
    return bool(now() >= moment) or clock().interrupted


def look(subject: str, expected: float = 0.0) -> None:
    """Look at the clock between two steps of preparing something that holds no answer yet.

    Parameters
    ----------
    subject
        Name of the part that is being prepared.
    expected
        Units that the next step is likely to take, where it cannot look at the clock itself.

    Raises
    ------
    OutOfTimeError
        When the deadline has passed, or will have; `edrp.solve` answers that nothing was found in time.
    """
    spend(LOOK)
    left = units_left()
    if left <= expected:
        raise OutOfTimeError(f"the limit {'passed' if left <= 0 else 'would pass'} during the preparation of {subject}")


@contextmanager
def at_most(units: float) -> Iterator[None]:
    """Have `spend` raise `TooMuchWorkError` once the work of the block exceeds `units`.

    Examples
    --------
    >>> with at_most(1.0):
    ...     spend(2.0)
    Traceback (most recent call last):
    edrp.core.budget.TooMuchWorkError
    """
    own, before = clock(), clock().ceiling
    own.ceiling = min(before, own.work + units)
    try:
        yield
    finally:
        own.ceiling = before


@contextmanager
def counted_as(units: float) -> Iterator[None]:
    """Count a block as `units`, where what it does depends on what the process has kept from before.

    No limit ends the block.

    Examples
    --------
    >>> with running(work_limit=5.0):
    ...     with counted_as(2.0):
    ...         spend(7.0)
    ...     units_left()
    3.0
    """
    spend(units)
    with setting(_clock, Clock()), setting(_deadline, inf):
        yield


CEILING = 4 * 2**30
"""Bytes that one table or set of documents may take on the largest of machines."""


def memory_limit() -> float:
    """Bytes that one table or set of documents may take here: at most half of the machine's memory."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        return CEILING
    return min(CEILING, physical / 2)


def refuse_beyond_memory(needed: float, what: str, remedy: str, instead: tuple[str, ...] = ()) -> None:
    """Refuse work that needs `needed` bytes when that is more than `memory_limit()`; `instead` as in `RefusedError`.

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
            f"{what} need {needed / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} GiB set aside", remedy, instead
        )


def amount(number: float) -> str:
    """Write a count that may be astronomically large.

    >>> amount(1234567), amount(10**40 + 1)
    ('1,234,567', 'more than 10^40')
    """
    return f"{number:,.0f}" if number < 1e15 else f"more than 10^{math.floor(math.log10(number))}"
