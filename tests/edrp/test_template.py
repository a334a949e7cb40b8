"""The template package, copied and installed as its page says, works and passes its own tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "examples" / "template"
PAGE = ROOT / "docs" / "how-to" / "own_package.md"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("template")]  # installed once


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the folder, with the package installed next to it in `installed`."""
    place = tmp_path_factory.mktemp("template") / "my-package"
    shutil.copytree(TEMPLATE, place, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    # Its tests run as they are, also inside a checkout whose own options of pytest need plugins.
    (place.parent / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--not-known-here"\n', encoding="utf-8")
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(place / "installed"), str(place)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    return place


def python(place: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(place / "installed"), "COLUMNS": "200"}
    done = subprocess.run([sys.executable, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass(copy):
    printed = python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert re.search(r"^7 passed", printed, re.MULTILINE)


def test_its_placement_method_solves_the_first_example(copy):
    problem = str(ROOT / "examples" / "word_count.json")
    assert "splitter         2  cloud ×2" in python(copy, "-m", "edrp", "solve", "--method", "one-node-descent", problem)


def test_the_page_shows_what_the_template_holds():
    files = [path.read_text(encoding="utf-8") for path in TEMPLATE.rglob("*") if path.suffix in (".py", ".toml")]
    shown = re.findall(r"^```(?:py|toml)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(shown) == 6
    for block in shown:
        assert any(block in text for text in files), block
