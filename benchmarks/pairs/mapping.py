"""Links shared among flows, and maps of long tasks: `edrp` against the same programs on other solvers.

The peers get the program "paths" or "walks" as a practitioner would write it, and build no part of it in the time that is
measured but the solver's own model. Gurobi's free licence takes 2,000 columns at most.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from peer_pairs import Call, Outcome, Pair, register
from peer_solvers import gurobi, scip

import edrp
from edrp.core.program import Arrays
from edrp.datasets.families.mapping.link_allocation import bimodal_flows
from edrp.datasets.families.mapping.power_law_networks import mapping_problem

MAP_WORK = 0.1
"""Units of work for a map of a long task."""


def link_allocation(size: int) -> Any:
    """The instance of 60 flows that was found on a platform, or one of another size from the family."""
    if size == 60:
        return edrp.library["link-allocation/platform-60-benchmark"].problem
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
