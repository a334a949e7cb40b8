"""What limits cost: the multipliers of their rows in the linear relaxation of the compact program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.errors import EdrpError
from edrp.placement.problem import PlacementProblem

MAX_SECONDS = 0.5

PER_CENT = 0.01


def limit_prices(problem: PlacementProblem) -> dict[str, float]:
    """By how much the relaxation's objective falls for each per cent that a limit is raised, by name of the limit.

    Rows of limits are divided by the limit, so that their right-hand side is 1. Empty where the problem has priorities, or
    the relaxation is not solved in half a second.

    Examples
    --------
    >>> from edrp.placement.edrp import EdrpProblem
    >>> work = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 8.0, "max_replicas": 2}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{**work, "cost": 1.0}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0, "response_time": 0.3},
    ... )
    >>> {name: round(price, 6) for name, price in limit_prices(problem).items()}
    {'limits.response_time': 0.00225, 'limits.cost': 0.0}
    """
    limited = [f"limits.{term.metric}" for term in problem.terms if term.limit is not None]
    if not limited or problem.stage_count:
        return {}
    import highspy

    from edrp.backends.highs import hand_over, new_solver
    from edrp.formulations.placement.formulation import formulate_placement

    try:
        program = formulate_placement(problem, "compact").program
    except EdrpError:
        return {}
    arrays = program.arrays()
    solver = new_solver(time_limit=MAX_SECONDS)
    hand_over(solver, replace(arrays, integer=np.zeros_like(arrays.integer)))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return {}
    duals = solver.getSolution().row_dual
    rows = {name: program.row_blocks[name].start for name in limited if name in program.row_blocks}
    return {name: max(0.0, -float(duals[row])) * PER_CENT for name, row in rows.items()}
