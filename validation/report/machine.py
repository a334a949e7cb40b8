"""The machine and the packages of a run."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from edrp.core.solution import installed_versions


def machine() -> dict[str, str]:
    """Processor, cores, memory and operating system of this machine, in words.

    >>> sorted(machine())
    ['cores', 'memory', 'operating system', 'processor', 'python']
    """
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory": _memory(),
        "operating system": platform.platform(terse=True),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions() -> dict[str, str]:
    """Versions of the package and of what its answers and this report depend on."""
    packages = ("highspy", "joblib", "numba", "numpy", "pandas", "plotly", "pyarrow", "pyspark", "scipy")
    return {name: found for name, found in installed_versions(*packages).items() if found != "not installed"}


def _processor() -> str:
    """The model as Linux names it, elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> str:
    there = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    return str(there) if usable == there else f"{there}, of which {usable} usable"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"
