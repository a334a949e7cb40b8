"""The counters of a vertex in the answers of Flink's REST API, and their differences between rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from edrp.engines.observation import OperatorWindow, SubtaskWindow

STARTING = 20.0
"""Seconds after a start of a subtask in which its counters may be those of an earlier start."""

MILLISECONDS = 1e-3

COUNTERS = ("read-records", "write-records", "read-bytes", "write-bytes")

MIN_WINDOW = 4.0
"""Seconds that a task's clock must have run in a window: Flink's times are refreshed about once a second."""


def operator_windows(rounds: Sequence[Any]) -> tuple[OperatorWindow, ...]:
    """Windows between rounds of `/jobs/:id/vertices/:vid`, in the order of time; empty where metrics are missing throughout."""
    return counter_windows(read for answer in rounds if (read := _read_round(answer)) is not None)


def counters_ran_back(rounds: Sequence[Any]) -> bool:
    """Whether a counter is less than in an earlier round of the same start of its subtask, which no counter can be.

    Right after a start, what was gathered before it may still be handed out.
    """
    highest: dict[tuple[int, str, tuple[int | str, ...]], tuple[int, ...]] = {}
    for answer in rounds:
        samples = _read_round(answer)
        for number, sample in enumerate(() if samples is None else samples.samples):
            if samples is None or samples.now - sample.started < STARTING:
                continue
            key = (number, sample.node, sample.attempt)
            if any(now < before for now, before in zip(sample.counters, highest.get(key, sample.counters), strict=True)):
                return True
            highest[key] = sample.counters
    return False


def _read_round(answer: Any) -> CounterRound | None:
    """The counters of all subtasks; None where one does not run yet or a counter is missing.

    A subtask that has finished before others stands still, and has no clock any more.
    """
    samples = []
    for subtask in sorted(answer["subtasks"], key=lambda subtask: subtask["subtask"]):
        metrics = subtask["metrics"]
        finished = subtask["status"] == "FINISHED"
        counts = finished or subtask["status"] == "RUNNING"
        if not counts or not all(metrics.get(f"{name}-complete", False) for name in COUNTERS):
            return None
        started = int(subtask.get("start-time", subtask.get("start_time", 0)))
        reads, writes, bytes_in, bytes_out = (int(metrics[name]) for name in COUNTERS)
        samples.append(
            CounterSample(
                (int(subtask["attempt"]), started),
                started * MILLISECONDS,
                str(subtask["taskmanager-id"]),
                (reads, writes, bytes_in, bytes_out),
                None if finished else _seconds(metrics.get("accumulated-busy-time")),
                _seconds(metrics.get("accumulated-idle-time")) or 0.0,
                _seconds(metrics.get("accumulated-backpressured-time")) or 0.0,
            )
        )
    return CounterRound(answer["now"] * MILLISECONDS, tuple(samples)) if samples else None


def _seconds(value: Any) -> float | None:
    """A time in milliseconds, which Flink gives as a number or as the text "NaN"."""
    number = float(value) if value is not None else math.nan
    return number * MILLISECONDS if math.isfinite(number) else None


class CounterSample(NamedTuple):
    """The counters of a subtask in one round.

    Attributes
    ----------
    attempt : tells starts of the subtask apart.
    started : when it started, in seconds by the clock of the rounds.
    counters : tuples in and out, bytes in and out, since the start.
    busy, idle, backpressured : seconds since the start; busy is None where the engine does not measure it.
    """

    attempt: tuple[int | str, ...]
    started: float
    node: str
    counters: tuple[int, int, int, int]
    busy: float | None
    idle: float
    backpressured: float

    @property
    def clock(self) -> float:
        """Seconds of the task's own clock; infinite where it has none, and therefore never too few."""
        return math.inf if self.busy is None else self.busy + self.idle + self.backpressured


class CounterRound(NamedTuple):
    """The counters of all subtasks of an operator at one time, in seconds by some clock."""

    now: float
    samples: tuple[CounterSample, ...]


def counter_windows(rounds: Iterable[CounterRound]) -> tuple[OperatorWindow, ...]:
    """Windows between rounds, in the order of time.

    A window never spans a start of any subtask. Where rounds are too few for one, counters since the start make one, unless
    these are all 0.
    """
    windows: list[OperatorWindow] = []
    base: CounterRound | None = None
    newest: CounterRound | None = None
    for later in rounds:
        if base is None or not _continues(base, later):
            base = later
        elif _clock_between(base, later) >= MIN_WINDOW:
            windows.append(_difference(base, later))
            base = later
        newest = later
    if not windows and newest is not None:
        since_start = _since_start(newest)
        windows = [since_start] if any(subtask.clock or subtask.records_out for subtask in since_start.subtasks) else []
    return tuple(windows)


def _continues(base: CounterRound, later: CounterRound) -> bool:
    """Whether the same starts of the same subtasks are seen again and no counter has fallen."""
    return len(base.samples) == len(later.samples) and all(
        a.attempt == b.attempt and a.node == b.node and all(x <= y for x, y in zip(a.counters, b.counters, strict=True))
        for a, b in zip(base.samples, later.samples, strict=True)
    )


def _clock_between(base: CounterRound, later: CounterRound) -> float:
    """Least seconds that any subtask's own clock ran; the clock of the rounds for those that have none."""
    wall = later.now - base.now
    clocks = (
        wall if a.busy is None or b.busy is None else b.clock - a.clock for a, b in zip(base.samples, later.samples, strict=True)
    )
    return min(clocks)


def _difference(base: CounterRound, later: CounterRound) -> OperatorWindow:
    subtasks = []
    for a, b in zip(base.samples, later.samples, strict=True):
        records_in, records_out, bytes_in, bytes_out = (y - x for x, y in zip(a.counters, b.counters, strict=True))
        busy = None if a.busy is None or b.busy is None else max(0.0, b.busy - a.busy)
        idle, backpressured = max(0.0, b.idle - a.idle), max(0.0, b.backpressured - a.backpressured)
        subtasks.append(SubtaskWindow(b.node, records_in, records_out, bytes_in, bytes_out, busy, idle, backpressured))
    return OperatorWindow(later.now - base.now, tuple(subtasks))


def _since_start(last: CounterRound) -> OperatorWindow:
    """A window from the start of the subtasks, whose counters began at 0."""
    subtasks = tuple(SubtaskWindow(s.node, *s.counters, s.busy, s.idle, s.backpressured) for s in last.samples)
    return OperatorWindow(max(0.0, last.now - max(sample.started for sample in last.samples)), subtasks, True)
