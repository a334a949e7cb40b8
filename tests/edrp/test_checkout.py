"""An editable install of a checkout: the package is found from anywhere, and leaves with `pip uninstall`."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")
CODE = "import edrp; edrp.solve; import edrp.formulations, edrp.mdp.chain; print(edrp.__file__, edrp.mdp.__file__, sep='\\n')"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def copy_checkout(folder: Path) -> Path:
    """Copy the files of this checkout that an install needs into a folder of its own."""
    folder.mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("edrp", *ROOMS):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").mkdir()
    return folder


def run(python: Path, *arguments: str, cwd: Path, path: str = "") -> str:
    """Run an interpreter, which must succeed, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path:
        environment["PYTHONPATH"] = path
    result = subprocess.run([python, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout in a folder that is called like the package."""
    return copy_checkout(tmp_path_factory.mktemp("projects") / "edrp")


@pytest.fixture(scope="module")
def install(checkout, tmp_path_factory):
    """Makes an environment that sees this one's packages, with the checkout installed; returns its Python."""
    here = [entry for entry in sys.path if entry.endswith("site-packages")]

    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        venv.create(folder, with_pip=False)
        python = folder / "bin" / "python"
        site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
        (site / "shared.pth").write_text("\n".join(here), encoding="utf-8")
        options = ("--quiet", "--ignore-installed", "--no-deps", "--no-build-isolation", "--editable")
        run(python, "-m", "pip", "install", *options, str(checkout), cwd=folder)
        return python

    return make


@pytest.fixture(scope="module")
def installed(install):
    """The interpreter of an environment with the package installed."""
    return install("installed")


@pytest.mark.parametrize("place", ["parent", "checkout", "elsewhere"])
def test_an_installed_checkout_called_edrp_is_imported_from_anywhere(checkout, installed, tmp_path, place):
    cwd = {"parent": checkout.parent, "checkout": checkout, "elsewhere": tmp_path}[place]
    expected = [str(checkout / "edrp" / "__init__.py"), str(checkout / "mdp" / "__init__.py")]
    assert run(installed, "-c", CODE, cwd=cwd).split() == expected
    assert run(installed, "-m", "edrp", "version", cwd=cwd).startswith("edrp ")


def test_nothing_else_of_a_checkout_can_be_imported(checkout, installed, tmp_path):
    names = [*ROOMS, "tests", "setup", "edrp.tests", "edrp.edrp", "edrp.setup"]
    code = f"from importlib.util import find_spec; print([find_spec(name) for name in {names!r}])"
    assert str(checkout) not in run(installed, "-c", code, cwd=tmp_path)


def test_another_checkout_in_front_is_taken_as_a_whole(installed, tmp_path):
    """No half of one checkout with the other half of another."""
    other = copy_checkout(tmp_path / "other")
    expected = [str(other / "edrp" / "__init__.py"), str(other / "mdp" / "__init__.py")]
    assert run(installed, "-c", CODE, cwd=other).split() == expected
    assert run(installed, "-c", CODE, cwd=tmp_path, path=str(other)).split() == expected


def test_an_installed_checkout_is_uninstalled_without_a_trace(install, tmp_path):
    python = install("uninstalled")
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    assert [path.name for path in site.iterdir() if "edrp" in path.name]
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "edrp", cwd=tmp_path)
    assert {path.name for path in site.iterdir()} <= {"shared.pth", "__pycache__"}
    assert [path for path in site.rglob("*") if "edrp" in path.name] == []
