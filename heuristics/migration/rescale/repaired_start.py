"""Starts near the current deployment, made without kernels: overloaded ranges split, idle ones merged, full nodes relieved.

Current ranges are kept as long as the utilisation of their replica stays below a target. Operators for which that fails, and
problems without a current deployment, get ranges of about equal work on nodes with room.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats
from edrp.core.budget import spend, units_left
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.migration.rescale.range_starts import Replicas, boundaries, meet_rules, present_start
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.documents import even_boundaries, possible_replicas, range_fits

RANGE_UNITS = 1e-6
"""Units of work per range that is extended as far as possible."""

ANY_NODE = -1
"""Value that stands for any node."""

REPAIR_HALVINGS = 40
"""Halvings of the range of the largest share of a replica."""

TARGET_UTILISATIONS = (0.8, 0.65, 0.95)
"""Maximum utilisations of a replica that are tried; the best one depends on the weights of latency and cost."""


class RangePiece(NamedTuple):
    """A replica that is not placed yet: operator, preferred node (or `ANY_NODE`), first task and end."""

    operator: int
    node: int
    first: int
    end: int


Fits = Callable[[int, int, int], bool]
"""Function that tells whether one of a number of replicas can hold the tasks [first, end)."""


def repaired_starts(arrays: KeyedArrays) -> list[Replicas]:
    """Make two starts for each target utilisation: the current deployment repaired, and one from scratch."""
    present = present_start(arrays, arrays.problem.current)
    starts: list[Replicas] = []
    for target in TARGET_UTILISATIONS:
        for begin in (None,) if present is None else (present, None):
            if starts and units_left() <= 0:
                return starts
            start = repaired_start(arrays, begin, target)
            if start is not None and start not in starts:
                starts.append(start)
    return starts


def repaired_start(arrays: KeyedArrays, present: Replicas | None, target: float) -> Replicas | None:
    """Make replicas within the target utilisation, near `present`; None where an operator cannot be stable.

    Parameters
    ----------
    present
        Deployment to repair, such as the current one; None to start from scratch.
    target
        Maximum utilisation of a replica, kept where possible; rules come first.
    """
    pieces: list[RangePiece] = []
    for index in range(len(arrays.tasks)):
        cut = _operator_ranges(arrays, index, None if present is None else present[index], target)
        if cut is None:
            return None
        pieces += cut
    return meet_rules(arrays, _place_ranges(arrays, pieces))


def _operator_ranges(
    arrays: KeyedArrays, index: int, current: list[tuple[int, int, int]] | None, target: float
) -> list[RangePiece] | None:
    """Ranges of one operator: the current ones repaired, or else equal shares of the load."""
    problem, operator = arrays.problem, arrays.operator(index)
    load = float(arrays.compiled.load[index])

    def fits(first: int, end: int, replicas: int) -> bool:
        if operator.tasks is None:
            return bool(problem.is_stable(operator, load / replicas / target, replicas))
        rate = load * operator.tasks.share(first, end)
        return range_fits(problem, operator, first, end, replicas) and problem.is_stable(operator, rate / target, replicas)

    if current is not None and operator.tasks is not None and problem.ranges == "free":
        repaired = _split_overloaded(arrays, index, [RangePiece(index, *replica) for replica in current], fits)
        if repaired is not None:
            return repaired
    number = _replica_number(arrays, index, 0 if current is None else len(current), fits)
    if number is None:
        return None
    if operator.tasks is None:
        nodes = [u for u, _, _ in current or ()][:number]
        return [RangePiece(index, node, 0, 0) for node in [*nodes, *[ANY_NODE] * (number - len(nodes))]]
    ends = _balanced_boundaries(arrays, index, number, fits) or boundaries(arrays, index, number)
    kept_bytes = np.diff(arrays.tasks[index].held_before[np.array(ends)], axis=0)
    kept_nodes = np.where(kept_bytes.max(axis=1) > 0, kept_bytes.argmax(axis=1), ANY_NODE)
    return [RangePiece(index, int(node), a, b) for node, (a, b) in zip(kept_nodes, pairwise(ends), strict=True)]


def _replica_number(arrays: KeyedArrays, index: int, present: int, fits: Fits) -> int | None:
    """Number of replicas: the present one if it suffices, else the fewest that suffice, else the most that are stable."""
    stable = possible_replicas(arrays.problem, arrays.operator(index))
    for number in (*([present] if present in stable else []), *stable):
        if fits(0, 0, number) if not arrays.tasks[index].count else _balanced_boundaries(arrays, index, number, fits):
            return number
    return stable[-1] if stable else None


def _balanced_boundaries(arrays: KeyedArrays, index: int, replicas: int, fits: Fits) -> list[int] | None:
    """Boundaries with the least largest share of the work, or even ones; None where a replica may not hold its range."""
    tasks = arrays.tasks[index]
    if arrays.problem.ranges == "even":
        ends = even_boundaries(tasks.count, replicas)
    else:
        work = tasks.work_before.tolist()
        low, high = work[-1] / replicas, work[-1]
        for _ in range(REPAIR_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _longest_ranges(work, middle, replicas) else (middle, high)
        ends = _longest_ranges(work, high, replicas) or [0, tasks.count]
    return ends if all(fits(a, b, replicas) for a, b in pairwise(ends)) else None


def _longest_ranges(work: list[float], limit: float, replicas: int) -> list[int] | None:
    """Boundaries of ranges of at most `limit` work, each as long as possible; a task remains for each later one."""
    spend(RANGE_UNITS * replicas)
    tasks, ends = len(work) - 1, [0]
    for remaining in range(replicas - 1, -1, -1):
        end = min(bisect_right(work, work[ends[-1]] + limit) - 1, tasks - remaining)
        if end <= ends[-1]:
            return None
        ends.append(end)
    return ends if ends[-1] == tasks else None


def _split_overloaded(arrays: KeyedArrays, index: int, pieces: list[RangePiece], fits: Fits) -> list[RangePiece] | None:
    """Repair ranges: merge neighbours on a node, then split the heaviest until all fit; None where that fails."""
    work, max_replicas = arrays.tasks[index].work_before, int(arrays.compiled.max_replicas[index])
    pieces = _merge_neighbours(pieces, int(arrays.compiled.min_replicas[index]), fits)
    while True:
        overloaded = [k for k, piece in enumerate(pieces) if not fits(piece.first, piece.end, len(pieces))]
        if not overloaded and len(pieces) <= max_replicas:
            return pieces if len(pieces) >= arrays.compiled.min_replicas[index] else None
        if not overloaded or len(pieces) >= max_replicas:
            return None
        k = max(overloaded, key=lambda k: work[pieces[k].end] - work[pieces[k].first])
        operator, node, first, end = pieces[k]
        if end == first + 1:
            return None
        middle = int(np.searchsorted(work, (work[first] + work[end]) / 2))
        middle = min(max(middle, first + 1), end - 1)
        state = arrays.tasks[index].held_before[:, node]
        light_first = state[middle] - state[first] < state[end] - state[middle]
        nodes = (ANY_NODE, node) if light_first else (node, ANY_NODE)
        pieces[k : k + 1] = [RangePiece(operator, nodes[0], first, middle), RangePiece(operator, nodes[1], middle, end)]


def _merge_neighbours(pieces: list[RangePiece], min_replicas: int, fits: Fits) -> list[RangePiece]:
    """Merge neighbouring ranges on the same node where one replica can hold both; no state moves."""
    merged: list[RangePiece] = []
    number = len(pieces)
    for piece in pieces:
        last = merged[-1] if merged else None
        if last is not None and last.node == piece.node and number > min_replicas and fits(last.first, piece.end, number - 1):
            merged[-1] = last._replace(end=piece.end)
            number -= 1
        else:
            merged.append(piece)
    return merged


def _place_ranges(arrays: KeyedArrays, pieces: list[RangePiece]) -> Replicas:
    """Choose nodes of all replicas: first those with most state stay, the others go to near nodes, then to empty ones."""
    compiled = arrays.compiled
    free = compiled.capacity.copy()
    node: dict[RangePiece, list[int]] = {}
    near = _delays_to_neighbours(arrays, pieces)
    for piece in sorted(pieces, key=lambda piece: -_held_bytes(arrays, piece, piece.node)):
        demand, target = compiled.demand[piece.operator], piece.node
        room = (free - demand >= -LIMIT_SLACK * compiled.capacity).all(axis=1) & compiled.candidate[piece.operator]
        if target == ANY_NODE or not room[target]:
            target = _best_node(arrays, piece, room, near[piece.operator], (free - demand).min(axis=1, initial=np.inf))
        free[target] -= demand
        node[piece] = [*node.get(piece, []), target]
    return [_replicas_of_operator(node, index) for index in range(len(arrays.tasks))]


def _replicas_of_operator(node: dict[RangePiece, list[int]], index: int) -> list[tuple[int, int, int]]:
    """List the replicas of one operator in the order of their tasks, then of their nodes."""
    replicas = [(u, piece.first, piece.end) for piece, nodes in node.items() if piece.operator == index for u in nodes]
    return sorted(replicas, key=lambda replica: (replica[1], replica[2], replica[0]))


def _delays_to_neighbours(arrays: KeyedArrays, pieces: list[RangePiece]) -> Floats:
    """Longest delay between each node and those that run the neighbours of each operator now, shape (operators, nodes)."""
    compiled = arrays.compiled
    used: list[set[int]] = [set() for _ in arrays.tasks]
    for piece in pieces:
        if piece.node != ANY_NODE:
            used[piece.operator].add(piece.node)
    near = np.zeros(compiled.candidate.shape)
    for source, target in zip(compiled.stream_source.tolist(), compiled.stream_target.tolist(), strict=True):
        if used[target]:
            near[source] = np.maximum(near[source], compiled.delay[:, sorted(used[target])].max(axis=1))
        if used[source]:
            near[target] = np.maximum(near[target], compiled.delay[sorted(used[source])].max(axis=0))
    return near


def _held_bytes(arrays: KeyedArrays, piece: RangePiece, node: int) -> float:
    """Bytes of the state of a range that a node holds now."""
    if node == ANY_NODE:
        return -1.0
    held_before = arrays.tasks[piece.operator].held_before
    return float(held_before[piece.end, node] - held_before[piece.first, node]) if arrays.tasks[piece.operator].count else 0.0


def _best_node(arrays: KeyedArrays, piece: RangePiece, room: Bools, near: Floats, free_after: Floats) -> int:
    """Choose a node with room by state held, then nearness, then free resources; else the least overfull one."""
    candidates = arrays.compiled.candidates(piece.operator)
    held_bytes = np.array([_held_bytes(arrays, piece, int(u)) for u in candidates])
    order = np.lexsort((-free_after[candidates], near[candidates], -held_bytes, ~room[candidates]))
    if not room[candidates].any():
        order = np.argsort(-free_after[candidates], kind="stable")
    return int(candidates[order[0]])
