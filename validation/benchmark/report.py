"""The report of a benchmark as a page: a section for each kind of problem, each chart with a sentence on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import pandas as pd
import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs

from edrp.core.errors import numbered
from edrp.core.files import write_whole
from edrp.core.methods import methods
from edrp.report.page import Figure, Page, Section, how_run, render
from edrp.report.tables import Table
from edrp.validation.benchmark import charts, sentences
from edrp.validation.benchmark.curves import gap_over_time, objective_profiles, one_shot, time_profiles
from edrp.validation.benchmark.formatting import listed
from edrp.validation.benchmark.measures import by_instance, common_runs, gaps_by_family
from edrp.validation.benchmark.recheck import Alarm
from edrp.validation.benchmark.recommendations import KindComparison
from edrp.validation.benchmark.tables import family_table, quality_table, reason_table, test_table, time_table, whole_table

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


CHART = {"displayModeBar": False, "displaylogo": False, "responsive": True}


def kind_section(comparison: KindComparison, runs: pd.DataFrame) -> Section:
    """Which method wins on one kind of problem, by how much, at what price."""
    kind, summary, tests = comparison.kind, comparison.summary, comparison.tests
    order = [str(name) for name in summary.index]
    styles = charts.Styles(order)
    exact = [name for name in order if (known := methods().get(name.partition(":")[0])) is not None and known.exact]
    times = charts.time_boxes(runs, order, styles) if by_instance(runs)["seconds"].notna().any() else None
    parts = [
        _quality(runs, summary, order, styles),
        *_families(runs, order),
        _part("Time", (sentences.time_sentence(summary),), times, [time_table(summary)]),
        *_profiles(runs, order, styles),
        _over_time(runs, order, styles),
        _part("Paired comparison", (sentences.test_sentence(tests), TEST_NOTE), None, [test_table(tests)] if tests else ()),
    ]
    verdicts = sentences.verdicts(kind, summary, exact)
    return Section(_heading(kind, runs), verdicts=verdicts, parts=parts, label=f"Kind {kind}")


def _part(heading: str, text: Sequence[str], chart: go.Figure | None = None, tables: Sequence[Table] = ()) -> Section:
    figure = None
    if chart is not None:
        name = f"chart-{crc32(chart.to_json().encode())}"  # the same page for the same runs
        html = plotly.io.to_html(chart, full_html=False, include_plotlyjs=False, config=CHART, div_id=name, default_height="100%")
        html = f'<div class="wide">{html}</div>' if chart.layout.showlegend else html
        figure = Figure(f"{heading}: {text[0]}", html=html)
    return Section(heading, text[:1], notes=text[1:], figure=figure, tables=tuple(tables))


TEST_NOTE = (
    "Wilcoxon's signed-rank test, two-sided, on the gaps of the instances that both methods answered (means over the seeds); "
    "ties are left out of the test and counted. Effect: matched-pairs rank-biserial correlation, +1 where the first method is "
    "closer on every instance that differs, −1 where the second is. p is corrected for the number of pairs by Holm's method."
)


def _heading(kind: str, runs: pd.DataFrame) -> str:
    instances = runs["id"].nunique()
    infeasible = runs.loc[runs["infeasible"].astype(bool), "id"].nunique()
    proven = f", {infeasible} of them proven infeasible and left out of all shares" if infeasible else ""
    return f"Kind {kind}: {numbered(instances, 'instance')}{proven}"


def _quality(runs: pd.DataFrame, summary: pd.DataFrame, order: Sequence[str], styles: charts.Styles) -> Section:
    compared = common_runs(runs)
    apart = bool((compared["gap"] > charts.GAP_FLOOR).any())
    figure = charts.gap_boxes(compared, order, styles) if apart else None
    note = sentences.common_sentence(summary)
    text = [sentences.gap_sentence(summary, runs), sentences.reference_sentence(runs), *([note] if note else [])]
    text += [] if apart or not compared["gap"].notna().any() else [NO_GAP]
    tables = [quality_table(summary), *([whole] if (whole := whole_table(summary)) else [])]
    return _part(f"Gap to {sentences.reference_name(runs)}", text, figure, tables)


def _families(runs: pd.DataFrame, order: Sequence[str]) -> list[Section]:
    families = gaps_by_family(runs)
    wins = {name: sum(name in cells and cells[name].wins for cells in families.values()) for name in order}
    if len(families) < 2 or len(order) < 2 or not any(wins.values()):
        return []
    highest = max(wins.values())
    names = [name for name in order if wins[name] == highest]
    has, ties = ("has", "") if len(names) == 1 else ("have", ", ties counted for each")
    sentence = f"{listed(names)} {has} the least mean gap in {highest} of {len(families)} families{ties}."
    return [_part("Which method wins where", (sentence,), None, [family_table(families, order)])]


def _profiles(runs: pd.DataFrame, order: Sequence[str], styles: charts.Styles) -> list[Section]:
    if not runs["gap"].notna().any() or len(order) < 2:
        return []
    objective, seconds = objective_profiles(runs), time_profiles(runs)
    objective, seconds = ({name: curves[name] for name in order if name in curves} for curves in (objective, seconds))
    apart = any((curve.x > 1 + charts.GAP_FLOOR).any() for curve in objective.values())
    figure = charts.profile_chart(objective, styles, "objective, as a factor of the best answer", 10.0) if apart else None
    told = (sentences.profile_sentence(objective, *BEST_ANSWER), PROFILE_NOTE if apart or not objective else SAME_ANSWERS)
    return [
        _part("Performance profile of the objective", told, figure),
        _part(
            "Performance profile of the time",
            (sentences.profile_sentence(seconds, *FASTEST), GOOD_NOTE),
            charts.profile_chart(seconds, styles, "time, as a factor of the fastest", 1e6),
        ),
    ]


BEST_ANSWER = (1.1, ("has the best answer", "have the best answer"))
FASTEST = (10.0, ("is the fastest to a good answer", "are the fastest to a good answer"))
"""Factor of the best that the sentence on a performance profile speaks of, and what it says of one method and of several."""

NO_GAP = "No chart: no gap is above 0.001 %."
SAME_ANSWERS = "No chart: every answer is as good as the best one."
PROFILE_NOTE = "A curve tells on what share of the instances a method stays within a factor of the best one; higher is better."
GOOD_NOTE = "A good answer is at most 1 % worse than the best of any method; a method without one has failed."


def _over_time(runs: pd.DataFrame, order: Sequence[str], styles: charts.Styles) -> Section:
    curves, ends = gap_over_time(runs), one_shot(runs)
    gaps = [*(gap for curve in curves.values() for gap in curve.y), *(gap for _, gap in ends.values())]
    apart = any(gap > charts.GAP_FLOOR for gap in gaps)
    figure = charts.over_time_chart(curves, ends, order, styles) if ends and apart else None
    return _part("Gap over time", (sentences.over_time_sentence(curves, ends), *([] if apart or not ends else [NO_GAP])), figure)
