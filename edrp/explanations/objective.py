"""The explanation that every kind of problem has: what each term of the objective costs, what binds, and what rules cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from edrp.core.problem import Evaluation, Margin, Problem, ShownInNotebooks
from edrp.core.solution import Solution
from edrp.core.tolerances import OPTIMALITY_GAP, REACHED_LIMIT_ROOM
from edrp.explanations.rules import RuleState, rule_states
from edrp.formulations.second_best import SECOND_BEST_WORK


@dataclass(frozen=True, slots=True)
class ObjectiveExplanation(ShownInNotebooks):
    """The explanation of a decision about a problem of any kind.

    Attributes
    ----------
    decision, evaluation : what is explained, and its objective and metrics; None where there is none.
    parts : of the objective, by what they are; empty where the kind does not say.
    margins : what is used of limits, most used first; empty where the kind does not say.
    rules : every rule of the problem, and what the optimum is without it.
    bound : proven: nothing is better than this; None where nothing is proven.
    clashes, remedies : why nothing is feasible, and what changes that, in words.
    """

    decision: Any
    evaluation: Evaluation | None
    parts: dict[str, float]
    margins: tuple[Margin, ...]
    rules: tuple[RuleState, ...]
    bound: float | None
    clashes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()

    @property
    def binding(self) -> tuple[Margin, ...]:
        """Limits that are used up."""
        return tuple(margin for margin in self.margins if margin.used >= 1 - REACHED_LIMIT_ROOM)


def explain_objective(problem: Problem, answer: Any, *, work_limit: float = SECOND_BEST_WORK) -> ObjectiveExplanation:
    """Explain a decision by its evaluation, and each rule by the optimum without it.

    Parameters
    ----------
    answer
        A solution of the problem, or any decision about it.
    work_limit
        Units of work for all rules together.

    Raises
    ------
    InvalidInstanceError
        When the decision does not fit the problem.
    """
    solution = answer if isinstance(answer, Solution) else None
    if solution is not None and solution.decision is None:
        return ObjectiveExplanation(None, None, {}, (), (), solution.bound, solution.clashes, solution.remedies)
    decision = problem.read_decision(answer)
    evaluation = problem.evaluate(decision)
    finite = math.isfinite(evaluation.objective)
    margins = [margin for margin in problem.margins(decision) if math.isfinite(margin.limit)] if finite else []
    proven = solution is not None and solution.status == "optimal" and (solution.gap or 0.0) <= OPTIMALITY_GAP
    return ObjectiveExplanation(
        decision,
        evaluation,
        problem.objective_parts(evaluation) if finite else {},
        tuple(sorted(margins, key=lambda margin: -margin.used)),
        tuple(rule_states(problem, decision, evaluation, "auto", proven, work_limit)),
        None if solution is None else solution.bound,
    )
