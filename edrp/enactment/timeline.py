"""Machines, hosts and instances over the time of a run, sampled for figures and the CSV file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.timelines import count_at, save_columns
from edrp.enactment.run import EnactmentRun
from edrp.enactment.scenario import EnactmentScenario


@dataclass(frozen=True, slots=True)
class HostTimeline:
    """Machines, hosts and instances at each sample of a run.

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


def timeline(scenario: EnactmentScenario, run: EnactmentRun) -> HostTimeline:
    """Sample a run at every monitoring interval.

    Examples
    --------
    >>> from edrp.datasets.enactment.manufacturing import manufacturing_scenario
    >>> from edrp.enactment.run import LeaseRecord
    >>> lease = LeaseRecord(host="a", type="docker-host", start=30.0, ready=75.0, end=None, units=1)
    >>> run = EnactmentRun(leases=(lease,), instances=(), operators=())
    >>> line = timeline(manufacturing_scenario("two-level", duration=60.0), run)
    >>> line.time.tolist(), line.hosts.tolist(), line.machines.tolist()
    ([0.0, 15.0, 30.0, 45.0, 60.0], [0, 0, 1, 1, 1], [2.0, 2.0, 2.0, 2.0, 2.0])
    """
    time = np.arange(0.0, scenario.duration + 1e-6, scenario.monitoring_interval)
    step = np.minimum((time / scenario.load_step + 1e-9).astype(np.int64), len(scenario.load) - 1)
    return HostTimeline(
        time=time,
        machines=np.array(scenario.load)[step],
        hosts=count_at(time, ((lease.start, lease.end) for lease in run.leases)),
        instances=count_at(time, ((instance.placed, instance.ended) for instance in run.instances)),
    )


def save_timeline(line: HostTimeline, path: Path) -> None:
    """Write a timeline as CSV with the columns time (s), machines, hosts, instances; the file appears whole or not at all."""
    save_columns(asdict(line), path)
