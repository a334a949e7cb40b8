"""CVXPY: the program as one vector of variables, solved by whatever mixed-integer solver CVXPY reaches."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Final

import numpy as np

from edrp.backends import base
from edrp.backends.highs import keep_silent, second_look
from edrp.core.budget import now
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause

OUTCOMES: Final[dict[str, tuple[Status, StoppedBecause]]] = {
    "optimal": ("optimal", "finished"),
    "optimal_inaccurate": ("feasible", "iteration_limit"),
    "user_limit": ("feasible", "time_limit"),
    "infeasible": ("infeasible", "finished"),
    "infeasible_inaccurate": ("none", "error"),
    "infeasible_or_unbounded": ("unbounded", "finished"),
    "unbounded": ("unbounded", "finished"),
    "unbounded_inaccurate": ("none", "error"),
    "solver_error": ("none", "error"),
}
"""Status and the reason for stopping, by CVXPY's status; without a point "feasible" becomes "none"."""


HIGHS_FEASIBLE = 2
"""HiGHS's word for a feasible primal solution."""


class CvxpyBackend(base.Backend):
    """Backend that solves programs by CVXPY with HiGHS."""

    name = "cvxpy"
    summary = "mixed-integer program handed to CVXPY"
    features = frozenset({"work_limit", "gap", "threads", "seed", "tolerances"})
    packages = ("cvxpy",)
    extra = "cvxpy"

    def solve(self, arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
        """Solve a program; CVXPY tells a bound only when a limit stops it."""
        import cvxpy

        keep_silent()
        model, columns = _model(arrays)
        until = base.end_for_solver(options)
        brake = base.NodeBrake(arrays, until - now())
        settings = {"mip_rel_gap": options.gap, "mip_abs_gap": 0.0, "threads": options.threads, "random_seed": options.seed}
        settings |= {**base.highs_settings(options), "mip_max_nodes": brake.nodes}
        with warnings.catch_warnings():
            # A time limit reaches the user as a status; CVXPY's warning about it adds nothing.
            warnings.simplefilter("ignore", UserWarning)
            try:
                base.in_fresh_thread(lambda: _solve(model, settings))
                native = model.status
            except cvxpy.error.SolverError:
                native = "solver_error"
        statistics = None if model.solver_stats is None else model.solver_stats.extra_stats
        brake.release(*(getattr(statistics, name, None) for name in base.COUNTERS))
        status, stopped = OUTCOMES[native]
        bound = base.finite_or_none(getattr(statistics, "mip_dual_bound", None))
        # Stopped before its first incumbent, HiGHS hands over zeros.
        has_point = getattr(statistics, "primal_solution_status", HIGHS_FEASIBLE) == HIGHS_FEASIBLE
        values = None if columns.value is None or not has_point else np.asarray(columns.value, float)
        first = base.ProgramResult.of(arrays, status, stopped, values, None if bound is None else bound + arrays.constant)
        presolved = first.status in ("optimal", "infeasible") and statistics is not None and base.only_presolved(statistics)
        return second_look(arrays, options, until, replace(first, searched=options.tiny or not presolved))


def _solve(model: Any, settings: dict[str, Any]) -> None:
    """Solve a CVXPY model within a limit that includes the time CVXPY takes to rewrite it."""
    import cvxpy

    data, chain, inverse = model.get_problem_data(cvxpy.HIGHS)
    if (seconds := base.seconds_for_solver()) is not None:
        settings = settings | {"time_limit": seconds}
    model.unpack_results(chain.solve_via_data(model, data, solver_opts=settings), chain, inverse)


def _model(arrays: Arrays) -> tuple[Any, Any]:
    """The program as a CVXPY problem over one vector, and that vector."""
    import cvxpy

    # CVXPY takes the integral places as one index array per dimension.
    integers = (np.flatnonzero(arrays.integer),) if arrays.integer.any() else False
    columns = cvxpy.Variable(arrays.objective.size, integer=integers)
    constraints = []
    for sign, side in ((1.0, "lower"), (-1.0, "upper")):
        for matrix, values in ((None, getattr(arrays, side)), (arrays.matrix, getattr(arrays, f"row_{side}"))):
            bounded = np.flatnonzero(np.isfinite(values))
            if bounded.size:
                row_values = columns[bounded] if matrix is None else matrix[bounded] @ columns
                constraints.append(sign * row_values >= sign * values[bounded])
    return cvxpy.Problem(cvxpy.Minimize(arrays.objective @ columns), constraints), columns
