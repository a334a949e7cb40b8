"""Compiled: bounds on what a pattern can be worth, and the search for patterns under them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import GRID_CELL_SLACK


class PatternSteps(NamedTuple):
    """The operators of one class of supervisors, step by step in the order of decision.

    Attributes
    ----------
    states, first, saving, following : as in `Order`.
    counts : counts per row of `saving`, shape (steps,).
    max_instances : instances that one supervisor may hold, shape (steps,).
    demand : resources of one instance, shape (steps, resources).
    capacity : shape (resources,).
    correction : shape (steps, steps, 3): score per product of counts of a stream let go, and the factors of both squares that the
        bounds hold instead; empty where no stream is let go.
    """

    states: np.ndarray
    first: np.ndarray
    saving: np.ndarray
    following: np.ndarray
    counts: np.ndarray
    max_instances: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    correction: np.ndarray


class BoundTable(NamedTuple):
    """Bounds by step, state and the room left on a grid of two resources.

    Attributes
    ----------
    axis, unit : resource of each of the two axes (-1 for none), and the size of a cell.
    rows, columns : cells of both axes.
    need : cells that an instance needs, rounded down, shape (steps, 2).
    start : where the table of each step begins, shape (steps + 1,).
    values : flat, by step, state, room of the first and of the second resource.
    """

    axis: np.ndarray
    unit: np.ndarray
    rows: int
    columns: int
    need: np.ndarray
    start: np.ndarray
    values: np.ndarray


class PatternList(NamedTuple):
    """Patterns by step, shape (patterns, steps), and what they are worth, shape (patterns,); written by a search."""

    patterns: np.ndarray
    values: np.ndarray


class _Path(NamedTuple):
    """Decisions of a search: worth and room before each step, state of the frontier, and the count chosen (-1 for none).

    The worth includes the bounds on the streams let go.
    """

    total: np.ndarray
    room: np.ndarray
    state: np.ndarray
    chosen: np.ndarray


@kernel
def fill_bounds(steps: PatternSteps, table: BoundTable, worth: np.ndarray) -> None:
    """Fill a table with upper bounds on what the operators from each step on can be worth.

    Parameters
    ----------
    worth
        Worth of an instance, shape (steps,).
    """
    rows, columns, values, need = table.rows, table.columns, table.values, table.need
    cells = rows * columns
    last = steps.counts.size
    values[table.start[last] : table.start[last] + cells] = 0.0
    for k in range(last - 1, -1, -1):
        for s in range(steps.states[k]):
            begin = table.start[k] + s * cells
            own = values[begin : begin + cells].reshape(rows, columns)
            for n in range(steps.max_instances[k] + 1):
                row = steps.first[k] + s * steps.counts[k] + n
                after = table.start[k + 1] + steps.following[row] * cells
                behind = values[after : after + cells].reshape(rows, columns)
                gain = steps.saving[row] + worth[k] * n
                down, right = n * need[k, 0], n * need[k, 1]
                if n == 0:
                    for r in range(rows):
                        for c in range(columns):
                            own[r, c] = behind[r, c] + gain
                    continue
                if down >= rows or right >= columns:
                    break
                for r in range(down, rows):
                    for c in range(right, columns):
                        own[r, c] = max(own[r, c], behind[r - down, c - right] + gain)


@kernel
def search_patterns(
    steps: PatternSteps, table: BoundTable, worth: np.ndarray, threshold: float, improve: bool, max_nodes: int, found: PatternList
) -> tuple[int, int, float]:
    """Search depth-first over the counts of each operator, best bound first, with exact resources.

    Parameters
    ----------
    worth
        Worth of an instance, shape (steps,).
    threshold
        Patterns worth no more than this are not wanted.
    improve
        Raise the threshold to each pattern met: the last one is the best. Otherwise list all.
    found
        Written: the patterns met, as far as there is room.

    Returns
    -------
    tuple
        Patterns met (more than there is room for: the list is not complete), nodes searched (more for those with many counts),
        final threshold; nodes beyond `max_nodes` say that the search was given up.
    """
    counts = steps.counts
    size, resources = steps.demand.shape
    bound = np.empty((size, counts.max()))
    room = np.empty((size + 1, resources))
    room[0] = steps.capacity
    path = _Path(np.zeros(size + 1), room, np.zeros(size + 1, np.int64), np.full(size, -1, np.int64))
    met, nodes, k, opened = 0, 0, 0, False
    while k >= 0:
        if not opened:
            nodes += 1 + counts[k] // 8
            if nodes > max_nodes:
                break
            for n in range(counts[k]):
                bound[k, n] = _bound_after(k, n, steps, table, worth, path)
        opened = True
        n = _largest(bound[k], counts[k])
        if not bound[k, n] > threshold:
            path.chosen[k] = -1
            k -= 1
            continue
        bound[k, n] = -np.inf
        _decide(k, n, steps, worth, path)
        if k + 1 < size:
            k += 1
            opened = False
        elif path.total[size] > threshold and path.chosen.sum() > 0:
            if improve or met < found.values.size:
                last = min(met, found.values.size - 1)
                found.patterns[last] = path.chosen
                found.values[last] = path.total[size]
            met += 1
            if improve:
                threshold = float(path.total[size])
            elif met > found.values.size:
                break
    return met, nodes, threshold


@inlined
def _largest(values: np.ndarray, count: int) -> int:
    """Position of the largest of the first values; of equal ones the first."""
    largest = 0
    for i in range(1, count):
        if values[i] > values[largest]:
            largest = i
    return largest


@inlined
def _decide(k: int, n: int, steps: PatternSteps, worth: np.ndarray, path: _Path) -> None:
    """Choose n instances at step k."""
    row = steps.first[k] + path.state[k] * steps.counts[k] + n
    correction = _corrected(k, n, steps.correction, path.chosen)
    path.total[k + 1] = path.total[k] + steps.saving[row] + worth[k] * n + correction
    path.state[k + 1] = steps.following[row]
    for m in range(steps.demand.shape[1]):
        path.room[k + 1, m] = path.room[k, m] - n * steps.demand[k, m]
    path.chosen[k] = n


@inlined
def _corrected(k: int, n: int, correction: np.ndarray, chosen: np.ndarray) -> float:
    """Worth of the streams let go between step k and those before, less what the bounds held for them."""
    value = 0.0
    for j in range(min(k, correction.shape[0])):
        if correction[k, j, 0] != 0.0:
            m = chosen[j]
            value += correction[k, j, 0] * n * m - correction[k, j, 1] * n * n - correction[k, j, 2] * m * m
    return value


@inlined
def _bound_after(k: int, n: int, steps: PatternSteps, table: BoundTable, worth: np.ndarray, path: _Path) -> float:
    """Upper bound on any pattern that continues with n instances at step k; minus infinity where they do not fit."""
    if n > steps.max_instances[k]:
        return -np.inf
    cell = 0
    for m in range(steps.demand.shape[1]):
        left = path.room[k, m] - n * steps.demand[k, m]
        if left < 0.0:
            return -np.inf
        for side in range(2):
            if table.axis[side] == m:
                last = (table.rows if side == 0 else table.columns) - 1
                position = min(last, int(left / table.unit[side] + GRID_CELL_SLACK))
                cell += position * table.columns if side == 0 else position
    row = steps.first[k] + path.state[k] * steps.counts[k] + n
    value = path.total[k] + steps.saving[row] + worth[k] * n + _corrected(k, n, steps.correction, path.chosen)
    return value + table.values[table.start[k + 1] + steps.following[row] * table.rows * table.columns + cell]
