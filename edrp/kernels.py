"""The one decorator behind which compiled kernels stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

njit: Any = numba.njit  # its stub knows no private options
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile with Numba, cached on disk where a cache can be written.

    Numba refuses at import when no cache directory is writable (a zip on a cluster, a read-only
    installation); the kernel is then compiled anew in each process.
    """
    try:
        return cast("Function", njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:
        return cast("Function", njit(nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile as a part of the kernels that call it, without reference counting; it must not allocate.

    For helpers of inner loops that take a whole tuple of arrays: handing that over in a real call, and
    counting references to each array at each access, costs ten times more than the helper's own work.
    """
    return cast("Function", njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function))


def inner_loop(function: Function) -> Function:
    """Compile like `kernel`, without reference counting: the function must not allocate."""
    options = {"nogil": True, "error_model": "numpy", "_nrt": False}
    try:
        return cast("Function", njit(cache=True, **options)(function))
    except RuntimeError:
        return cast("Function", njit(**options)(function))
