"""A solver of one's own: branch and bound in depth, on linear programs that SciPy solves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edrp.backends import Backend, ProgramResult, SolverOptions
from edrp.backends.base import end_for_solver
from edrp.core.budget import now, spend
from edrp.core.program import Arrays
from edrp.core.solution import Status

NODE_WORK, INTEGRAL = 1e-4, 1e-7
"""Units of work of a node, and how far from an integer counts as one."""


class BranchAndBound(Backend):
    """Fixes the whole column that is the most fractional in the linear relaxation to either side, and drops what is no better."""

    name, summary = "branch-and-bound", "mixed-integer program solved by branch and bound on SciPy's linear programs"
    features, packages, undivided = frozenset({"work_limit"}), ("scipy",), "a linear program"

    def solve(self, arrays: Arrays, options: SolverOptions) -> ProgramResult:
        """Solve a program; what no limit stops is proven."""
        until = end_for_solver(options)
        best, values, remaining = math.inf, None, [(arrays.lower, arrays.upper)]
        while remaining and now() <= until:
            spend(NODE_WORK)
            lower, upper = remaining.pop()
            relaxed = _relaxation(arrays, lower, upper)
            if relaxed.status == 3:
                return ProgramResult("unbounded", "finished")
            if relaxed.x is None or relaxed.fun >= best:
                continue
            fraction = np.where(arrays.integer, np.abs(relaxed.x - np.round(relaxed.x)), 0.0)
            if fraction.max() <= INTEGRAL:
                best, values = relaxed.fun, relaxed.x
                continue
            column = int(fraction.argmax())
            above, below = lower.copy(), upper.copy()
            above[column], below[column] = math.ceil(relaxed.x[column]), math.floor(relaxed.x[column])
            remaining += [(above, upper), (lower, below)]
        if remaining:
            return ProgramResult.of(arrays, "feasible", "time_limit", values)
        status: Status = "infeasible" if values is None else "optimal"
        return ProgramResult.of(arrays, status, "finished", values, None if values is None else best + arrays.constant)


def _relaxation(arrays: Arrays, lower: np.ndarray, upper: np.ndarray) -> Any:
    """The linear program without integers, its columns within these bounds."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    above, below = np.isfinite(arrays.row_upper), np.isfinite(arrays.row_lower)
    rows = vstack([arrays.matrix[above], -arrays.matrix[below]])
    sides = np.concatenate([arrays.row_upper[above], -arrays.row_lower[below]])
    limits: Any = {"A_ub": rows, "b_ub": sides} if sides.size else {}
    return linprog(arrays.objective, **limits, bounds=np.column_stack([lower, upper]))


BRANCH_AND_BOUND = BranchAndBound()
