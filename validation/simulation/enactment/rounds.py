"""Times at which a run is observed: the rounds of the policy, and the samples within each."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment.scenario import EnactmentScenario


class Round(NamedTuple):
    """From one observation to the next, or to the end of the run (s), with the times at which queues are sampled."""

    start: float
    end: float
    samples: tuple[float, ...]


def rounds(scenario: EnactmentScenario) -> Iterator[Round]:
    """All rounds of a run; where one ends with a sample, both are at exactly the same time."""
    interval, between, duration = scenario.provisioning_interval, scenario.monitoring_interval, scenario.duration
    count = ceil(duration / interval - WHOLE_NUMBER_SLACK)
    for index in range(count):
        start, end = index * interval, duration if index == count - 1 else (index + 1) * interval
        times = [start + number * between for number in range(1, int((end - start) / between + WHOLE_NUMBER_SLACK) + 1)]
        yield Round(start, end, tuple(end if abs(time - end) <= WHOLE_NUMBER_SLACK * interval else time for time in times))
