"""One self-contained page: everything inlined, nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

import pandas as pd
import plotly.io
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from edrp.validation.benchmark.recheck import Alarm
from edrp.validation.benchmark.sections import Part, Section
from edrp.validation.benchmark.table import Table, facts_table
from edrp.validation.benchmark.tables import reason_table

TEMPLATE = "report.html.jinja"
CHART = {"displayModeBar": False, "displaylogo": False, "responsive": True}
REASONS = {
    "failed": "Failed: a broken instance, a crash or a defect",
    "refused": "Refused: the method cannot express the problem",
    "nothing found": "Nothing found, though the instance is not proven infeasible",
}


@dataclass(frozen=True, slots=True)
class Heading:
    """What was run.

    Attributes
    ----------
    title, summary
        Of the suite.
    command
        How it can be repeated.
    settings, machine, versions
        Names and values.
    """

    title: str
    summary: str
    command: str
    settings: dict[str, str]
    machine: dict[str, str]
    versions: dict[str, str]
    finished: datetime


def render(heading: Heading, runs: pd.DataFrame, sections: Sequence[Section], alarms: Sequence[Alarm]) -> str:
    """The page as HTML."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["code"] = quoted
    template = environment.from_string(files("edrp.validation.benchmark").joinpath(TEMPLATE).read_text(encoding="utf-8"))
    numbered = iter(range(10_000))
    charts = {id(part): _chart(part, next(numbered)) for section in sections for part in section.parts if part.figure is not None}
    return template.render(
        heading=heading,
        counts=counts_in_words(runs),
        sections=sections,
        charts=charts,
        chart_of=lambda part: charts.get(id(part)),
        alarms=alarms,
        reasons=reason_tables(runs),
        facts=[
            facts_table("Settings", heading.settings),
            facts_table("Machine", heading.machine),
            facts_table("Versions", heading.versions),
        ],
        plotly=Markup(get_plotlyjs()) if charts else "",
    )


def counts_in_words(runs: pd.DataFrame) -> str:
    """How much was run."""
    names = ("method", "id", "run_seed")
    methods, instances, seeds = (int(runs[name].nunique()) for name in names)
    plural = ["" if count == 1 else "s" for count in (instances, methods, seeds, len(runs))]
    return f"{instances} instance{plural[0]}, {methods} method{plural[1]}, {seeds} seed{plural[2]}: {len(runs)} run{plural[3]}"


def reason_tables(runs: pd.DataFrame) -> list[Table]:
    """What failed, was refused or found nothing, with reasons."""
    counted = runs[~(runs["infeasible"].astype(bool) & (runs["outcome"] == "nothing found"))]
    tables = [reason_table(counted, outcome, caption) for outcome, caption in REASONS.items()]
    return [table for table in tables if table is not None]


def quoted(text: str) -> Markup:
    """A sentence with what stands between backticks as code.

    >>> quoted("`a<b` is best")
    Markup('<code>a&lt;b</code> is best')
    """
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _chart(part: Part, index: int) -> Markup:
    html = plotly.io.to_html(
        part.figure, full_html=False, include_plotlyjs=False, config=CHART, div_id=f"chart-{index}", default_height="100%"
    )
    return Markup(html)
