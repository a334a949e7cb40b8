"""Arrays of `serve_items` (edrp/native/validation/simulation/enactment/service_kernel.cpp): one operator through one round."""

from __future__ import annotations

from typing import NamedTuple

from edrp.core.arrays import Floats, Ints

START, STOP, HOLD, RESUME, SAMPLE = range(5)
"""Codes of events of an operator within a round: an instance comes or goes, a stall begins or ends, the queue is sampled."""

SIZE, SEQUENCE, HOLDS, BEGUN, WITHIN = 0, 1, 2, 3, 4
"""Places in `Crew.counts`: instances, items ever begun and instances ever started (settles ties), stalls at the moment, items
begun since the last sample, and from WITHIN on completed items within each level."""

OPEN_SINCE, RECORDED = 0, 1
"""Places in `Crew.sums`: when the last stall ended (s), recorded durations since the last sample (s)."""


class Crew(NamedTuple):
    """The running instances of an operator, as a heap: the one that is free first, and of those the longest unused, on top.

    Attributes
    ----------
    free : seconds: when each instance is free.
    order : number of its last beginning, which settles ties.
    instance : number of the instance.
    counts, sums : see `SIZE` and `OPEN_SINCE`.
    """

    free: Floats
    order: Ints
    instance: Ints
    counts: Ints
    sums: Floats


class Work(NamedTuple):
    """Items of an operator in one round, in the order of arrival, and the results for those that are begun.

    Attributes
    ----------
    arrivals, processing : seconds: when each item arrived, and X, how long it will be processed.
    begins, ends : seconds: when it was begun, and when it leaves (written).
    instances : number of the instance that took it (written).
    """

    arrivals: Floats
    processing: Floats
    begins: Floats
    ends: Floats
    instances: Ints


class Happenings(NamedTuple):
    """Events of an operator within a round, in the order of time; at equal times they come before items are begun.

    Attributes
    ----------
    times : seconds.
    codes : `START`, `STOP`, `HOLD`, `RESUME` or `SAMPLE`.
    subjects : number of the instance that comes or goes.
    """

    times: Floats
    codes: Ints
    subjects: Ints


class Samples(NamedTuple):
    """Monitoring data, one element per sample of the round: items that wait, items begun, seconds recorded for them."""

    waiting: Ints
    begun: Ints
    recorded: Floats
