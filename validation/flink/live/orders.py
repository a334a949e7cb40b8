"""Orders in which the tasks of one migration move, as steps that follow each other: the paper's, and those of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.mdp.transfer.migration_plan import mini_migrations

BATCH = 8
"""Tasks of a batch."""

MIN_SUBSCALE = 7
"""Least number of tasks of a subscale of DRRS, by its program."""

MAX_SUBSCALES = 2
"""Most subscales at a time in which a worker takes part, by DRRS's program."""


class TaskTransfer(NamedTuple):
    """A task that moves between workers.

    Attributes
    ----------
    size : bytes of its state.
    work : what it does, in any unit.
    """

    task: int
    source: int
    target: int
    size: float
    work: float


Steps = list[list[TaskTransfer]]


def task_transfers(
    before: Sequence[int], after: Sequence[int], size: Sequence[float], work: Sequence[float]
) -> list[TaskTransfer]:
    """The tasks that are on another worker after than before, in their order.

    >>> [tuple(transfer) for transfer in task_transfers([0, 0], [0, 1], [8.0, 8.0], [1.0, 2.0])]
    [(1, 0, 1, 8.0, 2.0)]
    """
    rows = zip(range(len(before)), before, after, size, work, strict=True)
    return [TaskTransfer(*row) for row in rows if row[1] != row[2]]


def even_ranges(tasks: int, workers: int) -> list[int]:
    """Worker of each task where all have equally many neighbouring ones, as key groups of Flink.

    >>> even_ranges(5, 2)
    [0, 0, 0, 1, 1]
    """
    return [task * workers // tasks for task in range(tasks)]


def planned(transfers: Sequence[TaskTransfer], held: Sequence[int]) -> Steps:
    """The mini-migrations of the paper: one task comes to a worker in a step, in as few steps as there can be."""
    return planned_by(transfers, 1)


def planned_by(transfers: Sequence[TaskTransfer], max_move_ins: int) -> Steps:
    """Mini-migrations of at most so many tasks to a worker, even in bytes, ordered so that no worker is overloaded meanwhile."""
    if not transfers:
        return []
    _, old, new, size, work = map(np.asarray, zip(*transfers, strict=True))
    rows = mini_migrations(old, new, max_move_ins, size, work)
    return [[transfers[i] for i in np.flatnonzero(before != after).tolist()] for before, after in pairwise(rows)]


def sudden(transfers: Sequence[TaskTransfer], held: Sequence[int]) -> Steps:
    """Megaphone's all at once."""
    return [list(transfers)] if transfers else []


def fluid(transfers: Sequence[TaskTransfer], held: Sequence[int]) -> Steps:
    """Megaphone's one after the other."""
    return [[transfer] for transfer in transfers]


def batched(transfers: Sequence[TaskTransfer], held: Sequence[int]) -> Steps:
    """Megaphone's batches of tasks, one batch after the other."""
    return [list(transfers[first : first + BATCH]) for first in range(0, len(transfers), BATCH)]


def greedy(transfers: Sequence[TaskTransfer], held: Sequence[int]) -> Steps:
    """DRRS's order by numbers of tasks: workers that hold the fewest are served first, so that new ones work soon.

    What moves between two workers is cut into subscales. As long as a worker is free, that with the fewest tasks takes part in a
    subscale of the pair that has most of them left; a worker takes part in two at most. DRRS starts the next subscale when one
    is over; here a step is what may run at the same time.

    Parameters
    ----------
    held
        Number of tasks that each worker holds before.
    """
    waiting = subscales(transfers)
    count = Counter(dict(enumerate(held)))
    steps = []
    while waiting:
        step: list[TaskTransfer] = []
        busy: Counter[int] = Counter()
        while (pair := _next_pair(waiting, count, busy)) is not None:
            chosen = waiting[pair].pop(0)
            if not waiting[pair]:
                del waiting[pair]
            step += chosen
            busy.update(pair)
            count[pair[0]] -= len(chosen)
            count[pair[1]] += len(chosen)
        steps.append(step)
    return steps


def subscales(transfers: Iterable[TaskTransfer]) -> dict[tuple[int, int], Steps]:
    """Tasks that move between each two workers, in parts of about half of what it is on the mean, and of at least seven tasks."""
    moves: dict[tuple[int, int], list[TaskTransfer]] = {}
    for transfer in transfers:
        moves.setdefault((transfer.source, transfer.target), []).append(transfer)
    if not moves:
        return {}
    least = max(MIN_SUBSCALE, sum(map(len, moves.values())) // len(moves) // 2)
    parts = {}
    for pair, listed in moves.items():
        count = max(1, len(listed) // least)
        ends = [len(listed) * number // count for number in range(count + 1)]
        parts[pair] = [listed[first:end] for first, end in pairwise(ends)]
    return parts


def _next_pair(waiting: dict[tuple[int, int], Steps], count: Counter[int], busy: Counter[int]) -> tuple[int, int] | None:
    """The pair of which a subscale may run now: of the worker with the fewest tasks the one with most subscales left."""
    possible = [pair for pair in waiting if all(busy[end] < MAX_SUBSCALES for end in pair)]
    if not possible:
        return None
    poorest = min({end for pair in possible for end in pair}, key=lambda worker: (count[worker], worker))
    return max((pair for pair in possible if poorest in pair), key=lambda pair: len(waiting[pair]))


Order = Callable[[Sequence[TaskTransfer], Sequence[int]], Steps]

ORDERS: dict[str, Order] = {"planned": planned, "greedy": greedy, "sudden": sudden, "fluid": fluid, "batched": batched}
"""Orders by name; each takes what moves, and how many tasks every worker holds before."""
