"""The lab's job with tasks that move, and its twin in plain Flink: running them, changing their workers, and what came of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from edrp.engines.clock import SystemClock
from edrp.engines.errors import EngineError
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.engines.flink.migrating.control_log import ControlLog
from edrp.engines.flink.migrating.discovery import LiveJob, LiveReader
from edrp.engines.flink.migrating.driver import Transfer, carry_out
from edrp.engines.flink.migrating.moves import forecasts, task_moves
from edrp.engines.flink.migrating.plan_files import PlannedSteps
from edrp.validation.flink.lab.job import LEAD_MS, ScheduledJob, live_files, program_arguments
from edrp.validation.flink.live.results import SECOND, Results, read_results, tail

MAIN = "edrp.lab.LiveJob"
COUNTER = "counter"
STEP_BYTES, STEP_TASKS = 2_000_000, 8
"""Bytes and tasks that come to a worker in a step at most, as far as one task allows it: the bytes are those that the library
advises for the largest task, and tasks are installed one after the other."""

SECONDS_TO_FILL, SECONDS_TO_DRAIN, QUIET = 120.0, 60.0, 0.4
"""Longest time until all keys have come once, and until what was due has arrived; and how long nothing comes then."""

Mode = Literal["live", "plain"]
Work = Literal["sleep", "compute"]
Change = Callable[[], dict[str, Any]]
"""Makes a change, and returns what is to stand in its row; `seconds` is how long it took."""


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """A live job of the lab, or its twin in plain Flink.

    Attributes
    ----------
    workers, used : parallelism of the counter, and workers that hold tasks at first.
    micros, service : microseconds that a tuple takes, asleep or computing.
    skew, weights : exponent of Zipf's law of the keys, or the number of tuples of each in a cycle.
    state_bytes : of each key.
    tasks, groups : number of tasks, and of key groups.
    checkpoint_interval : seconds; by default so long that only those come that are asked for.
    """

    mode: Mode
    workers: int
    used: int
    micros: float
    service: Work = "compute"
    keys: int = 2400
    skew: float = 0.0
    weights: tuple[int, ...] = ()
    state_bytes: int = 1000
    tasks: int = 240
    groups: int = 240
    checkpoint_interval: float = 600.0

    def arguments(self, folder: Path) -> list[str]:
        """Arguments of the Java program (`LiveJob.java`)."""
        words = {**asdict(self), **live_files(folder), "name": f"{self.mode}-{self.service}"}
        words["checkpoint_ms"] = round(SECOND * words.pop("checkpoint_interval"))
        if words.pop("weights"):
            words["weights"] = folder / "weights.txt"
        return program_arguments(words)


class LiveRun(ScheduledJob):
    """A job that runs."""

    def __init__(self, flink: LocalFlink, settings: LiveSettings) -> None:
        super().__init__(flink, f"{settings.mode}-{settings.service}", MAIN)
        self.results_file = self.folder / "results.txt"
        self.control.touch()
        (self.folder / "weights.txt").write_text("".join(f"{count}\n" for count in settings.weights), encoding="ascii")
        self.start(settings)

    def fill(self, tuples: int, rate: float) -> None:
        """Let so many tuples come, so that every key has its state."""
        begin = now_ms() + LEAD_MS
        self.set_rates([(begin, rate), (begin + round(SECOND * tuples / rate), 0.0)])
        wait_until(lambda: True if len(tail(self.results_file, 0)) >= tuples else None, SECONDS_TO_FILL, "is not filled", "job")

    def restart(self, workers: int) -> None:
        """Stop with a savepoint and start from it with so many workers."""
        self.start(replace(self.settings, workers=workers, used=workers), self.job.stop_with_savepoint())

    def rescale(self, workers: int) -> None:
        """Change the number of workers by Flink's own rescale, with a checkpoint of its own."""
        self.settings = replace(self.settings, workers=workers, used=workers)
        self.job.rescale({COUNTER: workers})

    def reader(self) -> LiveReader:
        """Client that asks the job where its tasks are."""
        return LiveReader(self.flink.address, self.job.key, SystemClock())

    def size(self) -> int:
        """Bytes that the writer has written."""
        return self.results_file.stat().st_size if self.results_file.exists() else 0

    def drain(self) -> None:
        """Wait until nothing comes any more."""
        end, size, since = time.monotonic() + SECONDS_TO_DRAIN, -1, time.monotonic()
        while time.monotonic() - since < QUIET:
            if self.size() != size:
                size, since = self.size(), time.monotonic()
            if time.monotonic() > end:
                raise EngineError(f"job {self.job.key}", f"is not idle within {SECONDS_TO_DRAIN:g} s; is the rate too high?")
            time.sleep(QUIET / 4)


