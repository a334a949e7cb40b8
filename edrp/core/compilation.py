"""Whether kernels may be compiled where they are called, and the time that this has cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from edrp.core import clock

_may_compile: ContextVar[bool] = ContextVar("may_compile", default=True)


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
            clock.skip(seconds)

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
