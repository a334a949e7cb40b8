"""The decorators behind which compiled kernels stand; Numba is imported when one of them first runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

from edrp.core.interpretation import current_interpreter

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
        interpreter = current_interpreter()
        return self.dispatcher(*arguments) if interpreter is None else interpreter.run(self.function, arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba makes of the function for calls from Python; its machine code is kept between processes."""
        from edrp.core.kernel_cache import cached_dispatcher

        return cached_dispatcher(self.function, self.options)

    @cached_property
    def part(self) -> Any:
        """What Numba makes of the function for calls from other kernels; its machine code is kept as a part of theirs.

        To unpack tuples of arrays for a call from Python takes as much code as many a helper itself.
        """
        from numba import njit

        return njit(**{**self.options, "no_cpython_wrapper": True})(self.function)

    @property
    def _numba_type_(self) -> Any:
        """By which Numba recognises it in other kernels."""
        return self.part._numba_type_


class InlinedKernel(Kernel):
    """A part of other kernels; nothing is compiled for calls from Python."""

    def __call__(self, *arguments: Any) -> Any:
        """Run it as part of an interpreted kernel; else refuse, since without a wrapper a call would end the process."""
        if interpreter := current_interpreter():
            return interpreter.run(self.function, arguments)
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
