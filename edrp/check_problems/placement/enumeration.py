"""Every deployment of a tiny problem, judged by the plain evaluation alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

from edrp.core.problem import Evaluation
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.deployment import Deployment
from edrp.placement.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class Enumerated:
    """A feasible deployment and its evaluation."""

    deployment: Deployment
    evaluation: Evaluation


def feasible_deployments(problem: PlacementProblem) -> list[Enumerated]:
    """List every feasible deployment of a problem with its metrics."""
    judged = (Enumerated(deployment, problem.evaluate(deployment)) for deployment in deployments(problem))
    return [entry for entry in judged if entry.evaluation.feasible]


def deployments(problem: PlacementProblem) -> Iterator[Deployment]:
    """Yield every deployment that keeps to the candidates and the numbers of replicas."""
    names = list(problem.application.by_name)
    for chosen in product(*(operator_choices(problem, name) for name in names)):
        yield Deployment(dict(zip(names, chosen, strict=True)))


def operator_choices(problem: PlacementProblem, name: str) -> list[tuple[str, ...]]:
    """Every multiset of nodes on which the replicas of an operator may run."""
    operator = problem.application.by_name[name]
    nodes, degrees = (
        operator.candidates or tuple(problem.network.by_name),
        range(operator.min_replicas, operator.max_replicas + 1),
    )
    return [chosen for degree in degrees for chosen in combinations_with_replacement(nodes, degree)]


def lexicographic_optimum(problem: Any) -> float | None:
    """Least objective of the deployments that are best by the priorities of a problem, one after the other; None without any."""
    left = feasible_deployments(problem)
    for priority in problem.priorities:
        metric = problem.metrics[priority.metric]
        values = [metric.scaled(entry.evaluation.metrics[priority.metric]) for entry in left]
        most = min(values, default=0.0) * (1 + priority.slack) * (1 + LIMIT_SLACK)
        left = [entry for entry, value in zip(left, values, strict=True) if value <= most]
    return min((entry.evaluation.objective for entry in left), default=None)
