"""Differences of the counters of a vertex between rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from edrp.engines.observation import OperatorWindow, SubtaskWindow

MIN_WINDOW = 4.0
"""Seconds that a task's clock must have run in a window: Flink's times are refreshed about once a second."""

MILLISECONDS = 1e-3

COUNTERS = ("read-records", "write-records", "read-bytes", "write-bytes")


class _Sample(NamedTuple):
    """The counters of a subtask in one round; `attempt` tells starts of it apart."""

    attempt: tuple[int, int]
    node: str
    counters: tuple[int, int, int, int]
    busy: float | None
    idle: float
    backpressured: float

    @property
    def clock(self) -> float:
        return math.inf if self.busy is None else self.busy + self.idle + self.backpressured


class _Round(NamedTuple):
    """The counters of all subtasks at one time."""

    now: float
    samples: tuple[_Sample, ...]


def operator_windows(rounds: Sequence[Any]) -> tuple[OperatorWindow, ...]:
    """Windows between rounds of `/jobs/:id/vertices/:vid`, in the order of time; empty where metrics are missing throughout.

    A window never spans a start of any subtask. Where rounds are too few for one, counters since the start make one.
    """
    complete = [_round for answer in rounds if (_round := _read_round(answer)) is not None]
    windows: list[OperatorWindow] = []
    base: _Round | None = None
    for later in complete:
        if base is None or not _continues(base, later):
            base = later
        elif _clock_between(base, later) >= MIN_WINDOW:
            windows.append(_difference(base, later))
            base = later
    if not windows and complete:
        since_start = _since_start(complete[-1])
        windows = [since_start] if any(subtask.clock or subtask.records_out for subtask in since_start.subtasks) else []
    return tuple(windows)


def _read_round(answer: Any) -> _Round | None:
    """The counters of all subtasks; None where one does not run yet or a counter is missing."""
    samples = []
    for subtask in sorted(answer["subtasks"], key=lambda subtask: subtask["subtask"]):
        metrics = subtask["metrics"]
        if subtask["status"] != "RUNNING" or not all(metrics.get(f"{name}-complete", False) for name in COUNTERS):
            return None
        started = subtask.get("start-time", subtask.get("start_time", 0))
        reads, writes, bytes_in, bytes_out = (int(metrics[name]) for name in COUNTERS)
        samples.append(
            _Sample(
                (int(subtask["attempt"]), int(started)),
                str(subtask["taskmanager-id"]),
                (reads, writes, bytes_in, bytes_out),
                _seconds(metrics.get("accumulated-busy-time")),
                _seconds(metrics.get("accumulated-idle-time")) or 0.0,
                _seconds(metrics.get("accumulated-backpressured-time")) or 0.0,
            )
        )
    return _Round(answer["now"] * MILLISECONDS, tuple(samples)) if samples else None


def _seconds(value: Any) -> float | None:
    """A time in milliseconds, which Flink gives as a number or as the text "NaN"."""
    number = float(value) if value is not None else math.nan
    return number * MILLISECONDS if math.isfinite(number) else None


def _continues(base: _Round, later: _Round) -> bool:
    """Whether the same starts of the same subtasks are seen again and no counter has fallen."""
    return len(base.samples) == len(later.samples) and all(
        a.attempt == b.attempt and a.node == b.node and all(x <= y for x, y in zip(a.counters, b.counters, strict=True))
        for a, b in zip(base.samples, later.samples, strict=True)
    )


def _clock_between(base: _Round, later: _Round) -> float:
    """Least seconds that any subtask's own clock ran; the engine's clock for those that have none."""
    wall = later.now - base.now
    clocks = (
        wall if a.busy is None or b.busy is None else b.clock - a.clock for a, b in zip(base.samples, later.samples, strict=True)
    )
    return min(clocks)


def _difference(base: _Round, later: _Round) -> OperatorWindow:
    subtasks = []
    for a, b in zip(base.samples, later.samples, strict=True):
        records_in, records_out, bytes_in, bytes_out = (y - x for x, y in zip(a.counters, b.counters, strict=True))
        busy = None if a.busy is None or b.busy is None else max(0.0, b.busy - a.busy)
        idle, backpressured = max(0.0, b.idle - a.idle), max(0.0, b.backpressured - a.backpressured)
        subtasks.append(SubtaskWindow(b.node, records_in, records_out, bytes_in, bytes_out, busy, idle, backpressured))
    return OperatorWindow(later.now - base.now, tuple(subtasks))


def _since_start(last: _Round) -> OperatorWindow:
    """A window from the start of the subtasks, whose counters began at 0."""
    subtasks = tuple(SubtaskWindow(s.node, *s.counters, s.busy, s.idle, s.backpressured) for s in last.samples)
    return OperatorWindow(max(0.0, last.now - max(sample.attempt[1] for sample in last.samples) * MILLISECONDS), subtasks, True)
