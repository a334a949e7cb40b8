"""Where the machine code of kernels is kept: in folders that can be written, and in one of the same format that a wheel brings.

That of a wheel is for every processor of one level; `edrp warm-up --for-wheel` makes it, and nothing is written to it later.
Numba's version, Python's, the system and what a kernel is made of must be those that its code was made with, or it is compiled.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from inspect import getfile
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding
from numba import njit
from numba.core import config
from numba.core.caching import IndexDataCacheFile, NullCache, UserProvidedCacheLocator
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.types.containers import BaseTuple
from numba.misc.appdirs import AppDirs

from edrp.core.compiling import compilation, compiled_apart
from edrp.core.kernel_parts import EntryCompiler

WHEEL_FOLDER = Path(__file__).parent.parent / "compiled"
FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
WHEEL_TARGET = ("x86_64-unknown-linux-gnu", "x86-64-v3", ",".join(f"+{name}" for name in FEATURES))
"""System, level of processors and their features for which a wheel is made, as Numba names them."""

WHEEL_RUNS_HERE = WHEEL_TARGET[0] == binding.get_process_triple() and all(map(binding.get_host_cpu_features().get, FEATURES))


def _made_of(function: Any, options: dict[str, Any], known: set[Any]) -> Iterator[str]:
    """Sources of a kernel, in whichever files: its code, that of the kernels that it calls, and constants that they name."""
    yield f"{options} {function.__defaults__}"
    codes = [function.__code__]
    for code in codes:
        yield f"{code.co_code.hex()} {code.co_names}"
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                codes.append(constant)
            elif constant != function.__doc__:
                yield repr(constant)
        for value in map(function.__globals__.get, code.co_names):
            if hasattr(type(value), "dispatcher"):  # a kernel
                if value not in known:
                    known.add(value)
                    yield from _made_of(value.function, value.options, known)
            elif isinstance(value, int | float | str | tuple | np.generic | np.ndarray):
                yield value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)
            else:  # a class of named tuples, or something of Numba's
                yield repr(getattr(value, "_fields", None))


def _fields(kinds: Any) -> tuple[Any, ...]:
    """Names of the values in all named tuples among some types, which the names of the types leave out."""
    return tuple((getattr(kind, "fields", ()), _fields(kind)) for kind in kinds if isinstance(kind, BaseTuple))


class Place(NamedTuple):
    """A folder for the kernels of a source file, and what users know it by."""

    folder: Path
    name: str


def kernel_places(source: Path) -> Iterator[Place]:
    """Where the kernels of a source file are looked for, in this order; what is new is kept in the first that can be written.

    Beside the sources, and, for installations that cannot be written, in the user's cache (`~/.cache/edrp`, below
    `XDG_CACHE_HOME`, or what is usual on the system); where `NUMBA_CACHE_DIR` names a folder, there and nowhere else.
    """
    own = UserProvidedCacheLocator.get_suitable_cache_subpath(str(source))
    if config.CACHE_DIR:
        yield Place(Path(config.CACHE_DIR) / own, config.CACHE_DIR)
        return
    if source.is_file():  # not in an archive, nor typed in
        yield Place(source.parent / "__pycache__", "the folders __pycache__ beside the sources")
    users = Path(AppDirs("edrp", appauthor=False).user_cache_dir)
    if users.is_absolute():  # there is a home
        yield Place(users / own, str(users))


def writable_place(source: Path) -> Place | None:
    """Where new kernels of a source file are kept, or None where no folder can be written.

    >>> writable_place(Path(__file__)) in list(kernel_places(Path(__file__)))
    True
    """
    return next((place for place in kernel_places(source) if _can_be_written(place.folder)), None)


@cache
def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


class KernelCache(NullCache):  # type: ignore[misc]  # Numba has no types
    """Machine code of one kernel: the user's first, then the wheel's. Without a folder for it, each process compiles it again."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._stamp = sha256("\n".join(_made_of(function, options, set())).encode()).hexdigest()
        source = Path(getfile(function))
        self._places, self._kept = tuple(kernel_places(source)), writable_place(source)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for a signature, or None where it has to be compiled, and the time limit suffices for that."""
        rtsys.initialize(target_context)  # all that running takes; what compiling does is left to the compiler
        own = target_context.codegen().magic_tuple()
        folders = [(place.folder, own) for place in self._places] + [(WHEEL_FOLDER, WHEEL_TARGET)] * WHEEL_RUNS_HERE
        loaded = (self._load(folder, target, sig, target_context) for folder, target in folders)
        found = next((data for data in loaded if data is not None), None)
        if found is None and self._kept:
            locks = (writable_place(Path(__file__)) or self._kept).folder  # the same for all kernels
            if compiled_apart(self._function, sig, self._kept.name, locks):
                found = self._load(self._kept.folder, own, sig, target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code for later processes; a disk that is full keeps none."""
        if data.library.has_dynamic_globals:
            return
        try:
            if self._kept is None:
                raise OSError
            self._kept.folder.mkdir(parents=True, exist_ok=True)  # somebody may have cleaned up since
            self._file(self._kept.folder).save((str(sig), _fields(sig), data.codegen.magic_tuple()), data._reduce())
        except OSError:
            compilation.lost += 1

    def _load(self, folder: Path, target: tuple[str, ...], sig: Any, context: Any) -> Any:
        # Types have been moved or renamed since, or what is there is no folder that can be read.
        with suppress(ImportError, AttributeError, OSError):
            data = self._file(folder).load((str(sig), _fields(sig), target))
            return None if data is None else CompileResult._rebuild(context, *data)

    def _file(self, folder: Path) -> Any:
        name = f"{self._function.__module__}.{self._function.__qualname__}.{sys.implementation.cache_tag}"
        return IndexDataCacheFile(str(folder), name, self._stamp)


def cached_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function compiled by Numba for calls from Python; its machine code is kept."""
    dispatcher = njit(**options, pipeline_class=EntryCompiler)(function)
    dispatcher._cache = KernelCache(function, options)
    return dispatcher
