"""Compiled kernels are kept between processes, and thrown away when anything that they are made of changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edrp.core.kernels import inlined

HELPER = """
from edrp.core.kernels import inlined

@inlined
def step(x):
    return x + {step}
"""
KERNEL = """
from edrp.core.kernels import kernel
from pack.helper import step

@kernel
def twice(x):
    return step(step(x))
"""
MAIN = """
import edrp.core.kernel_cache
edrp.core.kernel_cache.ROOMS += ("pack",)
edrp.core.kernel_cache.fingerprint.cache_clear()
from pack.main import twice
print(int(twice(0)), sum(twice.dispatcher.stats.cache_hits.values()))
"""


def run(folder: Path) -> list[int]:
    found = subprocess.run([sys.executable, "-c", MAIN], cwd=folder, capture_output=True, text=True, check=True)
    return [int(word) for word in found.stdout.split()]


@pytest.mark.slow
def test_a_changed_helper_is_compiled_into_the_kernel(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(KERNEL, encoding="utf-8")
    (package / "helper.py").write_text(HELPER.format(step=1), encoding="utf-8")
    assert run(tmp_path) == [2, 0]
    assert run(tmp_path) == [2, 1]  # from the cache
    (package / "helper.py").write_text(HELPER.format(step=20), encoding="utf-8")
    assert run(tmp_path) == [40, 0]


RENAMED = """
from typing import NamedTuple
import numpy as np
from edrp.core.kernels import kernel

class {name}(NamedTuple):
    values: np.ndarray

@kernel
def twice(arrays):
    return 2 * arrays.values[0]
"""
CALL = """
import edrp.core.kernel_cache
edrp.core.kernel_cache.ROOMS += ("pack",)
edrp.core.kernel_cache.fingerprint.cache_clear()
import numpy as np
from pack import main
print(main.twice(getattr(main, "{name}")(np.array([21]))))
"""


@pytest.mark.slow
def test_a_cache_that_names_types_which_are_gone_is_compiled_again(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("Before", "After"):
        (package / "main.py").write_text(RENAMED.format(name=name), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", CALL.format(name=name)], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.strip() == "42", done.stderr


@inlined
def half(x):
    return x / 2


def test_a_function_that_is_compiled_into_others_refuses_calls_from_python():
    """Without a wrapper such a call would end the process."""
    with pytest.raises(TypeError, match="half is compiled into the kernels that call it"):
        half(1)
