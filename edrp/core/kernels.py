"""The decorators behind which compiled kernels stand; Numba is imported when one of them first runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

ROOMS = ("edrp", "edrp.formulations", "edrp.heuristics", "edrp.mdp", "edrp.datasets", "edrp.validation")
"""Where kernels are."""

KERNEL = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Options of every kernel; nobody calls one through a pointer of C."""


class Kernel:
    """A function that Numba compiles when it is first called; to other kernels it is what Numba makes of it."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.function = function
        self.options = options

    def __call__(self, *arguments: Any) -> Any:
        """Run it, compiled."""
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba makes of the function, cached on disk where a cache can be written.

        Numba refuses when no cache directory is writable (a zip on a cluster, a read-only installation); the kernel is then
        compiled again in each process.
        """
        from numba import njit

        try:
            compiled = njit(cache=True, **self.options)(self.function)
        except RuntimeError:
            return njit(**self.options)(self.function)
        _tie_to_all_sources(compiled)
        return compiled

    @property
    def _numba_type_(self) -> Any:
        """By which Numba recognises it in other kernels."""
        return self.dispatcher._numba_type_


class InlinedKernel(Kernel):
    """A part of other kernels; nothing is compiled for calls from Python."""

    def __call__(self, *arguments: Any) -> Any:
        """Refuse: without a wrapper for Python, a call would end the process."""
        name = self.function.__qualname__
        raise TypeError(f"{name} is compiled into the kernels that call it, and cannot be called from Python")

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba makes of the function; it is cached as part of its callers."""
        from numba import njit

        return njit(**self.options)(self.function)


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
    return cast("Function", InlinedKernel(function, **KERNEL, no_cpython_wrapper=True, forceinline=True, _nrt=False))


def _tie_to_all_sources(compiled: Any) -> None:
    """Have a cached kernel compiled again when any file with kernels has changed.

    Numba looks at the kernel's own file only, but what is inlined comes from other files too: after an upgrade an old
    kernel would go on computing what it did.
    """
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None:
        index._source_stamp = (index._source_stamp, _fingerprint())
        index._load_index = partial(_load_index, index._load_index)


def _load_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """Read the index of a kernel's cache; one whose types have been moved or renamed since counts as empty."""
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


@cache
def _fingerprint() -> str:
    """Hash of all sources that have to do with kernels."""
    digest = sha256()
    for path in sorted(_sources()):
        text = path.read_bytes()
        if b"edrp.core.kernels" in text:
            digest.update(text)
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for room in ROOMS:
        found = find_spec(room)
        for folder in (found.submodule_search_locations or ()) if found else ():
            yield from Path(folder).rglob("*.py")
