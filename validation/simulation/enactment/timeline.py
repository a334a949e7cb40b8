"""Machines, hosts and instances over the time of a run, as in Figs. 8 to 11 of cost-efficient enactment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.enactment.run import EnactmentRun
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.report.figures import blank_figure, unclutter
from edrp.validation.simulation.timelines import count_at, save_columns, time_unit

MACHINES, HOSTS, INSTANCES = "#8a8a8a", "#c55a11", "#1f4e79"
MANY = 5000
"""Samples from which lines are thin."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What there was at each sample of a run.

    Attributes
    ----------
    time : shape (samples,)
        Seconds, from 0 to the end in steps of the monitoring interval.
    machines : shape (samples,)
        Load, as a multiple of the external rates.
    hosts : shape (samples,)
        Hosts that are leased.
    instances : shape (samples,)
        Instances that hold resources, starting ones included.
    """

    time: Floats
    machines: Floats
    hosts: Ints
    instances: Ints


def timeline(scenario: EnactmentScenario, run: EnactmentRun) -> Timeline:
    """Sample a run at every monitoring interval.

    Examples
    --------
    >>> from edrp.datasets.enactment.manufacturing import manufacturing_scenario
    >>> from edrp.enactment.run import LeaseRecord
    >>> lease = LeaseRecord(host="a", type="docker-host", start=30.0, ready=75.0, end=None, units=1)
    >>> run = EnactmentRun(leases=(lease,), instances=(), operators=())
    >>> found = timeline(manufacturing_scenario("two-level", duration=60.0), run)
    >>> found.time.tolist(), found.hosts.tolist(), found.machines.tolist()
    ([0.0, 15.0, 30.0, 45.0, 60.0], [0, 0, 1, 1, 1], [2.0, 2.0, 2.0, 2.0, 2.0])
    """
    time = np.arange(0.0, scenario.duration + 1e-6, scenario.monitoring_interval)
    step = np.minimum((time / scenario.load_step + 1e-9).astype(np.int64), len(scenario.load) - 1)
    return Timeline(
        time=time,
        machines=np.array(scenario.load)[step],
        hosts=count_at(time, ((lease.start, lease.end) for lease in run.leases)),
        instances=count_at(time, ((each.placed, each.ended) for each in run.instances)),
    )


def save_timeline(line: Timeline, path: Path) -> None:
    """Write a timeline as CSV with the columns time (s), machines, hosts, instances; the file appears whole or not at all."""
    save_columns(asdict(line), path)


def timeline_figure(panels: Mapping[str, Timeline], path: Path, *, title: str) -> None:
    """Draw runs beside each other, two in a row, as in Figs. 8 to 11: machines and hosts to the left, instances to the right.

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
    left = 1.08 * max(float(np.max([*each.machines, *each.hosts])) for each in panels.values())
    right = 1.08 * max(float(each.instances.max()) for each in panels.values())
    for index, (name, each) in enumerate(panels.items()):
        ax = axes[index // 2, index % 2]
        _draw(ax, each, left, right)
        ax.set_title(f"({'ABCDEFGHIJKL'[index]}) {name}" if len(panels) > 1 else name, fontsize=10, loc="left")
    for index in range(len(panels), rows * columns):
        axes[index // 2, index % 2].set_visible(False)
    figure.suptitle(title, fontsize=12, x=0.02, ha="left")
    handles = _legend_handles()
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.28 / figure.get_figheight(), 1, 1))
    figure.savefig(path, dpi=130)


def _draw(ax: Any, line: Timeline, left: float, right: float) -> None:
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
