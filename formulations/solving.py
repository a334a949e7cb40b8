"""`solve_formulation`: a program that a user may have added to, solved and checked."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from edrp.backends import solve_program
from edrp.core.solution import GAP
from edrp.core.solve import MAX_EXPLANATION, Seconds, checked_solution
from edrp.formulations.clashes import explain_infeasible_program
from edrp.formulations.formulation import Formulation, to_answer


def solve_formulation(formulation: Formulation, backend: str = "highs", *, start: Any = None, **options: Any) -> Any:
    """Solve a formulation, own rows and terms included, and return a checked solution.

    The evaluator knows the problem's own limits only: it checks them, the metrics and the objective, not rows
    that were added. With own objective terms, `objective` stays the problem's, nothing is proven about it (status "feasible"),
    and `notes` say whether the objective with them was minimised to the end. Where own rows leave
    nothing feasible, `clashes` name those that cannot be met together with each other and the problem's limits.

    Parameters
    ----------
    formulation
        From `formulate`.
    backend
        "highs", "scipy", "cvxpy" or "pyomo".
    start
        Decision to start from; plain dicts and lists will do.
    **options
        Options of `edrp.backends.solve_program`: `time_limit`, `gap`, `threads`, `seed`, `progress`.

    Raises
    ------
    InvalidInstanceError
        `start` is no decision about the problem.
    VerificationError
        Backend and evaluator disagree: a defect.
    """
    started = perf_counter()
    point = None if start is None else formulation.encode(formulation.problem.read_decision(start, "start"))
    result = solve_program(formulation.program, backend, start=point, **options)
    answer = to_answer(formulation, result)
    method = f"{backend} ({formulation.name} program)"
    seconds = perf_counter() - started + formulation.build_seconds
    clashes: tuple[str, ...] = ()
    if answer.status == "infeasible":
        limit = options.get("time_limit")
        left = MAX_EXPLANATION if limit is None else min(MAX_EXPLANATION, max(0.0, limit - (perf_counter() - started)))
        clashes = explain_infeasible_program(formulation, backend, left)
    seed, gap = options.get("seed", 0), options.get("gap", GAP)
    return checked_solution(formulation.problem, method, answer, Seconds(seconds), seed, clashes, gap)
