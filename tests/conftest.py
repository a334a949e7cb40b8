"""Shared fixtures: small real instances, each with what it is for, and the command line in this process."""

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import settings
from pages import Page

from edrp.core.instances import load
from edrp.core.spark import spark_session
from edrp.placement.edrp import EdrpProblem

# No deadlines: on a busy machine they judge the machine. The same examples every time: a change is judged by itself. Who looks
# for faults draws others: pytest --hypothesis-profile=search.
settings.register_profile("test", deadline=None, derandomize=True, database=None, max_examples=25)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("test")

# A shell that starts the tests in the background has them ignore Ctrl-C, and the processes that they start would, too.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Run:
    """Outcome of one call of the command line."""

    code: int
    out: str
    err: str

    def ended(self, code: int) -> Self:
        """This outcome, of which the exit code is asserted."""
        assert self.code == code, self.err or self.out
        return self


def _seed(item: pytest.Item) -> int | None:
    """The seed of a test over seeds; none of a test that is slow anyway."""
    seed = getattr(item, "callspec", None) and item.callspec.params.get("seed")  # type: ignore[attr-defined]
    return seed if isinstance(seed, int) and not item.get_closest_marker("slow") else None


def _take_every_third_seed(items: list[pytest.Item]) -> None:
    """Of a test over four seeds or more, two of three are for `make test-slow`."""
    seeds: dict[str, set[int]] = {}
    seeded = []
    for item in items:
        if (seed := _seed(item)) is not None:
            of_test = seeds.setdefault(item.nodeid.partition("[")[0], set())
            of_test.add(seed)
            seeded.append((item, of_test, seed))
    for item, of_test, seed in seeded:
        if len(of_test) >= 4 and seed not in sorted(of_test)[::3]:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Promises about the clock, and what needs Spark, a browser, real data or minutes, have targets of make of their own."""
    _take_every_third_seed(items)
    for item in items:
        if ROOT / "tests" / "timing" in item.path.parents:
            item.add_marker(pytest.mark.timing)
        long = item.path.parent.name == "benchmark" and item.path.name != "test_own_instances.py"
        if long or {"spark", "browser", "shared_data"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium of this machine that is driven by a test; skipped where there is none, unless it must be there."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    why = "there is no Chromium on the PATH" if executable is None else ""
    if find_spec("playwright") is None:
        why = 'the package playwright is missing: pip install "edrp[test]"'
    if why and os.environ.get("EDRP_REQUIRE_BROWSER"):
        pytest.fail(why)
    if why:
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, headless=True, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Call `edrp …` in this process."""
    from edrp.cli import main

    def call(*arguments: object) -> Run:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Run(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of example instances."""
    return EXAMPLES


@pytest.fixture(scope="session")
def word_count() -> EdrpProblem:
    """Four operators on three nodes, initial placement; easy to understand."""
    return load(EXAMPLES / "word_count.json")


@pytest.fixture(scope="session")
def reconfigure() -> EdrpProblem:
    """The word count after its load has grown: the current deployment is overloaded and has to change."""
    return load(EXAMPLES / "reconfigure.json")


@pytest.fixture(scope="session")
def infeasible() -> EdrpProblem:
    """The word count with a cost limit and a response-time limit that clash."""
    return load(EXAMPLES / "infeasible.json")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session with two slots for all tests of Spark in this process."""
    with spark_session("local[2]", memory="1g", in_python=True) as session:
        yield session


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, which is not ours to hand on; without one beside the checkout, what needs it is skipped."""
    folder = Path(os.environ.get("EDRP_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def coins() -> Path:
    """With this folder on PYTHONPATH another package is installed: kind "coin", method "throw"."""
    return ROOT / "tests" / "plugins"


@pytest.fixture
def coin_batch(coins: Path, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start `edrp batch … -m throw` in a process of its own, where the package of coins is installed.

    Instances are given by name: a side of a coin, or a whole document.
    """

    def started(instances: dict[str, str], *arguments: object, out: Path) -> subprocess.Popen[str]:
        texts = {
            name: text if text.startswith("{") else json.dumps({"kind": "coin", "side": text}) for name, text in instances.items()
        }
        source = tmp_path / "instances.jsonl"
        source.write_text("".join(json.dumps({"id": name, "instance": text}) + "\n" for name, text in texts.items()))
        words = [sys.executable, "-m", "edrp", "batch", source, "-m", "throw", *arguments, "--out", out]
        environment = {**os.environ, "PYTHONPATH": str(coins), "COLUMNS": "200"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*map(str, words)], env=environment, text=True, cwd=coins, **pipes)

    return started


@pytest.fixture
def document() -> dict[str, Any]:
    """The word count as JSON, to be changed by a test."""
    return copy.deepcopy(json.loads((EXAMPLES / "word_count.json").read_text()))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a document (or plain text) to a file of its own."""

    def to_file(content: Any, name: str = "instance.json") -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return to_file


@pytest.fixture
def links_of() -> Callable[[str], Page]:
    """Reads the links of a page."""
    return Page
