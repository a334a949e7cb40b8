"""How far limits are: what a deployment uses of every limit on a metric, every resource, and the capacity of every operator."""

from __future__ import annotations

from edrp.core.document import named_resources
from edrp.core.problem import Margin
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import PolynomialLatency
from edrp.placement.problem import PlacementProblem, StreamPlacement


def load_margins(problem: PlacementProblem, deployment: Deployment) -> tuple[Margin, ...]:
    """Load of every operator against what its replicas serve together, where there is an end to that."""
    parts = []
    for operator in problem.application.operators if isinstance(problem, EdrpProblem) else ():
        if operator.latency is not None and not isinstance(operator.latency, PolynomialLatency):
            replicas, load = len(deployment[operator.name]), problem.application.load(operator.name)
            capacity = replicas * operator.latency.true_rate(replicas)
            parts.append(Margin.of(f"load of {operator.name}", load, capacity, "tuples/s"))
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
            parts.append(Margin.of(f"{resource} of node {node}", amount, free, "as given"))
    return tuple(parts)
