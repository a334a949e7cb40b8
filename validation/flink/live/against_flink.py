"""Live migration against Flink's rescale and a restart from a savepoint: two workers to three and back, in turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.migrating.discovery import LiveJob
from edrp.engines.flink.migrating.moves import state_size
from edrp.engines.flink.migrating.plan_files import PlannedSteps
from edrp.engines.flink.migrating.planning import PlanWish, plan_from_loads
from edrp.validation.flink.live.running import (
    COUNTER,
    Change,
    LiveRun,
    LiveSettings,
    Mode,
    Windows,
    Work,
    live_change,
    measured_change,
    move_ins,
    plain_change,
    workers_in_use,
)

METHODS = ("live", "rescale", "savepoint")
WORKERS = (2, 3)
SERVICES: tuple[Work, ...] = ("compute", "sleep")
KEYS, MEGABYTE = 2400, 1_000_000
RATE, MICROS, FILL_RATE = 300.0, 1000.0, 1200.0
"""Tuples/s, microseconds of each, and tuples/s until every key has come once."""

PACE = 20_000_000
"""Bytes/s that a worker sends."""

TOLERANCE = 0.05
"""Work of the busiest worker above the mean that plans allow."""

NODES = ("tm-a", "tm-b", "tm-c")
HEAP, HEAP_PER_STATE = 192, 4
"""Mebibytes of a TaskManager, and further ones for each megabyte of state: it may hold all of it, twice, and a copy to send."""


class Turn(NamedTuple):
    """A change that is to be measured."""

    megabytes: int
    round: int
    service: Work
    method: str


@dataclass(frozen=True, slots=True)
class AgainstSettings:
    """Settings of the comparison.

    Attributes
    ----------
    megabytes : state of a job, one series of rounds for each.
    rounds : of each series; each way to change is measured once in a round, and two rounds have the same service.
    backend : Flink's name of the state backend.
    """

    megabytes: Sequence[int] = (10, 100, 400)
    rounds: int = 12
    backend: str = "hashmap"
    windows: Windows = field(default_factory=Windows)


def turns(megabytes: int, rounds: int) -> list[Turn]:
    """All changes of a series, in order: the ways to change take turns at being the first, and so do services, every two rounds.

    >>> [tuple(turn[2:]) for turn in turns(10, 1)]
    [('compute', 'live'), ('compute', 'rescale'), ('compute', 'savepoint')]
    """
    listed = []
    for number in range(rounds):
        first = number % len(METHODS)
        service = SERVICES[number // 2 % len(SERVICES)]
        listed += [Turn(megabytes, number, service, method) for method in METHODS[first:] + METHODS[:first]]
    return listed


def against_flink(
    settings: AgainstSettings, done: Collection[Turn], tell: Callable[[str], object] = str
) -> Iterator[dict[str, Any]]:
    """Rows of all changes that are not done yet, series after series on two clusters each."""
    for megabytes in settings.megabytes:
        left = [turn for turn in turns(megabytes, settings.rounds) if turn not in done]
        if left:
            tell(f"{megabytes} MB: starting two clusters")
            yield from _series(settings, left, tell)


def _series(settings: AgainstSettings, left: Sequence[Turn], tell: Callable[[str], object]) -> Iterator[dict[str, Any]]:
    """Live jobs on one cluster, their plain twins on another; those whose turn it is not have nothing to do."""
    megabytes = left[0].megabytes
    node = LocalNode(2, heap=HEAP + HEAP_PER_STATE * megabytes)
    options = {"state.backend.type": settings.backend}
    services = dict.fromkeys(turn.service for turn in left)
    with (
        LocalFlink(dict.fromkeys(NODES, node), settings=options) as live,
        LocalFlink(dict.fromkeys(NODES, node), settings=options) as plain,
    ):
        runs = {}
        for service in services:
            runs[service, True] = _started(live, True, service, megabytes)
            runs[service, False] = _started(plain, False, service, megabytes)
        changes: dict[tuple[Work, str], int] = {}
        for turn in left:
            run = runs[turn.service, turn.method == "live"]
            number = changes[turn.service, turn.method] = changes.get((turn.service, turn.method), -1) + 1
            row = measured_change(run, RATE, partial(_change, run, turn.method), settings.windows)
            named = {"experiment": "against", **turn._asdict(), "backend": settings.backend, "change": number}
            what = f"{megabytes} MB, round {turn.round}, {turn.service}, {turn.method}"
            tell(f"{what}: silence {row['silence']:.3f} s, load {row['load']:.1f}")
            yield named | row


def _started(flink: LocalFlink, live: bool, service: Work, megabytes: int) -> LiveRun:
    """A job with two workers whose state is complete."""
    fewest, most = WORKERS
    workers, state_bytes = most if live else fewest, megabytes * MEGABYTE // KEYS
    mode: Mode = "live" if live else "plain"
    run = LiveRun(flink, LiveSettings(mode, workers, fewest, MICROS, service, keys=KEYS, state_bytes=state_bytes))
    run.fill(KEYS, FILL_RATE)
    return run


def _change(run: LiveRun, method: str) -> Change:
    """The change to the other number of workers."""
    if method == "live":
        return live_change(run, PACE, lambda job: least_moves(job, sum(WORKERS) - workers_in_use(job), PACE))
    return plain_change(run, method, sum(WORKERS) - run.settings.workers)


def least_moves(job: LiveJob, workers: int, pace: int) -> PlannedSteps:
    """The optimal single-step migration to so many workers, in mini-migrations by `move_ins`."""
    counter = job.operator(COUNTER, "job")
    sizes = [float(state_size(counter, task)) for task in range(counter.tasks)]
    wish = PlanWish("ssm", {"": workers}, tolerance=TOLERANCE, max_move_ins=move_ins(sizes))
    return plan_from_loads(job, wish, COUNTER, pace, "plan").steps
