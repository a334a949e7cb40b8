"""Reasons why a problem with rules is infeasible: rules that cannot be met together, found by programs."""

from __future__ import annotations

from typing import Any

from edrp.core.budget import now
from edrp.core.clash_search import Verdict, find_clash
from edrp.core.errors import OutOfTimeError, ProblemTooLargeError
from edrp.core.methods import Options, get_method
from edrp.core.solution import Infeasibility


def explain_clashing_rules(problem: Any, units: float) -> Infeasibility:
    """Name rules that cannot be met together within the limits, such that each is needed; or limits that clash without rules.

    Parameters
    ----------
    problem
        An infeasible problem of a kind whose programs know its field `rules`.
    units
        Units of work; what is not examined by then stays in the list, which is then not minimal.
    """
    deadline, rules = now() + units, problem.rules

    def decide(kept: frozenset[int]) -> Verdict:
        """Whether there is a decision under these rules, as far as that is found out in time."""
        part = problem.replace(rules=tuple(rules[k] for k in sorted(kept)))
        options = Options(work_limit=max(0.0, deadline - now()), gap=1e9)
        try:
            answer = get_method("highs", part.kind).run(part, options)
        except (OutOfTimeError, ProblemTooLargeError):
            return "unknown"
        return "feasible" if answer.decision is not None else "infeasible" if answer.status == "infeasible" else "unknown"

    if not rules or decide(frozenset()) == "infeasible":
        return Infeasibility(tuple(problem.clashes()))
    found = find_clash([f"rule '{rule.name}'" for rule in rules], decide)
    return Infeasibility(tuple(rules[k].demand for k in found.clash), found.remedies)


def explain_clashing_maps(problem: Any, units: float) -> Infeasibility:
    """Name clashing rules about maps, under the cost that programs can express: it plays no part in what is feasible."""
    return explain_clashing_rules(problem.replace(cost="additive") if problem.rules else problem, units)
