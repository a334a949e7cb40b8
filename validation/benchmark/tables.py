"""Tables of a benchmark's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from edrp.report.formatting import NONE
from edrp.report.tables import Table
from edrp.validation.benchmark.formatting import GLUE, duration, number, p_value, percent
from edrp.validation.benchmark.measures import FamilyCell, answered_fewer
from edrp.validation.benchmark.statistics import PairedTest

NUMBER = r"(?<!\d)(?<![A-Za-z]{2})\d[\d,]*(\.\d+)?(e[-+]?\d+)?"
"""Reasons that differ only in numbers, such as those of operators o1 and o2, are one; the 2 of ds2 is part of a word."""

MAX_OPEN_ROWS = 20
"""Rows of a table up to which it is not folded up."""

SHOWN_IDS = 6
"""Ids that are named for one reason; the rest are counted."""

GAPS = ("Median gap", f"Mean gap (95{GLUE}% interval)", f"90{GLUE}% quantile", "Worst gap")


def method_labels(summary: pd.DataFrame) -> dict[str, str]:
    """Names of methods as tables show them: marked with how many instances it answered, if that is fewer than others did."""
    fewer = answered_fewer(summary)
    return {
        str(method): f"{method} ({int(line['answered'])} of {int(line['possible'])})" if fewer[method] else str(method)
        for method, line in summary.iterrows()
    }


def summary_table(kind: str, summary: pd.DataFrame) -> Table:
    """Build the table of methods on one kind of problem that a terminal and a notebook show."""
    labels = method_labels(summary)
    shares = ("solved", "proven", "common_median_gap", "common_mean_gap", "common_worst_gap")
    rows = tuple(
        (
            labels[str(method)],
            *(percent(line[name]) for name in shares),
            duration(line["median_seconds"]),
            str(int(line["failed"])),
        )
        for method, line in summary.iterrows()
    )
    columns = ("method", "feasible", "proven", "median gap", "mean gap", "worst gap", "median time", "failed")
    return Table(f"kind {kind}", columns, rows, columns[1:])


def quality_table(summary: pd.DataFrame) -> Table:
    """Shares by method, and gaps on the instances that all methods answered."""
    labels, shares = method_labels(summary), ("solved", "proven", "optimal", "near")
    rows = tuple(
        (
            labels[str(method)],
            f"{int(line['instances'])}",
            *(percent(line[name]) for name in shares),
            *_gap_cells(line, "common_"),
        )
        for method, line in summary.iterrows()
    )
    columns = ("Method", "Instances", "Feasible answer", "Proven optimal", "At known optimum", f"Within 1{GLUE}%", *GAPS)
    caption = "Answers and their gaps, closest method first"
    if answered_fewer(summary).any():
        caption += (
            f"; in brackets how many were answered, if fewer than others; gaps on the {int(summary['common'].iloc[0])} "
            "that all methods answered"
        )
    return _table(caption, columns, rows)


def whole_table(summary: pd.DataFrame) -> Table | None:
    """Gaps on all instances, of the methods that answered most; None where that says nothing that is not said elsewhere."""
    fewer = answered_fewer(summary)
    whole = summary[~fewer & (summary["answered"] > 0)]
    if not fewer.any() or len(whole) < 2:
        return None
    rows = tuple((str(method), f"{int(line['answered'])}", *_gap_cells(line)) for method, line in whole.iterrows())
    return _table(
        "Gaps of the methods that answered most, on all instances that each answered", ("Method", "Answered", *GAPS), rows
    )


def _gap_cells(line: pd.Series, prefix: str = "") -> tuple[str, ...]:
    # Both ends in percent; what rounds to 0 is 0.
    low = line[f"{prefix}mean_gap_low"]
    ends = (number(0.0 if 100 * end < 5e-4 else 100 * end) for end in (low, line[f"{prefix}mean_gap_high"]))
    interval = f" ({'–'.join(ends)})" if pd.notna(low) else ""
    cells = {name: percent(line[f"{prefix}{name}_gap"]) for name in ("median", "mean", "p90", "worst")}
    return cells["median"], cells["mean"] + interval, cells["p90"], cells["worst"]


def time_table(summary: pd.DataFrame) -> Table:
    """Times by method."""
    labels, times = method_labels(summary), ("median_seconds", "p90_seconds", "median_build_seconds", "median_solve_seconds")
    rows = tuple(
        (labels[str(method)], *(duration(line[n]) for n in times), f"{int(line['runs'])}", duration(line["total_seconds"]))
        for method, line in summary.sort_values("median_seconds", kind="stable").iterrows()
    )
    columns = ("Method", "Median", f"90{GLUE}% quantile", "Median to build", "Median to solve", "Runs", "All runs together")
    caption = "Time of one core, fastest method first; all runs together with reading, checking and explaining"
    return _table(caption, columns, rows)


def family_table(families: Mapping[str, Mapping[str, FamilyCell]], order: Sequence[str]) -> Table:
    """Mean gap by family of instances; the least of each is marked."""
    rows = []
    for family, cells in families.items():
        size = max(cell.instances for cell in cells.values())
        rows.append((family, f"{size}", *(_family_cell(cells.get(name)) for name in order)))
    columns = ("Family", "Instances", *order)
    caption = (
        "Mean gap of the answers by family; ★ the closest of the methods that answered all; in brackets how many, if not all"
    )
    return _table(caption, columns, tuple(rows))


def _family_cell(cell: FamilyCell | None) -> str:
    if cell is None or not cell.answered:
        return NONE
    share = "" if cell.answered == cell.instances else f" ({cell.answered})"
    return percent(cell.mean_gap) + share + (f"{GLUE}★" if cell.wins else "")


def test_table(tests: Sequence[PairedTest]) -> Table:
    """One row per pair of methods."""
    rows = tuple(
        (
            f"{test.first} against {test.second}",
            *map(str, (test.common, test.first_better, test.second_better, test.ties)),
            percent(test.median_difference),
            NONE if test.effect is None else f"{test.effect:+.2f}",
            "all equal" if test.p_value is None and test.common else p_value(test.p_value),
        )
        for test in tests
    )
    columns = ("Pair", "Common instances", "First closer", "Second closer", "Ties", "Median difference", "Effect", "p (Holm)")
    return _table("Paired comparison of the gaps", columns, rows)


def reason_table(runs: pd.DataFrame, outcome: str, caption: str) -> Table | None:
    """Rows of one outcome by reason; None where there are none. A fault of an instance itself is listed once."""
    outcome_runs = runs[runs["outcome"] == outcome]
    if outcome_runs.empty:
        return None
    every = runs["method"].nunique()
    place, message = (outcome_runs[name].fillna("") for name in ("error_place", "error_message"))
    why = message.where([text.startswith(start) for text, start in zip(message, place, strict=True)], place + ": " + message)
    outcome_runs = outcome_runs.assign(
        why=why, type=outcome_runs["error_type"].fillna(NONE), alike=why.str.replace(NUMBER, "…", regex=True)
    )
    rows = []
    for (error_type, alike), group in outcome_runs.groupby(["type", "alike"], sort=True):
        ids, methods = (list(dict.fromkeys(group[name])) for name in ("id", "method"))
        more = f" and {len(ids) - SHOWN_IDS} more" if len(ids) > SHOWN_IDS else ""
        method_text = "every method" if len(methods) == every > 1 else ", ".join(methods)
        reason = group["why"].iloc[0] if group["why"].nunique() == 1 else str(alike)
        rows.append((method_text, str(error_type), reason or NONE, f"{len(group)}", ", ".join(ids[:SHOWN_IDS]) + more))
    rows.sort()
    columns = ("Method", "Type", "Reason", "Rows", "Instances")
    return Table(caption, columns, tuple(rows), ("Rows",), open=outcome == "failed" or len(rows) <= MAX_OPEN_ROWS)


def _table(caption: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    return Table(caption, columns, rows, columns[1:], open=len(rows) <= MAX_OPEN_ROWS)
