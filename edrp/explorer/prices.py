"""Prices of limits: the multipliers of their rows in the linear relaxation of a program: "compact" or "ranges"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import EdrpError, ProblemTooLargeError
from edrp.core.program import Program
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.problem import PlacementProblem

MAX_WORK = 0.5
"""Units of work for the relaxation."""

PER_CENT = 0.01

PRICE_NOTE = "Price: by how much the objective of the linear relaxation falls for each per cent that the limit is raised."


MAX_COLUMNS = 20_000
"""Columns of the program of a rescaling up to which it is built for its prices."""


def limit_prices(problem: PlacementProblem | RescaleProblem) -> dict[str, float]:
    """By how much the relaxation's objective falls for each per cent that a limit is raised, by name of the limit.

    Rows of limits are divided by the limit, so that their right-hand side is 1. Empty where the problem has priorities, or
    the relaxation is too large or takes more than half a unit of work.

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
    try:
        program = _program(problem)
    except EdrpError:
        return {}
    duals = _relaxed_duals(program)
    rows = {name: program.row_blocks[name].start for name in limited if name in program.row_blocks}
    return {} if duals is None else {name: max(0.0, -float(duals[row])) * PER_CENT for name, row in rows.items()}


def _relaxed_duals(program: Program) -> Floats | None:
    """The multipliers of all rows in the linear relaxation; None where that takes too much work."""
    import highspy

    from edrp.backends.highs import ITERATION_WORK, MAX_ITERATIONS, PASSED_WORK, hand_over, new_solver

    arrays = program.arrays()
    iterations = (MAX_WORK / max(1, arrays.size) - PASSED_WORK) / ITERATION_WORK
    if iterations < program.rows:  # the simplex method takes about one for each row
        return None
    solver = new_solver(simplex_iteration_limit=int(min(MAX_ITERATIONS, iterations)))
    if not hand_over(solver, replace(arrays, integer=np.zeros_like(arrays.integer))):
        return None
    solver.run()
    solved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.asarray(solver.getSolution().row_dual, dtype=np.float64) if solved else None


def _program(problem: PlacementProblem | RescaleProblem) -> Program:
    """The program whose relaxation has the prices.

    Raises
    ------
    ProblemTooLargeError
        Where building it would take too long for a page.
    """
    if isinstance(problem, RescaleProblem):
        from edrp.formulations.migration.rescale.columns import estimated_ranges
        from edrp.formulations.migration.rescale.formulation import formulate_rescale

        if estimated_ranges(problem) > MAX_COLUMNS:
            raise ProblemTooLargeError("the program has too many columns for the prices of a page")
        return formulate_rescale(problem, "ranges").program
    from edrp.formulations.placement.formulation import formulate_placement

    return formulate_placement(problem, "compact").program
