"""Fig. 15 of the paper: mean response time by minute when ten workers become eight in minute 7, under three ways to change."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.engines.clock import SystemClock
from edrp.engines.errors import EngineError
from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.migrating.control_log import ControlLog
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.engines.flink.migrating.driver import Transfer, carry_out
from edrp.engines.flink.migrating.moves import state_size, task_moves
from edrp.engines.flink.migrating.planning import PlanWish, plan_from_loads
from edrp.validation.flink.lab.job import LEAD_MS
from edrp.validation.flink.live.run import LiveJobSettings, LiveRun

METHODS = ("live", "rescale", "savepoint")
COUNTER = "counter"
WORKERS = (10, 8)
MINUTES, CHANGE_MINUTE = 12, 7
MINUTE = 6.0
"""Seconds into which a minute of the paper is compressed; what a change takes is not."""

NODES = dict.fromkeys(("tm-a", "tm-b"), LocalNode(5, heap=700))
KEYS, STATE = 2400, 100_000_000
RATE, MICROS, FILL_RATE = 500.0, 4000, 1000.0
"""Tuples/s, microseconds of each, asleep, and tuples/s until every key has come once."""

JOB = LiveJobSettings(
    keys=KEYS,
    state_bytes=STATE // KEYS,
    tasks=240,
    groups=240,
    workers=WORKERS[0],
    used=WORKERS[0],
    rate=0,
    micros=MICROS,
    checkpoint_ms=600_000,  # only those come that are asked for
)

PACE = 20_000_000
"""Bytes/s that a worker sends."""

TOLERANCE = 0.05
"""Work of the busiest worker above the mean that plans allow."""

STEP_BYTES, STEP_TASKS = 2_000_000, 8
"""Bytes and tasks that come to a worker in a step at most, as far as one task allows it: the bytes are those that the library
advises for the largest task, and tasks are installed one after the other."""

SECONDS_TO_DRAIN, QUIET = 60.0, 0.4
"""Longest time until what was due has arrived, and how long nothing comes then."""


class ResponseTurn(NamedTuple):
    """A run that is to be made."""

    round: int
    method: str


def response_times(
    rounds: int = 1, minute: float = MINUTE, done: Collection[ResponseTurn] = (), tell: Callable[[str], object] = str
) -> Iterator[dict[str, Any]]:
    """Rows of all runs that are not made yet, one after the other, each on a cluster of its own.

    Parameters
    ----------
    minute
        Seconds into which a minute is compressed.
    """
    for number in range(rounds):
        for method in METHODS[number % 3 :] + METHODS[: number % 3]:
            turn = ResponseTurn(number, method)
            if turn not in done:
                tell(f"round {number}, {method}: {MINUTES} minutes of {minute:g} s")
                with LocalFlink(NODES) as flink:
                    row = {"experiment": "response", **turn._asdict(), **_run(flink, method, minute)}
                mean = row["minutes"][str(CHANGE_MINUTE)]["mean"]
                tell(f"minute {CHANGE_MINUTE}: {1000 * mean:.1f} ms, load {row['load']:.1f}")
                yield row


def _run(flink: LocalFlink, method: str, minute: float) -> dict[str, Any]:
    """Twelve minutes, with the change when the seventh begins."""
    mode = "live" if method == "live" else "plain"
    run = LiveRun(flink, replace(JOB, more={"mode": mode, "service": "sleep", "name": f"{mode}-sleep"}))
    begin = now_ms() + LEAD_MS
    run.set_rates([(begin, FILL_RATE), (begin + round(1000 * KEYS / FILL_RATE), 0.0)])
    run.wait_for_results(KEYS)
    run.job.checkpoint()
    change = _live_change(run) if method == "live" else partial(_plain_change, run, method)
    offset, begin = _size(run.results), now_ms() + LEAD_MS
    moment = begin + round((CHANGE_MINUTE - 1) * minute * 1000)
    end = begin + round(MINUTES * minute * 1000)
    run.set_rates([(begin, RATE), (end, 0.0)])
    time.sleep(max(0.0, moment / 1000 - time.time()))
    load, facts = os.getloadavg()[0], change()
    time.sleep(max(0.0, end / 1000 - time.time()))
    _drain(run)
    with run.results.open("rb") as file:
        file.seek(offset)
        results = read_results(file.read().decode("ascii", "replace").splitlines(keepends=True))
    minutes = {str(number): figures._asdict() for number, figures in results.by_minute(begin, minute, MINUTES).items()}
    return {"minute": minute, "workers": list(WORKERS), "load": load, **facts, "missing": results.missing, "minutes": minutes}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _drain(run: LiveRun) -> None:
    end, size, since = time.monotonic() + SECONDS_TO_DRAIN, -1, time.monotonic()
    while time.monotonic() - since < QUIET:
        if _size(run.results) != size:
            size, since = _size(run.results), time.monotonic()
        if time.monotonic() > end:
            raise EngineError(f"job {run.job.key}", f"is not idle within {SECONDS_TO_DRAIN:g} s; is the rate too high?")
        time.sleep(QUIET / 4)


def _live_change(run: LiveRun) -> Callable[[], dict[str, Any]]:
    """Plan the optimal single-step migration in mini-migrations from what the job tells now; what carries the plan out.

    It is planned beforehand, since a planner on the same processors would slow the job down.
    """
    reader = LiveReader(run.flink.address, run.job.key, SystemClock())
    job = reader.discover()
    counter = job.operator(COUNTER, "job")
    sizes = [float(state_size(counter, task)) for task in range(counter.tasks)]
    wish = PlanWish("ssm", {"": WORKERS[1]}, tolerance=TOLERANCE, max_move_ins=move_ins(sizes))
    steps = task_moves(plan_from_loads(job, wish, COUNTER, PACE, "plan").steps, job, COUNTER, "plan")
    installed: list[dict[str, Any]] = []

    def note(kind: str, **facts: Any) -> None:
        if kind == "step":
            installed.append(facts)

    def change() -> dict[str, Any]:
        with ControlLog(run.control) as control:
            carry_out(reader, control, job, steps, "measured", Transfer(PACE), note)
        totals = {name: sum(facts[name] for facts in installed) for name in ("seconds", "bytes", "held")}
        return {"steps": len(steps), "moves": sum(map(len, steps)), **totals}

    return change


def _plain_change(run: LiveRun, method: str) -> dict[str, Any]:
    """Flink's rescale with a checkpoint of its own, or a restart from a savepoint."""
    began = time.monotonic()
    if method == "rescale":
        run.job.rescale({COUNTER: WORKERS[1]})
    else:
        run.start(replace(run.settings, workers=WORKERS[1], used=WORKERS[1]), run.job.stop_with_savepoint())
    return {"seconds": time.monotonic() - began}


