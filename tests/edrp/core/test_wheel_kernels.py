"""Machine code that a wheel brings along runs where it fits, and is left alone where it does not."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from edrp.core.kernel_store import WHEEL_RUNS_HERE

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel kernels")]  # they are made once

MAKE = """
import sys
from pathlib import Path
from edrp.warm_up import kernels_for_wheel, warm_up_method
with kernels_for_wheel(Path(sys.argv[1])):
    warm_up_method("link-allocation", "greedy-reallocation")
"""
USE = """
import json, sys
from pathlib import Path
from edrp.core import kernel_store
kernel_store.WHEEL_FOLDER = Path(sys.argv[1])
from edrp.warm_up import warm_up_method
print(json.dumps(warm_up_method("link-allocation", "greedy-reallocation").compiling))
"""


def run(code, folder, home):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(home)}
    words = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=True, timeout=600).stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    run(MAKE, folder, tmp_path_factory.mktemp("home"))
    return folder


@pytest.mark.skipif(not WHEEL_RUNS_HERE, reason="kernels of wheels are made for another system or processor")
def test_with_an_empty_cache_nothing_is_compiled(made, tmp_path):
    assert json.loads(run(USE, made, tmp_path)) == 0.0
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.skipif(not WHEEL_RUNS_HERE, reason="kernels of wheels are made for another system or processor")
def test_where_no_folder_can_be_written_nothing_is_compiled_either(made, tmp_path):
    unwritable = """
from edrp.core import kernel_store
kernel_store._can_be_written = lambda folder: False
"""
    assert json.loads(run(unwritable + USE, made, tmp_path)) == 0.0


def test_where_it_does_not_fit_everything_is_compiled(made, tmp_path):
    unfit = "from edrp.core import kernel_store\nkernel_store.WHEEL_RUNS_HERE = False\n"
    assert json.loads(run(unfit + USE, made, tmp_path / "home")) > 0.0


def test_for_another_python_everything_is_compiled(made, tmp_path):
    other = tmp_path / "compiled"
    other.mkdir()
    for file in made.iterdir():
        shutil.copy(file, other / file.name.replace(sys.implementation.cache_tag, "cpython-399"))
    assert json.loads(run(USE, other, tmp_path / "home")) > 0.0
