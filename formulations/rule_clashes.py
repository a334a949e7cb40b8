"""Reasons why a problem with rules is infeasible: rules that cannot be met together, found by programs."""

from __future__ import annotations

from typing import Any

from edrp.core.budget import now
from edrp.core.errors import OutOfTimeError, ProblemTooLargeError
from edrp.core.methods import Options, get_method


def explain_clashing_rules(problem: Any, units: float) -> tuple[str, ...]:
    """Name rules that cannot be met together within the limits, such that each is needed; or limits that clash without rules.

    Parameters
    ----------
    problem
        An infeasible problem of a kind whose programs know its field `rules`.
    units
        Units of work; what is not examined by then stays in the list, which is then not minimal.
    """
    deadline = now() + units
    if not problem.rules or _is_infeasible(problem.replace(rules=()), deadline):
        return tuple(problem.clashes())
    rules = problem.rules
    for rule in problem.rules:
        fewer = tuple(other for other in rules if other is not rule)
        if _is_infeasible(problem.replace(rules=fewer), deadline):
            rules = fewer
    return tuple(rule.demand for rule in rules)


def explain_clashing_maps(problem: Any, units: float) -> tuple[str, ...]:
    """Name clashing rules about maps, under the cost that programs can express: it plays no part in what is feasible."""
    return explain_clashing_rules(problem.replace(cost="additive"), units) if problem.rules else problem.clashes()


def _is_infeasible(problem: Any, deadline: float) -> bool:
    """Whether there is provably no decision, as far as that is found out in time."""
    options = Options(work_limit=max(0.0, deadline - now()))
    try:
        return get_method("highs", problem.kind).run(problem, options).status == "infeasible"
    except (OutOfTimeError, ProblemTooLargeError):
        return False
