"""Kernels: the decorators behind which they stand, and Python, which runs them where that is sooner done than loading a compiler.

A kernel is plain Python. Where a problem is small it is interpreted in milliseconds; Numba takes a third of a second to import
and seconds to compile. Whether it is small is known at the latest when as much work has been counted as small problems take:
then it begins again with compiled kernels, which do the same in the same order. Kernels whose machine code is kept are run
compiled from the start, since they take no Numba; for the others a process that solves many small problems loads the compiler,
too, once it has interpreted for about as long as that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from math import inf
from typing import Any, TypeVar, cast

from edrp.core.budget import OUTSIDE, TooMuchWorkError, at_most, clock, running, setting

Function = TypeVar("Function", bound=Callable[..., Any])
SMALL = 0.01
"""Units of work that are interpreted, which takes about a hundred times as long."""

REPEATED = 0.003
"""Units of work that a process interprets before it loads compiled kernels: about the third of a second that loading takes."""

_interpreted: ContextVar[bool | None] = ContextVar("interpreted", default=None)
_may_be_compiled: ContextVar[bool] = ContextVar("may_be_compiled", default=False)
"""Whether a kernel is not called by another one, and may be run compiled though small problems are interpreted here."""


@dataclass
class Interpretation:
    """Units of work that this process has done with interpreted kernels; answers do not depend on it."""

    units: float = 0.0


interpretation = Interpretation()


class InterpretationError(Exception):
    """Python does not take a kernel as Numba does."""


@contextmanager
def interpreting(yes: bool = True) -> Iterator[None]:
    """Have Python run all kernels inside the block, or, if not `yes`, none, not even on small problems."""
    import numpy as np

    with setting(_interpreted, yes), np.errstate(all="ignore"):  # as compiled kernels do
        yield


def is_interpreting() -> bool:
    """Whether Python runs the kernels here.

    >>> with interpreting():
    ...     is_interpreting()
    True
    """
    return bool(_interpreted.get())


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that runs its kernels in another thread as they would be run in this one."""
    context = copy_context()
    return lambda *arguments: context.copy().run(function, *arguments)


def interpreted_first(work: Callable[[], Any]) -> Any:
    """Do work with interpreted kernels where it is small, and otherwise, perhaps from the beginning, with compiled ones.

    >>> interpreted_first(lambda: "done")
    'done'
    """
    if _interpreted.get() is None:
        own = running() if clock() is OUTSIDE else nullcontext()  # threads outside of runs share a clock
        with suppress(TooMuchWorkError, InterpretationError), own, interpreting(), setting(_may_be_compiled, True):
            before = clock().work
            try:
                with at_most(SMALL):
                    return work()
            finally:
                interpretation.units += clock().work - before
    return work()


class Kernel:
    """A function that Numba, which is imported then, compiles when it is first called; kernels that call it have it as a part."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.function = function
        self.options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
        self._compiled: dict[str | None, Callable[..., Any] | None] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run it, compiled unless it is to be interpreted; raises `InterpretationError` when Python fails at it."""
        if _interpreted.get() and not _may_be_compiled.get():
            return self._interpreted(arguments)
        from edrp.core.kernel_store import types_of  # and NumPy

        types = types_of(arguments)
        run = self._compiled[types] if types in self._compiled else self._kept(types)
        if run is None:
            if _interpreted.get() and (interpretation.units <= REPEATED or clock().seconds_left() < inf):
                with setting(_may_be_compiled, False):
                    return self._interpreted(arguments)
            run = self._compiled[types] = self.dispatcher
        return run(*arguments)

    def _interpreted(self, arguments: tuple[Any, ...]) -> Any:
        try:
            return self.function(*arguments)
        except Exception as error:
            raise InterpretationError(f"{self.function.__qualname__}: {error}") from error

    def _kept(self, types: str | None) -> Callable[..., Any] | None:
        """The function as it was compiled by an earlier process, for arguments of some types, looked for once; without Numba."""
        from edrp.core.kernel_store import compiled_before

        kept = self._compiled[types] = None if types is None else compiled_before(self.function, self.options, types)
        return kept

    @cached_property
    def dispatcher(self) -> Any:
        """The function compiled for calls from Python; its machine code is kept between processes."""
        from edrp.core.kernel_cache import cached_dispatcher

        return cached_dispatcher(self.function, self.options)

    @cached_property
    def part(self) -> Any:
        """The function compiled for calls from other kernels; its machine code is kept as a part of theirs."""
        from edrp.core.kernel_parts import part_dispatcher

        return part_dispatcher(self.function, self.options)

    @property
    def _numba_type_(self) -> Any:
        """By which Numba recognises it in other kernels."""
        return self.part._numba_type_


def kernel(function: Function) -> Function:
    """Compile with Numba when the function is first called."""
    return cast("Function", Kernel(function))


def inner_loop(function: Function) -> Function:
    """Compile like `kernel`, without reference counting: the function must not allocate."""
    return cast("Function", Kernel(function, _nrt=False))


def inlined(function: Function) -> Function:
    """Compile as a part of the kernels that call it, without reference counting; it must not allocate.

    For helpers of inner loops that take a whole tuple of arrays: handing that over in a real call, and
    counting references to each array at each access, costs ten times more than the helper's own work.
    """
    return cast("Function", Kernel(function, _nrt=False, forceinline=True))
