"""The compiled part of the simulation: running tasks from one event to the next, flow interval by flow interval.

Progress is counted in seconds of a task's nominal rate. A task that sheds data on the way has another rate on each hop, but
what a hop passes is a fraction of its own rate, so that one number tells how far all hops are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from edrp.core.arrays import Floats, Ints, UInts
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import TASK_REMAINDER
from edrp.validation.simulation.mapping.public_network import normal

START, TOTAL, SENT, DONE, GOT, WINDOWS, SHORTFALL = range(7)
"""Columns of `Streams.progress`: when the task began (s); how much it has, how much its source has sent, how much was delivered,
how much of that in the current window (nominal seconds); windows that are over, and the sum of their shortfalls."""


class Streams(NamedTuple):
    """Running tasks, one row each, in the order in which they came; the last row is for trials.

    Attributes
    ----------
    hops : shape (r,), how many hops lead over the public network.
    places : shape (r, h), which of the task's hops these are.
    keys : shape (r, h), the stream of draws of each of them.
    levels : shape (r, h), logarithm of the share of its rate that it gets in the mean.
    mean : shape (r,), fraction of the rate that gets through where nothing is drawn; negative: it is drawn.
    waiting : shape (r, h), what waits before each hop of the task, public or not, nominal seconds.
    progress : shape (r, 7), see `START`.
    """

    hops: Ints
    places: Ints
    keys: UInts
    levels: Floats
    mean: Floats
    waiting: Floats
    progress: Floats


class Physics(NamedTuple):
    """Parameters that are the same for all tasks.

    Attributes
    ----------
    interval : seconds from one draw to the next.
    scale : standard deviation of the logarithm of the rate.
    buffer : seconds of its rate that may wait before a hop.
    window : seconds in which the delivered rate is measured.
    """

    interval: float
    scale: float
    buffer: float
    window: float


@inner_loop
def first_end(streams: Streams, count: int, now: float, until: float, physics: Physics) -> tuple[float, int]:
    """Return the time at which the first of `count` tasks ends, and its row; (infinity, -1) if not by `until`.

    Each task that may be the first is tried on the last row; the one that has least left comes first, so that the trials of
    others are cut short.
    """
    if not count:
        return math.inf, -1
    trial, least = streams.hops.size - 1, 0
    for row in range(count):
        if _left(streams.progress, row) < _left(streams.progress, least):
            least = row
    first, which = math.inf, -1
    for position in range(count):
        row = least if position == 0 else position - 1 if position <= least else position
        limit = min(first, until)
        if now + _left(streams.progress, row) > limit:  # no source sends faster than its rate
            continue
        _copy(streams, row, trial)
        end = flow(streams, trial, now, limit, physics)
        if end < first:
            first, which = end, row
    return first, which


@inner_loop
def advance(streams: Streams, count: int, now: float, until: float, physics: Physics) -> None:
    """Let the first `count` tasks flow from one time to another."""
    for row in range(count):
        flow(streams, row, now, until, physics)


@inlined
def _left(progress: Floats, row: int) -> float:
    """Return the nominal seconds that the source has not sent."""
    return progress[row, TOTAL] - progress[row, SENT]


@inlined
def _copy(streams: Streams, row: int, other: int) -> None:
    streams.hops[other] = streams.hops[row]
    streams.mean[other] = streams.mean[row]
    for hop in range(streams.hops[row]):
        streams.places[other, hop] = streams.places[row, hop]
        streams.keys[other, hop] = streams.keys[row, hop]
        streams.levels[other, hop] = streams.levels[row, hop]
    for hop in range(streams.waiting.shape[1]):
        streams.waiting[other, hop] = streams.waiting[row, hop]
    for column in range(streams.progress.shape[1]):
        streams.progress[other, column] = streams.progress[row, column]


@inner_loop
def flow(streams: Streams, row: int, now: float, until: float, physics: Physics) -> float:
    """Let one task flow, window by window; return when it ends, infinity if not by `until`."""
    progress = streams.progress
    time = now
    if progress[row, DONE] >= progress[row, TOTAL]:  # by rounding it ended when another event was due
        return time
    while time < until:
        edge = progress[row, START] + (progress[row, WINDOWS] + 1) * physics.window
        end = min(until, edge)
        if not streams.hops[row] or streams.mean[row] >= 0:
            time = _steady(streams, row, time, end)
        elif physics.buffer > 0:
            time = _buffered(streams, row, time, end, physics)
        else:
            time = _drawn(streams, row, time, end, physics)
        if progress[row, DONE] >= progress[row, TOTAL]:
            _close_window(progress, row, time, physics.window)
            return time
        if time >= edge:
            _close_window(progress, row, time, physics.window)
    return math.inf


@inner_loop
def conclude(streams: Streams, row: int, time: float, physics: Physics) -> None:
    """End a task: deliver the rest that rounding has left, and close its last window."""
    progress = streams.progress
    if progress[row, DONE] < progress[row, TOTAL]:
        progress[row, GOT] += progress[row, TOTAL] - progress[row, DONE]
        progress[row, DONE] = progress[row, TOTAL]
        _close_window(progress, row, time, physics.window)


@inlined
def _close_window(progress: Floats, row: int, time: float, window: float) -> None:
    """Add the shortfall of the window, or of the last part of one, that is over."""
    length = time - progress[row, START] - progress[row, WINDOWS] * window
    if length > 0:
        missing = 1 - progress[row, GOT] / length
        if missing > TASK_REMAINDER:
            progress[row, SHORTFALL] += missing
        progress[row, WINDOWS] += 1
    progress[row, GOT] = 0.0


@inlined
def _deliver(progress: Floats, row: int, time: float, step: float, amount: float) -> float:
    """Deliver within a step; return when the step, or the task within it, is over."""
    left = progress[row, TOTAL] - progress[row, DONE]
    if amount >= left - TASK_REMAINDER * progress[row, TOTAL]:
        progress[row, SENT] = progress[row, DONE] = progress[row, TOTAL]
        progress[row, GOT] += left
        return time + step * min(1.0, left / amount) if amount > 0 else time
    progress[row, DONE] += amount
    progress[row, GOT] += amount
    return time + step


@inlined
def _steady(streams: Streams, row: int, time: float, end: float) -> float:
    """Flow at a constant fraction of the rate, or with all of it on dedicated links."""
    amount = (streams.mean[row] if streams.hops[row] else 1.0) * (end - time)
    streams.progress[row, SENT] += amount
    return _deliver(streams.progress, row, time, end - time, amount)


@inner_loop
def _drawn(streams: Streams, row: int, time: float, end: float, physics: Physics) -> float:
    """Flow interval by interval at the pace of the slowest hop: nothing waits on the way."""
    progress = streams.progress
    number = _interval_number(time, physics.interval)
    left, amount, fraction = progress[row, TOTAL] - progress[row, DONE], 0.0, 1.0
    while time < end and amount < left:
        lowest = 0.0
        for hop in range(streams.hops[row]):
            lowest = min(lowest, streams.levels[row, hop] + physics.scale * normal(streams.keys[row, hop], number))
        number += 1
        following = min(number * physics.interval, end)
        fraction = math.exp(lowest)
        amount += fraction * (following - time)
        time = following
    if amount >= left:
        time -= (amount - left) / fraction
        amount = left
        progress[row, DONE] = progress[row, TOTAL]
    else:
        progress[row, DONE] += amount
    progress[row, SENT] = progress[row, DONE]
    progress[row, GOT] += amount
    return time


@inner_loop
def _buffered(streams: Streams, row: int, time: float, end: float, physics: Physics) -> float:
    """Flow interval by interval with buffers: a hop passes the data that it can; a full buffer holds others back."""
    progress, waiting, hops = streams.progress, streams.waiting, streams.hops[row]
    number = _interval_number(time, physics.interval)
    while time < end and progress[row, DONE] < progress[row, TOTAL]:
        step = min((number + 1) * physics.interval, end) - time
        sent = min(step, _left(progress, row))
        moved = sent
        for hop in range(hops):
            place = streams.places[row, hop]
            most = step * math.exp(streams.levels[row, hop] + physics.scale * normal(streams.keys[row, hop], number))
            passed = min(most, waiting[row, place] + moved)
            waiting[row, place] += moved - passed
            moved = passed
        excess = 0.0
        for hop in range(hops - 1, -1, -1):
            place = streams.places[row, hop]
            waiting[row, place] += excess
            excess = max(0.0, waiting[row, place] - physics.buffer)
            waiting[row, place] -= excess
        progress[row, SENT] += sent - excess
        time = _deliver(progress, row, time, step, moved)
        number += 1
    return time


@inlined
def _interval_number(time: float, interval: float) -> int:
    """Return the number of the flow interval that contains or begins at a time."""
    number = int(time / interval)
    return number + 1 if (number + 1) * interval <= time else number
