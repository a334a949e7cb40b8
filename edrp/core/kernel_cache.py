"""Where the machine code of kernels is kept: in the user's own cache, and in one that a wheel may bring along.

The user's cache is Numba's: beside the sources, or where NUMBA_CACHE_DIR says.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, NullCache

from edrp.core.compilation import KernelNotCompiledError, compilation, may_compile
from edrp.core.kernel_sources import tie_to_all_sources
from edrp.core.wheel_kernels import FOR_WHEEL, load_from_wheel, save_for_wheel


def cached_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What Numba makes of a function, with the caches of this package."""
    dispatcher = njit(**options)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher


class KernelCache(NullCache):  # type: ignore[misc]  # Numba has no types
    """Machine code of one kernel: the user's own first, then what the wheel brought; new code goes to the user's.

    Where no folder can be written (a zip on a cluster, a read-only installation), a kernel is compiled again in each process.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._own: Any = None
        try:
            self._own = FunctionCache(function)
        except RuntimeError:  # no folder can be written
            return
        tie_to_all_sources(self._own._cache_file, self._own._cache_file._source_stamp)

    @property
    def cache_path(self) -> Any:
        """Folder of the user's own cache."""
        return None if self._own is None else self._own.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for a signature, or None where it has to be compiled.

        Raises
        ------
        KernelNotCompiledError
            Where it would have to be, and there is no time for that.
        """
        found = None if self._own is None else self._own.load_overload(sig, target_context)
        if found is None:
            found = load_from_wheel(self._function, sig, target_context)
        if found is None and not may_compile():
            raise KernelNotCompiledError(self._function.__qualname__)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code for later processes."""
        if self._own is not None:
            self._own.save_overload(sig, data)
        if folder := os.environ.get(FOR_WHEEL):
            save_for_wheel(Path(folder), self._function, sig, data)


class _CompilationListener(event.Listener):  # type: ignore[misc]
    """Adds up the time that Numba spends on compiling; a kernel that is compiled for another one is a part of that one's."""

    def __init__(self) -> None:
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._began = perf_counter()
            compilation.begin()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            compilation.spent(perf_counter() - self._began)


event.register("numba:compile", _CompilationListener())
