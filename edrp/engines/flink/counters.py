"""The counters of a vertex in the answers of Flink's REST API."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from edrp.engines.observation import OperatorWindow
from edrp.engines.rounds import CounterRound, CounterSample, counter_windows

STARTING = 20.0
"""Seconds after a start of a subtask in which its counters may be those of an earlier start."""

MILLISECONDS = 1e-3

COUNTERS = ("read-records", "write-records", "read-bytes", "write-bytes")


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
