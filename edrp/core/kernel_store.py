"""Files of the machine code of kernels: where they lie, what each one is for, and how it is run without Numba.

What Numba has compiled is kept in files that take Numba to be read. Next to each of them lies the machine code alone, with its
entry (`edrp/core/machine_code.py`). Their names say for which kernel, types of arguments, Python and processor they are, and a
seal vouches for what the kernel and Numba were made of, and for each byte; where it is not the right one, Numba compiles again.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha1, sha256
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from inspect import getfile
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from edrp.core import machine_code
from edrp.core.files import write_whole
from edrp.core.machine_code import Entry, UnlinkableError, linked

WHEEL_FOLDER = Path(__file__).parent.parent / "compiled"
WHEEL_LEVEL = "x86-64-v3"
"""Level of processors for which a wheel is made."""

FEATURES = {
    "avx": "avx",
    "avx2": "avx2",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "cx16": "cx16",
    "f16c": "f16c",
    "fma": "fma",
    "lzcnt": "abm",
    "movbe": "movbe",
    "popcnt": "popcnt",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "ssse3": "ssse3",
}
"""Features of that level as LLVM and as Linux name them."""


@cache
def _processor() -> dict[str, str]:
    """Facts that Linux states about the first processor; empty on other systems."""
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        lines = file.read(8192).split("\n\n")[0].splitlines()
        return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {}


WHEEL_RUNS_HERE = machine_code.RUNS_HERE and {*FEATURES.values()} <= {*_processor().get("flags", "").split()}


@cache
def this_processor() -> str:
    """The processor of this machine, in a word, by all that a compiler may make use of."""
    facts = [_processor().get(name, "") for name in ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")]
    return sha256("\n".join(facts).encode()).hexdigest()[:16]


def _parts_of(function: Any, options: dict[str, Any], known: set[Any]) -> Iterator[str]:
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
                    yield from _parts_of(value.function, value.options, known)
            elif isinstance(value, int | float | str | tuple | np.generic | np.ndarray):
                yield value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)
            else:  # a class of named tuples, or something of Numba's
                yield repr(getattr(value, "_fields", None))


def stamp(function: Callable[..., Any], options: dict[str, Any]) -> str:
    """Hash of everything that a kernel is made of."""
    return sha256("\n".join(_parts_of(function, options, set())).encode()).hexdigest()


class KernelFolder(NamedTuple):
    """A folder for the kernels of a source file, and what users know it by."""

    folder: Path
    name: str


def kernel_places(source: Path) -> Iterator[KernelFolder]:
    """Where the kernels of a source file are looked for, in this order; what is new is kept in the first that can be written.

    Beside the sources, and, for installations that cannot be written, in the user's cache (`~/.cache/edrp`, below
    `XDG_CACHE_HOME`, or what is usual on the system); where `NUMBA_CACHE_DIR` names a folder, there and nowhere else.
    """
    folder = source.parent.absolute()
    own = f"{folder.name}_{sha1(str(folder).encode()).hexdigest()}"
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield KernelFolder(Path(named) / own, named)
        return
    if source.is_file():  # not in an archive, nor typed in
        yield KernelFolder(source.parent / "__pycache__", "the folders __pycache__ beside the sources")
    with suppress(RuntimeError):  # there is no home
        on_mac = sys.platform == "darwin"
        caches = "~/Library/Caches" if on_mac else os.environ.get("XDG_CACHE_HOME", "~/.cache")
        users = Path(caches, "edrp").expanduser()
        if users.is_absolute():
            yield KernelFolder(users / own, str(users))


def writable_place(source: Path) -> KernelFolder | None:
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


def types_of(values: Any) -> str | None:
    """The types of arguments as they stand in the name of a file, or None where one is of no type that is known here.

    >>> types_of((1, np.zeros((2, 3)), True))
    '<i8 [<f82C] |b1 '
    """
    text = ""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            flags = value.flags
            layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
            text += array_text(value.dtype.str, value.ndim, layout, flags.writeable, flags.aligned)
        elif isinstance(value, tuple):
            inner = types_of(value)
            if inner is None:
                return None
            text += tuple_text(kind, inner)
        elif kind is int and -(2**63) <= value < 2**63:
            text += "<i8 "
        elif kind is float:
            text += "<f8 "
        elif kind is bool:
            text += "|b1 "
        elif isinstance(value, np.bool_ | np.number):
            text += f"{value.dtype.str} "
        else:
            return None
    return text


def array_text(element: str, axes: int, layout: str, writeable: bool, aligned: bool) -> str:
    """An array by its elements, number of axes, and order in memory: "C", "F" or "A" for any."""
    return f"[{element}{axes}{layout}{'' if writeable else 'r'}{'' if aligned else 'u'}] "


def tuple_text(kind: type, inner: str) -> str:
    """A tuple by its class, with the names and types of its values."""
    name = "" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', '')}"
    return f"{name}({inner}) "


SEAL_LENGTH = sha256().digest_size
"""Bytes of a seal, with which the file of a kernel begins."""

ENTRY, NUMBAS = ".nbd", ".nbc"
"""Endings of the files of kernels: machine code that runs without Numba, and what Numba needs."""

NUMBA_SETTINGS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER"}
"""Settings of Numba that change no code; where there are others, Numba decides."""


@cache
def _numba_version() -> bytes:
    """The file in which Numba's package says its version; empty where there is none."""
    spec = find_spec("numba")
    for root in (spec and spec.submodule_search_locations) or ():
        with suppress(OSError):
            return Path(root, "_version.py").read_bytes()
    return b""


