"""Priorities: metrics that are minimised one after the other, before the weighted sum, each within a slack for the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from pydantic import Field

from edrp.core.document import Document, Faults, Name, NonNegative, unit
from edrp.core.problem import Evaluation
from edrp.core.solution import StageOutcome
from edrp.core.stages import Stage
from edrp.core.tolerances import MIN_STAGE_LIMIT, REACHED_LIMIT_ROOM, STAGE_SLACK
from edrp.core.wording import suggestion
from edrp.placement.metrics import NORMALISED, Metric
from edrp.placement.metrics.own import HOW_REGISTERED, registered_metrics
from edrp.placement.problem import Term


class Priority(Document):
    """One stage of a lexicographic objective.

    Examples
    --------
    >>> Priority(metric="peak_loads.cpu", slack=0.01).slack
    0.01
    """

    metric: Name = Field(description='metric to be minimised, such as "cost" or "peak_loads.cpu" (availability is maximised)')
    slack: NonNegative = Field(
        0.0, description="share of its optimum by which later stages may worsen it (of availability, of −ln)", **unit("1")
    )


class PrioritisedProblem(Protocol):
    """A deployment problem with priorities: what stages read of it, and how their own problems are made."""

    @property
    def priorities(self) -> tuple[Priority, ...]:
        """A metric that is minimised before the weighted sum."""

    @property
    def stage_count(self) -> int:
        """Number of stages."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Metrics by name."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every metric with its weight and limit."""

    @property
    def weights(self) -> Any:
        """Document of weights."""

    @property
    def limits(self) -> Any:
        """Document of limits."""

    @property
    def rules(self) -> Any:
        """Rules about where replicas run."""

    def ceiling(self, metric: str) -> float:
        """A value of a metric, on its scale, that no feasible deployment reaches."""

    def evaluate(self, deployment: Any) -> Evaluation:
        """Evaluate a deployment."""

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with some fields changed."""


def check_priorities(problem: PrioritisedProblem, faults: Faults) -> None:
    """Note priorities that name no metric of the problem, or one twice."""
    for index, rule in enumerate(problem.rules if problem.priorities else ()):
        if rule.penalty is not None:
            why = "has no place among priorities, which have no weighted sum to add it to; make the rule hard"
            faults.add(("rules", index, "penalty"), rule.penalty, why)
    seen: dict[str, int] = {}
    for index, priority in enumerate(problem.priorities):
        place, name = ("priorities", index, "metric"), priority.metric
        if name not in problem.metrics:
            hint = suggestion(name, list(dict.fromkeys([*problem.metrics, *registered_metrics()])))
            faults.add(place, name, f"names no metric of this problem{hint}; {HOW_REGISTERED}")
        elif name in seen:
            faults.add(place, name, f"is the metric of priorities[{seen[name]}] already; name each once")
        seen.setdefault(name, index)


def has_weighted_stage(problem: PrioritisedProblem) -> bool:
    """Whether the weighted sum is a stage of its own, as it is unless it is the last priority alone."""
    weighted = [term.metric for term in problem.terms if term.weight]
    return weighted != [problem.priorities[-1].metric]


def stage_after(problem: PrioritisedProblem, done: Sequence[StageOutcome], decision: Any) -> Stage:
    """The stage of a problem with priorities that follows those that are done."""
    limits = {term.metric: term.scaled_limit for term in problem.terms if math.isfinite(term.scaled_limit)}
    for outcome in done:
        assert outcome.limit is not None
        reached = problem.metrics[outcome.metric].scaled(outcome.limit)
        limits[outcome.metric] = min(reached, limits.get(outcome.metric, math.inf))
    last = len(done) == problem.stage_count - 1
    coefficients = {term.metric: term.coefficient for term in problem.terms if term.weight}
    if len(done) == len(problem.priorities):
        single, factor = _single_problem(problem, coefficients, limits, decision)
        return Stage("objective", single, lambda objective: factor * objective, None, factor)
    priority = problem.priorities[len(done)]
    name = priority.metric
    single, factor = _single_problem(problem, {name: 1.0}, limits, decision)

    unscaled = problem.metrics[name].unscaled

    def limit(objective: float) -> float:
        return unscaled(max(MIN_STAGE_LIMIT, factor * objective * (1 + priority.slack) * (1 + STAGE_SLACK)))

    return Stage(
        metric=name,
        problem=single,
        value=lambda objective: unscaled(factor * objective),
        limit=None if last else limit,
        objective_factor=factor * coefficients[name] if last else None,
    )


def _single_problem(
    problem: PrioritisedProblem, coefficients: Mapping[str, float], limits: Mapping[str, float], decision: Any
) -> tuple[PrioritisedProblem, float]:
    """The problem that minimises Σ coefficient × scaled metric, and what its objective has to be multiplied by.

    A metric needs a limit to have a weight: where there is none, one that no better decision than the known one exceeds (its
    term alone would be more than the known sum), or a value that none reaches.
    """
    within = dict(limits)
    known = {} if decision is None else problem.evaluate(decision).metrics
    total = sum(coefficient * problem.metrics[name].scaled(known[name]) for name, coefficient in coefficients.items() if known)
    for name, coefficient in coefficients.items():
        if name in NORMALISED:
            reached = [total / coefficient * (1 + REACHED_LIMIT_ROOM)] if known else []
            far = [limits[name]] if name in limits else [] if reached else [problem.ceiling(name)]
            within[name] = max(MIN_STAGE_LIMIT, min([*reached, *far]))
    parts = {name: coefficient * within.get(name, 1.0) for name, coefficient in coefficients.items()}
    factor = sum(parts.values())
    own = problem.limits
    for name, limit in within.items():
        own = own.with_limit(name, problem.metrics[name].unscaled(limit))
    weights = type(problem.weights).of_metrics({name: part / factor for name, part in parts.items()})
    return problem.replace(weights=weights, limits=own, priorities=()), factor
