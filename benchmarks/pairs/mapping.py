"""Links shared among flows, and maps of long tasks: `edrp` against the same programs on other solvers.

The peers get the program "paths" or "walks" as a practitioner would write it, and build no part of it in the time that is
measured but the solver's own model. Gurobi's free licence takes 2,000 columns at most.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peer_pairs import Call, Outcome, Pair, register

import edrp
from edrp.core.program import Arrays
from edrp.datasets.families.mapping.link_allocation import bimodal_flows
from edrp.datasets.families.mapping.power_law_networks import mapping_problem

INSTANCES = Path(__file__).resolve().parents[1] / "instances"

MAP_WORK = 0.1
"""Units of work for a map of a long task."""


def link_allocation(size: int) -> Any:
    """The instance of 60 flows that was found on a platform, or one of another size from the family."""
    if size == 60:
        return edrp.load(INSTANCES / "link-allocation_platform_60.json")
    return bimodal_flows(size, seed=size, max_links=4)


def ours(problem: Any, **limits: Any) -> Callable[[], Outcome]:
    """Solve a problem that is built again each time: nothing is kept from an earlier call."""
    kind, text = type(problem), problem.model_dump_json()
    fresh = [kind.model_validate_json(text) for _ in range(50)]
    edrp.solve(problem, **limits)

    def call() -> Outcome:
        solution = edrp.solve(fresh.pop() if fresh else problem, **limits)
        return Outcome(solution.objective, solution.bound, solution.status)

    return call


def scip(arrays: Arrays, seconds: float = 60.0) -> Outcome:
    """Solve a program by SCIP on one thread."""
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    model.setParam("limits/gap", 1e-9)
    model.setParam("limits/time", seconds)
    columns = [
        model.addVar(lb=low, ub=high, vtype="B" if whole else "C", obj=cost)
        for low, high, whole, cost in zip(arrays.lower, arrays.upper, arrays.integer, arrays.objective, strict=True)
    ]
    matrix = arrays.matrix
    for row, (low, high) in enumerate(zip(arrays.row_lower, arrays.row_upper, strict=True)):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        total = quicksum(value * columns[column] for column, value in zip(matrix.indices[span], matrix.data[span], strict=True))
        if low == high:
            model.addCons(total == low)
        else:
            if np.isfinite(high):
                model.addCons(total <= high)
            if np.isfinite(low):
                model.addCons(total >= low)
    model.optimize()
    found = model.getObjVal() + arrays.constant if model.getNSols() else None
    return Outcome(found, model.getDualbound() + arrays.constant, model.getStatus())


def gurobi(arrays: Arrays, seconds: float = 60.0) -> Outcome:
    """Solve a program by Gurobi on one thread, handed over as arrays."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 1e-9, "TimeLimit": seconds}) as env:
        model = gurobipy.Model(env=env)
        kinds = np.where(arrays.integer, "B", "C")
        x = model.addMVar(arrays.lower.size, lb=arrays.lower, ub=arrays.upper, obj=arrays.objective, vtype=kinds)
        upper, lower = np.isfinite(arrays.row_upper), np.isfinite(arrays.row_lower)
        equal = arrays.row_lower == arrays.row_upper
        for rows, sense, side in (
            (equal, "=", arrays.row_upper),
            (upper & ~equal, "<", arrays.row_upper),
            (lower & ~equal, ">", arrays.row_lower),
        ):
            if rows.any():
                model.addMConstr(arrays.matrix[np.flatnonzero(rows)], x, sense, side[rows])
        model.optimize()
        found = model.ObjVal + arrays.constant if model.SolCount else None
        return Outcome(found, model.ObjBound + arrays.constant, str(model.Status))


def on_arrays(solver: Callable[[Arrays], Outcome], make: Callable[[], Any]) -> Callable[[], Outcome]:
    """Prepare a solver for the program of a problem."""
    arrays = edrp.formulate(make()).program.arrays()
    solver(arrays)
    return partial(solver, arrays)


for solver, package in ((scip, "pyscipopt"), (gurobi, "gurobipy")):
    for flows in (30, 60, 120):
        allocation = partial(link_allocation, flows)
        register(
            Pair(
                name=f"link-allocation-{flows}-{solver.__name__}",
                goal="0.006 s, proven" if flows == 60 else "measured",
                ours=Call("edrp", lambda make=allocation: ours(make())),
                peer=Call(f"{solver.__name__}, program over arcs", partial(on_arrays, solver, allocation)),
                needs=(package,),
            )
        )

for components in (32, 64):
    long_task = partial(mapping_problem, 64, components, 1)
    register(
        Pair(
            name=f"map-{components}",
            goal="feasible in 0.1 s, gap known" if components == 64 else "measured",
            ours=Call("edrp", lambda make=long_task: ours(make(), work_limit=MAP_WORK)),
            peer=Call("SCIP, program of walks, 10 s", partial(on_arrays, partial(scip, seconds=10.0), long_task)),
            needs=("pyscipopt",),
        )
    )
