"""Machine code of kernels as Numba has written it, run without Numba: placed in memory, with the addresses of what it calls.

An object of a kernel is a relocatable ELF file for Linux on x86-64 in the large code model: addresses of 64 bits and differences
of 64 bits are all that has to be filled in. Its entry takes Python's arguments as a C function of an extension module does
(PyCFunctionWithKeywords). What it calls is in Python, in the C library, and in three extension modules of Numba's package,
which are loaded without it: importing Numba and LLVM takes a second and 70 MB.
"""

from __future__ import annotations

import builtins
import ctypes
import mmap
import os
import pickle
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Ints

RUNS_HERE = sys.platform == "linux" and os.uname().machine == "x86_64"
"""Whether this system takes such objects at all."""

SECTION_FIELDS = "name:4 type:4 flags:8 address:8 offset:8 size:8 link:4 info:4 align:8 entry:8"
SECTION = np.dtype([(name, f"<u{size}") for name, size in (field.split(":") for field in SECTION_FIELDS.split())])
SYMBOL = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
"""Records of an ELF file (System V ABI, AMD64 supplement)."""

SYMBOLS, RELOCATIONS, WITHOUT_CONTENT = 2, 4, 8
"""Types of sections."""

WRITTEN_TO, IN_MEMORY = 1, 2
"""Flags of sections."""

COMMON = 0xFFF2
"""Section number of variables that are placed by whoever links."""

ABSOLUTE, RELATIVE = 1, 24
"""Types of relocations: R_X86_64_64 and R_X86_64_PC64."""


class UnlinkableError(Exception):
    """An object needs what is not there."""


class Environment(NamedTuple):
    """Python objects that compiled code names: a variable of the object points to them."""

    variable: str
    constants: list[Any]


class Entry(NamedTuple):
    """Machine code of a kernel for arguments of certain types.

    Attributes
    ----------
    code : the object, an ELF file.
    symbol : the function that Python calls.
    environments : of the kernel and its parts.
    """

    code: bytes
    symbol: str
    environments: list[Environment]


def linked(entry: Entry) -> Callable[..., Any]:
    """The kernel as a function of Python.

    Raises
    ------
    UnlinkableError
        When the object is another one than described above, calls what does not exist, or the system allows no new code.
    """
    try:
        memory, places = _placed(entry.code)
        start = places[entry.symbol]
    except (OSError, ValueError, LookupError) as error:
        raise UnlinkableError(entry.symbol) from error
    kept: list[Any] = [memory]
    for environment in entry.environments:
        if environment.variable in places:
            constants = _extension("_dynfunc").Environment({})
            constants.consts[:] = environment.constants
            ctypes.c_void_p.from_address(places[environment.variable]).value = id(constants)
            kept.append(constants)
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    call = kind(start)
    call.kept = kept  # type: ignore[attr-defined]  # as long as the function
    return lambda *arguments: call(None, arguments, None)


