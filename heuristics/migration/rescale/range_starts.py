"""Replicas to start searches from: current ones, few to many stable ones, and fewest bytes on given nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend, units_left
from edrp.core.kernels import inner_loop
from edrp.core.late_imports import optimize
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS, EQUAL_VIOLATIONS, LIMIT_SLACK
from edrp.heuristics.migration.rescale.range_arrays import Replicas
from edrp.heuristics.note_wording import judged_answer
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.documents import KeyedDeployment, even_boundaries, packed, possible_replicas
from edrp.placement.deployment import Deployment

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


PLACED_REPLICA_UNITS = 3e-5
"""Units of work per replica that is placed."""

TOLERANCES = (0.05, 0.1, 0.2, 0.4, 0.8, 1e9)
"""Tolerances of the load over the average that are tried with the fewest bytes; the last one sets no limit."""


def evaluated_answer(arrays: KeyedArrays, replicas: Replicas, stopped: StoppedBecause, name: str) -> Answer:
    """Build an answer from replicas: feasible if the evaluator confirms it, else none."""
    return judged_answer(arrays.problem, arrays.deployment(replicas), name, stopped)


def present_start(arrays: KeyedArrays, deployment: KeyedDeployment | None) -> Replicas | None:
    """Convert a given deployment into replicas; even ranges go to the nodes that hold most of them."""
    replicas = None if deployment is None else arrays.replicas(deployment)
    if replicas is None:
        return None
    compiled = arrays.compiled
    for index, ranges in enumerate(replicas):
        max_replicas, allowed = int(compiled.max_replicas[index]), compiled.candidate[index]
        if not compiled.min_replicas[index] <= len(ranges) <= max_replicas or not all(allowed[u] for u, _, _ in ranges):
            return None
        if arrays.problem.ranges == "even" and arrays.tasks[index].count:
            ends = even_boundaries(arrays.tasks[index].count, len(ranges))
            replicas[index] = [(u, a, b) for (u, _, _), a, b in zip(ranges, ends, ends[1:], strict=False)]
    return replicas


def packed_start(arrays: KeyedArrays, share: float) -> Replicas | None:
    """Make a start between the fewest and the most stable replicas, on nodes with room; None where none is stable.

    Parameters
    ----------
    share
        0 for the fewest, 1 for the most.
    """
    free, replicas = arrays.compiled.capacity.copy(), Replicas()
    for index in range(len(arrays.tasks)):
        look("the starts of the search")
        possible = possible_replicas(arrays.problem, arrays.operator(index))
        if not possible:
            return None
        number = possible[round(share * (len(possible) - 1))]
        nodes = _nodes_with_room(arrays, index, number, free, replicas)
        ends = boundaries(arrays, index, number)
        replicas.append([(u, a, b) for u, a, b in zip(nodes, ends, ends[1:], strict=False)])
    return replicas


def boundaries(arrays: KeyedArrays, index: int, replicas: int) -> list[int]:
    """Boundaries of stable ranges, as long as possible from the left, the heaviest halved; even ones if demanded."""
    tasks, operator = arrays.tasks[index], arrays.operator(index)
    if not tasks.count:
        return [0] * (replicas + 1)
    if arrays.problem.ranges == "even":
        return even_boundaries(tasks.count, replicas)
    ends = packed(arrays.problem, operator, replicas)
    while len(ends) - 1 < replicas:  # the range with the most work that can be halved is
        work = tasks.work_before
        widest = max(
            (k for k in range(len(ends) - 1) if ends[k + 1] - ends[k] > 1), key=lambda k: work[ends[k + 1]] - work[ends[k]]
        )
        first, end = ends[widest], ends[widest + 1]
        middle = int(np.searchsorted(work, (work[first] + work[end]) / 2))
        ends.insert(widest + 1, min(max(middle, first + 1), end - 1))
    return ends


def _nodes_with_room(arrays: KeyedArrays, index: int, replicas: int, free: Floats, placed: Replicas) -> list[int]:
    """Place replicas one by one on the candidate with room nearest to the predecessors, then the emptiest."""
    compiled = arrays.compiled
    candidates, demand = compiled.candidates(index), compiled.demand[index]
    before = [int(i) for i in compiled.stream_source[compiled.stream_target == index]]
    near: Ints = np.unique([u for i in before for u, _, _ in placed[i]]).astype(np.int64)
    delay = compiled.delay[near][:, candidates].max(axis=0) if near.size else np.zeros(candidates.size)
    nodes = []
    spend(PLACED_REPLICA_UNITS * replicas)
    for _ in range(replicas):
        free_after = (free[candidates] - demand).min(axis=1, initial=np.inf)
        order = np.lexsort((-free_after, delay, free_after < -1e-9))
        node = int(candidates[order[0]])
        free[node] -= demand
        nodes.append(node)
    return nodes


def sequential_starts(arrays: KeyedArrays, deployment: Deployment) -> list[Replicas]:
    """Choose the ranges that move the fewest bytes on given nodes, one start for each tolerance that allows one."""
    index = {name: u for u, name in enumerate(arrays.compiled.nodes)}
    nodes = [[index[node] for node in deployment[name]] for name in arrays.compiled.operators]
    starts: list[Replicas] = []
    for tolerance in TOLERANCES:
        if starts and units_left() <= 0:
            break
        look("the ranges on given nodes")
        replicas = [ranges_on(arrays, i, nodes[i], tolerance) for i in range(len(nodes))]
        complete = [ranges for ranges in replicas if ranges is not None]
        if len(complete) == len(nodes) and complete not in starts:
            starts.append(complete)
    return starts


def best_answer(arrays: KeyedArrays, candidates: list[Replicas], name: str) -> Answer | None:
    """The feasible answer with the lowest objective, else the first; None without candidates."""
    answers = [evaluated_answer(arrays, replicas, "finished", name) for replicas in candidates]
    return min(answers, key=lambda answer: np.inf if answer.objective is None else answer.objective, default=None)


TRY_UNITS = 5e-5
"""Units of work per change that is tried."""

MAX_TRIES = 5_000
"""Changes that are tried per start."""


def meet_rules(arrays: KeyedArrays, replicas: Replicas) -> Replicas:
    """Change the nodes and numbers of replicas as long as that brings them nearer to the rules that must be met.

    Each change moves one replica, or adds or takes one and splits the operator's tasks among all of them again. Rules may stay
    broken where no single change helps.
    """
    rules, compiled = arrays.compiled.rules, arrays.compiled
    if not len(rules):
        return replicas
    counts, tries = _counts(arrays, replicas), 0
    while rules.breach(counts) > 0:
        excess = _excess(arrays, counts)
        for i, ranges in _changes(arrays, replicas):
            tries += 1
            spend(TRY_UNITS)
            changed = counts.copy()
            changed[i] = np.bincount([u for u, _, _ in ranges], minlength=len(compiled.nodes))
            if _excess(arrays, changed) < excess - EQUAL_VIOLATIONS:
                replicas, counts = [*replicas[:i], ranges, *replicas[i + 1 :]], changed
                break
            if tries >= MAX_TRIES or units_left() <= 0:
                return replicas
        else:
            return replicas
    return replicas


def _counts(arrays: KeyedArrays, replicas: Replicas) -> Ints:
    nodes = len(arrays.compiled.nodes)
    return np.array([np.bincount([u for u, _, _ in ranges], minlength=nodes) for ranges in replicas], np.int64)


def _excess(arrays: KeyedArrays, counts: Ints) -> float:
    """By how much rules that must be met and resources of nodes are exceeded."""
    capacity = arrays.compiled.capacity
    overload = np.maximum(counts.T @ arrays.compiled.demand - capacity * (1 + LIMIT_SLACK), 0.0)
    return arrays.compiled.rules.breach(counts) + float((overload / np.maximum(capacity, 1e-12)).sum())


def _changes(arrays: KeyedArrays, replicas: Replicas) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield operators with other replicas: one on another node, then one more or one fewer."""
    candidates = [arrays.compiled.candidates(i).tolist() for i in range(len(replicas))]
    for i, ranges in enumerate(replicas):
        for k, (u, a, b) in enumerate(ranges):
            yield from ((i, [*ranges[:k], (v, a, b), *ranges[k + 1 :]]) for v in candidates[i] if v != u)
    for i, ranges in enumerate(replicas):
        possible, nodes = possible_replicas(arrays.problem, arrays.operator(i)), [u for u, _, _ in ranges]
        more = [[*nodes, v] for v in candidates[i]] if len(nodes) + 1 in possible else []
        fewer = [nodes[:k] + nodes[k + 1 :] for k in range(len(nodes))] if len(nodes) - 1 in possible else []
        for chosen in (*more, *fewer):
            ends = boundaries(arrays, i, len(chosen))
            yield i, [(u, a, b) for u, (a, b) in zip(chosen, pairwise(ends), strict=True)]
