"""Where the machine code of kernels is kept: in the user's own cache, and in one that a wheel may bring along.

The user's cache is Numba's: by the sources, or where NUMBA_CACHE_DIR says. That of a wheel, in `edrp/compiled/`, is for every
processor of one level; it is made by `edrp warm-up --for-wheel edrp/compiled` and never written to at run time. Numba's version,
Python's minor version, the system and what the kernel is made of must be those that it was made with; where they are not,
kernels are compiled.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from math import inf
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import binding
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.types.containers import BaseTuple

from edrp.core.budget import clock, compiles_patiently
from edrp.core.compiling import FOR_WHEEL, compilation, compile_apart
from edrp.core.kernel_parts import EntryCompiler

WHEEL_FOLDER = Path(__file__).parent.parent / "compiled"
"""The cache that a wheel brings along, if it does."""


def fingerprint(function: Callable[..., Any]) -> str:
    """Hash of what a kernel is made of: its code, that of the kernels that it calls, and the constants that they name.

    Numba looks at the kernel's own file only, but what is inlined comes from other files too: after an upgrade an old kernel
    would go on computing what it did.
    """
    return sha256("\n".join(_made_of(function.__code__, function, set())).encode()).hexdigest()


def _made_of(code: CodeType, function: Any, known: set[Any]) -> Iterator[str]:
    yield f"{code.co_code.hex()} {code.co_names} {function.__defaults__}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _made_of(constant, function, known)
        elif constant != function.__doc__:
            yield repr(constant)
    for value in map(function.__globals__.get, code.co_names):
        if hasattr(value, "interpret"):  # a kernel
            if value not in known:
                known.add(value)
                yield repr(value.options)
                yield from _made_of(value.function.__code__, value.function, known)
        elif isinstance(value, int | float | str | tuple | np.generic):
            yield repr(value)
        elif isinstance(value, np.ndarray):
            yield value.tobytes().hex()
        else:  # a class of named tuples, or something of Numba's
            yield repr(getattr(value, "_fields", None))


def _fields(kinds: Any) -> tuple[Any, ...]:
    """Names of the values in all named tuples among some types: Numba tells such types apart by their classes only."""
    return tuple((getattr(kind, "fields", ()), _fields(kind)) for kind in kinds if isinstance(kind, BaseTuple))


class _KernelFile(IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """Index and machine code of one kernel."""

    def _load_index(self) -> Any:
        """Read the index; one whose types have been moved or renamed since counts as empty."""
        try:
            return super()._load_index()
        except (ImportError, AttributeError):
            return {}


def runs_here(triple: str, features: Sequence[str]) -> bool:
    """Whether this machine runs code for a system and for processors with some features, as LLVM names them."""
    here = binding.get_host_cpu_features()
    return bool(triple == binding.get_process_triple() and all(here.get(name) for name in features))


@cache
def wheel_target(folder: Path) -> Any:
    """The system that the machine code in a folder was compiled for, as Numba asks for it; None if it does not run here."""
    try:
        made = json.loads((folder / "target.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    fits = made["python"] == list(platform.python_version_tuple()[:2]) and runs_here(made["target"][0], made["features"])
    return SimpleNamespace(magic_tuple=lambda: tuple(made["target"])) if fits else None


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Machine code of one kernel: the user's own first, then what the wheel brought; new code goes to the user's.

    Where no folder can be written (a zip on a cluster, a read-only installation), a kernel is compiled again in each process.
    """

    _enabled, _cache_path = False, None

    def __init__(self, function: Callable[..., Any]) -> None:
        self._stamp = fingerprint(function)
        with suppress(RuntimeError):  # no folder can be written
            super().__init__(function)
            self._cache_file = _KernelFile(self._cache_path, self._impl.filename_base, self._stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for a signature, or None where it has to be compiled.

        Raises
        ------
        OutOfTimeError
            Where it would have to be, and the time limit does not suffice.
        """
        rtsys.initialize(target_context)  # all that running takes; what compiling does is left to the compiler
        found = self._load_overload(sig, target_context)
        if found is None and (target := wheel_target(WHEEL_FOLDER)) is not None:
            data = self._in_wheel(WHEEL_FOLDER).load(self._index_key(sig, target))
            found = None if data is None else CompileResult._rebuild(target_context, *data)
        if found is None and self._enabled and (seconds := clock().seconds_left()) < inf and not compiles_patiently():
            compile_apart(self._py_func, sig, seconds)
            found = self._load_overload(sig, target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code for later processes."""
        super().save_overload(sig, data)
        if folder := os.environ.get(FOR_WHEEL):
            self._in_wheel(Path(folder)).save(self._index_key(sig, data.codegen), data._reduce())

    def _in_wheel(self, folder: Path) -> Any:
        return _KernelFile(str(folder), f"{self._py_func.__module__}.{self._py_func.__qualname__}", self._stamp)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _fields(sig))


def cached_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function compiled by Numba, with the caches of this package."""
    dispatcher = njit(**options, pipeline_class=EntryCompiler)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher


class _CompilationListener(event.Listener):  # type: ignore[misc]
    """Tells the compilation of this process when Numba compiles."""

    def on_start(self, event: Any) -> None:
        compilation.begin()

    def on_end(self, event: Any) -> None:
        compilation.end()


event.register("numba:compile", _CompilationListener())
