"""Predicted throughput of a deployment: how much of its load it carries when replicas that share a node slow each other down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edrp.core.arguments import check_arguments, refuse_other_kinds
from edrp.placement.application import Operator
from edrp.placement.deployment import Deployment, DeploymentLike
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import PolynomialLatency
from edrp.placement.metrics.peak_load import node_demands
from edrp.placement.usage import leaving_share


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """A shared resource of a node: what is asked for at full load, what there is, and the share of the load that it carries.

    `fixed` is the part of `demand` that is asked for whatever the load; units/s.
    """

    node: str
    resource: str
    demand: float
    fixed: float
    capacity: float

    @property
    def share(self) -> float:
        """Demand over capacity; above 1 replicas on the node slow down."""
        return self.demand / self.capacity

    @property
    def carried(self) -> float:
        """Largest share of the load for which the capacity is enough, at most 1."""
        if self.demand <= self.capacity:
            return 1.0
        spare, varying = self.capacity - self.fixed, self.demand - self.fixed
        return max(0.0, spare / varying) if varying > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """The throughput of a deployment.

    Attributes
    ----------
    share : of the load of every operator; 1 where it carries all.
    rates : tuples/s that each operator processes.
    service_rates : tuples/s that a replica of an operator on a node can serve, by (operator, node), where that is known.
    node_loads : every shared resource of every node in use, fullest first.
    bottleneck : what holds the application back, in words; empty where nothing does.
    unequal : streams that are partitioned "forward" between unequal numbers of replicas, in words.
    """

    share: float
    rates: Mapping[str, float]
    service_rates: Mapping[tuple[str, str], float]
    node_loads: tuple[NodeLoad, ...]
    bottleneck: str = ""
    unequal: tuple[str, ...] = ()


def predict_throughput(problem: EdrpProblem, deployment: DeploymentLike) -> Throughput:
    """Predict how much of its load a deployment carries.

    A replica serves tuples at its service rate (latency model; × the node's speed-up), as long as its node has enough of all
    shared resources. Where demand at full load exceeds a capacity, all replicas on the node slow down alike: each serves no more
    than the share of its input for which the capacity is enough, σ = (capacity − what is used whatever the load) / the rest of
    the demand. Streams split tuples evenly, so that the slowest replica holds back what is before it (backpressure), and with it
    all sources alike: the throughput is the load times the least share over replicas.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [
    ...         {"name": "work", "external_rate": 100, "max_replicas": 2, "usage": {"cpu": {"per_tuple": 0.05}}},
    ...     ]},
    ...     network={"nodes": [{"name": name, "capacity": {"cpu": 4}} for name in "ab"], "between_zones": {"delay": 0.001}},
    ...     weights={"peak_load": 1.0},
    ... )
    >>> together, apart = (predict_throughput(problem, {"work": list(nodes)}) for nodes in ("aa", "ab"))
    >>> together.share, together.rates["work"], together.bottleneck
    (0.8, 80.0, 'cpu of node a, 125 % of its capacity')
    >>> apart.share
    1.0
    """
    check_arguments("edrp.predict_throughput", problem=problem)
    refuse_other_kinds("edrp.predict_throughput", problem, EdrpProblem)
    placed: Deployment = problem.read_decision(deployment, "deployment")
    loads = node_loads(problem, placed)
    slowest = {name: min((load.carried for load in loads if load.node == name), default=1.0) for name in problem.network.by_name}
    service_rates, share, bottleneck = dict[tuple[str, str], float](), 1.0, ""
    for operator in problem.application.operators:
        replicas = placed.replicas(operator.name)
        rate = problem.application.load(operator.name) / replicas.total()
        for node in replicas:
            served = service_rate(operator, replicas.total()) * min(1.0, problem.network.by_name[node].speedup)
            if slowest[node] < 1:
                served = min(served, rate * slowest[node])
            if math.isfinite(served):
                service_rates[operator.name, node] = served
            if rate > 0 and served / rate < share:
                share, bottleneck = served / rate, f"service rate of {operator.name} on node {node}, {served:.6g} tuples/s"
    for load in loads:
        if load.carried <= share and load.carried < 1:
            share, bottleneck = load.carried, f"{load.resource} of node {load.node}, {100 * load.share:.3g} % of its capacity"
    rates = {operator.name: share * problem.application.load(operator.name) for operator in problem.application.operators}
    return Throughput(share, rates, service_rates, loads, bottleneck, tuple(_unequal_forwards(problem, placed)))


def node_loads(problem: EdrpProblem, deployment: Deployment) -> tuple[NodeLoad, ...]:
    """Every shared resource of every node in use that is asked for, fullest first."""
    fixed: dict[tuple[str, str], float] = {}
    for operator in problem.application.operators:
        for node, count in deployment.replicas(operator.name).items():
            for resource, usage in operator.usage.items():
                fixed[node, resource] = fixed.get((node, resource), 0.0) + count * usage.per_replica
    loads = [
        NodeLoad(node, resource, demand, fixed.get((node, resource), 0.0), problem.network.by_name[node].capacity[resource])
        for node, demands in node_demands(problem, deployment).items()
        for resource, demand in demands.items()
        if demand
    ]
    return tuple(sorted(loads, key=lambda load: (-load.share, load.node, load.resource)))


def _unequal_forwards(problem: EdrpProblem, deployment: Deployment) -> Iterator[str]:
    """Streams partitioned "forward" whose ends have unequal numbers of replicas, and what leaves nodes then."""
    for stream in problem.application.streams:
        senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
        if stream.partitioning == "forward" and senders.total() != receivers.total():
            away = sum(leaving_share(stream.partitioning, senders, receivers, node) for node in senders)
            yield (
                f"{stream.source} → {stream.target} is partitioned forward between {senders.total()} and {receivers.total()} "
                f"replicas: senders without a receiver of their own on their node send away, {100 * away:.3g} % of the stream"
            )


def service_rate(operator: Operator, replicas: int) -> float:
    """Tuples/s that a replica on the reference node serves; infinite where the latency model names none."""
    model = operator.latency
    return math.inf if model is None or isinstance(model, PolynomialLatency) else model.true_rate(replicas)
