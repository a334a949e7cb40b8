"""Where compiled kernels are kept: beside the sources, or for the user where an installation cannot be written."""

import importlib
from types import SimpleNamespace

import pytest

import edrp
from edrp.core import kernel_store
from edrp.core.compiling import NOT_KEPT, compilation
from edrp.core.kernels import Kernel, interpreting
from edrp.core.methods import Method, methods
from edrp.core.problem import EVERYTHING

SOURCE = """
def doubled(number):
    return 2 * number
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation of one kernel, beside which no code can be kept, and a home."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "kernels_of_a_test.py").write_text(SOURCE)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (folder / "__pycache__").write_text("no folder")  # whoever runs the tests may write anywhere
    yield SimpleNamespace(
        function=importlib.import_module("kernels_of_a_test").doubled,
        beside=folder / "__pycache__",
        users=tmp_path / "cache" / "edrp",
    )
    monkeypatch.undo()
    importlib.sys.modules.pop("kernels_of_a_test")


def compiled(installed):
    """Whether the kernel has to be compiled by a process that has not used it yet."""
    kernel_store._can_be_written.cache_clear()
    before = compilation.seconds
    with interpreting(False):
        assert Kernel(installed.function)(21) == 42
    return compilation.seconds > before


def kept(folder):
    return [file.parent.parent for file in folder.rglob("*.nbc")]


def test_an_installation_that_cannot_be_written_uses_the_cache_of_the_user(installed):
    assert compiled(installed)
    assert kept(installed.users) == [installed.users]
    assert not compiled(installed)


def test_damaged_files_are_made_again(installed):
    assert compiled(installed)
    files = [*installed.users.rglob("*.nb?")]
    assert files
    for file in files:
        whole = bytearray(file.read_bytes())
        whole[-len(whole) // 2] ^= 16
        file.write_bytes(whole)
    assert compiled(installed)
    assert not compiled(installed)


def test_the_environment_names_another_folder(installed, tmp_path, monkeypatch):
    assert compiled(installed)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "scratch"))
    assert compiled(installed)
    assert kept(tmp_path / "scratch") == [tmp_path / "scratch"]
    assert not compiled(installed)


def test_what_an_administrator_has_compiled_is_used_by_all(installed, monkeypatch):
    installed.beside.unlink()
    assert compiled(installed)
    assert kept(installed.beside) == [installed.beside.parent]
    monkeypatch.setattr(kernel_store, "_can_be_written", lambda folder: folder != installed.beside)
    before = compilation.seconds
    assert Kernel(installed.function)(21) == 42
    assert compilation.seconds == before
    assert not kept(installed.users)


@pytest.fixture
def homeless(installed, monkeypatch):
    """The same where nothing can be written at all."""
    installed.users.parent.write_text("no folder")
    monkeypatch.setattr(kernel_store, "_can_be_written", lambda folder: False)
    return installed


def test_an_answer_says_that_its_kernels_are_kept_nowhere(homeless, examples, monkeypatch):
    class Doubling(Method):
        takes = EVERYTHING
        name, kinds, summary = "doubling", ("migration",), "for tests"

        def run(self, problem, options):
            assert Kernel(homeless.function)(21) == 42
            return methods()["ssm"].run(problem, options)

    monkeypatch.setitem(methods.__globals__["_registry"](), "doubling", Doubling())
    problem = edrp.load(examples / "migration.json")
    for _ in range(2):
        assert NOT_KEPT in edrp.solve(problem, "doubling").notes
    assert NOT_KEPT not in edrp.solve(problem, "ssm").notes


def test_compiling_ahead_is_refused_where_nothing_would_be_kept(homeless, run):
    refused = run("warm-up").ended(2)
    assert f"{homeless.users}" in refused.err
    assert "NUMBA_CACHE_DIR" in refused.err
