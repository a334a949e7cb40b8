"""Whether kernels may be compiled where they are called, and the time that this has cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

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
    counts : whether time limits include them.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.counts = True
        self._listeners: list[Callable[[], None]] = []

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
def compiling_outside_limits() -> Iterator[None]:
    """Stop the clock of time limits while kernels are compiled, in the whole process: where many problems share the kernels.

    >>> with compiling_outside_limits():
    ...     compilation.counts
    False
    """
    before = compilation.counts
    compilation.counts = False
    try:
        with clock.clock_replaced(lambda: perf_counter() - compilation.seconds):
            yield
    finally:
        compilation.counts = before
