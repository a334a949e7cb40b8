"""Kernels: the decorators behind which they stand, and Python, which runs them where that is sooner done than loading a compiler.

A kernel is plain Python. On a small problem the interpreter is through with it in milliseconds, where Numba takes a third of
a second to import and seconds to compile. Whether it is small is known before the work is done, or at the latest when as much
has been counted as small problems take: then it begins again with compiled kernels, which do the same in the same order.
Numba is imported when a kernel is first compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

from edrp.core.budget import TooMuchWorkError, at_most, in_run, running

SMALL = 0.01
"""Units of work that are interpreted, which takes about a hundred times as long."""


class InterpretationError(Exception):
    """Python does not take a kernel as Numba does."""


_interpreted: ContextVar[bool | None] = ContextVar("interpreted", default=None)


@contextmanager
def interpreting(yes: bool = True) -> Iterator[None]:
    """Have Python run all kernels inside the block, or, if not `yes`, none, not even on small problems."""
    import numpy as np

    token = _interpreted.set(yes)
    try:
        with np.errstate(all="ignore"):  # as compiled kernels do
            yield
    finally:
        _interpreted.reset(token)


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that runs its kernels in another thread as they would be run in this one."""
    context = copy_context()
    return lambda *arguments: context.copy().run(function, *arguments)


def interpreted_first(work: Callable[[], Any]) -> Any:
    """Do work with interpreted kernels where it is small, and otherwise, perhaps from the beginning, with compiled ones.

    Examples
    --------
    >>> interpreted_first(lambda: "done")
    'done'
    """
    if _interpreted.get() is not None:
        return work()
    if not in_run():  # threads outside of runs share a clock
        with running():
            return interpreted_first(work)
    try:
        with interpreting(), at_most(SMALL):
            return work()
    except (TooMuchWorkError, InterpretationError):
        return work()


Function = TypeVar("Function", bound=Callable[..., Any])

KERNEL = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Options of every kernel; nobody calls one through a pointer of C."""


class Kernel:
    """A function that Numba compiles when it is first called; to other kernels it is what Numba makes of it."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.function = function
        self.options = options

    def __call__(self, *arguments: Any) -> Any:
        """Run it, compiled unless it is to be interpreted."""
        return self.interpret(arguments) if _interpreted.get() else self.dispatcher(*arguments)

    def interpret(self, arguments: tuple[Any, ...]) -> Any:
        """Run it as the Python that it is.

        Raises
        ------
        InterpretationError
            When Python fails at it.
        """
        try:
            return self.function(*arguments)
        except Exception as error:
            raise InterpretationError(f"{self.function.__qualname__}: {error}") from error

    @cached_property
    def dispatcher(self) -> Any:
        """The function compiled for calls from Python; its machine code is kept between processes."""
        from edrp.core.kernel_cache import cached_dispatcher

        return cached_dispatcher(self.function, self.options)

    @cached_property
    def part(self) -> Any:
        """The function compiled for calls from other kernels; its machine code is kept as a part of theirs.

        To unpack tuples of arrays for a call from Python takes as much code as many a helper itself.
        """
        from edrp.core.kernel_parts import PartCompiler, PartDispatcher

        options = {**self.options, "nopython": True, "no_cpython_wrapper": True}
        return PartDispatcher(self.function, targetoptions=options, pipeline_class=PartCompiler)

    @property
    def _numba_type_(self) -> Any:
        """By which Numba recognises it in other kernels."""
        return self.part._numba_type_


class InlinedKernel(Kernel):
    """A part of other kernels; nothing is compiled for calls from Python."""

    def __call__(self, *arguments: Any) -> Any:
        """Run it as part of an interpreted kernel; else refuse, since without a wrapper a call would end the process."""
        if _interpreted.get():
            return self.interpret(arguments)
        name = self.function.__qualname__
        raise TypeError(f"{name} is compiled into the kernels that call it, and cannot be called from Python")


def kernel(function: Function) -> Function:
    """Compile with Numba when the function is first called."""
    return cast("Function", Kernel(function, **KERNEL))


def inner_loop(function: Function) -> Function:
    """Compile like `kernel`, without reference counting: the function must not allocate."""
    return cast("Function", Kernel(function, **KERNEL, _nrt=False))


def inlined(function: Function) -> Function:
    """Compile as a part of the kernels that call it, without reference counting; it must not allocate.

    For helpers of inner loops that take a whole tuple of arrays: handing that over in a real call, and
    counting references to each array at each access, costs ten times more than the helper's own work.
    """
    return cast("Function", InlinedKernel(function, **KERNEL, forceinline=True, _nrt=False))
