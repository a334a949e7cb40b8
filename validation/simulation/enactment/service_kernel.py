"""The compiled part of the simulation: one operator through one round, item by item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inner_loop
from edrp.core.tolerances import WHOLE_NUMBER_SLACK

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


@inner_loop
def serve(
    work: Work,
    crew: Crew,
    occupancy: float,
    levels: Floats,
    last: float,
    happenings: Happenings,
    until: float,
    samples: Samples,
) -> int:
    """Serve the items of an operator, first in, first out, while instances come and go.

    Parameters
    ----------
    work
        Items that wait, then those that will arrive.
    crew
        Instances; changed in place.
    occupancy
        Share of the processing for which an item occupies its instance.
    levels
        Shape (3,): seconds within which an item counts as in time.
    last
        Seconds: end of the run; items that leave then or later are not counted as completed.
    happenings
        Instances that come and go, stalls, and samples.
    until
        Seconds: end of the round; nothing is begun then or later.
    samples
        Samples of the queue, which are written.

    Returns
    -------
    int
        Items begun.
    """
    times, codes, subjects = happenings
    begun, arrived, sampled = 0, 0, 0
    for event in range(times.size + 1):
        stop = times[event] if event < times.size else until
        if crew.counts[HOLDS] == 0:
            begun = _take(work, crew, occupancy, levels, last, begun, stop)
        if event == times.size:
            break
        code = codes[event]
        if code == START:
            _start(crew, stop, subjects[event])
        elif code == STOP:
            _stop(crew, subjects[event])
        elif code == HOLD:
            crew.counts[HOLDS] += 1
        elif code == RESUME:
            crew.counts[HOLDS] -= 1
            crew.sums[OPEN_SINCE] = stop
        else:
            while arrived < work.arrivals.size and work.arrivals[arrived] < stop:
                arrived += 1
            samples.waiting[sampled] = arrived - begun
            samples.begun[sampled] = crew.counts[BEGUN]
            samples.recorded[sampled] = crew.sums[RECORDED]
            crew.counts[BEGUN] = 0
            crew.sums[RECORDED] = 0.0
            sampled += 1
    return begun


@inner_loop
def _take(work: Work, crew: Crew, occupancy: float, levels: Floats, last: float, begun: int, stop: float) -> int:
    """Begin items before `stop` with the present instances; returns how many are begun by then."""
    free, instance = crew.free, crew.instance
    size, sequence, open_since = crew.counts[SIZE], crew.counts[SEQUENCE], crew.sums[OPEN_SINCE]
    recorded_sum, first = crew.sums[RECORDED], begun
    real, near, relaxed = 0, 0, 0
    while begun < work.arrivals.size and size > 0:
        arrival = work.arrivals[begun]
        begin = max(arrival, free[0], open_since)
        if begin >= stop:
            break
        processing = work.processing[begun]
        end = begin + processing
        recorded = begin - arrival + processing
        recorded_sum += recorded
        if end < last:
            real += recorded <= levels[0]
            near += recorded <= levels[1]
            relaxed += recorded <= levels[2]
        work.begins[begun], work.ends[begun], work.instances[begun] = begin, end, instance[0]
        _sift_down(crew, 0, size, begin + occupancy * processing, sequence, instance[0])
        sequence += 1
        begun += 1
    crew.counts[SEQUENCE] = sequence
    crew.counts[BEGUN] += begun - first
    crew.counts[WITHIN] += real
    crew.counts[WITHIN + 1] += near
    crew.counts[WITHIN + 2] += relaxed
    crew.sums[RECORDED] = recorded_sum
    return begun


@inner_loop
def _sift_down(crew: Crew, place: int, size: int, free: float, order: int, instance: int) -> None:
    """Put an instance where `place` is empty, or below, so that parents are never later than children."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _sooner(crew.free[child + 1], crew.order[child + 1], crew.free[child], crew.order[child]):
            child += 1
        if not _sooner(crew.free[child], crew.order[child], free, order):
            break
        crew.free[place], crew.order[place], crew.instance[place] = crew.free[child], crew.order[child], crew.instance[child]
        place = child
    crew.free[place], crew.order[place], crew.instance[place] = free, order, instance


@inner_loop
def _sooner(free: float, order: int, other_free: float, other_order: int) -> bool:
    return free < other_free or (free == other_free and order < other_order)


@inner_loop
def _start(crew: Crew, time: float, instance: int) -> None:
    """Add an instance that is free from now on."""
    place = crew.counts[SIZE]
    order = crew.counts[SEQUENCE]
    crew.counts[SIZE] += 1
    crew.counts[SEQUENCE] += 1
    while place > 0 and _sooner(time, order, crew.free[(place - 1) // 2], crew.order[(place - 1) // 2]):
        above = (place - 1) // 2
        crew.free[place], crew.order[place], crew.instance[place] = crew.free[above], crew.order[above], crew.instance[above]
        place = above
    crew.free[place], crew.order[place], crew.instance[place] = time, order, instance


@inner_loop
def _stop(crew: Crew, instance: int) -> None:
    """Remove an instance; the item that it works on is not affected."""
    crew.counts[SIZE] -= 1
    size = crew.counts[SIZE]
    place = 0
    while crew.instance[place] != instance:
        place += 1
    # The last one takes its place, and the heap is built again from the bottom: stops are rare.
    crew.free[place], crew.order[place], crew.instance[place] = crew.free[size], crew.order[size], crew.instance[size]
    for parent in range(size // 2 - 1, -1, -1):
        _sift_down(crew, parent, size, crew.free[parent], crew.order[parent], crew.instance[parent])


@inner_loop
def send(departures: Floats, before: int, selectivity: float, out: Floats) -> None:
    """Items that an operator sends on each outgoing stream, one time (s) per item, to `out`, which has the right size.

    The k-th departure brings the items sent so far to k times the selectivity, rounded down; `before` departures were earlier.
    """
    written = 0
    sent = np.floor(before * selectivity + WHOLE_NUMBER_SLACK)
    for index in range(departures.size):
        due = np.floor((before + index + 1) * selectivity + WHOLE_NUMBER_SLACK)
        while sent < due:
            out[written] = departures[index]
            written += 1
            sent += 1.0
