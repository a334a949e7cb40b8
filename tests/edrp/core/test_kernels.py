"""Compiled kernels are kept between processes, and thrown away when anything that they are made of changes."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from edrp.core import compiling
from edrp.core.budget import deadline, now, running
from edrp.core.errors import OutOfTimeError
from edrp.core.kernels import inlined, kernel

HELPER = """
from edrp.core.kernels import inlined
from pack.sizes import SIZE

@inlined
def step(x):
    {doc!r}
    return SIZE * x + {step}
"""
KERNEL = """
from edrp.core.kernels import kernel
from pack.helper import step

@kernel
def twice(x):
    return step(step(x))
"""
MAIN = """
from pack.main import twice
import sys
print(int(twice(0)), int("numba.core" not in sys.modules))
"""


def run(folder: Path) -> list[int]:
    found = subprocess.run([sys.executable, "-c", MAIN], cwd=folder, capture_output=True, text=True, check=True)
    return [int(word) for word in found.stdout.split()]


def change(package: Path, step: int, size: int = 1, doc: str = "") -> None:
    (package / "helper.py").write_text(HELPER.format(step=step, doc=doc), encoding="utf-8")
    (package / "sizes.py").write_text(f"SIZE = {size}", encoding="utf-8")


@pytest.mark.slow
def test_a_changed_helper_or_constant_is_compiled_into_the_kernel(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(KERNEL, encoding="utf-8")
    change(package, step=1)
    assert run(tmp_path) == [2, 0]
    assert run(tmp_path) == [2, 1]  # from the cache
    change(package, step=1, doc="Says the same in other words.")
    assert run(tmp_path) == [2, 1]
    change(package, step=20)
    assert run(tmp_path) == [40, 0]
    change(package, step=20, size=2)
    assert run(tmp_path) == [60, 0]


RENAMED = """
from typing import NamedTuple
import numpy as np
from edrp.core.kernels import kernel

class {name}(NamedTuple):
    {fields}

@kernel
def twice(arrays):
    return 2 * arrays.values[0]
"""
CALL = """
import numpy as np
from pack import main
values, others = np.array([21]), np.array([0])
print(main.twice(getattr(main, "{name}")(values=values, others=others)))
"""
ORDERS = ("values: np.ndarray; others: np.ndarray", "others: np.ndarray; values: np.ndarray")


@pytest.mark.slow
def test_a_kernel_whose_types_were_renamed_or_reordered_is_compiled_again(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, fields in (("Before", ORDERS[0]), ("After", ORDERS[0]), ("After", ORDERS[1])):
        (package / "main.py").write_text(RENAMED.format(name=name, fields=fields), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", CALL.format(name=name)], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.strip() == "42", done.stderr


@inlined
def half(x):
    return x / 2


@kernel
def quarters(x):
    return half(half(x)) + half(half(4))


def test_a_helper_is_compiled_once_for_constants_and_variables():
    quarters.part.compile("(int64,)")  # as a part, which is kept by no cache
    assert len(half.part.signatures) == 2  # whole numbers and floats


def test_a_helper_can_be_called_from_python_too():
    assert half(1) == 0.5


@pytest.fixture
def compile_in_vain(monkeypatch, tmp_path):
    """Asks for a kernel, within a limit that is too short, on two cores; returns the compilers that this process has started."""
    monkeypatch.setattr(compiling, "COMPILER", ("cat",))  # reads, as a compiler does, until the process that started it ends
    monkeypatch.setattr(compiling, "usable_cores", lambda: 2)
    monkeypatch.setattr(compiling, "compiles_patiently", lambda: False)
    started = []

    def ask(name: str, process: dict) -> list[subprocess.Popen]:
        left = iter((1.0, 0.001, 0.0) if process else (1.0, 0.0))  # at first, time is up before anything is compiled
        clock = SimpleNamespace(seconds_left=left.__next__, compiler_seconds_left=lambda: 60.0, wait=lambda _: None)
        monkeypatch.setattr(compiling, "clock", lambda: clock)
        monkeypatch.setattr(compiling, "_children", process)
        with pytest.raises(OutOfTimeError, match="keeps them in the cache"):
            compiling.compiled_apart(SimpleNamespace(__module__="here", __qualname__=name), (), "the cache", tmp_path)
        started.extend(child for child in process.values() if child not in started)
        return list(process.values())

    yield ask
    for child in started:
        child.kill()
        child.communicate()


def test_under_time_limits_no_more_kernels_are_compiled_at_once_than_there_are_cores(compile_in_vain):
    """By all processes together; a compiler that was killed makes room."""
    process, another = {}, {}
    for name in ("first", "second", "third", "second"):
        compilers = compile_in_vain(name, process)
    assert len(compilers) == 2
    assert compile_in_vain("third", another) == []
    compilers[0].kill()
    compilers[0].wait()
    (late,) = compile_in_vain("third", another)
    assert [late.poll(), compilers[1].poll()] == [None, None]


def test_a_turn_ends_while_it_waits_for_the_compiler_and_leaves_the_others_their_time(monkeypatch, tmp_path):
    children = {}
    monkeypatch.setattr(compiling, "COMPILER", ("cat",))
    monkeypatch.setattr(compiling, "compiles_patiently", lambda: False)
    monkeypatch.setattr(compiling, "_children", children)
    kernel = SimpleNamespace(__module__="here", __qualname__="cold")
    try:
        with running(time_limit=60.0) as run:
            with deadline(now() + 0.05), pytest.raises(OutOfTimeError, match="keeps them in the cache"):
                compiling.compiled_apart(kernel, (), "the cache", tmp_path)
            assert run.seconds_left() > 10.0
            assert run.work >= 0.05, "a later kernel of the same turn is not waited for again"
    finally:
        for child in children.values():
            child.kill()
            child.communicate()
