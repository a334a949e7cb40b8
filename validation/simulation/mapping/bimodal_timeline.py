"""Tasks, servers and links over the time of a run on a bi-modal network."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints
from edrp.mapping.bimodal_metrics import spans_of
from edrp.mapping.bimodal_run import BimodalRun
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.validation.report.figures import blank_figure, unclutter
from edrp.validation.simulation.timelines import amount_at, count_at, save_columns, time_unit

STEPS = (1.0, 10.0, 60.0, 600.0, 3600.0, 86_400.0)
MOST_SAMPLES = 2000
"""Seconds between samples: the shortest of these steps with so few of them, or the longest step."""

RUNNING, REFUSED, SERVERS, LINKS = "#1f4e79", "#8a8a8a", "#c55a11", "#2e7d32"


@dataclass(frozen=True, slots=True)
class Timeline:
    """What there was at each sample of a run, from its begin to the end of the last task.

    Attributes
    ----------
    time : shape (samples,)
        Seconds.
    arrived, accepted : shape (samples,)
        Tasks so far.
    running : shape (samples,)
        Tasks that hold resources.
    server_utilisation, link_utilisation : shape (samples,)
        Reserved shares of the computing capacity, and of the bandwidth of dedicated links in both directions.
    public_hops : shape (samples,)
        Hops that go over the public network.
    """

    time: Floats
    arrived: Ints
    accepted: Ints
    running: Ints
    server_utilisation: Floats
    link_utilisation: Floats
    public_hops: Ints


def timeline(scenario: BimodalScenario, run: BimodalRun) -> Timeline:
    """Sample a run of a scenario.

    Examples
    --------
    >>> from edrp.mapping.bimodal_run import TaskRecord
    >>> scenario = BimodalScenario(
    ...     network={"nodes": [{"name": "a", "capacity": 4}, {"name": "b", "capacity": 0}],
    ...              "links": [{"source": "a", "target": "b", "bandwidth": 2e5}]},
    ...     services=[{"name": "decode", "capacity": 1}],
    ...     tasks=[{"arrival": 1, "source": "a", "delivery": "b", "services": ["decode"], "rate": 1e5, "data": 2e5}],
    ... )
    >>> record = TaskRecord(accepted=True, nodes=("a",), routes=(("a",), ("a", "b")), start=1, finish=3, delivered=2e5, windows=1)
    >>> line = timeline(scenario, BimodalRun(tasks=(record,)))
    >>> line.running.tolist(), line.server_utilisation.tolist(), line.link_utilisation.tolist()
    ([0, 1, 1, 0], [0.0, 0.25, 0.25, 0.0], [0.0, 0.25, 0.25, 0.0])
    """
    served = [(index, each) for index, each in enumerate(run.tasks) if each.accepted and each.start is not None]
    time = _samples(max([scenario.tasks[-1].arrival, *(each.finish or 0.0 for _, each in served)]))
    arrivals = np.array([task.arrival for task in scenario.tasks])
    described = {index: scenario.path_task(index) for index, _ in served}
    held = [(each.start or 0.0, each.finish, math.fsum(described[index].needs)) for index, each in served]
    hops = list(spans_of(run))
    rates = [
        (span.start, span.end, described[span.task].hop_bandwidths[span.hop] * (len(span.route) - 1))
        for span in hops
        if span.route is not None
    ]
    return Timeline(
        time=time,
        arrived=np.searchsorted(arrivals, time, side="right"),
        accepted=count_at(time, [(start, None) for start, _, _ in held]),
        running=count_at(time, [(start, end) for start, end, _ in held]),
        server_utilisation=_share(amount_at(time, held), math.fsum(node.capacity for node in scenario.network.nodes)),
        link_utilisation=_share(amount_at(time, rates), math.fsum(arc.bandwidth for arc in scenario.network.arcs.values())),
        public_hops=count_at(time, [(span.start, span.end) for span in hops if span.route is None]),
    )


def save_timeline(line: Timeline, path: Path) -> None:
    """Write a timeline as CSV, a column for each of its attributes; the file appears whole or not at all."""
    save_columns(asdict(line), path)


def timeline_figure(line: Timeline, path: Path, *, title: str) -> None:
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
    _draw(above, time, {"tasks running": (line.running, RUNNING), "hops over the public network": (line.public_hops, REFUSED)})
    above.set_ylabel("tasks, hops", fontsize=8.5)
    reserved = {"servers": (100 * line.server_utilisation, SERVERS), "dedicated links": (100 * line.link_utilisation, LINKS)}
    _draw(below, time, reserved)
    below.set_ylabel("reserved [%]", fontsize=8.5)
    below.set_xlabel(f"time [{unit}]", fontsize=8.5)
    below.set_xlim(0, time[-1] or 1)
    figure.suptitle(title, fontsize=11, x=0.02, ha="left")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def _draw(ax: Any, time: Floats, curves: dict[str, tuple[NDArray[Any], str]]) -> None:
    for name, (values, colour) in curves.items():
        ax.step(time, values, where="post", color=colour, linewidth=1.1, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8.5, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    unclutter(ax)


def _samples(end: float) -> Floats:
    step = next((each for each in STEPS if end / each < MOST_SAMPLES), STEPS[-1])
    steps = math.ceil(end / step)
    return np.linspace(0.0, steps * step, steps + 1)


def _share(used: Floats, whole: float) -> Floats:
    """As part of the whole; what is left of sums of many amounts once the last has ended is rounding."""
    part: Floats = np.round(used / whole, 9) + 0.0 if whole else np.zeros_like(used)
    return part
