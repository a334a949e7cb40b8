"""Figs. 9, 10, 12 and 14 of the state-migration paper from rows of the experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edrp.validation.canvas import blank_figure, quiet
from edrp.validation.migration_experiments import Row
from edrp.validation.migration_policies import MTM, OMS, SINGLE_STEP

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

SERIES_MARKERS = ("o", "s", "^", "D", "v")


def draw_costs_against_tolerance(rows: Sequence[Row], path: Path) -> None:
    """Fig. 9, one column per series: cost of every policy against τ, and below it how often the rules break the limit."""
    names = _unique(row.series for row in rows)
    figure = blank_figure(4.2 * len(names) + 0.6, 6.0)
    axes = figure.subplots(2, len(names), sharex=True, squeeze=False, gridspec_kw={"height_ratios": (2.4, 1)})
    for column, name in enumerate(names):
        of_series = [row for row in rows if row.series == name]
        _draw_policies(axes[0, column], of_series, "mean")
        _draw_policies(axes[1, column], [row for row in of_series if row.followed.broken.any()], "broken_share")
        axes[0, column].set_yscale("log")
        axes[0, column].yaxis.set_major_formatter("{x:g}")
        axes[1, column].set_ylim(-4, 104)
        axes[0, column].set_title(f"({'abcdefgh'[column]}) {name}", fontsize=10, loc="left")
        axes[1, column].set_xlabel("τ", fontsize=9)
    axes[0, 0].set_ylabel("state moved per migration [%]", fontsize=8.5)
    axes[1, 0].set_ylabel("migrations that\nbreak the limit [%]", fontsize=8.5)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.05, 0.955), ncols=5, frameon=False, fontsize=8.5)
    figure.suptitle("Load balancing against migration cost (state migration, Fig. 9)", fontsize=12, x=0.06, ha="left", y=0.985)
    figure.subplots_adjust(left=0.07, right=0.985, top=0.82, bottom=0.09, hspace=0.1, wspace=0.16)
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
    """Fig. 14: cost and preparation of MTM-aware migration against γ; SSM stands at γ = 0."""
    figure = blank_figure(9.6, 3.6)
    cost, time = figure.subplots(1, 2)
    _draw_series(cost, rows, lambda row: row.discount or 0.0, _percent)
    _draw_series(time, rows, lambda row: row.discount or 0.0, lambda row: row.prepare_seconds)
    cost.set_xlabel("γ", fontsize=9)
    cost.set_ylabel("state moved per migration [%]", fontsize=8.5)
    time.set_ylim(0, None)
    _finish(figure, time, "γ", "preparation [s]", "Discount factor (state migration, Fig. 14)", path)


def _draw_policies(ax: Any, rows: Sequence[Row], quantity: str) -> None:
    for policy in _unique(row.policy for row in rows):
        points = sorted((row.tolerance, 100 * getattr(row.followed, quantity)) for row in rows if row.policy == policy)
        shown = [(tolerance, value) for tolerance, value in points if value > 0 or quantity != "mean"]
        colour, line, marker = STYLES[policy]
        ax.plot(*zip(*shown, strict=True), color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1.4, label=policy)
    quiet(ax)


def _draw_series(ax: Any, rows: Sequence[Row], horizontal: Any, vertical: Any) -> None:
    for marker, name in zip(SERIES_MARKERS, _unique(row.series for row in rows), strict=False):
        points = sorted((horizontal(row), vertical(row)) for row in rows if row.series == name)
        ax.plot(*zip(*points, strict=True), marker=marker, markersize=4, linewidth=1.4, label=name)
    quiet(ax)


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


def _unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
