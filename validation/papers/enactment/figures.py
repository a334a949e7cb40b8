"""Figs. 8 to 11 of cost-efficient enactment: machines, hosts and instances over time, by pattern and configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edrp.report.figures import blank_figure, save_figure, unclutter
from edrp.validation.papers.enactment.printed_values import BTU, FIGURE_NUMBERS, THRESHOLD, UNITS, Column
from edrp.validation.papers.enactment.runs import MINUTE, Enacted, Setting
from edrp.validation.simulation.enactment.timeline import HostTimeline, timeline

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
