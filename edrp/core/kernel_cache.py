"""Where the machine code of kernels is kept: in the user's own cache, and in one that a wheel may bring along.

The user's cache is Numba's: by the sources, or where NUMBA_CACHE_DIR says. That of a wheel, in `edrp/compiled/`, is for every
processor of one level; it is made by `edrp warm-up --for-wheel edrp/compiled` and never written to at run time. Numba's version,
Python's minor version, the system and the sources of all kernels must be those that it was made with; where they are not,
kernels are compiled.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult

from edrp.core.budget import clock, compiles_patiently
from edrp.core.compiling import FOR_WHEEL, compilation, compile_apart

ROOMS = ("edrp", "edrp.formulations", "edrp.heuristics", "edrp.mdp", "edrp.datasets", "edrp.validation")
"""Where kernels are."""


WHEEL_FOLDER = Path(__file__).parent.parent / "compiled"
"""The cache that a wheel brings along, if it does."""


def tie_to_all_sources(index: Any, stamp: Any) -> None:
    """Have a cached kernel compiled again when any file with kernels has changed.

    Numba looks at the kernel's own file only, but what is inlined comes from other files too: after an upgrade an old
    kernel would go on computing what it did.
    """
    index._source_stamp = (stamp, fingerprint())
    index._load_index = partial(_load_index, index._load_index)


def _load_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """Read the index of a kernel's cache; one whose types have been moved or renamed since counts as empty."""
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


@cache
def fingerprint() -> str:
    """Hash of all sources that have to do with kernels, wherever they lie: a wheel is laid out unlike a checkout."""
    texts = (path.read_bytes() for path in _sources())
    hashes = {sha256(text).digest() for text in texts if b"edrp.core.kernels" in text}
    return sha256(b"".join(sorted(hashes))).hexdigest()


def _sources() -> Iterator[Path]:
    for room in ROOMS:
        found = find_spec(room)
        for folder in (found.submodule_search_locations or ()) if found else ():
            yield from Path(folder).rglob("*.py")


def load_from_wheel(function: Callable[..., Any], sig: Any, target_context: Any) -> Any:
    """Machine code that the wheel brought, or None; only for processors and versions that it was made for."""
    target = _wheel_target()
    if target is None:
        return None
    sig, _, code = _key(function, sig, target_context.codegen())
    data = _wheel_file(WHEEL_FOLDER, function).load((sig, target, code))
    return None if data is None else CompileResult._rebuild(target_context, *data)


@cache
def _wheel_target() -> tuple[str, ...] | None:
    """The system that the machine code of the wheel was compiled for, if it runs here."""
    try:
        made = json.loads((WHEEL_FOLDER / "target.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    fits = made["python"] == list(platform.python_version_tuple()[:2]) and runs_here(made["target"][0], made["features"])
    return tuple(made["target"]) if fits else None


def runs_here(triple: str, features: Sequence[str]) -> bool:
    """Whether this machine runs code for a system and for processors with some features, as LLVM names them."""
    here = binding.get_host_cpu_features()
    return bool(triple == binding.get_process_triple() and all(here.get(name) for name in features))


def _key(function: Callable[..., Any], sig: Any, codegen: Any) -> tuple[Any, Any, Any]:
    """The key by which Numba looks machine code up: the signature, the system, and a hash of the byte code."""
    index = FunctionCache.__new__(FunctionCache)
    index._py_func = function
    key: tuple[Any, Any, Any] = index._index_key(sig, codegen)
    return key


def _wheel_file(folder: Path, function: Callable[..., Any]) -> Any:
    """Index and data of one kernel in a cache for wheels."""
    file = IndexDataCacheFile(str(folder), f"{function.__module__}.{function.__qualname__}", None)
    tie_to_all_sources(file, None)
    return file


def save_for_wheel(folder: Path, function: Callable[..., Any], sig: Any, compiled: Any) -> None:
    """Write the machine code of a kernel for one signature to a folder for a wheel."""
    _wheel_file(folder, function).save(_key(function, sig, compiled.codegen), compiled._reduce())


def cached_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function compiled by Numba, with the caches of this package."""
    from edrp.core.kernel_parts import EntryCompiler

    dispatcher = njit(**options, pipeline_class=EntryCompiler)(function)
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
        OutOfTimeError
            Where it would have to be, and the time limit does not suffice.
        """
        found = None if self._own is None else self._own.load_overload(sig, target_context)
        if found is None:
            found = load_from_wheel(self._function, sig, target_context)
        if found is None and self._own is not None and (seconds := clock().seconds_left()) < inf and not compiles_patiently():
            compile_apart(self._function, sig, seconds)
            found = self._own.load_overload(sig, target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code for later processes."""
        if self._own is not None:
            self._own.save_overload(sig, data)
        if folder := os.environ.get(FOR_WHEEL):
            save_for_wheel(Path(folder), self._function, sig, data)


class _CompilationListener(event.Listener):  # type: ignore[misc]
    """Tells the compilation of this process when Numba compiles."""

    def on_start(self, event: Any) -> None:
        compilation.begin()

    def on_end(self, event: Any) -> None:
        compilation.end()


event.register("numba:compile", _CompilationListener())
