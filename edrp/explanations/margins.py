"""How far limits are: what a deployment uses of every limit on a metric, every resource, and the capacity of every operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edrp.core.document import named_resources
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import PolynomialLatency
from edrp.placement.problem import PlacementProblem, StreamPlacement


@dataclass(frozen=True, slots=True)
class Margin:
    """One limit: what is used of it. `used` is the share, 1 at the limit; above 1 it is broken."""

    name: str
    value: float
    limit: float
    unit: str
    used: float


def limit_margins(problem: StreamPlacement, metrics: Mapping[str, float]) -> tuple[Margin, ...]:
    """How much is used of every limit on a metric, by the values of the metrics."""
    parts = []
    for term in problem.terms:
        if term.limit is not None:
            metric, value = problem.metrics[term.metric], metrics[term.metric]
            used = metric.scaled(value) / term.scaled_limit
            parts.append(Margin(f"limits.{term.metric}", value, term.limit, metric.unit, used))
    return tuple(parts)


def load_margins(problem: PlacementProblem, deployment: Deployment) -> tuple[Margin, ...]:
    """Load of every operator against what its replicas serve together, where there is an end to that."""
    parts = []
    for operator in problem.application.operators if isinstance(problem, EdrpProblem) else ():
        if operator.latency is not None and not isinstance(operator.latency, PolynomialLatency):
            replicas, load = len(deployment[operator.name]), problem.application.load(operator.name)
            capacity = replicas * operator.latency.true_rate(replicas)
            share = load / capacity if capacity else float("inf") if load else 0.0
            parts.append(Margin(f"load of {operator.name}", load, capacity, "tuples/s", share))
    return tuple(parts)


def node_margins(problem: StreamPlacement, deployment: Deployment) -> tuple[Margin, ...]:
    """How much is used of every resource of every node in use."""
    used: dict[tuple[str, str], float] = {}
    for operator in problem.application.operators:
        for node in deployment[operator.name]:
            for resource, amount in named_resources(operator.resources).items():
                used[node, resource] = used.get((node, resource), 0.0) + amount
    parts = []
    for (node, resource), amount in sorted(used.items()):
        described = problem.network.by_name[node].resources
        if described is not None:
            free = named_resources(described).get(resource, 0.0) * problem.usable_share(resource)
            share = amount / free if free else float("inf") if amount else 0.0
            parts.append(Margin(f"{resource} of node {node}", amount, free, "as given", share))
    return tuple(parts)
