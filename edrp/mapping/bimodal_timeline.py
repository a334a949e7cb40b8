"""Tasks, servers and links over the time of a run on a bi-modal network."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.timelines import amount_at, count_at, save_columns
from edrp.mapping.bimodal_run import BimodalRun, hop_spans
from edrp.mapping.bimodal_scenario import BimodalScenario

STEPS = (1.0, 10.0, 60.0, 600.0, 3600.0, 86_400.0)
MAX_SAMPLES = 2000
"""Seconds between samples: the shortest of these steps with so few of them, or the longest step."""


@dataclass(frozen=True, slots=True)
class TaskTimeline:
    """State of a run at each sample, from its begin to the end of the last task.

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


def timeline(scenario: BimodalScenario, run: BimodalRun) -> TaskTimeline:
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
    served = [(index, record) for index, record in enumerate(run.tasks) if record.accepted and record.start is not None]
    time = _samples(max([scenario.tasks[-1].arrival, *(record.finish or 0.0 for _, record in served)]))
    arrivals = np.array([task.arrival for task in scenario.tasks])
    described = {index: scenario.path_task(index) for index, _ in served}
    held = [(record.start or 0.0, record.finish, math.fsum(described[index].needs)) for index, record in served]
    hops = list(hop_spans(run))
    rates = [
        (span.start, span.end, described[span.task].hop_bandwidths[span.hop] * (len(span.route) - 1))
        for span in hops
        if span.route is not None
    ]
    return TaskTimeline(
        time=time,
        arrived=np.searchsorted(arrivals, time, side="right"),
        accepted=count_at(time, [(start, None) for start, _, _ in held]),
        running=count_at(time, [(start, end) for start, end, _ in held]),
        server_utilisation=_share(amount_at(time, held), math.fsum(node.capacity for node in scenario.network.nodes)),
        link_utilisation=_share(amount_at(time, rates), math.fsum(arc.bandwidth for arc in scenario.network.arcs.values())),
        public_hops=count_at(time, [(span.start, span.end) for span in hops if span.route is None]),
    )


def save_timeline(line: TaskTimeline, path: Path) -> None:
    """Write a timeline as CSV, a column for each of its attributes; the file appears whole or not at all."""
    save_columns(asdict(line), path)


def _samples(end: float) -> Floats:
    step = next((seconds for seconds in STEPS if end / seconds < MAX_SAMPLES), STEPS[-1])
    steps = math.ceil(end / step)
    return np.linspace(0.0, steps * step, steps + 1)


def _share(used: Floats, whole: float) -> Floats:
    """Return shares of the whole, rounded: the rest of sums of many amounts, once the last has ended, is rounding."""
    part: Floats = np.round(used / whole, 9) + 0.0 if whole else np.zeros_like(used)
    return part
