"""The report of a benchmark as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from plotly.offline import get_plotlyjs

from edrp.core.errors import numbered
from edrp.core.files import write_whole
from edrp.report.page import Page, Section, how_run, render
from edrp.report.tables import Table
from edrp.validation.benchmark.recheck import Alarm
from edrp.validation.benchmark.recommendations import KindComparison
from edrp.validation.benchmark.sections import kind_section
from edrp.validation.benchmark.tables import reason_table

SHOWN_ALARMS = 50
REASONS = {
    "failed": "Failed: a broken instance, a crash or a defect",
    "refused": "Refused: the method cannot express the problem",
    "nothing found": "Nothing found, though the instance is not proven infeasible",
}

TERMS = {
    "Reference": (
        "What all answers to an instance are compared with: the optimum, where any method proved it; else the best "
        "lower bound of any method; else the best answer of any method."
    ),
    "Gap": (
        "(objective − reference) / |objective|: the share of the objective that a perfect answer would save, at most. "
        "Between 0 and 100 %."
    ),
    "Feasible answer": (
        "Share of the instances for which the method has an answer within all limits. Instances proven infeasible, "
        "and those that the method refuses, are left out."
    ),
    "Recommendation": (
        "Follows from the runs shown here and from nothing else. When a proof is needed: most instances proven optimal. When the "
        "best answer counts: least mean gap of the methods that answered most. When time is short: least median time of those "
        "that answer nearly as many; a faster one that answers at least half is named with how many. Not told apart: the 95 % "
        "interval of the mean difference, instance by instance, holds 0. Below 8 instances nothing is recommended."
    ),
    "Common instances": (
        "Those that every method answered which answered any. Where some methods answered fewer instances than others, their "
        "names are marked with how many, and gaps are compared on the common instances only."
    ),
    "Proven optimal": ("Share of the instances for which the method itself proved its answer optimal."),
    "At known optimum": (
        "Share of the instances with a known optimum where the answer is within 10⁻⁶ of it, proven by this method or not."
    ),
    "Mean gap": (
        "Over the instances answered, each the mean over the seeds; the interval is a 95 % bootstrap confidence "
        "interval (bias-corrected and accelerated, 2000 resamples)."
    ),
    "Boxes": (
        "From the lower to the upper quartile with the median between; whiskers reach the last value within 1.5 times "
        "the box, points are instances."
    ),
    "Time": (
        "To build tables and programs and to solve, on one core, without reading the instance and checking the "
        "answer. The first run of a process includes importing its modules."
    ),
}
"""Explanations of the words that the report uses."""


def write_page(
    path: Path,
    title: tuple[str, str],
    runs: pd.DataFrame,
    comparisons: Sequence[KindComparison],
    alarms: Sequence[Alarm],
    command: str,
    settings: Mapping[str, str],
) -> None:
    """Write the findings as an HTML page, with the title and summary of the suite and the command that repeats the run."""
    reasons = reason_tables(runs)
    none = () if reasons else ("There are none: every method answered every instance that has an answer.",)
    sections = [
        *([_alarm_section(alarms)] if alarms else []),
        *(kind_section(comparison, runs[runs["kind"] == comparison.kind]) for comparison in comparisons),
        Section("Failures and refusals", none, tables=reasons),
        how_run(command, settings),
        Section("What the words mean", terms=TERMS),
    ]
    drawn = any(part.figure is not None for section in sections for part in section.parts)
    script = get_plotlyjs() if drawn else ""
    advice = [sentence for comparison in comparisons for sentence in comparison.recommendations]
    write_whole(path, render(Page(*title, advice, sections, datetime.now(UTC), status=counts_text(runs), script=script)))


def _alarm_section(alarms: Sequence[Alarm]) -> Section:
    claims = "claim does" if len(alarms) == 1 else "claims do"
    shown = [f"`{alarm.method}` on `{alarm.id}`, seed {alarm.run_seed}: {alarm.what}" for alarm in alarms[:SHOWN_ALARMS]]
    more = [f"and {len(alarms) - SHOWN_ALARMS} more"] if len(alarms) > SHOWN_ALARMS else []
    warning = (
        "An answer beats what was proven, or does not evaluate to what was claimed. Nothing below can be trusted for these "
        "instances. Please report it."
    )
    return Section(f"Defect: {len(alarms)} {claims} not hold", [warning, *shown, *more], alarming=True)


def counts_text(runs: pd.DataFrame) -> str:
    """Return in words the numbers of instances, methods, seeds and runs."""
    names = {"instance": "id", "method": "method", "seed": "run_seed"}
    counts = ", ".join(numbered(int(runs[column].nunique()), name) for name, column in names.items())
    return f"{counts}: {numbered(len(runs), 'run')}"


def reason_tables(runs: pd.DataFrame) -> list[Table]:
    """Tables of what failed, was refused or found nothing, with reasons."""
    shown = runs[~(runs["infeasible"].astype(bool) & (runs["outcome"] == "nothing found"))]
    tables = [reason_table(shown, outcome, caption) for outcome, caption in REASONS.items()]
    return [table for table in tables if table is not None]
