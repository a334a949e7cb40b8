"""Multipliers of the borders between periods from the linear relaxation of a whole course.

Every period is a compact program; rows tie the copies of a deployment on both sides of a border by columns for what increases.
Their duals are multipliers for a Lagrangian decomposition into periods, whose bound is at least that of the relaxation. An
interior point method without crossover is fast, and its duals lie in the middle of the best ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import highspy
import numpy as np

from edrp.backends.base import in_fresh_thread, seconds_for_solver
from edrp.backends.highs import PASSED_WORK, hand_over, new_solver
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.late_imports import sparse
from edrp.core.program import Arrays
from edrp.formulations.placement.compact import CompactExpressions, build_compact, estimated_columns
from edrp.placement.compiled import Compiled

INTERIOR_POINT_WORK = 3e-6
"""Units of work of an iteration of the interior point method per column of the compact programs."""

ITERATIONS = 60
"""Iterations that the interior point method is expected to take."""

_Status: Any = highspy.HighsModelStatus


def expected_work(periods: Sequence[Compiled]) -> float:
    """Units of work that the relaxation is expected to take."""
    return ITERATIONS * INTERIOR_POINT_WORK * sum(estimated_columns(period) for period in periods)


def border_multipliers(
    periods: Sequence[Compiled], operator: Ints, node: Ints, shared: Ints, upper: Floats, initial: Floats | None
) -> Floats | None:
    """Duals of the borders in the linear relaxation of a course without fixed prices of changes.

    Parameters
    ----------
    periods
        Arrays of the periods, whose objectives are in seconds.
    operator, node, shared
        Shape (coordinates,): an increase of which operator's replicas on which node has a price, and whether of their share.
    upper
        Shape (coordinates,), that price in seconds.
    initial
        Shape (coordinates,), coordinates of what runs before the first period; None for nothing.

    Returns
    -------
    numpy.ndarray
        Shape (periods + 1, coordinates), between 0 and `upper`, 0 at the last border; None where the relaxation was not solved.
    """
    blocks = [build_compact(period) for period in periods]
    look("the relaxation of all periods")
    program, scale = _whole(blocks, operator, node, shared, upper, initial)
    solver = new_solver(solver="ipm", run_crossover="off")
    if (seconds := seconds_for_solver()) is not None:
        solver.setOptionValue("time_limit", seconds)
    if not hand_over(solver, program):
        return None
    in_fresh_thread(solver.run, solver.cancelSolve)
    columns = sum(estimated_columns(period) for period in periods)
    spend(PASSED_WORK * program.size + INTERIOR_POINT_WORK * columns * max(1, solver.getInfo().ipm_iteration_count))
    if solver.getModelStatus() != _Status.kOptimal:
        return None
    first = 0 if initial is not None else 1
    borders = len(periods) - first
    dual = np.array(solver.getSolution().row_dual)[program.matrix.shape[0] - borders * upper.size :]
    multipliers = np.zeros((len(periods) + 1, upper.size))
    multipliers[first:-1] = np.clip(scale * dual.reshape(borders, upper.size), 0.0, upper)
    return multipliers


def _whole(
    blocks: list[CompactExpressions], operator: Ints, node: Ints, shared: Ints, upper: Floats, initial: Floats | None
) -> tuple[Arrays, float]:
    """The relaxation of all periods; its last rows are those of the borders; and what its objective is divided by."""
    parts = [block.program.arrays() for block in blocks]
    views = [_coordinate_matrix(block, operator, node, shared) for block in blocks]
    width = upper.size
    borders = range(0 if initial is not None else 1, len(blocks))
    size = len(blocks) + len(borders)
    grid: list[list[Any]] = [[part.matrix if number == at else None for at in range(size)] for number, part in enumerate(parts)]
    for place, border in enumerate(borders):
        row: list[Any] = [None] * size
        row[border] = -views[border]
        if border:
            row[border - 1] = views[border - 1]
        row[len(blocks) + place] = sparse.eye_array(width, format="csr")
        grid.append(row)
    matrix = sparse.csr_array(sparse.block_array(grid, format="csr"))
    right = np.zeros((len(borders), width))
    if initial is not None:
        right[0] = -initial
    objective = np.concatenate([*[part.objective for part in parts], np.tile(upper, len(borders))])
    scale = float(np.abs(objective).max()) or 1.0
    increases = len(borders) * width
    program = Arrays(
        objective=objective / scale,
        constant=0.0,
        lower=np.concatenate([*[part.lower for part in parts], np.zeros(increases)]),
        upper=np.concatenate([*[part.upper for part in parts], np.full(increases, np.inf)]),
        integer=np.zeros(objective.size, bool),
        matrix=matrix,
        row_lower=np.concatenate([*[part.row_lower for part in parts], right.ravel()]),
        row_upper=np.concatenate([*[part.row_upper for part in parts], np.full(right.size, np.inf)]),
    )
    return program, scale


def _coordinate_matrix(block: CompactExpressions, operator: Ints, node: Ints, shared: Ints) -> sparse.csr_array:
    """Coordinates as sums of columns of a compact program, shape (coordinates, columns)."""
    rows, columns, entries = [], [], []
    for i in np.unique(operator):
        held = block.holdings(int(i))
        for k in np.flatnonzero(operator == i):
            here = np.flatnonzero(held.nodes == node[k])
            rows.append(np.full(here.size, k))
            columns.append(held.columns[here])
            entries.append(held.counts[here] / (held.totals[here] if shared[k] else 1))
    place = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(entries).astype(float), place), shape=(operator.size, block.program.columns))
