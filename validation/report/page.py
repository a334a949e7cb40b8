"""A report as one self-contained page: everything inlined, nothing fetched."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from edrp.core.errors import BackendUnavailableError
from edrp.validation.benchmark.table import Table

TEMPLATE, BENCHMARK_TEMPLATE = "page.html.jinja", "report.html.jinja"
PACKAGES = {"jinja2": "report", "matplotlib": "plot"}
"""What the page needs, and the extra that brings it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it.

    Attributes
    ----------
    heading, sentences
        Text.
    code
        A command; empty for none.
    image, image_words
        Figure as a data address, and what it shows for those who cannot see it.
    tables
        Long ones are folded up unless they are `open`.
    """

    heading: str
    sentences: tuple[str, ...] = ()
    code: str = ""
    image: str = ""
    image_words: str = ""
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """What is rendered.

    Attributes
    ----------
    title, summary
        What was run.
    verdicts
        What came of it, in sentences.
    sections
        In order.
    finished
        When.
    """

    title: str
    summary: str
    verdicts: Sequence[str]
    sections: Sequence[Section]
    finished: datetime


def render(page: Page) -> str:
    """The page as HTML, in the style of the reports of benchmarks."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("edrp.validation.report").joinpath(TEMPLATE).read_text(encoding="utf-8"))
    return template.render(page=page, style=Markup(_benchmark_style()))


def image_address(path: Path) -> str:
    """An SVG file as an address that holds it whole."""
    return f"data:image/svg+xml;base64,{b64encode(path.read_bytes()).decode()}"


def require_page_packages() -> None:
    """Refuse to go on without what page and figures are made with.

    Raises
    ------
    BackendUnavailableError
        Naming the extra to install.
    """
    for package, extra in PACKAGES.items():
        if find_spec(package) is None:
            raise BackendUnavailableError(f'the report needs the package {package}: pip install "edrp[{extra}]"')


def _benchmark_style() -> str:
    """All reports look alike: the style sheet of the benchmarks' template."""
    text = files("edrp.validation.benchmark").joinpath(BENCHMARK_TEMPLATE).read_text(encoding="utf-8")
    return text[text.index("<style>") : text.index("</style>") + len("</style>")]
