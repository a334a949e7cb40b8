"""`scipy.optimize.milp`: HiGHS as SciPy ships it, in another version and built by other people."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from edrp.backends.base import ProgramResult, SolverOptions, finite_or_none, in_fresh_thread, seconds_for_solver
from edrp.core.arrays import Floats
from edrp.core.budget import now
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause

OUTCOMES: Final[dict[int, tuple[Status, StoppedBecause]]] = {
    0: ("optimal", "finished"),
    1: ("feasible", "time_limit"),
    2: ("infeasible", "finished"),
    3: ("unbounded", "finished"),
    4: ("none", "error"),
}
"""Status and the reason for stopping, by SciPy's status; without a point "feasible" becomes "none"."""


LARGEST = 1e4
"""Largest coefficient of an objective as SciPy gets it, about."""


class ScipyBackend:
    """Second opinion that needs no extra."""

    name = "scipy"
    features = frozenset({"time_limit", "gap"})
    package = "scipy"
    extra = ""

    def solve(self, arrays: Arrays, options: SolverOptions) -> ProgramResult:
        """Solve a program with HiGHS's default tolerances: SciPy offers no others."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        scale = _scale(arrays.objective)
        objective = scale * arrays.objective
        settings: Any = {"mip_rel_gap": options.gap, "presolve": not options.tiny}
        bounds: Any = Bounds(arrays.lower, arrays.upper)  # type: ignore[arg-type]
        rows = LinearConstraint(arrays.matrix, arrays.row_lower, arrays.row_upper) if arrays.row_lower.size else ()  # type: ignore[arg-type]
        integral = arrays.integer.astype(int)
        limit = seconds_for_solver(options)
        if limit is not None:
            settings["time_limit"] = limit
        started = now()
        answer = in_fresh_thread(
            lambda: milp(objective, integrality=integral, bounds=bounds, constraints=rows, options=settings), seconds=limit
        )
        seconds = now() - started
        status, stopped = OUTCOMES[answer.status]
        bound = finite_or_none(getattr(answer, "mip_dual_bound", None))
        if bound is not None:
            bound = bound / scale + arrays.constant
        if answer.x is None:
            held: Status = status if status in ("infeasible", "unbounded") else "none"
            return ProgramResult(held, stopped, None, None, bound if held == "none" else None, seconds)
        return ProgramResult(status, stopped, answer.x, float(answer.fun) / scale + arrays.constant, bound, seconds)


def _scale(objective: Floats) -> float:
    """A power of two that makes the largest coefficient about `LARGEST`.

    HiGHS calls what is within an absolute gap of 1e-6 optimal, which SciPy cannot change: in larger numbers that is less.
    """
    largest = float(np.abs(objective).max(initial=0.0))
    return 2.0 ** round(math.log2(LARGEST / largest)) if largest > 0 else 1.0
