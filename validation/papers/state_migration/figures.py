"""Figs. 9, 10, 12 and 14 of the state-migration paper from rows of the experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from edrp.validation.papers.state_migration.experiments import Row
from edrp.validation.report.canvas import blank_figure, quiet
from edrp.validation.simulation.migration.policies import MTM, OMS, SINGLE_STEP
from edrp.validation.simulation.migration.runs import Estimate

STYLES = {
    "even split": ("#8a8a8a", "-", "s"),
    "even split, matched": ("#8a8a8a", "--", "s"),
    "consistent hashing": ("#c55a11", "-", "^"),
    "sticky": ("#b58900", "-", "v"),
    "sticky by work": ("#b58900", "--", "v"),
    "balanced packing": ("#6a8f3c", "-", "D"),
    SINGLE_STEP: ("#1f4e79", "-", "o"),
    MTM: ("#7b2d8b", "-", "o"),
    OMS: ("#b00020", "-", "o"),
}
"""Colour, line and marker of each policy."""

COST_TICKS = (1, 2, 5, 10, 20, 50, 100)
SERIES_MARKERS = ("o", "s", "^", "D", "v")


def draw_costs_against_tolerance(rows: Sequence[Row], path: Path) -> None:
    """Fig. 9, one column per series, against τ: cost of every policy, savings of those that plan ahead, broken limits."""
    names = _unique(row.series for row in rows)
    figure = blank_figure(4.2 * len(names) + 0.6, 8.2)
    axes = figure.subplots(3, len(names), sharex=True, sharey="row", squeeze=False, gridspec_kw={"height_ratios": (2.4, 1.2, 1)})
    floor = 0.8 * min(_percent(row) for row in rows if row.policy in (SINGLE_STEP, MTM, OMS))
    for column, name in enumerate(names):
        cost, saved, broken = axes[:, column]
        of_series = [row for row in rows if row.series == name]
        _draw_policies(cost, of_series, lambda row: _percent(row) or math.nan)  # a logarithm knows no 0
        _draw_savings(saved, of_series)
        breaking = {row.policy for row in of_series if row.followed.broken.any()}
        _draw_policies(broken, [row for row in of_series if row.policy in breaking], lambda row: 100 * row.followed.broken_share)
        cost.set_title(f"({'abcdefgh'[column]}) {name}", fontsize=10, loc="left")
        broken.set_xlabel("τ", fontsize=9)
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_yticks(COST_TICKS, [f"{tick:g}" for tick in COST_TICKS])
    axes[0, 0].minorticks_off()
    axes[0, 0].set_ylim(floor, 100)
    axes[2, 0].set_ylim(-4, 104)
    for ax, label in zip(axes[:, 0], ("state moved per migration [%]", "saved of SSM [%]", "limit broken [%]"), strict=True):
        ax.set_ylabel(label, fontsize=8.5)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.05, 0.965), ncols=5, frameon=False, fontsize=8.5)
    figure.suptitle("Load balancing against migration cost (state migration, Fig. 9)", fontsize=12, x=0.06, ha="left", y=0.99)
    figure.subplots_adjust(left=0.07, right=0.985, top=0.865, bottom=0.06, hspace=0.1, wspace=0.08)
    figure.savefig(path, dpi=130)


def draw_times_against_tolerance(rows: Sequence[Row], path: Path) -> None:
    """Fig. 10: time of a decision by SSM against τ."""
    figure = blank_figure(5.2, 3.6)
    ax = figure.add_subplot()
    _draw_series(ax, rows, lambda row: row.tolerance, _microseconds)
    ax.set_ylim(0, None)
    _finish(figure, ax, "τ", "time of SSM [µs]", "Load balancing against time (state migration, Fig. 10)", path)


def draw_task_numbers(rows: Sequence[Row], path: Path) -> None:
    """Fig. 12: cost and time of SSM against the number of tasks."""
    figure = blank_figure(9.6, 3.6)
    cost, time = figure.subplots(1, 2)
    _draw_series(cost, rows, lambda row: row.tasks, _percent)
    _draw_series(time, rows, lambda row: row.tasks, _microseconds)
    for ax in (cost, time):
        ax.set_xscale("log", base=2)
        ax.set_xlabel("tasks", fontsize=9)
        ax.xaxis.set_major_formatter("{x:g}")
    time.set_yscale("log")
    cost.set_ylim(0, None)
    cost.set_ylabel("state moved per migration [%]", fontsize=8.5)
    _finish(figure, time, "tasks", "time of SSM [µs]", "Number of tasks (state migration, Fig. 12)", path)


def draw_discounts(rows: Sequence[Row], path: Path) -> None:
    """Fig. 14: cost, saving and preparation of MTM-aware migration against γ; SSM stands at γ = 0."""
    figure = blank_figure(12.6, 3.6)
    cost, saved, time = figure.subplots(1, 3)
    _draw_series(cost, rows, lambda row: row.discount or 0.0, _percent)
    for marker, name in zip(SERIES_MARKERS, _unique(row.series for row in rows), strict=False):
        points = [(row.discount or 0.0, row.long_saving) for row in rows if row.series == name]
        _draw_estimates(saved, points, marker=marker, label=name)
    _draw_series(time, rows, lambda row: row.discount or 0.0, lambda row: row.prepare_seconds)
    for ax, label in ((cost, "state moved per migration [%]"), (saved, "saved of SSM, all migrations [%]")):
        ax.set_xlabel("γ", fontsize=9)
        ax.set_ylabel(label, fontsize=8.5)
    time.set_ylim(0, None)
    _finish(figure, time, "γ", "preparation [s]", "Discount factor (state migration, Fig. 14)", path)


def _draw_policies(ax: Any, rows: Sequence[Row], quantity: Callable[[Row], float]) -> None:
    for policy in _unique(row.policy for row in rows):
        points = sorted((row.tolerance, quantity(row)) for row in rows if row.policy == policy)
        colour, line, marker = STYLES[policy]
        ax.plot(
            *zip(*points, strict=True), color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1.4, label=policy
        )
    _frame(ax)


def _draw_savings(ax: Any, rows: Sequence[Row]) -> None:
    for policy in (MTM, OMS):
        colour, line, marker = STYLES[policy]
        points = [(row.tolerance, row.saving) for row in rows if row.policy == policy]
        _draw_estimates(ax, points, color=colour, linestyle=line, marker=marker)
    ax.axhline(0, color="#8a8a8a", linewidth=0.8)
    _frame(ax)


def _draw_estimates(ax: Any, points: Sequence[tuple[float, Estimate | None]], **style: Any) -> None:
    """Estimates in percent with their confidence intervals."""
    known = sorted((place, estimate) for place, estimate in points if estimate is not None)
    if not known:
        return
    values = [100 * estimate.value for _, estimate in known]
    below = [100 * (estimate.value - estimate.low) for _, estimate in known]
    above = [100 * (estimate.high - estimate.value) for _, estimate in known]
    ax.errorbar([place for place, _ in known], values, (below, above), markersize=4, linewidth=1.4, capsize=2, **style)
    _frame(ax)


def _draw_series(ax: Any, rows: Sequence[Row], horizontal: Callable[[Row], float], vertical: Callable[[Row], float]) -> None:
    for marker, name in zip(SERIES_MARKERS, _unique(row.series for row in rows), strict=False):
        points = sorted((horizontal(row), vertical(row)) for row in rows if row.series == name)
        ax.plot(*zip(*points, strict=True), marker=marker, markersize=4, linewidth=1.4, label=name)
    _frame(ax)


def _percent(row: Row) -> float:
    return 100 * row.followed.mean


def _microseconds(row: Row) -> float:
    return 1e6 * row.followed.median_seconds


def _finish(figure: Any, ax: Any, horizontal: str, vertical: str, title: str, path: Path) -> None:
    ax.set_xlabel(horizontal, fontsize=9)
    ax.set_ylabel(vertical, fontsize=8.5)
    ax.legend(frameon=False, fontsize=8.5)
    figure.suptitle(title, fontsize=11, x=0.02, ha="left")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def _frame(ax: Any) -> None:
    quiet(ax)
    ax.spines["right"].set_visible(False)


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
