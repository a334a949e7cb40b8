"""The search of CAPS: placements of given tasks on equal nodes of which no node exceeds thresholds, operator by operator.

Node after node takes as few tasks of an operator as it may, so that the first placement found is not one that was looked for.
Nodes that hold the same so far get tasks in non-decreasing numbers: exchanged nodes are the same placement.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.fixed_tasks import FixedTasks, LoadArrays, leaving

CAPS_STEP_UNITS = 1e-7
"""Units of work per decision how many tasks a node gets."""


def placements_within(tasks: FixedTasks, order: Ints, thresholds: Floats, plans: int, steps: int) -> Ints:
    """Placements of which no node exceeds the thresholds, in the order in which the search meets them.

    Parameters
    ----------
    tasks
        Tasks to be placed.
    order : shape (operators,)
        Operators, the first to be placed first.
    thresholds : shape (shared,)
        Largest load of a node.
    plans
        After how many placements it stops.
    steps
        After how many nodes that get tasks of an operator it gives up.

    Returns
    -------
    Ints
        Shape (placements, nodes, operators).
    """
    placements = np.zeros((plans, tasks.nodes, tasks.operators), np.int64)
    upper = thresholds * (1 + LIMIT_SLACK) + 1e-15
    number, steps_left = _search(tasks.arrays, order.astype(np.int64), tasks.room * (1 + LIMIT_SLACK), upper, steps, placements)
    spend(CAPS_STEP_UNITS * (steps - steps_left))
    return placements[:number].copy()


@inlined
def _fits(free: np.ndarray, demand: np.ndarray, limit: int) -> int:
    """Number of tasks of an operator that fit on a node, at most `limit`."""
    count = limit
    for m in range(free.size):
        if demand[m] > 0 and free[m] < count * demand[m]:
            count = max(0, int(free[m] / demand[m]))
    return count


@inlined
def _exceeds(pattern: np.ndarray, placed: np.ndarray, arrays: LoadArrays, upper: np.ndarray) -> bool:
    """Whether the load of a node exceeds a threshold; streams count once both of their ends are placed."""
    for k in range(upper.size):
        load = 0.0
        for i in range(pattern.size):
            load += pattern[i] * arrays.use[i, k]
        for e in range(arrays.source.size):
            i, j = arrays.source[e], arrays.target[e]
            if pattern[i] > 0 and placed[i] and placed[j]:
                share = leaving(pattern[i], pattern[j], arrays.totals[i], arrays.totals[j], arrays.one_to_one[e])
                load += share * arrays.sent[e, k]
        if load > upper[k]:
            return True
    return False


@inlined
def _alike(counts: np.ndarray, w: int, i: int, placed: np.ndarray) -> bool:
    """Whether a node and the one before it hold the same tasks, except for operator i."""
    for j in range(placed.size):
        if placed[j] and j != i and counts[w, j] != counts[w - 1, j]:
            return False
    return True


@kernel
def _search(
    arrays: LoadArrays, order: np.ndarray, room: np.ndarray, upper: np.ndarray, steps: int, placements: np.ndarray
) -> tuple[int, int]:
    """Depth first over operators, and for each over nodes; returns the number of placements found, and of steps left."""
    plans, nodes, operators = placements.shape
    depth = nodes * operators
    counts = np.zeros((nodes, operators), np.int64)
    free = np.empty((nodes, room.size))
    for w in range(nodes):
        free[w] = room
    placed = np.zeros(operators, np.bool_)
    number, level, entering = 0, 0, True
    highest = np.zeros(depth, np.int64)
    while level >= 0:
        if level == depth:
            placements[number] = counts
            number += 1
            if number == plans:
                return number, steps
            level -= 1
            entering = False
            continue
        i, w = order[level // nodes], level % nodes
        if entering:
            placed[i] = True
            missing, later = arrays.totals[i], 0
            for v in range(nodes):
                if v < w:
                    missing -= counts[v, i]
                elif v > w:
                    later += _fits(free[v], arrays.demand[i], arrays.totals[i])
            fewest = max(0, missing - later)
            if w > 0 and _alike(counts, w, i, placed):
                fewest = max(fewest, counts[w - 1, i])
            highest[level] = min(missing, _fits(free[w], arrays.demand[i], missing))
            change = fewest
        else:
            change = 1
        counts[w, i] += change
        for m in range(room.size):
            free[w, m] -= change * arrays.demand[i, m]
        if counts[w, i] > highest[level]:
            for m in range(room.size):
                free[w, m] += counts[w, i] * arrays.demand[i, m]
            counts[w, i] = 0
            if w == 0:
                placed[i] = False
            level -= 1
            entering = False
            continue
        if steps == 0:
            return number, steps
        steps -= 1
        entering = not _exceeds(counts[w], placed, arrays, upper)
        if entering:
            level += 1
    return number, steps
