"""SCIP through PySCIPOpt: columns and rows without an algebra between, start, progress, and Ctrl-C that keeps the incumbent."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from edrp.backends import base
from edrp.core.arrays import Floats
from edrp.core.budget import now, spend
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause
from edrp.core.tolerances import FEASIBILITY_TOLERANCE

OUTCOMES: Final[dict[str, tuple[Status, StoppedBecause]]] = {
    "optimal": ("optimal", "finished"),
    "gaplimit": ("optimal", "finished"),
    "infeasible": ("infeasible", "finished"),
    "unbounded": ("unbounded", "finished"),
    "inforunbd": ("unbounded", "finished"),
    "timelimit": ("feasible", "time_limit"),
    "userinterrupt": ("feasible", "interrupted"),
}
"""Status and the reason for stopping, by the status of SCIP; every other one is an error."""

ROOT_WORK, LP_WORK, ITERATION_WORK = 5e-6, 6e-7, 4e-9
"""Units of work of SCIP per column, row and nonzero: for presolve and the root, for every linear program, and for an iteration of
the simplex method; within a factor of 2.5 of the seconds of programs of 80 to 75,000 entries of all kinds."""


class ScipBackend(base.Backend):
    """Backend that solves programs by SCIP."""

    name = "scip"
    summary = "mixed-integer program solved by SCIP"
    undivided = "presolve and a heuristic of its search"
    features = frozenset({"work_limit", "gap", "start", "interrupt", "seed", "progress", "tolerances"})
    packages = ("pyscipopt",)
    extra = "scip"

    def solve(self, arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
        """Solve a program; after Ctrl-C the incumbent is returned.

        Raises
        ------
        OutOfTimeError
            When presolve and the root alone would take more than is left.
        """
        until = base.end_for_solver(options)
        meter = _meter(arrays, options, until - now())
        model, columns = _model(arrays)
        model.setParams(_settings(options))
        if options.start is not None:
            _set_start(model, columns, np.where(arrays.integer, np.round(options.start), options.start))
        model.includeEventhdlr(meter, "meter", "counts work")
        base.in_fresh_thread(model.optimizeNogil, model.interruptSolve)
        spend(meter.work)
        status, stopped = OUTCOMES.get(model.getStatus(), base.FAILED)
        if meter.pulled and stopped == "interrupted":
            stopped = "time_limit"
        best = model.getBestSol() if model.getNSols() else None
        values = None if best is None else np.array([best[column] for column in columns], float)
        return base.ProgramResult.of(arrays, status, stopped, values, base.finite_or_none(model.getDualbound()))


def _settings(options: base.SolverOptions) -> dict[str, Any]:
    """Parameters of SCIP for a run."""
    settings: dict[str, Any] = {
        "misc/catchctrlc": False,  # Ctrl-C is for Python, which then interrupts SCIP
        "limits/gap": options.gap,
        "randomization/randomseedshift": options.seed % 2**31,
        # Costs up to nine tenths of the time on placement programs; what the first round finds does as well.
        "separating/aggregation/maxroundsroot": 1,
        "separating/aggregation/maxrounds": 0,
        # Reductions by the costs lose optima in presolve of SCIP 10.0 (docs/explanation/wrong_optima.md).
        "misc/allowstrongdualreds": False,
        "misc/allowweakdualreds": False,
    }
    if options.tiny:
        settings["presolving/maxrounds"] = 0
    else:
        settings["numerics/feastol"] = FEASIBILITY_TOLERANCE
    if (seconds := base.seconds_for_solver()) is not None:
        settings["limits/time"] = seconds
    return settings


def _model(arrays: Arrays) -> tuple[Any, list[Any]]:
    """The program as a model of SCIP, and its columns."""
    from pyscipopt import Expr, ExprCons, Model

    model = Model()
    model.hideOutput()
    lower, upper, row_lower, row_upper = (
        np.clip(side, -base.INFINITE, base.INFINITE).tolist()
        for side in (arrays.lower, arrays.upper, arrays.row_lower, arrays.row_upper)
    )
    types = np.where(arrays.integer, "I", "C").tolist()
    columns = [model.addVar("x", *column) for column in zip(types, lower, upper, arrays.objective.tolist(), strict=True)]
    matrix, add = arrays.matrix, model.addConsCoeff
    starts, indices, data = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    for row, ends in enumerate(zip(row_lower, row_upper, strict=True)):
        constraint = model.addCons(ExprCons(Expr({}), *ends), "row")
        for place in range(starts[row], starts[row + 1]):
            add(constraint, columns[indices[place]], data[place])
    model.addObjoffset(arrays.constant)
    return model, columns


def _set_start(model: Any, columns: list[Any], values: Floats) -> None:
    """Hand over a starting point; SCIP completes a partial one itself and drops one that is not feasible."""
    start = model.createSol() if np.isfinite(values).all() else model.createPartialSol()
    for place in np.flatnonzero(np.isfinite(values)).tolist():
        model.setSolVal(start, columns[place], values[place])
    model.addSol(start)


def _meter(arrays: Arrays, options: base.SolverOptions, units: float) -> Any:
    """Handler of SCIP's events that counts its work, stops it where the limit is reached, and reports.

    It looks after every linear program and node, which depend on the program alone; presolve and heuristics are not stopped.
    """
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    size = arrays.size
    base.need_root(ROOT_WORK * size, units)
    tell = base.paced(options.progress)

    class Meter(Eventhdlr):  # type: ignore[misc]
        work, pulled = ROOT_WORK * size, False

        def eventinit(self) -> None:
            for event in (SCIP_EVENTTYPE.LPSOLVED, SCIP_EVENTTYPE.FIRSTLPSOLVED, SCIP_EVENTTYPE.NODESOLVED):
                self.model.catchEvent(event, self)

        def eventexec(self, event: Any) -> None:
            iterations = self.model.getNLPIterations() + self.model.getNStrongbranchLPIterations()
            self.work = size * (ROOT_WORK + LP_WORK * self.model.getNLPs() + ITERATION_WORK * iterations)
            if self.work > units:
                self.pulled = True
                self.model.interruptSolve()
            if tell is not None:
                tell(self.model.getPrimalbound(), self.model.getDualbound())

    return Meter()
