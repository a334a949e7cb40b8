"""A deployment near what runs, made without kernels: overloaded ranges are split, idle ones merged, full nodes relieved.

What runs is kept as far as no replica uses more than a given share of what it serves; operators for which that cannot be had,
and problems without a current deployment, get ranges of about equal work on nodes with room.
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
from edrp.heuristics.migration.rescale.range_starts import Replicas, boundaries, present_start
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.deployment import even_boundaries
from edrp.migration.rescale.splits import possible_replicas, range_fits

RANGE_UNITS = 1e-6
"""Units of work per range that is made as long as possible."""

ANY_NODE = -1
"""In place of a node: any will do."""

REPAIR_HALVINGS = 40
"""Halvings of the range of the largest share of a replica."""

TARGET_UTILISATIONS = (0.8, 0.65, 0.95)
"""Shares of what a replica serves that it is to use at most; which one is best depends on what latency and replicas weigh."""


class RangePiece(NamedTuple):
    """A replica without its final node: operator, the node that it would best stay on (or `ANY_NODE`), first task and end."""

    operator: int
    node: int
    first: int
    end: int


Fits = Callable[[int, int, int], bool]
"""Whether a replica may hold the tasks [first, end) when there are so many replicas."""


def repaired_starts(arrays: KeyedArrays) -> list[Replicas]:
    """For each target, what runs as little changed as it takes, and a deployment that is made from scratch."""
    present = present_start(arrays, arrays.problem.current)
    known: list[Replicas] = []
    for target in TARGET_UTILISATIONS:
        for begin in (None,) if present is None else (present, None):
            if known and units_left() <= 0:
                return known
            start = repaired_start(arrays, begin, target)
            if start is not None and start not in known:
                known.append(start)
    return known


def repaired_start(arrays: KeyedArrays, present: Replicas | None, target: float) -> Replicas | None:
    """Replicas that use at most a share of what they serve, near what runs; None where an operator cannot be stable.

    Parameters
    ----------
    present
        What runs, or another deployment to begin with; None for none.
    target
        Share of what a replica serves that its load stays below where that can be had.
    """
    pieces: list[RangePiece] = []
    for index in range(len(arrays.tasks)):
        cut = _cut(arrays, index, None if present is None else present[index], target)
        if cut is None:
            return None
        pieces += cut
    return _placed(arrays, pieces)


def _cut(arrays: KeyedArrays, index: int, held: list[tuple[int, int, int]] | None, target: float) -> list[RangePiece] | None:
    """The replicas of one operator: those of now repaired, else equal shares of the load."""
    problem, operator = arrays.problem, arrays.operator(index)
    load = float(arrays.compiled.load[index])

    def fits(first: int, end: int, replicas: int) -> bool:
        if operator.tasks is None:
            return bool(problem.is_stable(operator, load / replicas / target, replicas))
        rate = load * operator.tasks.share(first, end)
        return range_fits(problem, operator, first, end, replicas) and problem.is_stable(operator, rate / target, replicas)

    if held is not None and operator.tasks is not None and problem.ranges == "free":
        repaired = _repaired(arrays, index, [RangePiece(index, *replica) for replica in held], fits)
        if repaired is not None:
            return repaired
    number = _number(arrays, index, 0 if held is None else len(held), fits)
    if number is None:
        return None
    if operator.tasks is None:
        nodes = [u for u, _, _ in held or ()][:number]
        return [RangePiece(index, node, 0, 0) for node in [*nodes, *[ANY_NODE] * (number - len(nodes))]]
    ends = _balanced(arrays, index, number, fits) or boundaries(arrays, index, number)
    kept = np.diff(arrays.tasks[index].held_before[np.array(ends)], axis=0)
    most = np.where(kept.max(axis=1) > 0, kept.argmax(axis=1), ANY_NODE)
    return [RangePiece(index, int(node), a, b) for node, (a, b) in zip(most, pairwise(ends), strict=True)]


def _number(arrays: KeyedArrays, index: int, present: int, fits: Fits) -> int | None:
    """Replicas: those of now where they will do, else the fewest that do, else the most that are stable at all."""
    stable = possible_replicas(arrays.problem, arrays.operator(index))
    for number in (*([present] if present in stable else []), *stable):
        if fits(0, 0, number) if not arrays.tasks[index].count else _balanced(arrays, index, number, fits):
            return number
    return stable[-1] if stable else None


def _balanced(arrays: KeyedArrays, index: int, replicas: int, fits: Fits) -> list[int] | None:
    """Boundaries with the least largest share of the work, or even ones; None where a replica may not hold its range."""
    tasks = arrays.tasks[index]
    if arrays.problem.ranges == "even":
        ends = even_boundaries(tasks.count, replicas)
    else:
        work = tasks.work_before.tolist()
        low, high = work[-1] / replicas, work[-1]
        for _ in range(REPAIR_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _filled(work, middle, replicas) else (middle, high)
        ends = _filled(work, high, replicas) or [0, tasks.count]
    return ends if all(fits(a, b, replicas) for a, b in pairwise(ends)) else None


def _filled(work: list[float], limit: float, replicas: int) -> list[int] | None:
    """Boundaries of ranges of at most so much work, each as long as possible but for one task for each that follows."""
    spend(RANGE_UNITS * replicas)
    tasks, ends = len(work) - 1, [0]
    for left in range(replicas - 1, -1, -1):
        end = min(bisect_right(work, work[ends[-1]] + limit) - 1, tasks - left)
        if end <= ends[-1]:
            return None
        ends.append(end)
    return ends if ends[-1] == tasks else None


def _repaired(arrays: KeyedArrays, index: int, pieces: list[RangePiece], fits: Fits) -> list[RangePiece] | None:
    """Ranges of now, the heaviest split until all fit, neighbours on a node merged before; None where that does not work out."""
    work, most = arrays.tasks[index].work_before, int(arrays.compiled.max_replicas[index])
    pieces = _merged(pieces, int(arrays.compiled.min_replicas[index]), fits)
    while True:
        overloaded = [k for k, piece in enumerate(pieces) if not fits(piece.first, piece.end, len(pieces))]
        if not overloaded and len(pieces) <= most:
            return pieces if len(pieces) >= arrays.compiled.min_replicas[index] else None
        if not overloaded or len(pieces) >= most:
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


def _merged(pieces: list[RangePiece], least: int, fits: Fits) -> list[RangePiece]:
    """Neighbouring ranges of a node joined, where a replica may hold both: nothing moves, and a replica less is paid."""
    merged: list[RangePiece] = []
    number = len(pieces)
    for piece in pieces:
        last = merged[-1] if merged else None
        if last is not None and last.node == piece.node and number > least and fits(last.first, piece.end, number - 1):
            merged[-1] = last._replace(end=piece.end)
            number -= 1
        else:
            merged.append(piece)
    return merged


def _placed(arrays: KeyedArrays, pieces: list[RangePiece]) -> Replicas:
    """Nodes of all replicas: those with most state stay first, the others go to near nodes with room, then to the emptiest."""
    compiled = arrays.compiled
    free = compiled.capacity.copy()
    node: dict[RangePiece, list[int]] = {}
    near = _near(arrays, pieces)
    for piece in sorted(pieces, key=lambda piece: -_state(arrays, piece, piece.node)):
        demand, here = compiled.demand[piece.operator], piece.node
        room = (free - demand >= -LIMIT_SLACK * compiled.capacity).all(axis=1) & compiled.candidate[piece.operator]
        if here == ANY_NODE or not room[here]:
            here = _best_node(arrays, piece, room, near[piece.operator], (free - demand).min(axis=1, initial=np.inf))
        free[here] -= demand
        node[piece] = [*node.get(piece, []), here]
    return [_named(node, index) for index in range(len(arrays.tasks))]


def _named(node: dict[RangePiece, list[int]], index: int) -> list[tuple[int, int, int]]:
    """Replicas of one operator in the order of their tasks, and of their nodes where there are none."""
    held = [(u, piece.first, piece.end) for piece, nodes in node.items() if piece.operator == index for u in nodes]
    return sorted(held, key=lambda replica: (replica[1], replica[2], replica[0]))


def _near(arrays: KeyedArrays, pieces: list[RangePiece]) -> Floats:
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


def _state(arrays: KeyedArrays, piece: RangePiece, node: int) -> float:
    """Bytes of a piece that a node holds now."""
    if node == ANY_NODE:
        return -1.0
    held = arrays.tasks[piece.operator].held_before
    return float(held[piece.end, node] - held[piece.first, node]) if arrays.tasks[piece.operator].count else 0.0


def _best_node(arrays: KeyedArrays, piece: RangePiece, room: Bools, near: Floats, left: Floats) -> int:
    """A node with room: the one that holds most of the state, then the nearest, then the emptiest; else the least overfull."""
    candidates = arrays.compiled.candidates(piece.operator)
    held = np.array([_state(arrays, piece, int(u)) for u in candidates])
    order = np.lexsort((-left[candidates], near[candidates], -held, ~room[candidates]))
    if not room[candidates].any():
        order = np.argsort(-left[candidates], kind="stable")
    return int(candidates[order[0]])