def move_ins(sizes: list[float]) -> int:
    """Tasks that may come to a worker in a step, for tasks of the mean of these sizes: by `STEP_BYTES` and `STEP_TASKS`.

    >>> move_ins([500_000.0, 500_000.0]), move_ins([3e6]), move_ins([1e3])
    (4, 1, 8)
    """
    return max(1, min(STEP_TASKS, round(STEP_BYTES * len(sizes) / max(sum(sizes), 1.0))))


class Latencies(NamedTuple):
    """Latencies of tuples in seconds; all 0 where there are no tuples."""

    tuples: int = 0
    mean: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0


@dataclass(frozen=True, slots=True)
class Results:
    """First arrivals of tuples, in order of time.

    Attributes
    ----------
    arrived, due : shape (tuples,), milliseconds since 1970.
    missing : tuples that have not come though a later one of their key has.
    """

    arrived: Ints
    due: Ints
    missing: int

    def by_minute(self, begin: int, minute: float, minutes: int) -> dict[int, Latencies]:
        """Latencies of tuples by the minute in which they were due, from minute 1 on; a minute lasts `minute` seconds."""
        edges = [begin + round(number * minute * 1000) for number in range(minutes + 1)]
        return {number + 1: self.latencies(edges[number], edges[number + 1]) for number in range(minutes)}

    def latencies(self, first: int, end: int) -> Latencies:
        """Latencies of tuples that were due in a time, [first, end) in milliseconds since 1970."""
        seconds = (self.arrived - self.due)[(self.due >= first) & (self.due < end)] / 1000
        if not seconds.size:
            return Latencies()
        median, high = np.quantile(seconds, [0.5, 0.99], method="higher")
        return Latencies(seconds.size, float(seconds.mean()), float(median), float(high), float(seconds.max()))


def read_results(lines: Iterable[str]) -> Results:
    r"""Read lines "arrived due key number chain"; the first arrival of a tuple counts, and a line that is cut off does not.

    >>> results = read_results(["105 100 0 1 1\n", "125 110 0 3 1\n", "130 100 0 1 1\n", "140 12"])
    >>> results.arrived.tolist(), results.due.tolist(), results.missing
    ([105, 125], [100, 110], 1)
    """
    first: dict[tuple[int, int], tuple[int, int]] = {}
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    for line in lines:
        words = line.split()
        if len(words) == 5 and line.endswith("\n"):
            arrived, due, key, number = map(int, words[:4])
            first.setdefault((key, number), (arrived, due))
    for key, number in first:
        numbers[key].append(number)
    times = np.array(sorted(first.values()), np.int64).reshape(-1, 2)
    missing = sum(max(listed) - min(listed) + 1 - len(listed) for listed in numbers.values())
    return Results(times[:, 0], times[:, 1], missing)
