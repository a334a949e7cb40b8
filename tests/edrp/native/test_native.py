"""The extension `edrp._native`: what it refuses, that all of it is used, constants shared with Python, and how it is built."""

import ast
import math
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from edrp import _native
from edrp.core import tolerances

ROOT = Path(__file__).resolve().parents[3]
NATIVE = ROOT / "edrp/native"
TRACKED = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
ROOMS = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
PACKAGE = [name for name in TRACKED if name.startswith(tuple(f"{room}/" for room in ROOMS)) and (ROOT / name).is_file()]

pytestmark = pytest.mark.xdist_group("native")  # kernels of the tests are compiled once, not once per worker

PROBE = """
#include "edrp/native/python.hpp"
namespace edrp {
namespace {
struct Inner { double share; Ints counts; FIELDS(share, counts) };
struct Outer { Inner inner; FloatsOut2 table; FIELDS(inner, table) };
double total(const Outer& outer, i64 first, bool twice) {
    double sum = outer.inner.share * double(outer.inner.counts[first]);
    for (double& cell : outer.table) sum += cell++;
    return twice ? 2 * sum : sum;
}
template <class T>
std::tuple<Matrix<T>, std::vector<T>, bool> square(const Array<const T, 1>& values) {
    Matrix<T> table(values.size(), 2, T(7));
    for (i64 k = 0; k < values.size(); ++k) table.view()(k, 1) = values[k];
    return {table, std::vector<T>(values.begin(), values.end()), true};
}
const Kernels here{kernel<total>("total", "Sums."), kernel<square<std::int32_t>, square<std::int16_t>>("square", "Copies.")};
}  // namespace
}  // namespace edrp
"""


Inner, Outer, Other = namedtuple("Inner", "share counts"), namedtuple("Outer", "inner table"), namedtuple("Other", "inner cells")


def loaded(name: str, path: Path) -> ModuleType:
    """Import a file; the extension of a file may be loaded besides that of the package."""
    spec: Any = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one file of kernels."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "edrp/core").mkdir(parents=True)
    (root / "edrp/native/topic").mkdir(parents=True)
    for path in [*NATIVE.glob("*.hpp"), NATIVE / "module.cpp", NATIVE / "building.py"]:
        shutil.copy2(path, root / "edrp/native" / path.name)
    shutil.copy2(ROOT / "edrp/core/tolerances.py", root / "edrp/core/tolerances.py")
    (root / "edrp/native/topic/probe.cpp").write_text(PROBE)
    return root


@pytest.fixture(scope="module")
def probe(tree: Path) -> Any:
    """Kernels that take and return something of every kind."""
    loaded("building", tree / "edrp/native/building.py").build(tree / "_native.so", tree / "build/objects")
    return loaded("_native", tree / "_native.so")


def outer(**fields: Any) -> Outer:
    """What `total` takes, with some fields replaced."""
    inner = Inner(fields.get("share", 0.5), fields.get("counts", np.arange(3)))
    return Outer(fields.get("inner", inner), fields.get("table", np.ones((2, 3))))


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def test_arguments_and_results_are_what_they_are_in_python(probe: Any) -> None:
    given = outer(share=1, counts=read_only(np.arange(3)))
    assert probe.total(given, np.int32(2), np.True_) == 2 * (2 + 6)
    assert (given.table == 2).all()
    for kind in (np.int16, np.int32):
        table, values, truth = probe.square(np.array([1, 2], kind))
        assert (table.tolist(), values.tolist(), truth) == ([[7, 1], [7, 2]], [1, 2], True)
        assert table.dtype == values.dtype == kind
    assert probe.square(np.zeros(0, np.int16))[0].shape == (0, 2)


