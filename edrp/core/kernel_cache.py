"""Numba's side of the files in which the machine code of kernels is kept: of a user, and of a wheel.

That of a wheel is for every processor of one level; `edrp warm-up --for-wheel` makes it, and nothing is written to it later.
Numba's version, Python's, the system and what a kernel is made of must be those that its code was made with, or it is compiled.
Next to Numba's files stand those that are read without it (`edrp/core/kernel_store.py`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from inspect import getfile
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.types.containers import BaseTuple
from numba.np.numpy_support import as_dtype

from edrp.core import kernel_store
from edrp.core.compiling import compilation, compiled_apart
from edrp.core.errors import UnwritableError
from edrp.core.kernel_parts import EntryCompiler
from edrp.core.kernel_store import (
    NUMBAS,
    KernelIdentity,
    array_text,
    kernel_places,
    save_entry,
    stamp,
    this_processor,
    tuple_text,
    writable_place,
)
from edrp.core.machine_code import Entry, Environment

WHEEL_TARGET = ("x86_64-unknown-linux-gnu", kernel_store.WHEEL_LEVEL, ",".join(f"+{name}" for name in kernel_store.FEATURES))
"""System, level of processors and their features for which a wheel is made, as Numba names them."""


def _fields(kinds: Any) -> tuple[Any, ...]:
    """Names of the values in all named tuples among some types, which the names of the types leave out."""
    return tuple((getattr(kind, "fields", ()), _fields(kind)) for kind in kinds if isinstance(kind, BaseTuple))


def numba_types_of(kinds: Any) -> str | None:
    """The same text for Numba's types that `types_of` (`edrp/core/kernel_store.py`) gives for values of them.

    >>> numba_types_of((types.int64, types.UniTuple(types.boolean, 1), types.float64[:, ::1]))
    '<i8 (|b1 ) [<f82C] '
    """
    text = ""
    for kind in kinds:
        if type(kind) is types.Array and isinstance(kind.dtype, types.Number | types.Boolean):
            text += array_text(as_dtype(kind.dtype).str, kind.ndim, kind.layout, kind.mutable, kind.aligned)
        elif isinstance(kind, BaseTuple):
            inner = numba_types_of(kind)
            if inner is None:
                return None
            text += tuple_text(getattr(kind, "instance_class", tuple), inner)
        elif isinstance(kind, types.Number | types.Boolean) and not isinstance(kind, types.Literal):
            text += f"{as_dtype(kind).str} "
        else:
            return None
    return text


class KernelCache(NullCache):  # type: ignore[misc]  # Numba has no types
    """Machine code of one kernel: the user's first, then the wheel's. Without a folder for it, each process compiles it again."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._stamp = stamp(function, options)
        source = Path(getfile(function))
        self._places, self._kept = tuple(kernel_places(source)), writable_place(source)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for a signature, or None where it has to be compiled, and the time limit suffices for that."""
        rtsys.initialize(target_context)  # all that running takes; what compiling does is left to the compiler
        own = target_context.codegen().magic_tuple()
        folders = [(place.folder, own) for place in self._places] + [
            (kernel_store.WHEEL_FOLDER, WHEEL_TARGET)
        ] * kernel_store.WHEEL_RUNS_HERE
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
            reduced, target = data._reduce(), data.codegen.magic_tuple()
            self._made(sig, target).save(self._kept.folder, NUMBAS, dumps(reduced))
            self._save_entry(sig, target, reduced)
        except (OSError, UnwritableError):
            compilation.lost += 1

    def _save_entry(self, sig: Any, target: tuple[str, ...], reduced: Any) -> None:
        """Keep what runs without Numba; not for arguments, or code, that only Numba knows."""
        (_, form, (code, *_)), description, environment, _, _, lifted, _, initialising, others = reduced
        kinds = numba_types_of(sig)
        if self._kept and kinds is not None and form == "object" and not (lifted or initialising):
            known = {each.env_name: Environment(each.env_name, list(each.consts)) for each in (environment, *others)}
            entry = Entry(code, description.llvm_cpython_wrapper_name, list(known.values()))
            processor = kernel_store.WHEEL_LEVEL if target == WHEEL_TARGET else this_processor()
            save_entry(self._kept.folder, KernelIdentity(self._function, self._stamp, (kinds, processor)), entry)

    def _load(self, folder: Path, target: tuple[str, ...], sig: Any, context: Any) -> Any:
        # There is no such file, types have been moved or renamed since, or what is there is no folder that can be read.
        with suppress(ImportError, AttributeError, OSError):
            content = self._made(sig, target).load(folder, NUMBAS)
            if content is None:
                return None
            data = pickle.loads(content)
            if self._kept and folder == self._kept.folder:  # its other file may have been removed or damaged
                with suppress(UnwritableError):
                    self._save_entry(sig, target, data)
            return CompileResult._rebuild(context, *data)

    def _made(self, sig: Any, target: tuple[str, ...]) -> KernelIdentity:
        return KernelIdentity(self._function, self._stamp, (str(sig), _fields(sig), target))


def cached_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function compiled by Numba for calls from Python; its machine code is kept."""
    dispatcher = njit(**options, pipeline_class=EntryCompiler)(function)
    dispatcher._cache = KernelCache(function, options)
    return dispatcher
