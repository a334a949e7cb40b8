"""Response times of the frequent-pattern job after migrations on a real cluster, by window and method (state migration, Fig. 13).

Time is scaled: the 2 minutes after the start of a migration, over which the paper averages, take 5 s, and windows are as much
shorter. A worker sleeps for each change of a pattern, and a link carries so many bytes/s to and from each worker.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.traces.flights import flights
from edrp.datasets.traces.load_series import LoadSeries
from edrp.engines.clock import SystemClock
from edrp.engines.errors import EngineError
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.engines.flink.migrating.control_log import ControlLog, Mode
from edrp.engines.flink.migrating.discovery import InstalledStep, LiveJob, LiveReader, with_work_between
from edrp.engines.flink.migrating.moves import TaskMove
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.validation.flink.lab.job import LEAD_MS
from edrp.validation.flink.lab.patterns import OPERATORS, PatternChange, PatternRun, PatternSettings
from edrp.validation.flink.task_paths import METHODS, SINGLE_STEP, STORM, allowed_pace, moved_share, task_paths, typical_migration

Tell = Callable[[str], None]
Row = dict[str, Any]

PAPER_SECONDS = 120.0
"""Seconds after the start of a migration over which the paper averages response times."""

LOW, HIGH, OUTLIERS = 3, 6, 0.02
"""Range of node counts that departures from New York by hour are normalised to; 8 to 16 as in the paper need more cores."""

MONTH, MAX_MIGRATIONS = 720, 100
"""Hours that transitions are estimated from, and the migrations that follow; those of typical costs are measured."""

RESTART = "restart"
"""Mode of a job that is stopped with a savepoint and started again."""

MODES: tuple[Mode, ...] = ("pause", "live")

FILL_SECONDS, LOAD_SECONDS, QUIET_SECONDS, PATIENCE = 2.0, 3.0, 1.0, 90.0
"""Seconds to fill the window, to measure loads, before each migration, and most seconds until all results are there."""


@dataclass(frozen=True, slots=True)
class ResponseSettings:
    """Setting of a measurement.

    Attributes
    ----------
    windows : seconds of the paper's time.
    seconds : over which results are measured after the start of a migration.
    rate : tweets/s that arrive.
    link : bytes/s to and from each worker.
    tolerance, discount : τ and γ.
    job : settings of the job besides its window, mode and workers.
    """

    windows: tuple[float, ...] = (30.0, 60.0, 90.0, 120.0)
    seconds: float = 5.0
    rate: float = 100.0
    link: float = 1e6
    tolerance: float = 0.2
    discount: float = 0.8
    job: PatternSettings = field(default_factory=lambda: PatternSettings(micros=200, state_bytes=2000, checkpoint_interval=60.0))

    def tweets(self, window: float) -> int:
        """Tweets in a window of so many seconds of the paper's time.

        >>> ResponseSettings(seconds=5, rate=100).tweets(120)
        500
        """
        return round(self.rate * window * self.seconds / PAPER_SECONDS)


class Migration(NamedTuple):
    """A cell of the figure: a window in seconds of the paper's time, a method and how its moves are carried out."""

    round: int
    window: float
    method: str
    mode: str


def cells(settings: ResponseSettings, rounds: int) -> list[Migration]:
    """All cells; windows and methods take turns, and each window in each round starts with another method."""
    ways = [(method, mode) for mode in MODES for method in METHODS if method != STORM]
    found = []
    for number, (place, window) in product(range(rounds), enumerate(settings.windows)):
        first = (number + place) % len(ways)
        turned = ways[first:] + ways[:first]
        found += [Migration(number, window, method, mode) for method, mode in (*turned, (STORM, RESTART))]
    return found


def flight_course() -> tuple[list[int], TransitionMatrix]:
    """Node counts, one after another, in the migrations after a month of departures, and the transitions of that month."""
    loads = LoadSeries("departures", 3600.0, flights().per_bin(3600.0).astype(np.float64))
    counts = loads.node_counts(3600.0, LOW, HIGH, OUTLIERS)
    later = counts[MONTH - 1 :]
    course = later[np.concatenate([[True], np.diff(later) != 0])][: MAX_MIGRATIONS + 1]
    return course.tolist(), TransitionMatrix.estimate(counts[:MONTH], node_counts=range(LOW, HIGH + 1))


@dataclass(frozen=True, slots=True)
class Loads:
    """Measurements of each task over both operators, shape (tasks,): microseconds of work, and bytes."""

    work: Floats
    size: Floats


def measured_loads(before: LiveJob, after: LiveJob, seconds: float, tasks: int) -> Loads:
    """Loads of the tasks between two observations."""
    operators = with_work_between(before, after, seconds).operators
    totals = np.zeros((2, tasks))
    for task, load in (item for name in OPERATORS for item in operators[name].loads.items()):
        totals[:, task] += load.busy, load.size
    return Loads(*totals)


