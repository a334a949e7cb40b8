"""`scipy.optimize.milp`: HiGHS as SciPy ships it, in another version and built by other people."""

from __future__ import annotations

from typing import Any, Final

from edrp.backends.base import ProgramResult, SolverOptions, finite_or_none, in_fresh_thread, seconds_for_solver
from edrp.core.clock import now
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


class ScipyBackend:
    """Second opinion that needs no extra."""

    name = "scipy"
    features = frozenset({"time_limit", "gap"})
    package = "scipy"
    extra = ""

    def solve(self, arrays: Arrays, options: SolverOptions) -> ProgramResult:
        """Solve a program with HiGHS's default tolerances: SciPy offers no others."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        settings: Any = {"mip_rel_gap": options.gap}
        bounds: Any = Bounds(arrays.lower, arrays.upper)  # type: ignore[arg-type]
        rows = LinearConstraint(arrays.matrix, arrays.row_lower, arrays.row_upper) if arrays.row_lower.size else ()  # type: ignore[arg-type]
        integral = arrays.integer.astype(int)
        limit = seconds_for_solver(options)
        if limit is not None:
            settings["time_limit"] = limit
        started = now()
        answer = in_fresh_thread(
            lambda: milp(arrays.objective, integrality=integral, bounds=bounds, constraints=rows, options=settings), seconds=limit
        )
        seconds = now() - started
        status, stopped = OUTCOMES[answer.status]
        bound = finite_or_none(getattr(answer, "mip_dual_bound", None))
        if bound is not None:
            bound += arrays.constant
        if answer.x is None:
            held: Status = status if status in ("infeasible", "unbounded") else "none"
            return ProgramResult(held, stopped, None, None, bound if held == "none" else None, seconds)
        return ProgramResult(status, stopped, answer.x, float(answer.fun) + arrays.constant, bound, seconds)