class KernelIdentity(NamedTuple):
    """What a kernel was made of, and what it was compiled for.

    Attributes
    ----------
    function : the kernel.
    stamp : of its sources.
    key : what tells its files for different types of arguments, or processors, from one another.
    """

    function: Callable[..., Any]
    stamp: str
    key: tuple[Any, ...]

    def file(self, folder: Path, ending: str) -> Path:
        """Path of the file that holds the kernel; what was made of earlier sources is replaced."""
        made_for = sha256(repr(self.key).encode()).hexdigest()[:24]
        name = f"{self.function.__module__}.{self.function.__qualname__}.{sys.implementation.cache_tag}.{made_for}{ending}"
        return folder / name

    def seal(self, content: bytes | memoryview) -> bytes:
        """Hash of what it was made of and for, and of its code: a byte that differs would end the process."""
        made_of = repr((self.stamp, _numba_version(), EXTENSION_SUFFIXES[0], self.key))
        return sha256(made_of.encode() + content).digest()

    def save(self, folder: Path, ending: str, content: bytes) -> None:
        """Keep its code for later processes.

        Raises
        ------
        UnwritableError
            When it cannot be written.
        """
        write_whole(self.file(folder, ending), self.seal(content) + content)

    def load(self, folder: Path, ending: str) -> memoryview | None:
        """The code that was kept; None where the file is damaged, or made of or for something else.

        Raises
        ------
        OSError
            When there is no such file, or none that can be read.
        """
        whole = memoryview(self.file(folder, ending).read_bytes())
        seal, content = whole[:SEAL_LENGTH], whole[SEAL_LENGTH:]
        return content if seal == self.seal(content) else None


def save_entry(folder: Path, made: KernelIdentity, entry: Entry) -> None:
    """Keep machine code that runs without Numba, unless it names Python objects that only this process has.

    Raises
    ------
    UnwritableError
        When it cannot be written.
    """
    with suppress(pickle.PicklingError, AttributeError, TypeError):
        made.save(folder, ENTRY, pickle.dumps(entry))


def compiled_before(function: Callable[..., Any], options: dict[str, Any], types: str) -> Callable[..., Any] | None:
    """A kernel whose machine code is kept, for arguments of some types; None where Numba has to be asked."""
    told = {name for name in os.environ if name.startswith("NUMBA_")}
    if not machine_code.RUNS_HERE or not _processor() or told - NUMBA_SETTINGS:
        return None
    own_stamp = stamp(function, options)
    places = [(place.folder, this_processor()) for place in kernel_places(Path(getfile(function)))]
    for folder, processor in [*places, *[(WHEEL_FOLDER, WHEEL_LEVEL)] * WHEEL_RUNS_HERE]:
        # There may be no such file, none that can be read, or types have been moved or renamed since.
        with suppress(OSError, ImportError, AttributeError, UnlinkableError):
            content = KernelIdentity(function, own_stamp, (types, processor)).load(folder, ENTRY)
            if content is not None:
                return linked(pickle.loads(content))
    return None
