"""Tables of the report of enactment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from edrp.report.estimates import estimate_mean
from edrp.report.formatting import NONE, PERCENT_SAVED, signed
from edrp.report.tables import Table
from edrp.validation.oracles.enactment.queueing_theory import QueueingCheck
from edrp.validation.papers.enactment.bounds import Bounds
from edrp.validation.papers.enactment.cells import ComparedCell, SettingError
from edrp.validation.papers.enactment.printed_values import BTU, COLUMNS, COMPLIANCES, QUANTITIES, TABLE_NUMBERS, Column, Printed
from edrp.validation.papers.enactment.runs import Samples

ROWS = {
    "real_time_compliance": "real-time\n%",
    "near_real_time_compliance": "near\n%",
    "relaxed_compliance": "relaxed\n%",
    "resource_cost": "resource\ncost",
    "real_time_total": "real-time\ntotal",
    "near_real_time_total": "near\ntotal",
    "relaxed_total": "relaxed\ntotal",
}
"""Quantities in few letters: a table has to fit 80 columns."""

ACTIVITY = {
    "scalings": "instances started and removed",
    "migrations": "migrations",
    "mean_hosts": "hosts, mean",
    "mean_instances": "instances, mean",
    "paid_units": "paid units",
    "time_to_adapt": "time to adapt [s]",
}


def paper_table(pattern: str, cells: Iterable[ComparedCell]) -> Table:
    """One of Tables 3 to 6: in each cell ours, below it the paper's, and below that the difference.

    Compliances are in per cent and their differences in points; differences of costs are per cent of the paper's.
    """
    cell_of = {(cell.quantity, cell.column): cell for cell in cells if cell.pattern == pattern}
    columns = [column for column in COLUMNS if any(column == measured_column for _, measured_column in cell_of)]
    rows = tuple((ROWS[quantity], *(_cell_text(cell_of[quantity, column]) for column in columns)) for quantity in QUANTITIES)
    headings = ("", *map(_heading, columns))
    title = f"Table {TABLE_NUMBERS[pattern]}, {pattern}: ours ± deviation, the paper's, the difference"
    return Table(title, headings, rows, headings[1:], open=True)


def _heading(column: Column) -> str:
    return f"BTU{column.unit}" if column.policy == BTU else f"{column.policy}\nBTU{column.unit}"


def _cell_text(cell: ComparedCell) -> str:
    share = cell.quantity in COMPLIANCES
    scale = 100 if share else 1
    difference = signed(100 * cell.difference, 1) if share else f"{signed(100 * cell.difference / cell.paper.mean, 0)} %"
    return f"{_printed(cell.ours, scale, 1)}\n{_printed(cell.paper, scale, 0 if share else 1)}\n{difference}"


def _printed(value: Printed, scale: float, digits: int) -> str:
    deviation = "" if value.deviation is None else f"±{scale * value.deviation:.{digits}f}"
    return f"{scale * value.mean:.{digits}f}{deviation}"


def error_table(errors: Mapping[str, SettingError]) -> Table:
    """The distance of settings from the paper, by their names."""
    rows = tuple((name, *(f"{100 * value:.1f}" for value in error)) for name, error in errors.items())
    columns = ("setting", "compliance\nmean", "BTU\nworst", "threshold\nworst", "resources\nmean", "totals\nmean")
    caption = "Errors against Tables 3 to 6: compliances in points, costs in %"
    return Table(caption, columns, rows, columns[1:], open=True)


def activity_table(pattern: str, samples: Samples) -> Table:
    """The activity of policies under a pattern, in the mean over the seeds."""
    metrics_of = {column: metrics for (run_pattern, column), metrics in samples.items() if run_pattern == pattern}
    rows = tuple((title, *(f"{metrics[name].mean():.1f}" for metrics in metrics_of.values())) for name, title in ACTIVITY.items())
    headings = ("", *map(_heading, metrics_of))
    return Table(f"Activity under {pattern}", headings, rows, headings[1:])


def side_by_side(samples: Samples, bounds: Mapping[tuple[str, int], Bounds]) -> Table:
    """All policies by pattern and unit: near-real-time total, near-real-time and relaxed compliance; bounds last."""
    policies = list(dict.fromkeys(column.policy for _, column in samples))
    cells = list(dict.fromkeys((pattern, column.unit) for pattern, column in samples))
    bound_texts = {cell: f"{bound.least:.1f}\n{bound.in_time:.1f}" for cell, bound in bounds.items()}
    rows = tuple(
        (
            f"{pattern}\nBTU{unit}",
            *(_policy_text(samples[pattern, Column(policy, unit)]) for policy in policies),
            *([bound_texts.get((pattern, unit), NONE)] if bounds else []),
        )
        for pattern, unit in cells
    )
    names = [policy.replace("-", "\n") for policy in policies]
    columns = ("pattern, unit", *names, *(["bound"] if bounds else []))
    title = "Policies side by side: near-real-time total ± deviation; below it near-real-time and relaxed compliance in %"
    title += "; the clairvoyant bound, below it with all items in time" if bounds else ""
    return Table(title, columns, rows, columns[1:], open=True)


def _policy_text(metrics: Mapping[str, Any]) -> str:
    total = metrics["near_real_time_total"]
    spread = float(np.std(total, ddof=1)) if total.size > 1 else None
    deviation = "" if spread is None else f"±{spread:.{0 if spread >= 10 else 1}f}"
    near, relaxed = (f"{100 * metrics[f'{level}_compliance'].mean():.1f}" for level in ("near_real_time", "relaxed"))
    return f"{total.mean():.1f}{deviation}\n{near} {relaxed}"


def against_btu(samples: Samples) -> Table:
    """Savings of the other policies against the BTU policy's near-real-time total, run by run under all patterns and units."""
    cells = list(dict.fromkeys((pattern, column.unit) for pattern, column in samples))
    rows = []
    for policy in dict.fromkeys(column.policy for _, column in samples if column.policy != BTU):
        pairs = [(samples[pattern, Column(policy, unit)], samples[pattern, Column(BTU, unit)]) for pattern, unit in cells]
        savings = np.array(
            [1 - policy_metrics["near_real_time_total"] / btu["near_real_time_total"] for policy_metrics, btu in pairs]
        )
        # Whether near-real-time and relaxed compliance are both at least as high, seed by seed.
        as_good = np.array([np.logical_and(*(own[level] >= btu[level] for level in COMPLIANCES[1:])) for own, btu in pairs])
        mean = PERCENT_SAVED.with_interval(estimate_mean(savings.mean(axis=0)))
        rows.append((policy, mean, f"{100 * (savings >= 0).mean():.0f}", f"{100 * ((savings >= 0) & as_good).mean():.0f}"))
    columns = ("policy", "saving, mean\n[%] (95 %)", "runs as cheap\n[%]", "as cheap and\nas compliant [%]")
    return Table("Near-real-time totals against the BTU policy's", columns, tuple(rows), columns[1:], open=True)


def check_table(checks: Iterable[QueueingCheck]) -> Table:
    """Mean waits of the simulator next to their formulas."""
    rows = tuple(
        (check.operator, f"{check.formula:.4f}", f"{check.simulated:.4f}", f"{signed(100 * check.difference, 2)} %")
        for check in checks
    )
    columns = ("operator", "formula [s]", "simulated [s]", "difference")
    return Table("Mean waits", columns, rows, columns[1:], open=True)