TABLE = "argument 1.table: a writable array of float64 with 2 dimensions in C order expected, not an array of "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((outer(table=np.ones((2, 3), np.float32)), 0, True), TABLE + "float32 with 2 dimensions"),
        ((outer(table=np.ones(3)), 0, True), TABLE + "float64 with 1 dimensions"),
        ((outer(table=np.ones((2, 3)).T), 0, True), TABLE + "float64 with 2 dimensions in another order"),
        ((outer(table=np.ones((2, 6))[:, ::2]), 0, True), TABLE + "float64 with 2 dimensions in another order"),
        ((outer(table=read_only(np.ones((2, 3)))), 0, True), TABLE + "float64 with 2 dimensions that must not be written"),
        (
            (outer(counts=[1, 2]), 0, True),
            "argument 1.inner.counts: an array of int64 with 1 dimension in C order expected, not [1, 2]",
        ),
        ((outer(share="x"), 0, True), "argument 1.inner.share: a number expected, not 'x'"),
        ((outer(inner=(0.5, np.arange(3))), 0, True), "argument 1.inner: a named tuple of share, counts expected, not (0.5,"),
        (
            (Other(Inner(0.5, np.arange(3)), np.ones((2, 3))), 0, True),
            "argument 1: a named tuple of inner, table expected, not Other(",
        ),
        ((outer(), 1.0, True), "argument 2: a whole number expected, not 1.0"),
        ((outer(), "x", True), "argument 2: a whole number expected, not 'x'"),
        ((outer(), 0, 1), "argument 3: True or False expected, not 1"),
        ((outer(), 0), "3 arguments expected, 2 given"),
    ],
)
def test_errors_name_what_is_wrong(probe: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError) as error:
        probe.total(*arguments)
    assert str(error.value).startswith(message)


def test_the_error_of_overloads_is_that_of_the_first(probe: Any) -> None:
    with pytest.raises(
        TypeError, match="argument 1: an array of int32 with 1 dimension in C order expected, not an array of int64"
    ):
        probe.square(np.arange(2))
    with pytest.raises(OverflowError):
        probe.total(outer(), 2**63, True)


def kernels() -> set[str]:
    return {name for name in dir(_native) if not name.startswith("__")}


def test_kernels_are_described_in_one_sentence() -> None:
    texts = {name: getattr(_native, name).__doc__ for name in kernels()}
    assert [name for name, text in texts.items() if not re.fullmatch(r"[A-Z](?:(?![.!?] [A-Z]).)*\.", text)] == []


def test_every_kernel_is_called() -> None:
    callers = [*PACKAGE, *(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))]
    called = {name for path in callers for name in re.findall(r"\b_native\.(\w+)", (ROOT / path).read_text(encoding="utf-8"))}
    assert sorted(kernels() - called) == []


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """Constants of a file in upper case: name and expression."""
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(r"^ *(?:static |inline )*constexpr [\w:]+ ([A-Z][A-Z0-9_]+\b[^;]*);", text, re.MULTILINE):
        parts = re.sub(r"//.*", "", match[1]).replace("\n", " ")
        yield from re.findall(r"([A-Z][A-Z0-9_]+)\b[^=]*=\s*((?:\{[^}]*\}|[^,])*)", parts)


def number(expression: str, known: dict[str, Any]) -> Any:
    """The value of an expression of C++, from constants before it."""
    literal = r"\b(0[xX][\da-fA-F']+|\d[\d'.]*(?:[eE][-+]?\d+)?)[uUlLfF]*\b"
    python = re.sub(literal, lambda match: match[1].replace("'", ""), expression)
    python = re.sub(r"\b(?:i64|double|int)(?=\()", "", python).replace("{", "[").replace("}", "]")
    return eval(python, {"__builtins__": {}, "inf": math.inf}, known)


def python_constants() -> dict[str, list[str]]:
    """Modules of the package by the names in upper case that are defined at their top."""
    found: dict[str, list[str]] = {}
    for path in PACKAGE:
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for name in (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)):
                module = ".".join(PurePosixPath(path).with_suffix("").parts)
                found.setdefault(name.id, []).append(module if path.startswith("edrp/") else f"edrp.{module}")
    return found


