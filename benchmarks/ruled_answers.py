"""Answers of all methods to tiny problems with rules, against every decision there is.

Rules are judged by the checker of certificates, everything else by the evaluation of the problem without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp.certificates import checker
from edrp.check_problems.migration.rescale_brute_force import keyed_deployments
from edrp.check_problems.placement.enumeration import deployments
from edrp.core.errors import EdrpError
from edrp.core.methods import get_method
from edrp.core.solution import Solution
from edrp.core.solve import solve
from edrp.core.tolerances import PROVEN_OPTIMA_AGREEMENT
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.rules import with_gaps, with_rules

MAX_DECISIONS = 1500.0
"""Number of decisions of a tiny problem, about."""


def tiny_ruled_problem(kind: str, seed: int) -> Any:
    """A problem of kind `edrp`, `latency-aware` or `rescale` with one to four random rules."""
    if kind == "rescale":
        problem: Any = random_rescale(seed, keyed=(1, 2), tasks=(2, 3), nodes=(2, 3))
    else:
        draw: Any = random_problem if kind == "edrp" else random_latency_aware_problem
        problem = draw(seed, operators=(2, 3), nodes=(3, 4), combinations_limit=MAX_DECISIONS)
    return with_gaps(with_rules(problem, seed), seed)


def ruled_optimum(problem: Any) -> float | None:
    """Least objective over all decisions; None where none is feasible."""
    unruled, rules = problem.replace(rules=()), checker.read_rules(checker.parse(problem.model_dump_json()))
    listed, values = keyed_deployments if problem.kind == "rescale" else deployments, []
    for decision in listed(problem):
        nodes = {name: list(decision.replicas(name).elements()) for name in problem.application.by_name}
        try:
            penalty = float(checker.penalties(rules, nodes))
        except checker.Refused:
            continue
        evaluation = unruled.evaluate(decision)
        values += [evaluation.objective + penalty] if evaluation.feasible else []
    return min(values, default=None)


def ruled_answers(problem: Any, methods: tuple[str, ...], work_limit: float = 0.1) -> Iterator[tuple[str, str, str]]:
    """For each method its name, what it says (a status or "refused"), and the fault of that, or "".

    Exact methods have to prove the optimum or refuse the problem; no other may be better, or break a rule.
    """
    optimum = ruled_optimum(problem)
    for name in methods:
        method = get_method(name, problem.kind)
        if method.refusal(problem) is not None:
            yield name, "refused", "auto refuses it" if name == "auto" else ""
            continue
        exact = method.resolve(problem).exact
        try:
            solution = solve(problem, name, work_limit=None if exact else work_limit)
        except EdrpError as error:
            yield name, "error", f"{type(error).__name__}: {error}"
        else:
            yield name, solution.status, _fault(solution, optimum, exact)


def _fault(solution: Solution, optimum: float | None, exact: bool) -> str:
    """Fault of an answer, of which the optimum is known."""
    proven = "infeasible" if optimum is None else "optimal"
    value, slack = solution.objective, PROVEN_OPTIMA_AGREEMENT * max(1.0, abs(optimum or 0.0))
    wrong_status = solution.status != proven if exact else solution.status in {"optimal", "infeasible"} - {proven}
    better = value is not None and (optimum is None or value < optimum - slack)
    worse = value is not None and optimum is not None and solution.status == "optimal" and value > optimum + slack
    high = solution.bound is not None and optimum is not None and solution.bound > optimum + slack
    holds = not (wrong_status or better or worse or high)
    return "" if holds else f"says {solution.status} {value!r}, bound {solution.bound!r}, not {optimum!r}"
