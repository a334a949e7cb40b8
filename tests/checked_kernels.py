"""Runs pytest with the kernels that `edrp/native/building.py --checked` has built: `python tests/checked_kernels.py WORDS`.

A build with sanitizers needs their libraries loaded before Python's own memory is taken, so Python is started again with them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("libasan.so", "libubsan.so")


def load_checked_kernels() -> None:
    """Have `edrp._native` be the build with checks in this process, before anything of the package is imported."""
    (built,) = (ROOT / "build" / "checked").glob("_native.*")
    spec = spec_from_file_location("edrp._native", built)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["edrp._native"] = module_from_spec(spec)
    spec.loader.exec_module(module)


def main(words: list[str]) -> int:
    if "LD_PRELOAD" not in os.environ:
        compiler = os.environ.get("CXX", "c++").split()
        found = [subprocess.check_output([*compiler, f"-print-file-name={name}"], text=True).strip() for name in LIBRARIES]
        # Python keeps memory until its end, which is no leak.
        environment = {**os.environ, "LD_PRELOAD": " ".join(found), "ASAN_OPTIONS": "detect_leaks=0"}
        return subprocess.run([sys.executable, __file__, *words], env=environment, check=False).returncode
    import pytest

    load_checked_kernels()
    # What sanitizers write ends up on the terminal, as the process ends before pytest could show it.
    return pytest.main(["-p", "no:cacheprovider", "--capture=sys", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
