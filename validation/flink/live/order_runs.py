"""The same moves in several orders by the same executor, on keys by Zipf's law and on flights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from edrp.datasets.traces.flights import flights
from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.migrating.discovery import LiveJob
from edrp.engines.flink.migrating.moves import state_size
from edrp.engines.flink.migrating.plan_files import PlannedMove, PlannedSteps
from edrp.validation.flink.live.orders import ORDERS, even_ranges, task_transfers
from edrp.validation.flink.live.running import (
    COUNTER,
    LiveRun,
    LiveSettings,
    Windows,
    live_change,
    measured_change,
    workers_in_use,
)

Workload = Literal["zipf", "flights"]

NODES = ("tm-a", "tm-b", "tm-c")
HEAP = 400
"""Mebibytes of a TaskManager."""

STATE = 40_000_000
"""Bytes of a job's state."""

PACE = 8_000_000
"""Bytes/s that a worker sends: slow enough that the order is felt."""

MOST = 200
"""Flights of the most frequent key in a cycle; the others in proportion."""

WINDOWS = Windows(before=2.0, during=0.5, after=2.5)


@dataclass(frozen=True, slots=True)
class Setting:
    """A workload, in a setting of DRRS's experiments.

    Attributes
    ----------
    workers : fewest and most owners of tasks.
    tasks : as many as key groups.
    rate, micros : tuples/s, and microseconds of each, asleep: most workers are on few cores.
    weights : tuples of each key in a cycle; empty for Zipf's law with the exponent `skew`.
    """

    workers: tuple[int, int]
    tasks: int
    rate: float
    micros: float
    keys: int
    skew: float = 0.0
    weights: tuple[int, ...] = ()

    @property
    def cycle(self) -> int:
        """Tuples after which every key has come."""
        return sum(self.weights) or sum(max(1, round(1000 * (key + 1) ** -self.skew)) for key in range(self.keys))


class OrderTurn(NamedTuple):
    """A change that is to be measured."""

    workload: Workload
    round: int
    order: str


def setting(workload: Workload) -> Setting:
    """25 to 30 owners of 256 tasks with Zipf's exponent 1.5, or 8 to 12 of 128 with the routes of flights as keys.

    Raises
    ------
    BackendUnavailableError
        The package with the flights is not installed.
    """
    if workload == "zipf":
        return Setting((25, 30), 256, rate=300.0, micros=1000.0, keys=2560, skew=1.5)
    weights = flight_weights()
    return Setting((8, 12), 128, rate=300.0, micros=1000.0, keys=len(weights), weights=weights)


def flight_weights() -> tuple[int, ...]:
    """Departures of each route in a year, in proportion; at most `MOST`, at least one."""
    counts = np.bincount(flights("route").key)
    return tuple(int(max(1, count)) for count in np.rint(counts * MOST / counts.max()))


def order_turns(workload: Workload, rounds: int) -> list[OrderTurn]:
    """All changes, in order: out and back in turn, so that an order has the other direction in the next round.

    >>> [turn.order for turn in order_turns("zipf", 2)][4:6]
    ['batched', 'planned']
    """
    return [OrderTurn(workload, number, name) for number in range(rounds) for name in ORDERS]


def order_runs(
    rounds: int,
    done: Collection[OrderTurn],
    tell: Callable[[str], object] = str,
    workloads: Sequence[Workload] = get_args(Workload),
) -> Iterator[dict[str, Any]]:
    """Rows of all changes that are not done yet, workload after workload."""
    for workload in workloads:
        left = [turn for turn in order_turns(workload, rounds) if turn not in done]
        if not left:
            continue
        tell(f"{workload}: starting a cluster")
        chosen = setting(workload)
        node = LocalNode(-(-chosen.workers[1] // len(NODES)), heap=HEAP)
        with LocalFlink(dict.fromkeys(NODES, node)) as flink:
            run = started(flink, chosen)
            for number, turn in enumerate(left):
                plan = partial(ordered_plan, turn.order, chosen)
                row = measured_change(run, chosen.rate, partial(live_change, run, PACE, plan), WINDOWS)
                tell(f"{workload}, round {turn.round}, {turn.order}: peak {row['during']['max']:.3f} s, load {row['load']:.1f}")
                direction = "back" if number % 2 else "out"
                yield {"experiment": "orders", **turn._asdict(), "workers": list(chosen.workers), "direction": direction, **row}


def started(flink: LocalFlink, chosen: Setting) -> LiveRun:
    """A job with the fewest workers whose state is complete."""
    fewest, most = chosen.workers
    settings = LiveSettings(
        "live",
        most,
        fewest,
        chosen.micros,
        "sleep",
        keys=chosen.keys,
        skew=chosen.skew,
        weights=chosen.weights,
        state_bytes=STATE // chosen.keys,
        tasks=chosen.tasks,
        groups=chosen.tasks,
    )
    run = LiveRun(flink, settings)
    run.fill(chosen.cycle, 2 * chosen.rate)
    return run


def ordered_plan(name: str, chosen: Setting, job: LiveJob) -> PlannedSteps:
    """Tasks go to the even ranges of the other number of workers, as Flink assigns key groups, in an order."""
    counter = job.operator(COUNTER, "job")
    before = counter.workers
    after = even_ranges(counter.tasks, sum(chosen.workers) - workers_in_use(job))
    sizes = [float(state_size(counter, task)) for task in range(counter.tasks)]
    work = [float(counter.loads[task].tuples) if task in counter.loads else 0.0 for task in range(counter.tasks)]
    held = Counter(before)
    steps = ORDERS[name](task_transfers(before, after, sizes, work), [held[worker] for worker in range(counter.parallelism)])
    moves = (tuple(PlannedMove(COUNTER, t.task, t.task + 1, t.source, t.target) for t in step) for step in steps)
    return PlannedSteps(tuple(moves), {}, frozenset(), "orders")
