"""A linear program that grows by columns and rows, and goes on from its last optimum (HiGHS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import highspy
import numpy as np

from edrp.backends.base import in_fresh_thread
from edrp.backends.highs import ITERATION_WORK, PASSED_WORK, new_solver
from edrp.core.arrays import Floats
from edrp.core.budget import spend

_OPTIMAL: Any = highspy.HighsModelStatus.kOptimal

Entries = Sequence[tuple[Any, Any]]
"""Rows and coefficients of each new column, or columns and coefficients of each new row."""


class LinearOptimum(NamedTuple):
    """Value, columns and prices of rows; no optimum where HiGHS has failed or there is none, which `optimal` says."""

    value: float
    columns: Floats
    prices: Floats
    optimal: bool


class GrowingProgram:
    """Minimised; columns and rows are numbered in the order in which they are added.

    Parameters
    ----------
    step_work
        Units of work of a step of the simplex method per column, row and nonzero; None where the work counts elsewhere.
    settings
        Options of HiGHS.
    """

    def __init__(self, step_work: float | None = ITERATION_WORK, **settings: Any) -> None:
        self._solver, self._step_work, self._steps = new_solver(**settings), step_work, 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._solver.getNumRow())

    def add_columns(self, cost: Any, entries: Entries = (), lower: Any = 0.0, upper: Any = np.inf) -> None:
        """Add columns with some costs, shape (columns,), and entries in the rows that there are; none by default."""
        cost = np.array(cost, float)
        bounds = (np.broadcast_to(np.asarray(end, float), cost.shape) for end in (lower, upper))
        self._solver.addCols(cost.size, cost, *bounds, *_flat(entries, cost.size))

    def add_rows(self, lower: Any, upper: Any, entries: Entries) -> None:
        """Add rows, each with its entries in the columns that there are; one bound may serve all of them."""
        bounds = (np.broadcast_to(np.asarray(end, float), len(entries)) for end in (lower, upper))
        self._solver.addRows(len(entries), *bounds, *_flat(entries, len(entries)))

    def price(self, columns: Any, cost: Any) -> None:
        """Change costs of columns, given by number; one may serve all of them."""
        columns = np.asarray(columns, np.int32)
        self._solver.changeColsCost(columns.size, columns, np.broadcast_to(np.asarray(cost, float), columns.size))

    def bound_columns(self, columns: Any, lower: Any, upper: Any) -> None:
        """Change bounds of columns, given by number."""
        columns = np.asarray(columns, np.int32)
        self._solver.changeColsBounds(columns.size, columns, *(np.array(end, float) for end in (lower, upper)))

    def bound_rows(self, rows: Any, lower: Any, upper: Any) -> None:
        """Change bounds of rows, given by number."""
        rows = np.asarray(rows, np.int32)
        self._solver.changeRowsBounds(rows.size, rows, *(np.array(end, float) for end in (lower, upper)))

    def solve(self) -> LinearOptimum:
        """Find an optimum, from the last one on, and without it where that fails."""
        self._run()
        if not self._optimal:
            self._solver.clearSolver()
            self._run()
        solution = self._solver.getSolution()
        value = float(self._solver.getObjectiveValue())
        return LinearOptimum(value, np.array(solution.col_value), np.array(solution.row_dual), self._optimal)

    @property
    def _optimal(self) -> bool:
        return bool(self._solver.getModelStatus() == _OPTIMAL)

    def _run(self) -> None:
        in_fresh_thread(self._solver.run, self._solver.cancelSolve)
        if self._step_work is not None:
            size = self._solver.getNumNz() + self._solver.getNumRow() + self._solver.getNumCol()
            spend(PASSED_WORK * size + self._step_work * size * max(0, self._solver.getInfo().simplex_iteration_count))


def _flat(entries: Entries, count: int) -> tuple[int, Any, Any, Any]:
    """Number of entries, and where each part starts, its indices and its coefficients, as HiGHS takes them."""
    parts = [(np.asarray(index, np.int32), np.asarray(values, float)) for index, values in entries]
    starts = np.zeros(count, np.int32)
    starts[1 : len(parts)] = np.cumsum([index.size for index, _ in parts])[:-1]
    index = np.concatenate([np.zeros(0, np.int32), *(index for index, _ in parts)])
    return index.size, starts, index, np.concatenate([np.zeros(0), *(values for _, values in parts)])