def task_moves(settings: PatternSettings, before: Ints, after: Ints) -> list[TaskMove]:
    """Moves of the tasks of both operators from workers to workers."""
    changed = [(task, *ends) for task, ends in enumerate(zip(before.tolist(), after.tolist(), strict=True)) if ends[0] != ends[1]]
    return [
        TaskMove(operator, task, settings.group(task, old), settings.group(task, new))
        for operator in OPERATORS
        for task, old, new in changed
    ]


def response_row(results: Sequence[PatternChange], begin: int, seconds: float) -> Row:
    """Response times in milliseconds of the results that were due from the start of a migration on, and before it.

    >>> results = [PatternChange(*row, 1, 1, 1) for row in ((90, 80), (130, 100), (150, 140), (9000, 8000))]
    >>> response_row(results, 100, 1.0)
    {'results': 2, 'mean': 20.0, 'median': 20.0, 'p99': 29.8, 'max': 30, 'quiet': 10.0, 'silence': 0.04}
    """
    delays = np.array([result.arrived - result.due for result in results if begin <= result.due < begin + 1000 * seconds])
    quiet = [result.arrived - result.due for result in results if begin - 1000 * QUIET_SECONDS <= result.due < begin]
    arrivals = np.sort([result.arrived for result in results if result.due < begin + 1000 * seconds])
    arrivals = arrivals[max(0, int(np.searchsorted(arrivals, begin)) - 1) :]
    return {
        "results": delays.size,
        "mean": float(delays.mean()),
        "median": float(np.median(delays)),
        "p99": round(float(np.quantile(delays, 0.99)), 1),
        "max": int(delays.max()),
        "quiet": float(np.mean(quiet)) if quiet else None,
        "silence": float(np.diff(arrivals).max(initial=0.0)) / 1000,
    }


class TypicalPlan(NamedTuple):
    """A migration of the course, its numbers of nodes, and the workers of tasks before and after it, by method."""

    migration: int
    nodes: list[int]
    ends: dict[str, tuple[Ints, Ints]]


class TypicalPlans:
    """The migration of each round, planned from the loads of the window that it measures first: the same for all windows."""

    def __init__(self, settings: ResponseSettings) -> None:
        self._settings = settings
        self._course, self._transitions = flight_course()
        self._made: dict[int, TypicalPlan] = {}

    def of_round(self, number: int, loads: Loads) -> TypicalPlan:
        """The plan of a round, from these loads unless it is made."""
        if number not in self._made:
            settings = self._settings
            process = (self._course, self._transitions, settings.tolerance, settings.discount)
            paths = task_paths(loads.work, loads.size, *process, seed=number)
            at = typical_migration(paths, loads.size, number)
            ends = {method: (path[at], path[at + 1]) for method, path in paths.items()}
            self._made[number] = TypicalPlan(at, self._course[at : at + 2], ends)
        return self._made[number]


class Measurement:
    """A job of one window in one round, on a cluster that runs nothing else."""

    def __init__(self, flink: LocalFlink, settings: ResponseSettings, window: float, job: PatternSettings) -> None:
        self._settings = settings
        self.run = PatternRun(flink, replace(job, window=settings.tweets(window)))
        begin = now_ms() + LEAD_MS
        filled = begin + round(1000 * FILL_SECONDS)
        self.run.set_rates([(begin, self.run.settings.window / FILL_SECONDS), (filled, 2 * settings.rate)])
        self._reader = LiveReader(flink.address, self.run.job.key, SystemClock())
        time.sleep(max(0.0, (filled - now_ms()) / 1000) + QUIET_SECONDS)

    def loads(self) -> Loads:
        """Loads of the tasks of a live job, whose tasks can be moved from then on."""
        before, began = self._reader.discover(), time.monotonic()
        time.sleep(LOAD_SECONDS)
        return measured_loads(before, self._reader.discover(), time.monotonic() - began, self.run.settings.tasks)

    def move(self, before: Ints, after: Ints, pace: float, mode: Mode) -> tuple[int, InstalledStep | None]:
        """Move tasks in one step, and wait until all are installed: when it began, and what the job tells of it."""
        begin = now_ms()
        moves = task_moves(self.run.settings, before, after)
        if not moves:
            return begin, None
        with ControlLog(self.run.control) as log:
            key = log.append_plan([moves], "fig13", round(pace), mode).key

        def look() -> InstalledStep | None:
            _, plan, steps = self._reader.control_state()
            if plan is None or plan.plan != key or not plan.over:
                return None
            if plan.state != "done" or (0 in steps and steps[0].refused):
                raise EngineError("the job", f"has not carried out a plan: {plan.state}")
            return steps.get(0)

        return begin, wait_until(look, PATIENCE, "has not installed a step", "the job")

    def responses(self, begin: int) -> Row:
        """Wait for all results that are due within the time, and measure them."""
        end = begin + round(1000 * self._settings.seconds)
        time.sleep(max(0.0, (end - now_ms()) / 1000))
        results = self.run.results
        wait_until(lambda: any(one.due >= end for one in results()) or None, PATIENCE, "has not caught up", "the job")
        time.sleep(0.2)  # of all workers
        return response_row(list(results()), begin, self._settings.seconds)


