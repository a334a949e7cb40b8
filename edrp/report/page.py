"""A report as one self-contained HTML page: everything is inlined, nothing is fetched; and the machine that it was made on."""

from __future__ import annotations

import os
import platform
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from edrp.core.errors import BackendUnavailableError, visible_lines
from edrp.core.solution import installed_versions
from edrp.report.tables import Table, facts_table


def machine() -> dict[str, str]:
    """Processor, cores, memory and operating system of this machine, in words.

    >>> sorted(machine())
    ['cores', 'memory', 'operating system', 'processor', 'python']
    """
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory": _memory(),
        "operating system": platform.platform(terse=True),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions() -> dict[str, str]:
    """Versions of the package and of what its answers and this report depend on."""
    packages = ("highspy", "joblib", "numpy", "pandas", "plotly", "pyarrow", "pyspark", "scipy")
    return {name: found for name, found in installed_versions(*packages).items() if found != "not installed"}


def _processor() -> str:
    """The model as Linux names it, elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> str:
    there = usable = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    return str(there) if usable == there else f"{there}, of which {usable} usable"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


TEMPLATE = "page.html.jinja"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a page.

    Attributes
    ----------
    words : description for readers who cannot see it.
    path : SVG file, which is inlined; None for `html`.
    html : markup that draws it.
    """

    words: str
    path: Path | None = None
    html: str = ""

    @property
    def address(self) -> str:
        """The SVG file as an address that contains it whole; empty without one."""
        return "" if self.path is None else f"data:image/svg+xml;base64,{b64encode(self.path.read_bytes()).decode()}"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it; what stands between backticks in sentences is shown as code.

    Attributes
    ----------
    verdicts : sentences that are set off, above all others.
    notes : sentences in less ink.
    figure, tables : long tables are folded up unless they are `open`.
    label : its name in the table of contents; empty for the heading.
    alarming : whether it warns of a defect.
    """

    heading: str
    sentences: Sequence[str] = ()
    verdicts: Sequence[str] = ()
    notes: Sequence[str] = ()
    code: str = ""
    figure: Figure | None = None
    tables: Sequence[Table] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
    parts: Sequence[Section] = ()
    label: str = ""
    alarming: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page.

    Attributes
    ----------
    status : how much was run.
    verdicts : the results, in sentences.
    script : source of what draws figures given as markup.
    """

    title: str
    summary: str
    verdicts: Sequence[str]
    sections: Sequence[Section]
    finished: datetime
    status: str = ""
    script: str = ""


def render(page: Page) -> str:
    """The page as HTML."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape

    def with_code(text: str) -> Markup:
        return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(visible_lines(text)))))

    def shown(value: object) -> object:
        return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=shown)
    environment.filters["code"] = with_code
    template = environment.from_string(files("edrp.report").joinpath(TEMPLATE).read_text(encoding="utf-8"))
    return template.render(page=page, scripts=Markup(_allowed_scripts(page)))


SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def _allowed_scripts(page: Page) -> str:
    """The directive of the content-security policy that allows what draws the figures, by hash, and no other script."""
    sources = [page.script] if page.script else []
    sections = list(page.sections)
    while sections:
        section = sections.pop()
        sections += section.parts
        sources += SCRIPT.findall(section.figure.html) if section.figure is not None else []
    hashes = [f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'" for source in sources]
    return f"script-src {' '.join(hashes)}; " if hashes else ""


def how_run(command: str, settings: Mapping[str, str]) -> Section:
    """The section on how a run can be repeated, and on what it ran."""
    tables = (facts_table("Settings", settings), facts_table("Machine", machine()), facts_table("Versions", versions()))
    return Section("How this was run", ("To repeat it:",), code=command, tables=tables)


def require_packages(**extras: str) -> None:
    """Refuse to go on without the packages that a report needs.

    Parameters
    ----------
    extras
        By package, the extra of ours that brings it.

    Raises
    ------
    BackendUnavailableError
        Naming the extra to install.
    """
    for package, extra in extras.items():
        if find_spec(package) is None:
            raise BackendUnavailableError(f'the report needs the package {package}: pip install "edrp[{extra}]"')
