"""Kernels: the decorators behind which they stand, and Python, which runs them for as long as that is sooner done than compiling.

A kernel is plain Python. On a small problem the interpreter is through with it in milliseconds, where Numba takes a third of
a second to import and seconds to compile. So a process interprets until that has cost it `PATIENCE` seconds; what is at work
then is given up and begun again with compiled kernels, which do the same in the same order. Numba is imported when a kernel
is first compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property, update_wrapper
from threading import Lock, Timer, get_ident
from time import perf_counter
from typing import Any, TypeVar, cast

from edrp.core.threads import end_thread, spare_thread

PATIENCE = 1.0
"""Seconds that one process spends on interpreting."""


class InterpretationTooSlowError(Exception):
    """Interpreting has cost what it may; the work has to begin again with compiled kernels."""


class Interpreter:
    """Runs kernels in Python until its time is used up, and then stops every thread that is at it.

    Parameters
    ----------
    seconds
        Time for all calls together, from the beginning of the first one.

    Examples
    --------
    >>> Interpreter(5.0).run(sum, ([1, 2],))
    3
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._at_work: set[int] = set()
        self._timer: Timer | None = None
        self._began = 0.0
        self.expired = False
        self.failed = False

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a kernel's function.

        Raises
        ------
        InterpretationTooSlowError
            When time is up, wherever the function is then.
        """
        thread = get_ident()
        if thread in self._at_work:
            return function(*arguments)
        import numpy as np

        self._enter(thread)
        try:
            with np.errstate(all="ignore"):  # as compiled kernels do
                return function(*arguments)
        except Exception:
            self.failed = True
            raise
        finally:
            try:
                self._leave(thread)
            except InterpretationTooSlowError:  # raised on the way into it
                self._leave(thread)
                raise

    def close(self) -> float:
        """Stop the clock; returns the seconds used."""
        if self._timer is None:
            return 0.0
        self._timer.cancel()
        return perf_counter() - self._began

    def _enter(self, thread: int) -> None:
        with self._lock:
            if self.expired:
                raise InterpretationTooSlowError
            self._at_work.add(thread)
            if self._timer is None:
                self._began = perf_counter()
                self._timer = Timer(self._seconds, self._expire)
                self._timer.daemon = True
                self._timer.start()

    def _leave(self, thread: int) -> None:
        with self._lock:
            self._at_work.discard(thread)
            if self.expired:  # it may have come too late to be noticed
                spare_thread(thread)

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            for thread in self._at_work:
                end_thread(thread, InterpretationTooSlowError)


_interpreter: ContextVar[Interpreter | None] = ContextVar("interpreter", default=None)
_used = 0.0


current_interpreter: Callable[[], Interpreter | None] = _interpreter.get
"""Who runs kernels here instead of the machine; None where they are compiled."""


@contextmanager
def interpreting(seconds: float) -> Iterator[Interpreter]:
    """Have kernels interpreted inside the block, for so many seconds."""
    interpreter = Interpreter(seconds)
    token = _interpreter.set(interpreter)
    try:
        yield interpreter
    finally:
        _interpreter.reset(token)
        interpreter.close()


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Have all kernels compiled inside the block, also those that would be interpreted first."""
    global _used
    before, _used = _used, float("inf")
    try:
        yield
    finally:
        _used = before


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that runs its kernels in another thread as they would be run in this one."""
    context = copy_context()
    return lambda *arguments: context.copy().run(function, *arguments)


def interpreted_first(work: Callable[[], Any], *, seconds: float = float("inf")) -> Any:
    """Do work with interpreted kernels while this process has patience, and otherwise, or from the beginning, with compiled ones.

    Parameters
    ----------
    work
        It may be begun twice.
    seconds
        Most that it may take, where that is less than the patience left.

    Examples
    --------
    >>> interpreted_first(lambda: "done")
    'done'
    """
    global _used
    left = min(PATIENCE - _used, seconds)
    if left <= 0 or current_interpreter() is not None:
        return work()
    with interpreting(left) as interpreter:
        try:
            return work()
        except Exception:
            # A kernel that Python does not take as Numba does is no fault of the work either.
            if not interpreter.expired and not interpreter.failed:
                raise
        finally:
            _used += interpreter.close()
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
        interpreter = current_interpreter()
        return self.dispatcher(*arguments) if interpreter is None else interpreter.run(self.function, arguments)

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
