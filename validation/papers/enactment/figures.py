"""Figs. 8 to 11 of cost-efficient enactment: machines, hosts and instances over time, by pattern and configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edrp.report.figures import blank_figure, save_figure, unclutter
from edrp.validation.papers.enactment.printed_values import BTU, FIGURE_NUMBERS, THRESHOLD, UNITS, Column
from edrp.validation.papers.enactment.runs import Enacted, Setting
from edrp.validation.simulation.enactment.timeline import HostTimeline, time_unit, timeline

MACHINES, HOSTS, INSTANCES = "#8a8a8a", "#c55a11", "#1f4e79"
MANY = 5000
"""Samples from which lines are thin."""

PANELS = {
    **{Column(BTU, unit): f"BTU policy, unit of {unit} min" for unit in UNITS},
    Column(THRESHOLD, UNITS[0]): "threshold policy",
}
"""The four configurations of each figure; the threshold policy does the same under every unit."""


def draw_pattern(enacted: Sequence[Enacted], pattern: str, setting: Setting, out: Path) -> Path | None:
    """Draw the runs of the first seed under a pattern as SVG into a folder; None where none has one of these policies."""
    own = [run for run in enacted if run.pattern == pattern and run.column in PANELS]
    if not own:
        return None
    seed = min(run.seed for run in own)
    shown = {
        PANELS[run.column]: timeline(setting.scenario(pattern, run.column.unit, seed), run.run) for run in own if run.seed == seed
    }
    path = out / f"fig{FIGURE_NUMBERS[pattern]}-{pattern}.svg"
    timeline_figure(shown, path, title=f"{pattern}, seed {seed}")
    return path


def timeline_figure(panels: Mapping[str, HostTimeline], path: Path, *, title: str) -> None:
    """Draw runs of enactment, by what is printed above each, two in a row, as .png or .svg, which the ending of the path says.

    As in Figs. 8 to 11 of cost-efficient enactment, machines and hosts are read on the left, instances on the right.
    """
    rows, columns = -(-len(panels) // 2), min(2, len(panels))
    figure = blank_figure(5.6 * columns, 3.0 * rows + 0.9)
    axes = figure.subplots(rows, columns, squeeze=False)
    left = 1.08 * max(float(np.max([*line.machines, *line.hosts])) for line in panels.values())
    right = 1.08 * max(float(line.instances.max()) for line in panels.values())
    for index, (name, line) in enumerate(panels.items()):
        ax = axes[index // 2, index % 2]
        _draw_hosts(ax, line, left, right)
        ax.set_title(f"({'ABCDEFGHIJKL'[index]}) {name}" if len(panels) > 1 else name, fontsize=10, loc="left")
    for index in range(len(panels), rows * columns):
        axes[index // 2, index % 2].set_visible(False)
    figure.suptitle(title, fontsize=12, x=0.02, ha="left")
    figure.legend(handles=_legend_handles(), loc="lower center", ncols=3, frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.28 / figure.get_figheight(), 1, 1))
    save_figure(figure, path)


def _draw_hosts(ax: Any, line: HostTimeline, left: float, right: float) -> None:
    seconds, unit = time_unit(line.time[-1])
    time = line.time / seconds
    width = 1.4 if line.time.size < MANY else 0.7
    ax.step(time, line.machines, where="post", color=MACHINES, linewidth=width, linestyle="--")
    ax.step(time, line.hosts, where="post", color=HOSTS, linewidth=width)
    ax.set_ylim(0, left or 1)
    ax.set_xlim(0, time[-1])
    ax.set_xlabel(f"time [{unit}]", fontsize=8.5)
    ax.set_ylabel("machines, hosts", fontsize=8.5)
    unclutter(ax)
    other = ax.twinx()
    other.step(time, line.instances, where="post", color=INSTANCES, linewidth=width)
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