def _placed(code: bytes) -> tuple[mmap.mmap, dict[str, int]]:
    """Memory that holds an object, ready to run, and the addresses of its symbols."""
    header = np.frombuffer(code, "<u8", 1, 40), np.frombuffer(code, "<u2", 1, 60)
    sections = np.frombuffer(code, SECTION, int(header[1][0]), int(header[0][0]))
    [table] = sections[sections["type"] == SYMBOLS]
    symbols = np.frombuffer(code, SYMBOL, int(table["size"]) // SYMBOL.itemsize, int(table["offset"]))
    loaded, variables = (sections["flags"] & IN_MEMORY) > 0, symbols["section"] == COMMON
    if (sections["flags"][loaded] & WRITTEN_TO).any():
        raise LookupError("variables between the code")
    starts, end = _laid_out(sections["size"] * loaded, sections["align"] * loaded, 0)
    fixed = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
    offsets, end = _laid_out(symbols["size"] * variables, symbols["value"] * variables, fixed)
    memory = mmap.mmap(-1, end + 1, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # a fork has its own
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for section, start in zip(sections[loaded], starts[loaded], strict=True):
        if section["type"] != WITHOUT_CONTENT:
            first, size = int(section["offset"]), int(section["size"])
            memory[start : start + size] = code[first : first + size]
    inside = (symbols["section"] < sections.size) & loaded[symbols["section"] % sections.size]
    addresses = np.where(inside, base + starts[symbols["section"] % sections.size] + symbols["value"].astype(np.int64), 0)
    addresses[variables] = base + offsets[variables]
    strings = sections[table["link"]]
    names = _names(code, symbols["name"] + strings["offset"].astype(np.int64))
    for index in np.flatnonzero((symbols["section"] == 0) & (symbols["name"] > 0)):
        addresses[index] = _address(names[index])
    _relocate(code, sections, starts, loaded, addresses, np.frombuffer(memory, np.uint8), base)
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(base), ctypes.c_size_t(fixed), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "mprotect")
    return memory, {name: int(address) for name, address in zip(names, addresses, strict=True) if name}


def _laid_out(sizes: Any, alignments: Any, start: int) -> tuple[Ints, int]:
    """Offsets of parts one behind the other, and where the last one ends."""
    offsets = np.zeros(sizes.size, np.int64)
    for index, (size, alignment) in enumerate(zip(sizes.tolist(), alignments.tolist(), strict=True)):
        offsets[index] = start = -(-start // max(1, alignment)) * max(1, alignment)
        start += size
    return offsets, start


def _names(code: bytes, starts: Any) -> list[str]:
    return [code[start : code.index(b"\0", start)].decode() for start in starts.tolist()]


def _relocate(code: bytes, sections: Any, starts: Ints, loaded: Any, addresses: Ints, memory: Any, base: int) -> None:
    """Fill in addresses; of more than 64 bits of memory each, wherever they lie."""
    for section in sections[sections["type"] == RELOCATIONS]:
        if not loaded[section["info"]]:
            continue
        entries = np.frombuffer(code, RELOCATION, int(section["size"]) // RELOCATION.itemsize, int(section["offset"]))
        if not np.isin(entries["type"], (ABSOLUTE, RELATIVE)).all():
            raise LookupError("relocations of another code model")
        at = entries["offset"].astype(np.int64) + starts[section["info"]]
        values = addresses[entries["symbol"]] + entries["addend"] - np.where(entries["type"] == RELATIVE, at + base, 0)
        memory[at[:, None] + np.arange(8)] = values.astype("<i8")[:, None].view(np.uint8)


def _address(name: str) -> int:
    """The address of a function or variable outside of an object; raises `LookupError` where there is none."""
    if name in (known := _numba_symbols()):
        return known[name]
    for library in _libraries():
        if hasattr(library, name):
            return int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
    raise LookupError(name)


@cache
def _libraries() -> list[ctypes.CDLL]:
    """The process, and mathematics of the C library, which it need not have loaded."""
    return [ctypes.CDLL(None), ctypes.CDLL("libm.so.6")]


@cache
def _numba_symbols() -> dict[str, int]:
    """Addresses of what Numba registers by name before it runs code (`numba.core.base`, `numba.core.runtime.nrt`)."""
    memory = _extension("core.runtime._nrt_python")
    memory.memsys_use_cpython_allocator()
    symbols = {"_Py_NoneStruct": id(None)}
    symbols |= {f"PyExc_{name}": id(kind) for name, kind in vars(builtins).items() if _is_error(kind)}
    symbols |= {name if name.startswith("_") else f"NRT_{name}": at for name, at in memory.c_helpers.items()}
    for module in (_extension("_helperlib"), _extension("_dynfunc")):
        symbols |= {f"numba_{name}": at for name, at in module.c_helpers.items()}
    return symbols | {"numba_unpickle": ctypes.cast(_unpickled, ctypes.c_void_p).value or 0}


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _unpickled(start: int, size: int, _: int) -> Any:
    """The Python object that code holds as text: a type of results, an exception. Numba's own function imports all of Numba."""
    return _loaded(ctypes.string_at(start, size))


_loaded = cache(pickle.loads)


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


@cache
def _extension(name: str) -> Any:
    """An extension module of Numba's package; the package itself is not imported."""
    whole = f"numba.{name}"
    if "numba" in sys.modules:
        return import_module(whole)
    spec = find_spec("numba")
    [root] = (spec and spec.submodule_search_locations) or [""]
    path = f"{root}/{name.replace('.', '/')}{EXTENSION_SUFFIXES[0]}"
    loader = ExtensionFileLoader(whole, path)
    module = module_from_spec(spec_from_file_location(whole, path, loader=loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module
