"""Leased hosts: a moment of 32 and of 64 operators, and leases over eight periods, against solvers on the plain programs.

A peer gets the program that says which instances run on which hosts, without anything that `edrp` proves or packs beforehand: of
a moment all combinations of hosts that may be optimal by their resources in aggregate, of leases the hosts of every period.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from peer_pairs import Call, Outcome, Pair, register

import edrp
from edrp.backends import solve_program
from edrp.core.program import Arrays, Program
from edrp.datasets.families.registry import generate
from edrp.formulations.enactment import snapshot

INSTANCES = Path(__file__).resolve().parents[1] / "instances"

SECONDS = 10.0
"""Limit of every solver in seconds of the processor, or in units of work where it counts these."""


def of_file(name: str) -> Any:
    """The problem of a file."""
    return edrp.load(INSTANCES / name)


def of_64_operators() -> Any:
    """A layered application of 64 operators at one moment."""
    return next(generate("enactment", 1, seed=64, families=["containers-layered"], size=64))[1]


def ours(make: Callable[[], Any]) -> Callable[[], Outcome]:
    """The default method."""
    problem = make()

    def run() -> Outcome:
        solution = edrp.solve(problem, work_limit=None if problem.kind == "leasing" else SECONDS)
        return Outcome(solution.objective, solution.bound, solution.status)

    return run


def program_of(problem: Any) -> Program:
    """The program of all instances and hosts, of a moment without the bounds that packing proves."""
    with patch.object(snapshot, "sharpened", lambda arrays, found, allowance: found):
        program: Program = edrp.formulate(problem).program
    return program


def by_highs(make: Callable[[], Any]) -> Callable[[], Outcome]:
    """HiGHS."""
    program = program_of(make())

    def run() -> Outcome:
        result = solve_program(program, "highs", work_limit=SECONDS)
        return Outcome(result.objective, result.bound, result.status)

    return run


def by_scip(make: Callable[[], Any]) -> Callable[[], Outcome]:
    """SCIP by PySCIPOpt, with its default settings."""
    from pyscipopt import Model, quicksum

    arrays = program_of(make()).arrays()

    def run() -> Outcome:
        model = Model()
        model.hideOutput()
        model.setParam("limits/time", SECONDS)
        model.setParam("timing/clocktype", 1)  # seconds of the processor
        ends = zip(arrays.lower, arrays.upper, arrays.integer, strict=True)
        columns = [model.addVar(lb=low, ub=_none(high), vtype="I" if whole else "C") for low, high, whole in ends]
        for row, low, high in rows_of(arrays):
            total = quicksum(value * columns[column] for column, value in row)
            if np.isfinite(low) and low == high:
                model.addCons(total == low)
            elif np.isfinite(low):
                model.addCons(total >= low)
            if np.isfinite(high) and low != high:
                model.addCons(total <= high)
        terms = quicksum(value * column for value, column in zip(arrays.objective, columns, strict=True) if value)
        model.setObjective(terms + arrays.constant, "minimize")
        model.optimize()
        return Outcome(model.getObjVal() if model.getNSols() else None, model.getDualbound(), model.getStatus())

    return run


def by_gurobi(make: Callable[[], Any]) -> Callable[[], Outcome]:
    """Gurobi on one thread; its free licence takes 2,000 columns and rows."""
    import gurobipy

    arrays = program_of(make()).arrays()
    surroundings = gurobipy.Env(params={"OutputFlag": 0})

    def run() -> Outcome:
        model = gurobipy.Model(env=surroundings)
        model.Params.Threads, model.Params.WorkLimit, model.Params.MIPGap = 1, SECONDS, 1e-9
        kinds = np.where(arrays.integer, "I", "C")
        columns = model.addMVar(arrays.objective.size, lb=arrays.lower, ub=arrays.upper, vtype=kinds)
        low, high = np.isfinite(arrays.row_lower), np.isfinite(arrays.row_upper)
        model.addConstr(arrays.matrix[low] @ columns >= arrays.row_lower[low])
        model.addConstr(arrays.matrix[high] @ columns <= arrays.row_upper[high])
        model.setObjective(arrays.objective @ columns + arrays.constant)
        model.optimize()
        return Outcome(model.ObjVal if model.SolCount else None, model.ObjBound, f"status {model.Status}")

    return run


def rows_of(arrays: Arrays) -> Any:
    """Entries (column, coefficient) of each row, and its range."""
    matrix = arrays.matrix
    for index, (begin, end) in enumerate(zip(matrix.indptr, matrix.indptr[1:], strict=False)):
        entries = list(zip(matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist(), strict=True))
        if entries:
            yield entries, arrays.row_lower[index], arrays.row_upper[index]


def _none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


ROWS = {
    "enactment-32": ("proven, 10 s", partial(of_file, "enactment_lay_32.json")),
    "enactment-64": ("gap 0.01 %, 10 s", of_64_operators),
    "leasing-departures-8": ("0.02 s, proven", partial(of_file, "leasing_departures_8.json")),
}
PEERS = {
    "scip": ("SCIP", by_scip, "pyscipopt"),
    "gurobi": ("Gurobi", by_gurobi, "gurobipy"),
    "highs": ("HiGHS", by_highs, "highspy"),
}

for row, (goal, make) in ROWS.items():
    for short, (title, peer, module) in PEERS.items():
        register(Pair(f"{row}-{short}", goal, Call("edrp", partial(ours, make)), Call(title, partial(peer, make)), (module,)))
