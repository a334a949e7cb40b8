"""Figures of simulated runs over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats
from edrp.validation.report.figures import blank_figure, unclutter
from edrp.validation.simulation.enactment.timeline import HostTimeline
from edrp.validation.simulation.mapping.bimodal_timeline import TaskTimeline

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
LONG, LONGER = 6 * HOUR, 2 * DAY
"""Seconds from which an axis counts hours, and days."""

MACHINES, HOSTS, INSTANCES = "#8a8a8a", "#c55a11", "#1f4e79"
MANY = 5000
"""Samples from which lines are thin."""

RUNNING, REFUSED, SERVERS, LINKS = "#1f4e79", "#8a8a8a", "#c55a11", "#2e7d32"


def time_unit(duration: float) -> tuple[float, str]:
    """Seconds of the unit in which an axis of that length counts, and its name.

    >>> time_unit(7200.0), time_unit(86_400.0)
    ((60.0, 'min'), (3600.0, 'h'))
    """
    if duration >= LONGER:
        return DAY, "days"
    return (HOUR, "h") if duration >= LONG else (MINUTE, "min")


def enactment_timeline_figure(panels: Mapping[str, HostTimeline], path: Path, *, title: str) -> None:
    """Draw runs of enactment side by side, two in a row: machines and hosts to the left, instances to the right.

    As Figs. 8 to 11 of cost-efficient enactment do.

    Parameters
    ----------
    panels
        By what is printed above each.
    path
        Of the figure; its ending says the format: .png or .svg.
    title
        Above everything.

    Raises
    ------
    BackendUnavailableError
        When matplotlib is not installed.
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
    handles = _legend_handles()
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.28 / figure.get_figheight(), 1, 1))
    figure.savefig(path, dpi=130)


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


def bimodal_timeline_figure(line: TaskTimeline, path: Path, *, title: str) -> None:
    """Draw a run: tasks above, reserved shares of servers and links below.

    Parameters
    ----------
    line
        Of the run.
    path
        Of the figure; its ending says the format: .png or .svg.
    title
        Above everything.

    Raises
    ------
    BackendUnavailableError
        When matplotlib is not installed.
    """
    figure = blank_figure(7.6, 5.4)
    seconds, unit = time_unit(line.time[-1])
    time = line.time / seconds
    above, below = figure.subplots(2, 1, sharex=True)
    _draw_curves(
        above, time, {"tasks running": (line.running, RUNNING), "hops over the public network": (line.public_hops, REFUSED)}
    )
    above.set_ylabel("tasks, hops", fontsize=8.5)
    reserved = {"servers": (100 * line.server_utilisation, SERVERS), "dedicated links": (100 * line.link_utilisation, LINKS)}
    _draw_curves(below, time, reserved)
    below.set_ylabel("reserved [%]", fontsize=8.5)
    below.set_xlabel(f"time [{unit}]", fontsize=8.5)
    below.set_xlim(0, time[-1] or 1)
    figure.suptitle(title, fontsize=11, x=0.02, ha="left")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def _draw_curves(ax: Any, time: Floats, curves: dict[str, tuple[NDArray[Any], str]]) -> None:
    for name, (values, colour) in curves.items():
        ax.step(time, values, where="post", color=colour, linewidth=1.1, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8.5, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    unclutter(ax)
