"""Penalties of rules as metrics, so that wishes have a place among priorities."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.expressions import Expression, Rows
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.own import MetricModel, OwnMetric

ALL, SINGLE = "penalties", "penalty"
"""The metric of all rules with a penalty; that of a single one is called `penalty.<rule>`."""


class PenaltiesOf:
    """What violations of some rules cost: Σ of penalty × violation."""

    unit = "1"

    def __init__(self, name: str, rules: tuple[Any, ...]) -> None:
        self.name, self.rules = name, rules

    def evaluate(self, problem: Any, deployment: Deployment) -> float:
        """The sum as rules themselves evaluate it."""
        return float(sum(rule.penalty * rule.evaluate(problem, deployment) for rule in self.rules))

    def linearise(self, model: MetricModel) -> Expression | list[Rows]:
        """Rows of the rules, times their penalties."""
        found = []
        for rule in (rule for rule in self.rules if rule.penalty):
            written = rule.linearise(model)
            for rows in written if isinstance(written, list) else [written]:
                lower, upper = np.asarray(rows.lower) * rule.penalty, np.asarray(rows.upper) * rule.penalty
                found.append(Rows(rows.expression * rule.penalty, lower, upper, shared=rows.shared))
        return found or Expression.of(0.0)

    def zero_because(self, problem: Any) -> str:
        """All penalties are 0."""
        return "" if any(rule.penalty for rule in self.rules) else "the penalty is 0"


def penalty_metrics(problem: Any) -> dict[str, OwnMetric]:
    """Metrics by name, none without a rule that has a penalty."""
    soft = [rule for rule in problem.rules if not rule.hard]
    single = [OwnMetric(PenaltiesOf(f"{SINGLE}.{rule.name}", (rule,))) for rule in soft]
    return {metric.name: metric for metric in [*single, *([OwnMetric(PenaltiesOf(ALL, tuple(soft)))] if soft else [])]}
