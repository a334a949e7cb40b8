"""Pyomo: the program as a Pyomo model, solved by HiGHS through Pyomo's solver interface."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, Final

import numpy as np

from edrp.backends import base
from edrp.backends.highs import keep_silent, second_look
from edrp.core.budget import look, now
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause

STOPPED: Final[dict[str, StoppedBecause]] = {
    "convergenceCriteriaSatisfied": "finished",
    "maxTimeLimit": "time_limit",
    "iterationLimit": "iteration_limit",
    "objectiveLimit": "iteration_limit",
    "minStepLength": "error",
    "unbounded": "finished",
    "provenInfeasible": "finished",
    "locallyInfeasible": "error",
    "infeasibleOrUnbounded": "finished",
    "error": "error",
    "interrupted": "interrupted",
    "licensingProblems": "error",
    "emptyModel": "finished",
    "unknown": "error",
}
"""Reason for which the solver stopped, by Pyomo's termination condition."""

HELD: Final[dict[str, Status]] = {
    "noSolution": "none",
    "unknown": "none",
    "infeasible": "none",
    "feasible": "feasible",
    "optimal": "optimal",
}
"""Status, by Pyomo's solution status."""


class PyomoBackend(base.Backend):
    """Backend that solves programs by Pyomo with HiGHS."""

    name = "pyomo"
    summary = "mixed-integer program handed to Pyomo"
    features = frozenset({"work_limit", "gap", "threads", "seed", "tolerances"})
    packages = ("pyomo", "packaging")  # which Pyomo needs once gurobipy is imported, and does not require
    extra = "pyomo"

    def solve(self, arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
        """Solve a program."""
        until = base.end_for_solver(options)
        return second_look(arrays, options, until, _solved(arrays, options))


def _solved(arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
    """Solve a program once, and return its result."""
    import pyomo.environ  # registers the solvers
    from pyomo.common.log import LoggingIntercept
    from pyomo.contrib.solver.common.factory import SolverFactory

    assert pyomo.environ
    # A row without any column may exclude 0; Pyomo refuses such rows instead of calling them infeasible.
    empty = np.diff(arrays.matrix.indptr) == 0
    if (empty & ((arrays.row_lower > 0) | (arrays.row_upper < 0))).any():
        return base.ProgramResult("infeasible", "finished")
    keep_silent()
    brake = base.NodeBrake(arrays, base.end_for_solver(options) - now())
    solver = SolverFactory("highs")
    settings: dict[str, Any] = {"load_solutions": False, "raise_exception_on_nonoptimal_result": False}
    settings |= {"rel_gap": options.gap, "abs_gap": 0.0, "threads": options.threads}
    # As Pyomo hands programs over, HiGHS calls feasible ones infeasible where it may not presolve them.
    own = {"random_seed": options.seed, "presolve": "choose", "mip_max_nodes": brake.nodes}
    settings["solver_options"] = base.highs_settings(options) | own

    def work() -> tuple[Any, Any]:
        with LoggingIntercept(module="pyomo.core"):  # a model that is given up would be reported as an error
            model = _model(arrays)
        look("the program")  # no limit of the solver counts what follows, and it takes as long as making the model
        solver.set_instance(model)
        settings["auto_updates"] = dict.fromkeys(solver.config.auto_updates, False)
        look("the program")
        return model, solver.solve(model, time_limit=base.seconds_for_solver(), **settings)

    # It is waited for to the end: left to itself, it would go on redirecting the output of the whole process.
    model, answer = base.in_fresh_thread(work, patience=inf)
    info = solver._solver_model.getInfo()
    braked = brake.release(*(getattr(info, name, None) for name in base.COUNTERS))
    ending, status = answer.termination_condition.name, HELD[answer.solution_status.name]
    stopped = STOPPED[ending]
    if braked and stopped == "iteration_limit":
        stopped = "time_limit"
    values = None
    if ending in ("provenInfeasible", "unbounded", "infeasibleOrUnbounded"):
        status = "infeasible" if ending == "provenInfeasible" else "unbounded"
    elif status != "none":
        answer.solution_loader.load_vars()
        values = np.array([model.x[index].value for index in model.x], float)
    searched = status in ("none", "feasible") or options.tiny or not base.only_presolved(info)
    result = base.ProgramResult.of(arrays, status, stopped, values, base.finite_or_none(answer.objective_bound))
    return replace(result, searched=searched)


def _model(arrays: Arrays) -> Any:
    """The program as a Pyomo model with variables `x` and constraints `rows`."""
    import pyomo.environ as pyomo
    from pyomo.core.expr import LinearExpression

    model = pyomo.ConcreteModel()
    count = arrays.objective.size
    lower = [base.finite_or_none(value) for value in arrays.lower]
    upper = [base.finite_or_none(value) for value in arrays.upper]
    domains = [pyomo.Integers if integral else pyomo.Reals for integral in arrays.integer]

    def bounds(_: Any, j: int) -> tuple[float | None, float | None]:
        look("the program")  # tens of thousands of columns take seconds
        return lower[j], upper[j]

    model.x = pyomo.Var(range(count), domain=lambda _, j: domains[j], bounds=bounds)
    columns = [model.x[index] for index in range(count)]
    model.rows = pyomo.ConstraintList()
    start = arrays.matrix.indptr
    for row in np.flatnonzero(np.diff(start)):
        look("the program")
        part = slice(start[row], start[row + 1])
        row_value = LinearExpression(
            linear_coefs=arrays.matrix.data[part].tolist(), linear_vars=[columns[index] for index in arrays.matrix.indices[part]]
        )
        row_min, row_max = base.finite_or_none(arrays.row_lower[row]), base.finite_or_none(arrays.row_upper[row])
        if row_min is not None and row_min == row_max:
            model.rows.add(row_value == row_min)
        elif row_min is not None or row_max is not None:
            model.rows.add((row_min, row_value, row_max))
    used = np.flatnonzero(arrays.objective)
    goal = LinearExpression(
        constant=arrays.constant, linear_coefs=arrays.objective[used].tolist(), linear_vars=[columns[index] for index in used]
    )
    model.objective = pyomo.Objective(expr=goal)
    return model
