"""Tables of the report of enactment, and Figs. 8 to 11: machines, hosts and instances over time, by pattern and configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edrp.report.estimates import estimate_mean
from edrp.report.figures import blank_figure, save_figure, unclutter
from edrp.report.formatting import NONE, PERCENT_SAVED, signed
from edrp.report.tables import Table
from edrp.validation.oracles.enactment.queueing_theory import QueueingCheck
from edrp.validation.papers.enactment.printed_values import (
    BTU,
    COLUMNS,
    COMPLIANCES,
    FIGURE_NUMBERS,
    QUANTITIES,
    TABLE_NUMBERS,
    THRESHOLD,
    UNITS,
    Column,
    Printed,
)
from edrp.validation.papers.enactment.runs import (
    MINUTE,
    Bounds,
    ComparedCell,
    Enacted,
    HostTimeline,
    Samples,
    Setting,
    SettingError,
    timeline,
)

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


MACHINES, HOSTS, INSTANCES = "#8a8a8a", "#c55a11", "#1f4e79"

PANELS = {
    **{Column(BTU, unit): f"BTU policy, unit of {unit} min" for unit in UNITS},
    Column(THRESHOLD, UNITS[0]): "threshold policy",
}
"""The four configurations of each figure; the threshold policy does the same under every unit."""


def draw_pattern(enacted: Sequence[Enacted], pattern: str, setting: Setting, out: Path) -> Path | None:
    """Draw the runs of the first seed under a pattern as SVG into a folder; None where none has one of these policies.

    As in the paper, machines and hosts are read on the left, instances on the right.
    """
    pattern_runs = [run for run in enacted if run.pattern == pattern and run.column in PANELS]
    if not pattern_runs:
        return None
    seed = min(run.seed for run in pattern_runs)
    panels = {
        PANELS[run.column]: timeline(setting.scenario(pattern, run.column.unit, seed), run.run)
        for run in pattern_runs
        if run.seed == seed
    }
    rows, columns = -(-len(panels) // 2), min(2, len(panels))
    figure = blank_figure(5.6 * columns, 3.0 * rows + 0.9)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    host_limit = 1.08 * max(float(np.max([*line.machines, *line.hosts])) for line in panels.values())
    right = 1.08 * max(float(line.instances.max()) for line in panels.values())
    for ax, letter, (name, line) in zip(axes, "ABCD", panels.items(), strict=False):
        _draw_hosts(ax, line, host_limit, right)
        ax.set_title(f"({letter}) {name}" if len(panels) > 1 else name, fontsize=10, loc="left")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    figure.suptitle(f"{pattern}, seed {seed}", fontsize=12, x=0.02, ha="left")
    figure.legend(handles=_legend_handles(), loc="lower center", ncols=3, frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.28 / figure.get_figheight(), 1, 1))
    path = out / f"fig{FIGURE_NUMBERS[pattern]}-{pattern}.svg"
    save_figure(figure, path)
    return path


def _draw_hosts(ax: Any, line: HostTimeline, host_limit: float, right: float) -> None:
    time = line.time / MINUTE
    ax.step(time, line.machines, where="post", color=MACHINES, linewidth=1.4, linestyle="--")
    ax.step(time, line.hosts, where="post", color=HOSTS, linewidth=1.4)
    ax.set_ylim(0, host_limit or 1)
    ax.set_xlim(0, time[-1])
    ax.set_xlabel("time [min]", fontsize=8.5)
    ax.set_ylabel("machines, hosts", fontsize=8.5)
    unclutter(ax)
    other = ax.twinx()
    other.step(time, line.instances, where="post", color=INSTANCES, linewidth=1.4)
    other.set_ylim(0, right or 1)
    other.set_ylabel("instances", fontsize=8.5, color=INSTANCES)
    other.tick_params(labelsize=8)
    other.spines["top"].set_visible(False)


def _legend_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=MACHINES, linestyle="--", label="machines"),
        Line2D([], [], color=HOSTS, label="hosts leased"),
        Line2D([], [], color=INSTANCES, label="instances"),
    ]