@dataclass(frozen=True, slots=True)
class Windows:
    """Times around a change in seconds.

    Attributes
    ----------
    before : at the rate before it.
    during : least length of what counts as during the change.
    after : at the rate after it.
    """

    before: float = 1.5
    during: float = 1.0
    after: float = 1.0


def measured_change(run: LiveRun, rate: float, prepare: Callable[[], Change], windows: Windows) -> dict[str, Any]:
    """Let tuples come, change the job, and tell latencies of tuples that were due before and during the change, and silences.

    The change is prepared while the job has nothing to do, since a planner on the same processors would slow it down. A
    checkpoint comes before it, so that no way to change finds older state than another. A tuple that is replayed counts when it
    first came. Times are in seconds.
    """
    change = prepare()
    offset = run.size()
    begin = now_ms() + LEAD_MS
    run.set_rates([(begin, rate)])
    run.job.checkpoint()
    time.sleep(max(0.0, begin / SECOND + windows.before - time.time()))
    load, start = os.getloadavg()[0], now_ms()
    facts = change()
    done = start + round(SECOND * facts["seconds"])
    end = max(done, start + round(SECOND * windows.during))
    last = max(end + round(SECOND * windows.after), now_ms() + LEAD_MS)
    run.set_rates([(last, 0.0)])
    time.sleep(last / SECOND - time.time())
    run.drain()
    results = read_results(tail(run.results_file, offset))
    first = start - round(SECOND * windows.before) + LEAD_MS
    return {"load": load, **facts, **_figures(results, (max(begin, first), start, end, last))}


def _figures(results: Results, times: tuple[int, int, int, int]) -> dict[str, Any]:
    """Figures before and during a change, by the times at which both begin and end, and tuples stop."""
    first, start, end, last = times
    before = results.latencies(first, start)
    return {
        "before": before._asdict(),
        "during": results.latencies(start, end)._asdict(),
        "silence": results.silence(start, end),
        "stable": results.stable(start, last, before.max),
        "missing": results.missing,
    }


def timed(change: Callable[[], None]) -> dict[str, Any]:
    """Make a change, and tell how long it took."""
    began = time.monotonic()
    change()
    return {"seconds": time.monotonic() - began}


def live_change(run: LiveRun, pace: int, plan: Callable[[LiveJob], PlannedSteps]) -> Change:
    """Plan from what the job tells now, and return what carries the plan out, with what was predicted and measured of it."""
    reader = run.reader()
    job = reader.discover()
    steps = task_moves(plan(job), job, COUNTER, "plan")
    predicted = forecasts(steps, job, pace)
    installed: list[dict[str, Any]] = []

    def note(kind: str, **facts: Any) -> None:
        if kind == "step":
            installed.append(facts)

    def change() -> dict[str, Any]:
        with ControlLog(run.control) as control:
            carry_out(reader, control, job, steps, "measured", Transfer(pace), note)
        return {
            "steps": len(steps),
            "moves": sum(map(len, steps)),
            "planned": sum(step.seconds for step in predicted),
            "seconds": sum(facts["seconds"] for facts in installed),
            "planned_bytes": sum(step.size for step in predicted),
            "bytes": sum(facts["bytes"] for facts in installed),
            "held": sum(facts["held"] for facts in installed),
            "wait": max(facts["wait"] for facts in installed),
        }

    return change


def plain_change(run: LiveRun, method: str, workers: int) -> Change:
    """Flink's rescale, or a restart from a savepoint."""
    return partial(timed, partial({"rescale": run.rescale, "savepoint": run.restart}[method], workers))


def workers_in_use(job: LiveJob) -> int:
    """Number of workers that hold tasks."""
    return len(set(job.operator(COUNTER, "job").workers))


def move_ins(sizes: Sequence[float]) -> int:
    """Tasks that may come to a worker in a step, for tasks of the mean of these sizes: by `STEP_BYTES` and `STEP_TASKS`.

    >>> move_ins([500_000.0, 500_000.0]), move_ins([3e6]), move_ins([1e3])
    (4, 1, 8)
    """
    return max(1, min(STEP_TASKS, round(STEP_BYTES * len(sizes) / max(sum(sizes), 1.0))))
