"""Gurobi through gurobipy: arrays handed over at once, start, progress, a clock of work, and Ctrl-C that keeps the incumbent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from edrp.backends import base
from edrp.core.budget import now, spend
from edrp.core.errors import BackendUnavailableError, UnsupportedProblemError, numbered
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause
from edrp.core.tolerances import FEASIBILITY_TOLERANCE

OUTCOMES: Final[dict[int, tuple[Status, StoppedBecause]]] = {
    2: ("optimal", "finished"),
    3: ("infeasible", "finished"),
    4: ("unbounded", "finished"),
    5: ("unbounded", "finished"),
    9: ("feasible", "time_limit"),
    11: ("feasible", "interrupted"),
    13: ("feasible", "iteration_limit"),
    16: ("feasible", "time_limit"),
}
"""Status and the reason for stopping, by Gurobi's status; every other one is an error."""

UNDEFINED, MAX_SEED = 1e101, 2_000_000_000
"""Gurobi's number for a value that a start leaves open, and its largest seed."""

ROOT_WORK = 2e-6
"""Units of work of Gurobi for the root of its search per column, row and nonzero; with less it ends without a bound."""

FREE_SIZE = 2000
"""Columns and rows of the largest programs that Gurobi solves without a licence of one's own."""


class GurobiBackend(base.Backend):
    """Backend that solves programs by Gurobi, those of up to `FREE_SIZE` columns and rows without a licence."""

    name = "gurobi"
    summary = "mixed-integer program solved by Gurobi, of up to 2,000 columns and rows without a licence"
    features = frozenset({"work_limit", "gap", "threads", "start", "interrupt", "seed", "progress", "tolerances"})
    packages = ("gurobipy",)
    extra = "gurobi"

    def solve(self, arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
        """Solve a program; after Ctrl-C the incumbent is returned.

        Raises
        ------
        UnsupportedProblemError
            The program is larger than the licence allows.
        BackendUnavailableError
            There is no valid licence.
        OutOfTimeError
            When the root alone would take more than is left.
        """
        import gurobipy

        until = base.end_for_solver(options)
        base.need_root(ROOT_WORK * arrays.size, until - now())
        with _refusals(arrays):
            # Neither is closed: a run that is left to itself still uses them.
            environment = gurobipy.Env(params=_settings(options, until - now()))
            model = gurobipy.Model(env=environment)
            columns = _hand_over(model, arrays, options)
            base.in_fresh_thread(lambda: model.optimize(_report(options)), model.terminate)
        spend(model.Work)
        status, stopped = OUTCOMES.get(model.Status, base.FAILED)
        values = np.array(columns.X, float) if model.SolCount else None
        bound = base.finite_or_none(model.ObjBound) if model.IsMIP else None
        return base.ProgramResult.of(arrays, status, stopped, values, bound)


def _settings(options: base.SolverOptions, units: float) -> dict[str, Any]:
    """Parameters of Gurobi for a run."""
    settings: dict[str, Any] = {
        "OutputFlag": 0,
        "Threads": options.threads,
        "Seed": options.seed % MAX_SEED,
        "MIPGap": options.gap,
        "MIPGapAbs": 0.0,
        "FeasibilityTol": FEASIBILITY_TOLERANCE,
        "OptimalityTol": FEASIBILITY_TOLERANCE,
    }
    settings |= {"Presolve": 0} if options.tiny else {"IntFeasTol": FEASIBILITY_TOLERANCE}
    if units < math.inf:
        settings["WorkLimit"] = units
    if (seconds := base.seconds_for_solver()) is not None:
        settings["TimeLimit"] = seconds
    return settings


def _hand_over(model: Any, arrays: Arrays, options: base.SolverOptions) -> Any:
    """Give Gurobi a program, all arrays at once, and return its columns; rows with two sides become two rows."""
    types = np.where(arrays.integer, "I", "C")
    columns = model.addMVar(arrays.lower.shape, arrays.lower, arrays.upper, arrays.objective, types)
    model.ObjCon = arrays.constant
    equal = arrays.row_lower == arrays.row_upper
    for sense, side, used in (("=", arrays.row_lower, equal), ("<", arrays.row_upper, ~equal), (">", arrays.row_lower, ~equal)):
        rows = np.flatnonzero(used & np.isfinite(side))
        if rows.size:
            model.addMConstr(arrays.matrix[rows], columns, sense, side[rows])
    if options.start is not None:
        values = np.where(arrays.integer, np.round(options.start), options.start)
        columns.Start = np.where(np.isfinite(values), values, UNDEFINED)
    return columns


def _report(options: base.SolverOptions) -> Any:
    """Function that Gurobi calls with what it has found; None where nobody asks."""
    from gurobipy import GRB

    tell = base.paced(options.progress)
    if tell is None:
        return None

    def handle(model: Any, where: int) -> None:
        if where == GRB.Callback.MIP:
            tell(*(model.cbGet(what) for what in (GRB.Callback.MIP_OBJBST, GRB.Callback.MIP_OBJBND)))

    return handle


@contextmanager
def _refusals(arrays: Arrays) -> Iterator[None]:
    """Gurobi's refusals within the block as errors that say what can be done."""
    from gurobipy import GRB, GurobiError

    try:
        yield
    except GurobiError as error:
        if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
            rows, columns = arrays.matrix.shape
            raise UnsupportedProblemError(
                f"a program of {numbered(columns, 'column')} and {numbered(rows, 'row')} is too large for gurobi without a "
                f"licence: {FREE_SIZE} of each (a row with two limits counts twice)",
                "install a licence",
                ("highs",),
            ) from None
        if error.errno == GRB.Error.NO_LICENSE:
            raise BackendUnavailableError(f"backend 'gurobi' has no valid licence: {error}; highs and scip need none") from None
        raise
