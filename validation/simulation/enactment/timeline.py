"""Machines, hosts and instances over the time of a run, sampled for figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment.scenario import EnactmentRun, EnactmentScenario


@dataclass(frozen=True, slots=True)
class HostTimeline:
    """Machines, hosts and instances at each sample of a run.

    Attributes
    ----------
    time : shape (samples,), seconds, from 0 to the end in steps of the monitoring interval.
    machines : shape (samples,), load, as a multiple of the external rates.
    hosts : shape (samples,), hosts that are leased.
    instances : shape (samples,), instances that hold resources, starting ones included.
    """

    time: Floats
    machines: Floats
    hosts: Ints
    instances: Ints


def timeline(scenario: EnactmentScenario, run: EnactmentRun) -> HostTimeline:
    """Sample a run at every monitoring interval."""
    time = np.arange(0.0, scenario.duration + 1e-6, scenario.monitoring_interval)
    step = np.minimum((time / scenario.load_step + WHOLE_NUMBER_SLACK).astype(np.int64), len(scenario.load) - 1)
    return HostTimeline(
        time=time,
        machines=np.array(scenario.load)[step],
        hosts=count_at(time, ((lease.start, lease.end) for lease in run.leases)),
        instances=count_at(time, ((instance.placed, instance.ended) for instance in run.instances)),
    )


def count_at(time: Floats, spans: Iterable[tuple[float, float | None]]) -> Ints:
    """Return for each time the number of spans that contain it: from their start until before their end (None: endless).

    >>> count_at(np.array([0.0, 1.0, 2.0, 3.0]), [(1.0, 3.0), (2.0, None)]).tolist()
    [0, 1, 2, 1]
    """
    starts, ends = np.array([(start, np.inf if end is None else end) for start, end in spans]).reshape(-1, 2).T
    return np.searchsorted(np.sort(starts), time, side="right") - np.searchsorted(np.sort(ends), time, side="right")