def measure(settings: ResponseSettings, rounds: int, done: Collection[Migration], tell: Tell) -> Iterator[Row]:
    """Measure all cells that are not done, each as a row, on one cluster."""
    missing = [cell for cell in cells(settings, rounds) if cell not in done]
    if not missing:
        return
    plans = TypicalPlans(settings)
    with LocalFlink({"a": 2, "b": 2, "c": 2}) as flink:
        for number, window in dict.fromkeys((cell.round, cell.window) for cell in missing):
            group = [cell for cell in missing if (cell.round, cell.window) == (number, window)]
            try:
                yield from _measure_group(flink, settings, group, plans, tell)
            except (EngineError, InvalidInstanceError) as error:  # a machine that stalls loses these rows, which is said
                tell(f"round {number}, window {window:g} s: {error}")
                for job in flink.rest.get("/jobs/overview")["jobs"]:
                    if job["state"] in ("RUNNING", "RESTARTING", "CREATED"):
                        flink.rest.patch(f"/jobs/{job['jid']}")


def _measure_group(
    flink: LocalFlink, settings: ResponseSettings, group: Sequence[Migration], plans: TypicalPlans, tell: Tell
) -> Iterator[Row]:
    """The cells of one round and window: one live job for all methods but Storm's, whose plan needs the same loads."""
    number, window = group[0].round, group[0].window
    live = Measurement(flink, settings, window, replace(settings.job, mode="live", workers=HIGH, used=HIGH))
    loads = live.loads()
    at, nodes, ends = plans.of_round(number, loads)
    tell(f"round {number}, window {window:g} s: {nodes[0]} → {nodes[1]} nodes, {loads.size.sum() / 1e6:.1f} MB of state")
    shared = {"nodes": nodes, "migration": at, "bytes": round(float(loads.size.sum())), "tweets": live.run.settings.window}
    shared |= {"seconds": settings.seconds, "rate": settings.rate, "link": settings.link}
    table = np.array(live.run.settings.first_workers())
    warm_up: tuple[tuple[Ints, Mode], ...] = ((ends[SINGLE_STEP][1], "pause"), (ends[SINGLE_STEP][0], "live"))
    for workers, mode in warm_up:  # the first moves of a job wait for classes, and for arrays to grow
        live.move(table, workers, 0.0, mode)
        table = workers
    for cell in (cell for cell in group if cell.method != STORM):
        mode = "pause" if cell.mode == "pause" else "live"
        before, after = ends[cell.method]
        live.move(table, before, 0.0, "live")
        time.sleep(QUIET_SECONDS)
        begin, step = live.move(before, after, allowed_pace(before, after, loads.size, settings.link), mode)
        table = after
        yield _row(cell, shared, live.responses(begin), moved_share(before, after, loads.size), step)
    live.run.job.cancel()
    if any(cell.method == STORM for cell in group):
        yield _measure_restart(flink, settings, group[-1], ends[STORM], loads, shared)


def _measure_restart(
    flink: LocalFlink,
    settings: ResponseSettings,
    cell: Migration,
    ends: tuple[Ints, Ints],
    loads: Loads,
    shared: Mapping[str, Any],
) -> Row:
    """A plain job whose key groups are the tasks: Flink gives each worker as many neighbouring ones, as Storm does.

    All states go to a file server and back over the links, as in the paper; a disk here is faster, so that time is waited for.
    """
    before, after = (int(workers.max()) + 1 for workers in ends)
    job = replace(settings.job, mode="plain", groups=settings.job.tasks, workers=before)
    plain = Measurement(flink, settings, cell.window, job)
    seconds = sum(float(np.bincount(workers, loads.size).max()) for workers in ends) / settings.link
    begin = now_ms()
    plain.run.restart(replace(plain.run.settings, workers=after), seconds)
    row = _row(cell, shared, plain.responses(begin), moved_share(*ends, loads.size), None, seconds)
    plain.run.job.cancel()
    return row


def _row(
    cell: Migration,
    shared: Mapping[str, Any],
    responses: Row,
    share: float,
    step: InstalledStep | None,
    link: float | None = None,
) -> Row:
    """A row with the same fields for all methods: what a restart does not know is None, as is the time on links of live moves."""
    seconds, size, held, wait, _ = step or (None,) * len(InstalledStep._fields)
    moved = {"move_seconds": seconds, "moved_bytes": size, "held": held, "wait": wait, "link_seconds": link}
    machine = {"load": os.getloadavg()[0], "at": time.time()}
    return {"experiment": "windows", **cell._asdict(), **shared, "moved_share": share, **responses, **moved, **machine}
