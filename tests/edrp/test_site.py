"""The documentation as a site: built strictly, complete, and free of anything that its pages would load from elsewhere."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import Page

import edrp
from edrp.cli.app import COMMANDS
from edrp.core.methods import methods

ROOT = Path(__file__).resolve().parents[2]
API = ("edrp.datasets", "edrp.enactment", "edrp.heuristics.enactment", "edrp.mdp", "edrp.engines.flink.local")
"""Packages whose public names are on the pages of the API."""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]  # built once


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` does; warnings are errors."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "properdocs", "build", "--strict", "--site-dir", str(place)]
    assert " ".join(command[1:-1]) in (ROOT / "Makefile").read_text(encoding="utf-8"), "with --quiet, warnings would not count"
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "INFO" not in line]) == (0, [])
    return place


def parsed(page: Path) -> Page:
    return Page(page.read_text(encoding="utf-8"))


def test_pages_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 70
    for page in pages:
        assert [address for address in parsed(page).loaded if re.match(r"(https?:)?//", address)] == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\((https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


def test_every_public_name_is_on_a_page_of_the_api(site):
    shown = set().union(*(parsed(page).anchors for page in (site / "reference" / "api").glob("*.html")))
    names = {f"edrp.{name}" for name in edrp.__all__} - {"edrp.__version__", "edrp.errors"}
    names |= {f"{package}.{name}" for package in API for name in importlib.import_module(package).__all__}
    names |= {f"edrp.core.errors.{name}" for name in vars(edrp.errors) if name.endswith("Error")}
    assert names - shown - {"edrp.heuristics.enactment.POLICIES"} == set()


def test_every_command_and_method_is_described(site):
    commands = parsed(site / "reference" / "commands.html").anchors
    assert {f"edrp-{name}" for name in COMMANDS} <= commands
    assert "edrp-advise-flink" in commands
    assert set(methods()) <= parsed(site / "reference" / "methods.html").anchors


LOOKS = (((1280, 900), "light"), ((390, 844), "dark"))
"""Sizes of a window, with the colours that its user prefers."""

CROPPED = """() => ['article pre > code', 'article table[data-cards]', 'article .md-typeset__scrollwrap']
    .flatMap(kind => [...document.querySelectorAll(kind)])
    .filter(one => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth + 1)
    .filter(one => one.matches('[data-cards]') || !/auto|scroll/.test(getComputedStyle(one).overflowX))
    .map(one => one.textContent.slice(0, 60))"""
"""What is cut off: code and wide tables that do not scroll, and tables with few columns, which are cards on narrow screens."""

SHOWN = (
    "index.html",
    "tutorials/clusters.html",
    "reference/api/solving.html",
    "reference/methods.html",
    "explanation/errata.html",
)


@pytest.mark.parametrize(("size", "scheme"), LOOKS, ids=[scheme for _, scheme in LOOKS])
def test_pages_are_drawn_and_searched_as_files_without_a_word_or_a_request(site, browser, size, scheme):
    """Opened as files, on a wide and on a narrow screen."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
    for name in SHOWN:
        page.goto((site / name).as_uri())
        page.wait_for_selector("article h1")
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0, name
        assert page.evaluate(CROPPED) == [], name
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)"), name
        assert page.get_attribute("body", "data-md-color-scheme") == {"light": "default", "dark": "slate"}[scheme]
    if scheme == "light":
        page.locator("input.md-search__input").press_sequentially("certificate")  # the theme searches when a key is released
        page.wait_for_selector(".md-search-result__item")
    page.close()
    assert heard == []
