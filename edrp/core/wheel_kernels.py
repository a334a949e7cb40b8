"""Machine code of kernels that a wheel brings along in `edrp/compiled/`, for every processor of one level.

It is made by `edrp warm-up --for-wheel edrp/compiled` and never written to at run time. Numba's version, Python's minor version,
the system and the sources of all kernels must be those that it was made with; where they are not, kernels are compiled.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from edrp.core.files import write_whole
from edrp.core.kernel_sources import tie_to_all_sources

WHEEL_FOLDER = Path(__file__).parent.parent / "compiled"
"""The cache that a wheel brings along, if it does."""

TRIPLE = "x86_64-unknown-linux-gnu"
"""System for which that cache is made, as LLVM names it."""

PROCESSOR = "x86-64-v3"
"""Level of the processors for which that cache is made."""

FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
"""Features of that level, as LLVM names them."""

TARGET_ENVIRONMENT = {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in FEATURES)}
"""Environment in which Numba compiles for such processors."""

FOR_WHEEL = "EDRP_KERNELS_FOR_WHEEL"
"""Environment variable: folder to which machine code for a wheel is written, too."""


def load_from_wheel(function: Callable[..., Any], sig: Any, target_context: Any) -> Any:
    """Machine code that the wheel brought, or None; only for processors and versions that it was made for."""
    target = _wheel_target()
    if target is None:
        return None
    from numba.core.compiler import CompileResult

    sig, _, code = _key(function, sig, target_context.codegen())
    data = _wheel_file(WHEEL_FOLDER, function).load((sig, target, code))
    return None if data is None else CompileResult._rebuild(target_context, *data)


def describe_target(folder: Path) -> None:
    """Write beside the machine code in a folder what it was compiled for; it takes a processor of that level."""
    target = {
        "target": [TRIPLE, PROCESSOR, TARGET_ENVIRONMENT["NUMBA_CPU_FEATURES"]],
        "features": FEATURES,
        "python": platform.python_version_tuple()[:2],
    }
    write_whole(folder / "target.json", json.dumps(target, indent=2) + "\n")


@cache
def _wheel_target() -> tuple[str, ...] | None:
    """What the machine code of the wheel was compiled for, if it runs here."""
    try:
        made = json.loads((WHEEL_FOLDER / "target.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    fits = made["python"] == list(platform.python_version_tuple()[:2]) and runs_here(made["target"][0], made["features"])
    return tuple(made["target"]) if fits else None


def runs_here(triple: str = TRIPLE, features: Sequence[str] = FEATURES) -> bool:
    """Whether this machine runs code for a system and for processors with some features; by default that of wheels."""
    from llvmlite import binding

    here = binding.get_host_cpu_features()
    return bool(triple == binding.get_process_triple() and all(here.get(name) for name in features))


def _key(function: Callable[..., Any], sig: Any, codegen: Any) -> tuple[Any, Any, Any]:
    """What Numba looks machine code up by: the signature, what it was compiled for, and a hash of the byte code."""
    from numba.core.caching import FunctionCache

    index = FunctionCache.__new__(FunctionCache)
    index._py_func = function
    key: tuple[Any, Any, Any] = index._index_key(sig, codegen)
    return key


def _wheel_file(folder: Path, function: Callable[..., Any]) -> Any:
    """Index and data of one kernel in a cache for wheels."""
    from numba.core.caching import IndexDataCacheFile

    file = IndexDataCacheFile(str(folder), f"{function.__module__}.{function.__qualname__}", None)
    tie_to_all_sources(file, None)
    return file


def save_for_wheel(folder: Path, function: Callable[..., Any], sig: Any, compiled: Any) -> None:
    """Write the machine code of a kernel for one signature to a folder for a wheel."""
    _wheel_file(folder, function).save(_key(function, sig, compiled.codegen), compiled._reduce())
