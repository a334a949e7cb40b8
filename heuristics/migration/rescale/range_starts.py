"""Replicas to start searches from: current ones, few to many stable ones, and fewest bytes on given nodes.

Starts near the current deployment, made without kernels: overloaded ranges split, idle ones merged, full nodes relieved.

Current ranges are kept as long as the utilisation of their replica stays below a target. Operators for which that fails, and
problems without a current deployment, get ranges of about equal work on nodes with room.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend, units_left
from edrp.core.late_imports import optimize
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import EQUAL_LOADS, EQUAL_VIOLATIONS, LIMIT_SLACK
from edrp.heuristics.migration.rescale.range_arrays import Replicas
from edrp.heuristics.note_wording import judged_answer
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.documents import KeyedDeployment, even_boundaries, packed, possible_replicas, range_fits
from edrp.placement.deployment import Deployment

MAX_REORDERED_REPLICAS = 12
"""Number of replicas above which only neighbours trade ranges when their order is improved."""

MAX_ORDERING_CELLS = 20_000_000
"""Replicas × tasks above which boundaries are balanced without regard to bytes."""

TRADE_UNITS = 5e-9
"""Units of work per task and replica, for each trade of ranges that is tried."""

SHARE_HALVINGS = 60
"""Halvings of the range of the largest stable share: more than the precision of a float."""


def largest_share(arrays: KeyedArrays, index: int, replicas: int, speedup: float) -> float:
    """Largest stable share of the load of one of `replicas` replicas on a node, within the problem's tolerance."""
    problem, operator = arrays.problem, arrays.operator(index)
    load = float(arrays.compiled.load[index])
    max_share = 1.0 if problem.tolerance is None else min(1.0, (1 + problem.tolerance) / replicas)
    if problem.is_stable(operator, load * max_share, replicas, speedup):
        return max_share
    low, high = 0.0, max_share
    for _ in range(SHARE_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if problem.is_stable(operator, load * middle, replicas, speedup) else (low, middle)
    return low


def by_speed(arrays: KeyedArrays, value: Callable[[float], float]) -> Floats:
    """Value of each node by its speed-up; those of fast nodes, that serve no more than others, are the same."""
    speeds, number = np.unique(np.minimum(arrays.compiled.speedup, 1.0), return_inverse=True)
    return np.array([value(speed) for speed in speeds.tolist()], float)[number]


def fast_enough(arrays: KeyedArrays, index: int, replicas: int, first: int, end: int) -> Bools:
    """Whether one of `replicas` replicas is stable with the tasks [first, end) on each node."""
    operator = arrays.operator(index)
    share = 1.0 / replicas if operator.tasks is None else operator.tasks.share(first, end)
    rate = float(arrays.compiled.load[index]) * share
    return by_speed(arrays, lambda speedup: arrays.problem.is_stable(operator, rate, replicas, speedup)) > 0


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
        return matched_ranges(arrays, index, even_boundaries(tasks.count, replicas), nodes)
    work = np.arange(tasks.count + 1.0) if by_number else tasks.work_before
    limits = np.full(len(arrays.compiled.nodes), float(-(-tasks.count // replicas)))
    if not by_number:
        share = by_speed(arrays, lambda speedup: largest_share(arrays, index, replicas, speedup))
        limits = np.minimum(share, (1 + tolerance) / replicas) * float(work[-1]) * (1 + EQUAL_LOADS)
    if replicas * tasks.count > MAX_ORDERING_CELLS:
        ends = np.searchsorted(work, work[-1] * np.arange(replicas + 1) / replicas)
        fits = (np.diff(ends) > 0).all() and (np.diff(work[ends]) <= limits[nodes].max()).all()
        return matched_ranges(arrays, index, ends.tolist(), nodes) if fits else None
    trades = replicas * (replicas if replicas <= MAX_REORDERED_REPLICAS else 2)
    spend(TRADE_UNITS * (1 + trades) * tasks.count * replicas)
    seats = _nodes_in_task_order(tasks.held_before, nodes)
    boundaries = np.zeros(replicas + 1, np.int64)
    if not _native.order_replicas(work, tasks.held_before, seats, limits, boundaries):
        return None
    return [(int(u), int(a), int(b)) for u, a, b in zip(seats, boundaries, boundaries[1:], strict=False)]


def matched_ranges(arrays: KeyedArrays, index: int, ends: list[int], nodes: list[int]) -> list[tuple[int, int, int]]:
    """Match given ranges with given nodes so that the fewest are on nodes too slow for them, and then the most bytes stay."""
    kept_bytes: Any = np.diff(arrays.tasks[index].held_before[np.array(ends)], axis=0)[:, nodes]
    fast = np.array([fast_enough(arrays, index, len(nodes), a, b)[nodes] for a, b in pairwise(ends)])
    kept_bytes[~fast] = -1.0 - kept_bytes.sum()
    rows, columns = optimize.linear_sum_assignment(kept_bytes, maximize=True)
    return [(nodes[column], ends[row], ends[row + 1]) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]


def _nodes_in_task_order(held_bytes: Floats, nodes: list[int]) -> Ints:
    """Sort nodes by the tasks that they hold now; those that hold none come last."""
    inside = np.diff(held_bytes, axis=0)
    position = np.arange(inside.shape[0])
    total = inside.sum(axis=0)
    mean = np.where(total > 0, position @ inside / np.where(total > 0, total, 1.0), math.inf)
    return np.array(sorted(nodes, key=lambda u: (mean[u], u)), np.int64)


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
        ends = boundaries(arrays, index, number)
        nodes = _nodes_with_room(arrays, index, ends, free, replicas)
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


def _nodes_with_room(arrays: KeyedArrays, index: int, ends: list[int], free: Floats, placed: Replicas) -> list[int]:
    """Place replicas one by one on the fast candidate with room nearest to the predecessors, then the emptiest."""
    compiled = arrays.compiled
    candidates, demand = compiled.candidates(index), compiled.demand[index]
    before = [int(i) for i in compiled.stream_source[compiled.stream_target == index]]
    near: Ints = np.unique([u for i in before for u, _, _ in placed[i]]).astype(np.int64)
    delay = compiled.delay[near][:, candidates].max(axis=0) if near.size else np.zeros(candidates.size)
    nodes, replicas = [], len(ends) - 1
    spend(PLACED_REPLICA_UNITS * replicas)
    for first, end in pairwise(ends):
        free_after = (free[candidates] - demand).min(axis=1, initial=np.inf)
        slow = ~fast_enough(arrays, index, replicas, first, end)[candidates]
        order = np.lexsort((-free_after, delay, free_after < -1e-9, slow))
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
    nodes, tries = len(compiled.nodes), 0
    counts = np.array([np.bincount([u for u, _, _ in ranges], minlength=nodes) for ranges in replicas], np.int64)
    while rules.breach(counts) > 0:
        excess = _excess(arrays, counts)
        for i, ranges in _changes(arrays, replicas):
            tries += 1
            spend(TRY_UNITS)
            changed = counts.copy()
            changed[i] = np.bincount([u for u, _, _ in ranges], minlength=nodes)
            nearer = _excess(arrays, changed) < excess - EQUAL_VIOLATIONS
            if nearer and _overloaded(arrays, i, ranges) <= _overloaded(arrays, i, replicas[i]):
                replicas, counts = [*replicas[:i], ranges, *replicas[i + 1 :]], changed
                break
            if tries >= MAX_TRIES or units_left() <= 0:
                return replicas
        else:
            return replicas
    return replicas


def _excess(arrays: KeyedArrays, counts: Ints) -> float:
    """By how much rules that must be met and resources of nodes are exceeded."""
    capacity = arrays.compiled.capacity
    overload = np.maximum(counts.T @ arrays.compiled.demand - capacity * (1 + LIMIT_SLACK), 0.0)
    return arrays.compiled.rules.breach(counts) + float((overload / np.maximum(capacity, 1e-12)).sum())


def _overloaded(arrays: KeyedArrays, index: int, ranges: list[tuple[int, int, int]]) -> int:
    """Number of replicas of an operator on nodes that are too slow for them."""
    return sum(not fast_enough(arrays, index, len(ranges), a, b)[u] for u, a, b in ranges)


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
    number = np.bincount([piece.operator for piece in pieces])
    for piece in sorted(pieces, key=lambda piece: -_held_bytes(arrays, piece, piece.node)):
        demand, target = compiled.demand[piece.operator], piece.node
        fast = fast_enough(arrays, piece.operator, int(number[piece.operator]), piece.first, piece.end)
        allowed = compiled.candidate[piece.operator]
        allowed = allowed & fast if (allowed & fast).any() else allowed
        room = (free - demand >= -LIMIT_SLACK * compiled.capacity).all(axis=1) & allowed
        if target == ANY_NODE or not room[target]:
            target = _best_node(arrays, piece, room, allowed, near[piece.operator], (free - demand).min(axis=1, initial=np.inf))
        free[target] -= demand
        node[piece] = [*node.get(piece, []), target]
    replicas: Replicas = [[] for _ in arrays.tasks]
    for piece, nodes in node.items():
        replicas[piece.operator] += [(u, piece.first, piece.end) for u in nodes]
    return [sorted(ranges, key=itemgetter(1, 2, 0)) for ranges in replicas]


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


def _best_node(arrays: KeyedArrays, piece: RangePiece, room: Bools, allowed: Bools, near: Floats, free_after: Floats) -> int:
    """Choose an allowed node with room by state held, then nearness, then free resources; else the least overfull one."""
    candidates = np.flatnonzero(allowed)
    held_bytes = np.array([_held_bytes(arrays, piece, int(u)) for u in candidates])
    order = np.lexsort((-free_after[candidates], near[candidates], -held_bytes, ~room[candidates]))
    if not room[candidates].any():
        order = np.argsort(-free_after[candidates], kind="stable")
    return int(candidates[order[0]])
