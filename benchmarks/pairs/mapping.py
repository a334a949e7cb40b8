"""Links shared among flows, and maps of long tasks: `edrp` against the same programs on other solvers.

The peers get the program "paths" or "walks" as a practitioner would write it, and build no part of it in the time that is
measured but the solver's own model. Gurobi's free licence takes 2,000 columns at most.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from peer_pairs import Call, Outcome, Pair, register
from peer_solvers import gurobi, scip

import edrp
from edrp.core.program import Arrays
from edrp.datasets.families.mapping.link_allocation import bimodal_flows
from edrp.datasets.families.mapping.power_law_networks import mapping_problem
from edrp.datasets.families.registry import choose_families

MAP_WORK = 0.1
"""Units of work for a map of a long task."""


def link_allocation(family: str, flows: int, seed: int) -> Any:
    """Flows of a platform with up to four links each, or on a mesh."""
    if family == "platform":
        return bimodal_flows(flows, seed=seed, max_links=4)
    return choose_families("link-allocation", [family])[0].make(flows, np.random.default_rng(seed))


def ours(make: Callable[[int], Any], seed: int, **limits: Any) -> Callable[[], Outcome]:
    """Solve a problem that is built again each time: nothing is kept from an earlier call."""
    problem = make(seed)
    kind, text = type(problem), problem.model_dump_json()
    fresh = [kind.model_validate_json(text) for _ in range(50)]
    edrp.solve(problem, **limits)

    def call() -> Outcome:
        solution = edrp.solve(fresh.pop() if fresh else problem, **limits)
        return Outcome(solution.objective, solution.bound, solution.status)

    return call


def on_arrays(solver: Callable[[Arrays], Outcome], make: Callable[[int], Any], seed: int) -> Callable[[], Outcome]:
    """Prepare a solver for the program of a problem."""
    arrays = edrp.formulate(make(seed)).program.arrays()
    solver(arrays)
    return partial(solver, arrays)


for solver, package in ((scip, "pyscipopt"), (gurobi, "gurobipy")):
    for family, flows in (("platform", 30), ("platform", 60), ("platform", 120), ("mesh", 48)):
        allocation = partial(link_allocation, family, flows)
        register(
            Pair(
                name=f"link-allocation-{family}-{flows}-{solver.__name__}",
                goal="1.0 x Gurobi" if solver is gurobi else "measured",
                ours=Call("edrp", partial(ours, allocation)),
                peer=Call(f"{solver.__name__}, program over arcs", partial(on_arrays, solver, allocation)),
                needs=(package,),
                drawn=True,
            )
        )

for components in (32, 64):
    long_task = partial(mapping_problem, 64, components)
    register(
        Pair(
            name=f"map-{components}",
            goal="a map in 0.1 unit for ten of ten" if components == 64 else "measured",
            ours=Call("edrp", partial(ours, long_task, work_limit=MAP_WORK)),
            peer=Call("SCIP, program of walks, 10 s", partial(on_arrays, partial(scip, seconds=10.0), long_task)),
            needs=("pyscipopt",),
            drawn=True,
        )
    )