def test_constants_are_those_of_python() -> None:
    """Where Python files of the same topic have the name, one of them has the number; one with the same path is the one."""
    modules, known = python_constants(), {name: value for name, value in vars(tolerances).items() if name.isupper()}
    wrong, shared = [], 0
    for path in sorted(NATIVE.rglob("*.[hc]pp"), key=lambda path: path.suffix == ".cpp"):
        place = path.relative_to(NATIVE).with_suffix("").parts
        topic = "edrp." + ".".join(place[: 2 if place[0] in ROOMS else 1])
        for name, expression in constants(path):
            value = known[name] = number(expression, known)
            near = [module for module in modules.get(name, []) if module.startswith(f"{topic}.")]
            near = [module for module in near if module == f"edrp.{'.'.join(place)}"] or near
            if near and not any(np.array_equal(value, getattr(import_module(module), name)) for module in near):
                wrong.append(f"{path.relative_to(ROOT)}: {name} = {value} is another number in {', '.join(near)}")
            shared += bool(near)
    assert shared > 20
    assert not wrong, "\n".join(wrong)


COMPILER = """#!/bin/sh
case "$*" in *--version*) echo "@VERSION"; exit 0;; esac
echo "$*" >> "@LOG"
for out in "$@"; do case "$out" in *.o) if grep -qs broken "$out"; then exit 1; fi;; esac; done
echo fine > "$out"
"""


class Compiler:
    """A script that writes what it was asked for, in place of a compiler."""

    def __init__(
        self, tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, version: str = "g++ (Debian 12.2.0) 12.2.0"
    ) -> None:
        self.log, script = folder / "log", folder / "compiler"
        script.write_text(COMPILER.replace("@VERSION", version).replace("@LOG", str(self.log)))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CXX", str(script))
        self.root, self.objects = folder / "checkout", folder / "objects"
        shutil.copytree(tree / "edrp", self.root / "edrp")
        self.building = loaded("building", self.root / "edrp/native/building.py")
        make_older(self.root, 3000)

    def compiled(self, *flags: str) -> list[str]:
        """Build, and return the names of the files that were compiled."""
        self.log.write_text("")
        self.building.build(self.root / "_native.so", self.objects, *flags)
        make_older(self.objects, 1000)
        make_older(self.objects / "edrp", 2000)
        make_older(self.root, 3000)
        return sorted(re.findall(r"(\w+)\.cpp -o", self.log.read_text()))

    def change(self, name: str, text: str = "") -> None:
        """Write a file, which is newer than all objects then."""
        path = self.root / "edrp" / name
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def make_older(path: Path, seconds: float) -> None:
    """Date a file, or all files in a folder, back from now: times are too coarse for builds within milliseconds."""
    then = time.time() - seconds
    for file in [path, *path.rglob("*")]:
        os.utime(file, (then, then))


