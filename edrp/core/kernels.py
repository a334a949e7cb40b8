"""The decorators behind which compiled kernels stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

njit: Any = numba.njit  # its stub knows no private options
Function = TypeVar("Function", bound=Callable[..., Any])

ROOMS = ("edrp", "edrp.formulations", "edrp.heuristics", "edrp.mdp", "edrp.datasets", "edrp.validation")
"""Where kernels are."""


def kernel(function: Function) -> Function:
    """Compile with Numba, cached on disk where a cache can be written.

    Numba refuses at import when no cache directory is writable (a zip on a cluster, a read-only
    installation); the kernel is then compiled again in each process.
    """
    return _cached(function, {"nogil": True, "error_model": "numpy"})


def inlined(function: Function) -> Function:
    """Compile as a part of the kernels that call it, without reference counting; it must not allocate.

    For helpers of inner loops that take a whole tuple of arrays: handing that over in a real call, and
    counting references to each array at each access, costs ten times more than the helper's own work.
    """
    return cast("Function", njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function))


def inner_loop(function: Function) -> Function:
    """Compile like `kernel`, without reference counting: the function must not allocate."""
    return _cached(function, {"nogil": True, "error_model": "numpy", "_nrt": False})


def _cached(function: Function, options: dict[str, Any]) -> Function:
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:
        return cast("Function", njit(**options)(function))
    _tie_to_all_sources(compiled)
    return cast("Function", compiled)


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
