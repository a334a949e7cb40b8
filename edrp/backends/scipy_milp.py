"""`scipy.optimize.milp`: HiGHS as SciPy ships it, in another version and built by other people."""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np

from edrp.backends import base
from edrp.backends.conditioning import raised
from edrp.core.arrays import Floats
from edrp.core.budget import now
from edrp.core.errors import OutOfTimeError
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause

OUTCOMES: Final[dict[int, tuple[Status, StoppedBecause]]] = {
    0: ("optimal", "finished"),
    1: ("feasible", "time_limit"),
    2: ("infeasible", "finished"),
    3: ("unbounded", "finished"),
    4: ("none", "iteration_limit"),
}
LIMIT, UNBOUNDED, OTHER = 1, 3, 4
"""Status and the reason for stopping, by SciPy's status, which has no number for a limit of nodes, nor for what presolve calls
"unbounded or infeasible"; without a point "feasible" becomes "none"."""

SCIPY_NODE_WORK, SCIPY_ITERATIONS = 4 * base.NODE_WORK, (2_500, 20_000)
"""Units of work of a node per hardness, and iterations of a search that ends and of one that a limit ends: SciPy tells none."""

MAX_COEFFICIENT = 1e4
"""Largest coefficient of an objective as SciPy gets it, about."""

MIN_COST = 1e-5
"""Smallest one, if possible: HiGHS's own tolerance of costs, which SciPy cannot change, is 1e-7."""


class ScipyBackend(base.Backend):
    """Backend that solves programs by SciPy's `milp`: a second opinion that needs no extra package."""

    name = "scipy"
    summary = "mixed-integer program solved by scipy.optimize.milp"
    features = frozenset({"work_limit", "gap", "threads"})
    packages = ("scipy",)

    def solve(self, arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
        """Solve a program with HiGHS's default tolerances: SciPy offers no others."""
        scale = _scale(arrays.objective)
        answer = _milp(arrays, options, scale, presolve=not options.tiny)
        if _suspicious(arrays, answer, scale):
            answer = _again(arrays, options, scale, answer)
        status, stopped = OUTCOMES[answer.status]
        bound = base.finite_or_none(getattr(answer, "mip_dual_bound", None))
        if bound is not None:
            bound = bound / scale + arrays.constant
        return base.ProgramResult.of(arrays, status, stopped, answer.x, bound)


def run_milp(objective: Floats, settings: dict[str, Any], threads: int = 1, **program: Any) -> Any:
    """Call SciPy's `milp` in a thread of its own; it hands the number of threads on to HiGHS, with a warning that says so."""
    from scipy.optimize import milp

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unrecognized options", RuntimeWarning)
        options: Any = {**settings, "threads": threads}
        return base.in_fresh_thread(lambda: milp(objective, options=options, **program))


def _milp(arrays: Arrays, options: base.SolverOptions, scale: float, presolve: bool) -> Any:
    from scipy.optimize import Bounds, LinearConstraint

    settings: dict[str, Any] = {"mip_rel_gap": options.gap, "presolve": presolve}
    bounds: Any = Bounds(arrays.lower, arrays.upper)  # type: ignore[arg-type]
    rows = LinearConstraint(arrays.matrix, arrays.row_lower, arrays.row_upper) if arrays.row_lower.size else ()  # type: ignore[arg-type]
    program = {"integrality": arrays.integer.astype(int), "bounds": bounds, "constraints": rows}
    brake = base.NodeBrake(arrays, base.end_for_solver(options) - now(), SCIPY_NODE_WORK)
    settings["node_limit"] = brake.nodes
    if (seconds := base.seconds_for_solver()) is not None:
        settings["time_limit"] = seconds
    answer = run_milp(scale * arrays.objective, settings, options.threads, **program)
    iterations = SCIPY_ITERATIONS[answer.status in (LIMIT, OTHER)]
    if brake.release(getattr(answer, "mip_node_count", None), iterations) and answer.status == OTHER:
        answer.status = LIMIT
    if answer.status == OTHER and "unbounded or infeasible" in answer.message:
        answer.status = UNBOUNDED
    return answer


def _suspicious(arrays: Arrays, answer: Any, scale: float) -> bool:
    """Whether HiGHS calls a point optimal before the first node, which it does wrongly where a restart presolves all costs away.

    SciPy cannot forbid restarts; without presolve there are none.
    """
    if answer.status != 0 or answer.mip_node_count != 0:
        return False
    return not base.bounds_prove(arrays, float(answer.fun) / scale + arrays.constant)


def _again(arrays: Arrays, options: base.SolverOptions, scale: float, first: Any) -> Any:
    """The better of the first answer and one without presolve, with the bound of the latter; without that it is not proven."""
    try:
        second = _milp(arrays, options, scale, presolve=False)
    except OutOfTimeError:
        second = None
    if second is None or second.x is None:
        first.status, first.mip_dual_bound = 1, None
        return first
    best = min(first, second, key=lambda answer: float(answer.fun))
    best.status, best.mip_dual_bound = second.status, second.mip_dual_bound
    return best


def _scale(objective: Floats) -> float:
    """A power of two that makes the largest coefficient about `MAX_COEFFICIENT`, and more where the smallest one would be tiny.

    HiGHS calls what is within an absolute gap of 1e-6 optimal, which SciPy cannot change: in larger numbers that is less.
    """
    costs = np.abs(objective[objective != 0])
    if not costs.size:
        return 1.0
    return 2.0 ** round(math.log2(raised(costs, MAX_COEFFICIENT, MIN_COST) / costs.max()))
