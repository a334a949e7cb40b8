"""The explanation that every kind of problem has: what each term of the objective costs, what binds, and what rules cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edrp.core.methods import methods
from edrp.core.problem import Evaluation, Margin, Problem, ShownInNotebooks
from edrp.core.solution import Solution, resolution
from edrp.core.solve import solve
from edrp.core.tolerances import OPTIMALITY_GAP, REACHED_LIMIT_ROOM
from edrp.formulations.second_best import SECOND_BEST_WORK
from edrp.placement.policy import DeploymentPolicy
from edrp.placement.rules.base import Rule
from edrp.report.tables import Table


@dataclass(frozen=True, slots=True)
class RuleState:
    """One rule in the deployment that is explained.

    Attributes
    ----------
    rule : as the problem states it, with its name, sentence and reason.
    violation : in the unit of the rule, of a policy's worst deployment; 0 where it is met.
    gain : by how much the best deployment that was found without the rule is better than the one explained; None where none was
        looked for.
    proven : whether the optima with and without the rule are proven; if both are, `gain` is what the rule costs.
    """

    rule: Any
    violation: float
    gain: float | None = None
    proven: tuple[bool, bool] = (False, False)

    @property
    def price(self) -> float:
        """Addition of the violation to the objective."""
        return (getattr(self.rule, "penalty", None) or 0.0) * self.violation

    @property
    def binds(self) -> bool | None:
        """Whether the optimum is better without the rule; None where that is not known."""
        known = self.proven[0] if self.gain else self.proven[1]
        return None if self.gain is None or not known else self.gain > 0

    @property
    def state(self) -> str:
        """Whether the rule is met, in words."""
        if not self.rule.violated(self.violation):
            return "met"
        return f"violated by {self.violation:.6g}" + (f", adds {self.price:.6g}" if self.price else "")

    @property
    def worth(self) -> str:
        """Optimum without the rule as far as known, in words; empty where it was not looked for."""
        if self.gain is None:
            return ""
        if not self.gain:
            same = "does not bind: the optimum is the same without it"
            return same if self.proven[1] else "nothing better was found without it; not proven within the work limit"
        if not self.proven[0]:
            return f"{self.gain:.6g} lower was found without it; the deployment explained is not proven to be optimal"
        if not self.proven[1]:
            return f"binds: {self.gain:.6g} lower was found without it, and the optimum may be lower still"
        return f"binds: the optimum without it is {self.gain:.6g} lower"


def rule_states(
    problem: Any, decision: Any, evaluation: Evaluation, method: str, proven: bool, work_limit: float
) -> Iterator[RuleState]:
    """Yield every rule with its state and, where the decision is feasible, the optimum without it.

    Parameters
    ----------
    method
        That solves the problem without each rule, as a solution names it; "auto" where it is none of the registry.
    proven
        Whether the decision is proven to be optimal.
    work_limit
        Units of work for all rules together; nothing is solved without any.
    """
    name = method.partition(":")[0].partition(" ")[0]
    rules = getattr(problem, "rules", ())
    for rule in rules:
        held = decision.deployments if isinstance(decision, DeploymentPolicy) else (decision,)
        state = RuleState(rule, max(rule.evaluate(problem, each) for each in held) if isinstance(rule, Rule) else 0.0)
        if evaluation.feasible and not problem.stage_count and work_limit > 0:
            without = problem.replace(rules=tuple(other for other in rules if other is not rule))
            chosen = name if name in methods(problem.kind) else "auto"
            best = solve(without, chosen, work_limit=work_limit / len(rules), start=decision)
            gain = 0.0 if best.objective is None else evaluation.objective - best.objective
            gain = gain if gain > resolution(evaluation.objective) else 0.0
            state = replace(state, gain=gain, proven=(proven, best.status == "optimal"))
        yield state


def rule_table(states: Sequence[RuleState]) -> Table:
    """Every rule: what it demands and why, whether it is met, and what the optimum is without it."""
    columns = ("rule", "what it demands", "reason", "penalty", "state", "without it")
    rules = [(s.rule, "must be met" if s.rule.hard else f"{s.rule.penalty:g} per unit", s) for s in states]
    return Table(
        "Rules", columns, tuple((rule.name, rule.sentence, rule.reason, cost, s.state, s.worth) for rule, cost, s in rules)
    )


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
