"""Builds the extension `edrp._native` when the package is installed; the package `ziglang` brings a compiler where there is none.

`python edrp/native/building.py` builds it in a checkout, only what has changed; `--checked` builds that of `make test-native`.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 # the hooks of a backend
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parents[2]
OBJECTS = ROOT / "build/native"
OLDEST = {"g++": 10, "clang": 12}
FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-fwrapv", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
CHECKED = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-DEDRP_CHECKED"]
CHECKED += ["-D_GLIBCXX_ASSERTIONS"]  # indices of vectors, too
NO_COMPILER = (
    "edrp needs a C++ compiler, g++ >= 10 or clang >= 12, to be built from source: `apt install g++` on Debian and Ubuntu, "
    "`dnf install gcc-c++` on Fedora, `xcode-select --install` on macOS, or `pip install ziglang`; a wheel of edrp needs none"
)


def system_compiler() -> list[str] | None:
    """Return the command of the machine's compiler: `CXX`, or the first that is found; none where there is none."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    return next(([name] for name in ("c++", "g++", "clang++") if shutil.which(name)), None)


def compiler() -> list[str]:
    """Return the command that compiles; raises SystemExit where there is none, or where it does not run or is too old."""
    command = system_compiler()
    if command is None:
        try:
            import ziglang  # noqa: F401
        except ImportError:
            raise SystemExit(NO_COMPILER) from None
        return [sys.executable, "-m", "ziglang", "c++", "-mcpu=baseline"]  # it compiles for this machine's processor otherwise
    told = version_text(command)
    name = "clang" if "clang" in told else "g++"
    version = re.search(r"(\d+)\.\d+", told)
    if version and int(version[1]) < OLDEST[name] and "Apple" not in told:
        raise SystemExit(f"{' '.join(command)} is {name} {version[0]}. {NO_COMPILER}")
    return command


def version_text(command: list[str]) -> str:
    """Return what a compiler says of its version; raises SystemExit where it cannot be run."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        first_line = (done.stderr or done.stdout).strip().partition("\n")[0]
        why = f"ends with status {done.returncode}: {first_line}" if done.returncode else ""
    except OSError as error:
        why = f"cannot be run: {error.strerror}"
    if why:
        named = ", which the environment variable CXX names," if os.environ.get("CXX") else ""
        raise SystemExit(f"the compiler {shlex.join(command)}{named} {why}. {NO_COMPILER}")
    return done.stdout


def includes() -> list[str]:
    """Return where headers are: those of this package, of Python and of NumPy."""
    import numpy as np

    return [f"-I{ROOT}", "-isystem", sysconfig.get_path("include"), "-isystem", np.get_include()]


def write_tolerances(header: Path) -> None:
    """State the numbers of `edrp/core/tolerances.py` for kernels, unless the header does so already."""
    module = ast.parse((ROOT / "edrp/core/tolerances.py").read_text(encoding="utf-8"))
    lines = ["#pragma once", "namespace edrp {"]
    for node in module.body:
        if isinstance(node, ast.Assign):
            names, values = ast.unparse(node.targets[0]).strip("()").split(", "), ast.unparse(node.value).strip("()").split(", ")
            lines += [f"constexpr double {name} = {value};" for name, value in zip(names, values, strict=True)]
    text = "\n".join([*lines, "}", ""])
    if not header.exists() or header.read_text() != text:
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(text)


def build(target: Path, objects: Path, *flags: str, strict: bool = False) -> None:
    """Compile what has changed, all cores at it, and link it to a file; where it is strict, a warning is an error."""
    command = [*compiler(), *FLAGS, *flags]
    options = [*command, *["-Werror"] * strict, f"-I{objects}", *includes()]
    write_tolerances(objects / "edrp/native/tolerances.hpp")
    stamp = objects / "command"  # what was compiled by another command is compiled again; any Python and NumPy have the same ABI
    same = stamp.exists() and stamp.read_text() == "\n".join(command)
    changed = max(path.stat().st_mtime for folder in (ROOT / "edrp/native", objects) for path in folder.rglob("*.hpp"))
    jobs = []
    for source in sorted((ROOT / "edrp/native").rglob("*.cpp")):
        made = objects / ("-".join(source.relative_to(ROOT / "edrp/native").parts) + ".o")
        current = same and made.exists() and made.stat().st_size and made.stat().st_mtime > max(changed, source.stat().st_mtime)
        jobs.append((source, made, current))
    stamp.unlink(missing_ok=True)

    def compile_one(job: tuple[Path, Path, bool]) -> None:
        source, made, current = job
        if not current:
            run([*options, "-c", str(source), "-o", f"{made}.partial"])
            Path(f"{made}.partial").replace(made)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, jobs))
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    run([*command, *shared, *(str(made) for _, made, _ in jobs), "-o", str(partial)])
    partial.replace(target)
    for other in target.parent.glob(f"{target.name.partition('.')[0]}.cpython-*"):  # Python would rather take one of its own
        other.unlink()
    stamp.write_text("\n".join(command))


def run(command: list[str]) -> None:
    """Run a compiler; raises SystemExit with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    sys.stderr.write(done.stderr)


class BuildNative(build_ext):  # type: ignore[misc] # setuptools has no types
    """What `pip install` runs."""

    def build_extension(self, ext: object) -> None:
        """Build the only extension, whose sources are all files of `edrp/native`."""
        build(Path(self.get_ext_fullpath("edrp._native")).resolve(), OBJECTS, "-DNDEBUG")


def _with_compiler(requirements: list[str]) -> list[str]:
    return requirements if system_compiler() else [*requirements, "ziglang>=0.13"]


def get_requires_for_build_wheel(config_settings: dict[str, str] | None = None) -> list[str]:
    """Ask for a compiler where the machine has none."""
    return _with_compiler(build_meta.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: dict[str, str] | None = None) -> list[str]:
    """Ask for a compiler where the machine has none."""
    return _with_compiler(build_meta.get_requires_for_build_editable(config_settings))


def build_in_place(checked: bool) -> None:
    """Build the extension of a checkout, unless it is newer than all that it is made of."""
    if checked:
        build(ROOT / "build/checked/_native.abi3.so", ROOT / "build/checked/objects", *CHECKED)
        return
    target = ROOT / "edrp/_native.abi3.so"
    parts = [ROOT / "edrp/core/tolerances.py", *(path for path in (ROOT / "edrp/native").rglob("*") if path.is_file())]
    if not target.exists() or target.stat().st_mtime < max(path.stat().st_mtime for path in parts):
        build(target, OBJECTS, "-DNDEBUG", strict=True)


if __name__ == "__main__":
    build_in_place("--checked" in sys.argv)
