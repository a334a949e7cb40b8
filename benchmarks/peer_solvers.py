"""Solvers that are handed a program as a practitioner would, next to which `edrp` is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from peer_pairs import Outcome

from edrp.core.program import Arrays


def scip(arrays: Arrays, seconds: float = 60.0) -> Outcome:
    """Solve a program by SCIP on one thread, within `seconds` of processor time."""
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    for name, value in {"limits/gap": 1e-9, "limits/time": seconds, "timing/clocktype": 1, "parallel/maxnthreads": 1}.items():
        model.setParam(name, value)
    described = zip(arrays.lower, arrays.upper, arrays.integer, arrays.objective, strict=True)
    columns = [model.addVar(lb=lo, ub=up if np.isfinite(up) else None, vtype="I" if whole else "C", obj=cost)
               for lo, up, whole, cost in described]  # fmt: skip
    matrix = arrays.matrix
    for row, (low, high) in enumerate(zip(arrays.row_lower, arrays.row_upper, strict=True)):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        if span.start == span.stop:
            continue
        total = quicksum(value * columns[column] for column, value in zip(matrix.indices[span], matrix.data[span], strict=True))
        if low == high:
            model.addCons(total == low)
            continue
        if np.isfinite(high):
            model.addCons(total <= high)
        if np.isfinite(low):
            model.addCons(total >= low)
    model.optimize()
    found = model.getObjVal() + arrays.constant if model.getNSols() else None
    return Outcome(found, model.getDualbound() + arrays.constant, model.getStatus())


def gurobi(arrays: Arrays, seconds: float = 60.0) -> Outcome:
    """Solve a program by Gurobi on one thread, handed over as arrays; its free licence takes 2,000 columns and rows."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 1e-9, "TimeLimit": seconds}) as env:
        model = gurobipy.Model(env=env)
        kinds = np.where(arrays.integer, "I", "C")
        x = model.addMVar(arrays.lower.size, lb=arrays.lower, ub=arrays.upper, obj=arrays.objective, vtype=kinds)
        upper, lower = np.isfinite(arrays.row_upper), np.isfinite(arrays.row_lower)
        equal = arrays.row_lower == arrays.row_upper
        senses: Any = (
            (equal, "=", arrays.row_upper),
            (upper & ~equal, "<", arrays.row_upper),
            (lower & ~equal, ">", arrays.row_lower),
        )
        for rows, sense, side in senses:
            if rows.any():
                model.addMConstr(arrays.matrix[np.flatnonzero(rows)], x, sense, side[rows])
        model.optimize()
        found = model.ObjVal + arrays.constant if model.SolCount else None
        return Outcome(found, model.ObjBound + arrays.constant, str(model.Status))
