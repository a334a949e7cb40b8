"""The installed package: one importable name, complete, light to import, usable from anywhere."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]  # built once, not once per worker


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as a user of the checkout builds it, from a copy: nothing is left in the checkout, nothing left there gets in."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, source)
    for name in ("edrp", *ROOMS):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "compiled"))
    (source / "edrp" / "compiled").mkdir()
    (source / "edrp" / "compiled" / "a.kernel.nbi").touch()
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


def test_every_module_is_in_the_wheel(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "edrp").rglob("*.py")}
    expected |= {f"edrp/{path.relative_to(ROOT).as_posix()}" for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert inside == expected
    assert {"edrp/py.typed", "edrp/compiled/a.kernel.nbi"} <= set(zipfile.ZipFile(wheel).namelist())


def test_nothing_but_edrp_is_installed_at_the_top(wheel):
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"edrp"}


def test_wheel_works_from_another_directory(site):
    assert python(site, "-c", "import edrp; print(edrp.__file__)").strip() == str(site / "edrp" / "__init__.py")
    code = f"import edrp; print(edrp.solve(edrp.load({str(ROOT / 'examples' / 'word_count.json')!r}), 'greedy').status)"
    assert python(site, "-c", code).strip() == "feasible"


def test_console_script_starts_the_command_line(site):
    assert SETTINGS["project"]["scripts"] == {"edrp": "edrp.cli:main"}
    assert python(site, "-m", "edrp", "version").startswith("edrp ")
    script = Path(sys.executable).with_name("edrp")
    assert script.exists(), "the environment of the tests has the package installed"
    printed = subprocess.run([script, "version"], cwd=site.parent, capture_output=True, text=True, check=True)
    assert printed.stdout.startswith("edrp ")


def test_library_logs_but_configures_no_logging(site):
    code = """
import logging, edrp
assert [type(handler) for handler in logging.getLogger("edrp").handlers] == [logging.NullHandler]
assert not logging.getLogger().handlers
"""
    python(site, "-c", code)
