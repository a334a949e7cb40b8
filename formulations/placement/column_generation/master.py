"""The master program: patterns that cover all instances, as a linear program that grows by columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from edrp.backends.highs import new_solver, run_counted
from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.tolerances import FEASIBILITY_TOLERANCE
from edrp.formulations.placement.column_generation.model import ScoreModel
from edrp.formulations.placement.column_generation.windows import Window

_Status: Any = highspy.HighsModelStatus


@dataclass(frozen=True, slots=True)
class MasterRelaxation:
    """An optimum of the linear program: its value, prices of instances and of supervisors, use of patterns.

    Attributes
    ----------
    value : float
    worth : shape (operators,), worth of covering an instance.
    fee : shape (classes,), cost of using a supervisor of the class besides its price.
    use : shape (patterns,)
    uncovered : float, total use of artificial columns; above 0 where the patterns at hand cannot cover all.
    """

    value: float
    worth: Floats
    fee: Floats
    use: Floats
    uncovered: float


@dataclass
class Pool:
    """Patterns known so far: class, counts, and cost without prices of instances."""

    model: ScoreModel
    owner: list[int] = field(default_factory=list)
    pattern: list[Ints] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    _known: set[tuple[int, bytes]] = field(default_factory=set)

    def add(self, owner: int, patterns: Ints) -> None:
        """Add patterns of a class, shape (patterns, operators), but for those already there."""
        saved = self.model.saved(patterns)
        for pattern, gain in zip(patterns, saved, strict=True):
            key = (owner, pattern.tobytes())
            if key not in self._known:
                self._known.add(key)
                self.owner.append(owner)
                self.pattern.append(pattern)
                self.cost.append(self.model.price - float(gain))


class Master:
    """The linear program over a pool, warm-started after each new column and each change of the window.

    Rows: each operator's instances are covered exactly; supervisors of each class within the window; supervisors in all.
    Artificial columns of a high price keep it feasible.
    """

    def __init__(self, model: ScoreModel, pool: Pool) -> None:
        self.model, self.pool = model, pool
        self.operators, self.classes = model.instances.size, len(model.classes)
        self.penalty = 10.0 * (1.0 + model.largest_score)
        self.columns = 0
        self.solver = new_solver(
            presolve="off", primal_feasibility_tolerance=FEASIBILITY_TOLERANCE, dual_feasibility_tolerance=FEASIBILITY_TOLERANCE
        )
        rows = self.operators + self.classes + 1
        covered = np.concatenate([model.instances, np.zeros(self.classes + 1)]).astype(float)
        nothing = np.zeros(0, np.int32)
        self.solver.addRows(rows, covered, covered, 0, np.zeros(rows, np.int32), nothing, np.zeros(0))
        # One artificial column per row, which only ever adds: too few instances, too few supervisors.
        self._add(np.full(rows, self.penalty), [np.array([row], np.int32) for row in range(rows)], [np.ones(1)] * rows)
        self.artificial = rows

    def restrict(self, window: Window) -> None:
        """Restrict the master program to another window."""
        min_counts = np.array([*window.class_min, window.min_supervisors], float)
        max_counts = np.array([*window.class_max, window.max_supervisors], float)
        rows = np.arange(self.operators, self.operators + self.classes + 1, dtype=np.int32)
        self.solver.changeRowsBounds(rows.size, rows, min_counts, max_counts)

    def raise_penalty(self) -> None:
        """Make artificial columns ten times more expensive."""
        self.penalty *= 10.0
        columns = np.arange(self.artificial, dtype=np.int32)
        self.solver.changeColsCost(columns.size, columns, np.full(columns.size, self.penalty))

    def solve(self) -> MasterRelaxation:
        """Solve over all patterns of the pool."""
        self._take_new()
        run_counted(self.solver)
        if self.solver.getModelStatus() != _Status.kOptimal:  # a warm start that failed
            self.solver.clearSolver()
            run_counted(self.solver)
        solution = self.solver.getSolution()
        dual, value = np.array(solution.row_dual), np.array(solution.col_value)
        fee = -(dual[self.operators : self.operators + self.classes] + dual[-1])
        use = value[self.artificial :]
        return MasterRelaxation(
            float(self.solver.getObjectiveValue()) + self.model.apart,
            dual[: self.operators],
            fee,
            use,
            float(value[: self.artificial].sum()),
        )

    def _take_new(self) -> None:
        pool = self.pool
        rows, entries = [], []
        for owner, pattern in zip(pool.owner[self.columns :], pool.pattern[self.columns :], strict=True):
            used = np.flatnonzero(pattern)
            rows.append(np.array([*used, self.operators + owner, self.operators + self.classes], np.int32))
            entries.append(np.array([*pattern[used], 1, 1], float))
        if rows:
            self._add(np.array(pool.cost[self.columns :]), rows, entries)
        self.columns = len(pool.cost)

    def _add(self, cost: Floats, rows: list[Ints32], entries: list[Floats]) -> None:
        starts = np.cumsum([0, *(entries.size for entries in rows)])[:-1].astype(np.int32)
        count = len(rows)
        self.solver.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, np.inf),
            sum(entries.size for entries in rows),
            starts,
            np.concatenate(rows),
            np.concatenate(entries),
        )
