"""The package installed, as a wheel and as an editable checkout: one importable name, complete, usable from anywhere."""

import email
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")
CODE = """
import edrp; edrp.solve
import edrp.formulations, edrp.mdp.chain, pathlib
print(*(pathlib.Path(package.__file__).resolve() for package in (edrp, edrp.mdp)), sep="\\n")
"""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]  # built once, not once per worker


def copy_checkout(folder: Path) -> Path:
    """Copy the files of this checkout that an install needs into a folder of its own."""
    folder.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, folder)
    left_out = shutil.ignore_patterns("__pycache__", "_native*.so", "*.egg-info")
    for name in ("edrp", "src", *ROOMS):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=left_out)
    (folder / "tests").mkdir()
    return folder


def run(python: Path | str, *arguments: str, cwd: Path, **environment: str) -> str:
    """Run an interpreter, which must succeed, in a folder, and return its output."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run([python, *arguments], cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a source distribution of a copy: nothing is left in the checkout, nothing left there gets in."""
    place = tmp_path_factory.mktemp("wheel")
    source = copy_checkout(place / "source")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(source), cwd=place)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def install(tmp_path_factory):
    """Makes an environment that sees this one's packages, with pip's words installed; returns its Python."""
    here = [entry for entry in sys.path if entry.endswith("site-packages")]

    def make(name: str, *words: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        venv.create(folder, with_pip=False)
        python = folder / "bin" / "python"
        site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
        (site / "shared.pth").write_text("\n".join(here), encoding="utf-8")
        options = ("--quiet", "--ignore-installed", "--no-deps", "--no-build-isolation")
        run(python, "-m", "pip", "install", *options, *words, cwd=folder)
        return python

    return make


@pytest.fixture(scope="module")
def users(wheel, install):
    """The interpreter of an environment in which a user has installed the wheel."""
    return install("users", str(wheel))


def test_every_file_of_the_rooms_is_in_the_wheel_once(wheel):
    inside = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    listed = subprocess.run(["git", "ls-files", "edrp", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [name for name in listed.splitlines() if (ROOT / name).is_file() and not name.startswith("edrp/native/")]
    expected = [name if name.startswith("edrp/") else f"edrp/{name}" for name in files]
    assert sorted(inside) == sorted([*expected, "edrp/_native.abi3.so"])


def test_nothing_but_edrp_is_installed_at_the_top(wheel):
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"edrp"}


def test_the_wheel_carries_its_licence_and_metadata(wheel):
    with zipfile.ZipFile(wheel) as content:
        (metadata,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        fields = email.message_from_bytes(content.read(metadata))
        licence = content.read(metadata.replace("METADATA", "licenses/LICENSE"))
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert fields["License-Expression"] == "Apache-2.0"
    assert (fields["Name"], fields["Version"]) == ("edrp", SETTINGS["project"]["version"])
    assert not [value for value in fields.get_all("Classifier") if value.startswith("License ::")], "SPDX replaces them"


def test_what_a_user_installs_solves_from_another_directory(users, tmp_path):
    (site,) = users.parent.parent.glob("lib/python*/site-packages")
    imported = run(users, "-W", "error", "-c", "import edrp; print(edrp.__file__, edrp.__version__)", cwd=tmp_path)
    assert imported.split() == [str(site / "edrp" / "__init__.py"), SETTINGS["project"]["version"]]
    command = users.with_name("edrp")
    assert run(command, "--version", cwd=tmp_path).startswith(f"edrp {SETTINGS['project']['version']}\n")
    for method in ("auto", "eliminate", "annealing"):  # no compiler is on the PATH
        words = ("solve", str(ROOT / "examples" / "word_count.json"), "--method", method, "--work-limit", "5")
        assert "objective 0.163438" in run(command, *words, cwd=tmp_path, PATH="/nonexistent")


def test_types_of_the_readme_hold_for_its_reader(users, tmp_path):
    """The Python of the README, and the types of what is read from files, checked against the installed package alone."""
    readme = "\n".join(re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL))
    own = """
read = edrp.load("mine.json", edrp.EdrpProblem)
deployment: edrp.Deployment | None = edrp.solve(read).deployment
edrp.loads("{}", kind=edrp.MigrationProblem).application
"""
    (tmp_path / "session.py").write_text(readme + own, encoding="utf-8")
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--cache-dir", str(tmp_path)]
    options += ["--python-executable", str(users)]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, "session.py"], cwd=tmp_path, capture_output=True, text=True)
    assert '"MigrationProblem" has no attribute "application"' in done.stdout
    assert "Found 1 error in 1 file" in done.stdout, done.stdout


def test_library_logs_but_configures_no_logging(users, tmp_path):
    code = """
import logging, edrp
assert [type(handler) for handler in logging.getLogger("edrp").handlers] == [logging.NullHandler]
assert not logging.getLogger().handlers
"""
    run(users, "-W", "error", "-c", code, cwd=tmp_path)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout in a folder that is called like the package."""
    return copy_checkout(tmp_path_factory.mktemp("projects") / "edrp")


@pytest.fixture(scope="module")
def installed(install, checkout):
    """The interpreter of an environment with the checkout installed."""
    return install("installed", "--editable", str(checkout))


@pytest.mark.parametrize("place", ["parent", "checkout", "elsewhere"])
def test_an_installed_checkout_called_edrp_is_imported_from_anywhere(checkout, installed, tmp_path, place):
    cwd = {"parent": checkout.parent, "checkout": checkout, "elsewhere": tmp_path}[place]
    expected = [str(checkout / "edrp" / "__init__.py"), str(checkout / "mdp" / "__init__.py")]
    assert run(installed, "-c", CODE, cwd=cwd).split() == expected
    assert run(installed, "-m", "edrp", "version", cwd=cwd).startswith("edrp ")


def test_nothing_else_of_a_checkout_can_be_imported(checkout, installed, tmp_path):
    names = [*ROOMS, "src", "tests", "edrp.src", "edrp.tests", "edrp.edrp"]
    code = f"from importlib.util import find_spec; print([find_spec(name) for name in {names!r}])"
    assert str(checkout) not in run(installed, "-c", code, cwd=tmp_path)


def test_another_checkout_in_front_is_taken_as_a_whole(installed, tmp_path):
    """No half of one checkout with the other half of another."""
    other = copy_checkout(tmp_path / "other")
    expected = [str(other / "edrp" / "__init__.py"), str(other / "mdp" / "__init__.py")]
    assert run(installed, "-c", CODE, cwd=other).split() == expected
    assert run(installed, "-c", CODE, cwd=tmp_path, PYTHONPATH=str(other)).split() == expected


def test_an_installed_checkout_is_uninstalled_without_a_trace(install, checkout, tmp_path):
    python = install("uninstalled", "--editable", str(checkout))
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    assert [path.name for path in site.iterdir() if "edrp" in path.name]
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "edrp", cwd=tmp_path)
    assert {path.name for path in site.iterdir()} <= {"shared.pth", "__pycache__"}
    assert [path for path in site.rglob("*") if "edrp" in path.name] == []
