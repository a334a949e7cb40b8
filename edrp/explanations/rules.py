"""Effect of rules in a deployment: whether they are met, what violations cost, and what the optimum is without each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edrp.core.methods import methods
from edrp.core.problem import Evaluation
from edrp.core.solution import resolution
from edrp.core.solve import solve
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