@pytest.fixture
def compiler(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    return Compiler(tree, tmp_path, monkeypatch)


ALL = ["module", "probe"]


def test_what_has_changed_is_compiled(compiler: Compiler) -> None:
    assert compiler.compiled() == ALL
    assert compiler.compiled() == []
    compiler.change("native/topic/probe.cpp")
    assert compiler.compiled() == ["probe"]
    for _ in range(2):
        assert compiler.compiled("-O1") == ALL  # another command
        assert compiler.compiled() == ALL
    compiler.change("native/random.hpp")
    assert compiler.compiled() == ALL
    compiler.change("core/tolerances.py", "\nNEW_SLACK = 1e-7\n")
    assert compiler.compiled() == ALL
    assert "constexpr double NEW_SLACK = 1e-07;" in (compiler.objects / "edrp/native/tolerances.hpp").read_text()
    assert compiler.compiled() == []


def test_a_build_for_one_python_gives_way_to_that_for_all(compiler: Compiler) -> None:
    (older := compiler.root / "_native.cpython-311-x86_64-linux-gnu.so").write_text("older")
    compiler.compiled()
    assert not older.exists(), "Python would import this one"


def test_after_a_broken_object_file_all_is_compiled(compiler: Compiler) -> None:
    compiler.compiled()
    (compiler.objects / "topic-probe.cpp.o").write_text("")
    assert compiler.compiled() == ["probe"], "a linker takes an empty file for a script"
    (compiler.objects / "topic-probe.cpp.o").write_text("broken")
    with pytest.raises(SystemExit, match=r"topic-probe\.cpp\.o"):
        compiler.compiled()
    assert compiler.compiled() == ALL
    assert (compiler.root / "_native.so").read_text() == "fine\n"


@pytest.mark.parametrize("version", ["g++ (Debian 9.4.0-1) 9.4.0", "Debian clang version 11.0.1-2"])
def test_a_compiler_that_is_too_old_is_named(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    compiler = Compiler(tree, tmp_path, monkeypatch, version)
    with pytest.raises(
        SystemExit, match=r"compiler is (g\+\+ 9\.4|clang 11\.0)\. edrp needs a C\+\+ compiler, g\+\+ >= 10 or clang"
    ):
        compiler.compiled()


def test_without_a_compiler_one_is_installed_or_asked_for(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    for hook in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        monkeypatch.setattr(compiler.building.build_meta, hook, lambda settings: ["wanted"])
        assert getattr(compiler.building, hook)() == ["wanted"]
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    assert compiler.building.get_requires_for_build_wheel() == ["wanted", "ziglang>=0.13"]
    assert compiler.building.get_requires_for_build_editable() == ["wanted", "ziglang>=0.13"]
    monkeypatch.setitem(sys.modules, "ziglang", ModuleType("ziglang"))
    assert compiler.building.compiler() == [sys.executable, "-m", "ziglang", "c++", "-mcpu=baseline"]
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(SystemExit, match=r"^edrp needs a C\+\+ compiler.*apt install g\+\+"):
        compiler.compiled()


@pytest.mark.parametrize(
    ("named", "text", "sentence"),
    [
        ("c++-99 -m64", "", "the compiler c++-99 -m64, which the environment variable CXX names, cannot be run: No such file"),
        (
            "'@FOLDER/my c++' -m64",
            "#!/bin/sh\necho no tools >&2; exit 3",
            "my c++' -m64, which .* ends with status 3: no tools",
        ),
    ],
)
def test_a_compiler_that_does_not_run_is_named(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, text: str, sentence: str
) -> None:
    script = tmp_path / "my c++"
    script.write_text(text)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", named.replace("@FOLDER", str(tmp_path)))
    with pytest.raises(SystemExit, match=sentence.replace("c++", r"c\+\+") + r".*\. edrp needs a C\+\+ compiler"):
        compiler.compiled()


@pytest.mark.slow
def test_checked_kernels_end_the_process_at_an_index_beyond_an_array(tree: Path) -> None:
    subprocess.run([sys.executable, tree / "edrp/native/building.py", "--checked"], check=True)
    (path,) = (tree / "build/checked").glob("_native*.so")
    libraries = [
        subprocess.check_output(["g++", f"-print-file-name=lib{name}.so"], text=True).strip() for name in ("asan", "ubsan")
    ]
    environment = {**os.environ, "LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0:handle_sigill=0"}

    def run(index: int) -> subprocess.CompletedProcess[str]:
        lines = [
            f"from importlib.util import module_from_spec, spec_from_file_location as spec; s = spec('_native', {str(path)!r})",
            "m = module_from_spec(s); s.loader.exec_module(m); import numpy as np; from collections import namedtuple as t",
            "inner = t('Inner', 'share counts')(0.5, np.arange(3))",
            f"print(m.total(t('Outer', 'inner table')(inner, np.ones((2, 3))), {index}, False))",
        ]
        return subprocess.run(
            [sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True, check=False
        )

    assert run(2).stdout == "7.0\n"
    for index in (-1, 3):
        ended = run(index)
        assert (ended.returncode, ended.stdout) == (-signal.SIGILL, ""), ended.stderr
