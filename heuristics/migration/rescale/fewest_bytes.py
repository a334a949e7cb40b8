"""Ranges for replicas whose nodes are given, such that the fewest bytes move (state migration, section 3, with several seats)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.kernels import inner_loop
from edrp.core.late_imports import optimize
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.deployment import even_boundaries

MAX_REORDERED_REPLICAS = 12
"""Number of replicas above which only neighbours trade ranges when their order is improved."""

MAX_ORDERING_CELLS = 20_000_000
"""Replicas × tasks above which boundaries are balanced without regard to bytes."""

TRADE_UNITS = 5e-9
"""Units of work per task and replica, for each trade of ranges that is tried."""

TRADE_PASSES = 3
SHARE_HALVINGS = 60
"""Halvings of the range of the largest stable share: more than the precision of a float."""


def largest_share(arrays: KeyedArrays, index: int, replicas: int) -> float:
    """Largest stable share of the load of one of `replicas` replicas, within the problem's tolerance."""
    problem, operator = arrays.problem, arrays.operator(index)
    load = float(arrays.compiled.load[index])
    max_share = 1.0 if problem.tolerance is None else min(1.0, (1 + problem.tolerance) / replicas)
    if problem.is_stable(operator, load * max_share, replicas):
        return max_share
    low, high = 0.0, max_share
    for _ in range(SHARE_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if problem.is_stable(operator, load * middle, replicas) else (low, middle)
    return low


def ranges_on(
    arrays: KeyedArrays, index: int, nodes: list[int], tolerance: float, *, by_number: bool = False
) -> list[tuple[int, int, int]] | None:
    """Node, first task and end of each replica of an operator on these nodes; None where no split keeps to the loads.

    Parameters
    ----------
    tolerance
        How much more than the average a replica may have, next to what the problem demands.
    by_number
        Whether replicas hold at most ⌈m/r⌉ tasks instead, whatever their work.
    """
    tasks, replicas = arrays.tasks[index], len(nodes)
    if not tasks.count:
        return [(u, 0, 0) for u in sorted(nodes)]
    if arrays.problem.ranges == "even":
        return matched_ranges(tasks.held_before, even_boundaries(tasks.count, replicas), nodes)
    work = np.arange(tasks.count + 1.0) if by_number else tasks.work_before
    limit = float(-(-tasks.count // replicas))
    if not by_number:
        share = min(largest_share(arrays, index, replicas), (1 + tolerance) / replicas)
        limit = share * float(work[-1]) * (1 + EQUAL_LOADS)
    if replicas * tasks.count > MAX_ORDERING_CELLS:
        ends = np.searchsorted(work, work[-1] * np.arange(replicas + 1) / replicas)
        fits = (np.diff(ends) > 0).all() and (np.diff(work[ends]) <= limit).all()
        return matched_ranges(tasks.held_before, ends.tolist(), nodes) if fits else None
    trades = replicas * (replicas if replicas <= MAX_REORDERED_REPLICAS else 2)
    spend(TRADE_UNITS * (1 + trades) * tasks.count * replicas)
    seats = _nodes_in_task_order(tasks.held_before, nodes)
    boundaries = np.zeros(replicas + 1, np.int64)
    gain, choice = np.zeros((2, tasks.count + 1)), np.zeros((replicas + 1, tasks.count + 1), np.int64)
    queue = np.zeros(tasks.count + 1, np.int64)
    if not order_replicas(work, tasks.held_before, seats, limit, boundaries, gain, choice, queue):
        return None
    return [(int(u), int(a), int(b)) for u, a, b in zip(seats, boundaries, boundaries[1:], strict=False)]


def matched_ranges(held_bytes: Floats, ends: list[int], nodes: list[int]) -> list[tuple[int, int, int]]:
    """Match given ranges with given nodes so that the most bytes stay."""
    kept_bytes: Any = np.diff(held_bytes[np.array(ends)], axis=0)[:, nodes]
    rows, columns = optimize.linear_sum_assignment(kept_bytes, maximize=True)
    return [(nodes[column], ends[row], ends[row + 1]) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]


def _nodes_in_task_order(held_bytes: Floats, nodes: list[int]) -> Ints:
    """Sort nodes by the tasks that they hold now; those that hold none come last."""
    inside = np.diff(held_bytes, axis=0)
    position = np.arange(inside.shape[0])
    total = inside.sum(axis=0)
    mean = np.where(total > 0, position @ inside / np.where(total > 0, total, 1.0), math.inf)
    return np.array(sorted(nodes, key=lambda u: (mean[u], u)), np.int64)


@inner_loop
def order_replicas(
    work: np.ndarray,
    held_bytes: np.ndarray,
    seats: np.ndarray,
    limit: float,
    ends: np.ndarray,
    gain: np.ndarray,
    choice: np.ndarray,
    queue: np.ndarray,
) -> bool:
    """Order `seats` (the node of each replica) and set `ends` so that the most bytes stay; False where nothing fits."""
    best = most_kept_bytes(work, held_bytes, seats, limit, ends, gain, choice, queue)
    if best < 0:
        return False
    for _ in range(TRADE_PASSES):
        better = False
        for p in range(seats.size):
            last = seats.size if seats.size <= MAX_REORDERED_REPLICAS else min(seats.size, p + 2)
            for q in range(p + 1, last):
                if seats[p] == seats[q]:
                    continue
                seats[p], seats[q] = seats[q], seats[p]
                kept_bytes = most_kept_bytes(work, held_bytes, seats, limit, ends, gain, choice, queue)
                if kept_bytes > best * (1 + EQUAL_GAINS):
                    best, better = kept_bytes, True
                else:
                    seats[p], seats[q] = seats[q], seats[p]
        if not better:
            break
    most_kept_bytes(work, held_bytes, seats, limit, ends, gain, choice, queue)
    return True


@inner_loop
def most_kept_bytes(
    work: np.ndarray,
    held_bytes: np.ndarray,
    seats: np.ndarray,
    limit: float,
    ends: np.ndarray,
    gain: np.ndarray,
    choice: np.ndarray,
    queue: np.ndarray,
) -> float:
    """Maximum bytes that stay with seats in this order, in O(tasks × seats); sets `ends`; -1 where nothing fits."""
    tasks, replicas = work.size - 1, seats.size
    for b in range(tasks + 1):
        gain[0, b] = -1.0
    gain[0, 0] = 0.0
    for k in range(1, replicas + 1):
        u, before, after = seats[k - 1], (k - 1) % 2, k % 2
        head, tail = 0, 0
        for b in range(tasks + 1):
            # Ends of the range before that come into question, by falling gain, those too far back at the front.
            a = b - 1
            if a >= 0 and gain[before, a] >= 0:
                value = gain[before, a] - held_bytes[a, u]
                while tail > head and gain[before, queue[tail - 1]] - held_bytes[queue[tail - 1], u] <= value:
                    tail -= 1
                queue[tail] = a
                tail += 1
            while tail > head and work[b] - work[queue[head]] > limit:
                head += 1
            gain[after, b] = -1.0
            if tail > head:
                gain[after, b] = max(0.0, gain[before, queue[head]] + held_bytes[b, u] - held_bytes[queue[head], u])
                choice[k, b] = queue[head]
    if gain[replicas % 2, tasks] < 0:
        return -1.0
    ends[replicas] = tasks
    for k in range(replicas, 0, -1):
        ends[k - 1] = choice[k, ends[k]]
    return gain[replicas % 2, tasks]
