"""The one decorator behind which compiled kernels stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile with Numba, cached on disk where a cache can be written.

    Numba refuses at import when no cache directory is writable (a zip on a cluster, a read-only
    installation); the kernel is then compiled anew in each process.
    """
    try:
        return cast("Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("Function", numba.njit(nogil=True)(function))
