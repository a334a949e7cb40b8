"""Compiled: bounds on what a pattern can be worth, and the search for patterns under them."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import kernel


@kernel
def fill_bounds(
    states: np.ndarray,
    first: np.ndarray,
    saving: np.ndarray,
    following: np.ndarray,
    worth: np.ndarray,
    most: np.ndarray,
    need: np.ndarray,
    rows: int,
    columns: int,
    counts: np.ndarray,
    start: np.ndarray,
    table: np.ndarray,
) -> None:
    """Most that the operators from each step on can be worth, by state and room left on a grid of two resources.

    Parameters
    ----------
    states, first, saving, following
        Of `Order`.
    worth, most, need
        By step: worth of an instance, most instances, and cells that one needs, shape (operators, 2), rounded down.
    rows, columns
        Cells of both resources.
    counts
        Counts per row of `saving`, by step.
    start
        Where the table of each step begins.
    table
        Written; flat, by step, state, room of the first and of the second resource.
    """
    cells = rows * columns
    last = most.size
    table[start[last] : start[last] + cells] = 0.0
    for k in range(last - 1, -1, -1):
        for s in range(states[k]):
            own = table[start[k] + s * cells : start[k] + (s + 1) * cells].reshape(rows, columns)
            for n in range(most[k] + 1):
                row = first[k] + s * counts[k] + n
                after = start[k + 1] + following[row] * cells
                behind = table[after : after + cells].reshape(rows, columns)
                gain = saving[row] + worth[k] * n
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
    first: np.ndarray,
    saving: np.ndarray,
    following: np.ndarray,
    correction: np.ndarray,
    worth: np.ndarray,
    most: np.ndarray,
    demand: np.ndarray,
    capacity: np.ndarray,
    axis: np.ndarray,
    unit: np.ndarray,
    rows: int,
    columns: int,
    counts: np.ndarray,
    start: np.ndarray,
    table: np.ndarray,
    threshold: float,
    improve: bool,
    most_nodes: int,
    found: np.ndarray,
    values: np.ndarray,
) -> tuple[int, int, float]:
    """Depth-first over the counts of each operator, best bound first, with exact resources.

    Parameters
    ----------
    first, saving, following, worth, most, rows, columns, counts, start, table
        Of `fill_bounds`.
    correction
        By steps, shape (operators, operators, 3): score per product of counts of a stream let go, and the factors of both
        squares that the bounds hold instead; empty where no stream is let go.
    demand, capacity
        Exact, by step.
    axis, unit
        Resource of each of the two axes of the grid (-1 for none), and the size of a cell.
    threshold
        Patterns worth no more than this are not wanted.
    improve
        Raise the threshold to each pattern found: the last one is the best. Otherwise list all.
    most_nodes
        Of the search.
    found, values
        Written: patterns by step, shape (most patterns, operators), and what they are worth.

    Returns
    -------
    tuple
        Patterns met (more than there is room for: the list is not complete), nodes searched (more for those with many counts),
        final threshold; nodes beyond `most_nodes` say that the search was given up.
    """
    size, resources = demand.shape
    widest = counts.max()
    bound = np.empty((size, widest))
    total = np.zeros(size + 1)  # worth of what is decided, with the bounds on the streams let go
    room = np.empty((size + 1, resources))
    room[0] = capacity
    state = np.zeros(size + 1, np.int64)
    chosen = np.full(size, -1, np.int64)
    met, nodes, k, opened = 0, 0, 0, False
    while k >= 0:
        if not opened:
            nodes += 1 + counts[k] // 8
            if nodes > most_nodes:
                break
            for n in range(counts[k]):
                bound[k, n] = _bound_after(
                    k, n, first, saving, following, correction, worth, most, demand, axis, unit, rows, columns, counts,
                    start, table, total, room, state, chosen,
                )  # fmt: skip
        n = 0
        for m in range(1, counts[k]):
            if bound[k, m] > bound[k, n]:
                n = m
        if not bound[k, n] > threshold:
            chosen[k] = -1
            k -= 1
            opened = True
            continue
        bound[k, n] = -np.inf
        row = first[k] + state[k] * counts[k] + n
        total[k + 1] = total[k] + saving[row] + worth[k] * n + _corrected(k, n, correction, chosen)
        state[k + 1] = following[row]
        room[k + 1] = room[k] - n * demand[k]
        chosen[k] = n
        opened = True
        if k + 1 < size:
            k += 1
            opened = False
        elif total[size] > threshold and chosen.sum() > 0:
            if met < values.size:
                found[met] = chosen
                values[met] = total[size]
            elif improve:
                found[values.size - 1] = chosen
                values[values.size - 1] = total[size]
            met += 1
            if improve:
                threshold = float(total[size])
            elif met > values.size:
                break
    return met, nodes, threshold


@kernel
def _corrected(k: int, n: int, correction: np.ndarray, chosen: np.ndarray) -> float:
    """What the streams let go between step k and those before are worth, less what the bounds held for them."""
    value = 0.0
    for j in range(min(k, correction.shape[0])):
        if correction[k, j, 0] != 0.0:
            m = chosen[j]
            value += correction[k, j, 0] * n * m - correction[k, j, 1] * n * n - correction[k, j, 2] * m * m
    return value


@kernel
def _bound_after(
    k: int,
    n: int,
    first: np.ndarray,
    saving: np.ndarray,
    following: np.ndarray,
    correction: np.ndarray,
    worth: np.ndarray,
    most: np.ndarray,
    demand: np.ndarray,
    axis: np.ndarray,
    unit: np.ndarray,
    rows: int,
    columns: int,
    counts: np.ndarray,
    start: np.ndarray,
    table: np.ndarray,
    total: np.ndarray,
    room: np.ndarray,
    state: np.ndarray,
    chosen: np.ndarray,
) -> float:
    """Most that any pattern is worth that continues with n instances at step k; minus infinity where they do not fit."""
    if n > most[k]:
        return -np.inf
    cell = 0
    for m in range(demand.shape[1]):
        left = room[k, m] - n * demand[k, m]
        if left < 0.0:
            return -np.inf
        for side in range(2):
            if axis[side] == m:
                last = (rows if side == 0 else columns) - 1
                place = min(last, int(left / unit[side] + 1e-6))
                cell += place * columns if side == 0 else place
    row = first[k] + state[k] * counts[k] + n
    value = total[k] + saving[row] + worth[k] * n + _corrected(k, n, correction, chosen)
    return value + table[start[k + 1] + following[row] * rows * columns + cell]
