"""Latency-aware placement: few supervisors, co-located streams, short paths (latency-aware placement, section 4.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from edrp.core.document import Document, Faults, Name, NonNegative, named_resources, unit
from edrp.core.errors import Fault
from edrp.core.problem import RULES
from edrp.core.solution import Solution
from edrp.core.tolerances import SUM_ROUNDING
from edrp.core.wording import enumerated
from edrp.placement.application import Topology
from edrp.placement.deployment import Action, Deployment
from edrp.placement.metrics import LATENCY_AWARE_METRICS, Metric
from edrp.placement.metrics.base import DEVICES, IN_USE, TIMES, TRAFFIC
from edrp.placement.metrics.path_latency import MILLISECONDS
from edrp.placement.network import Network
from edrp.placement.problem import EdrpTerms, PlacementProblem, Term
from edrp.placement.shortage import homeless_operators, shortages, usable

UsableShare = Annotated[float, Field(gt=0, le=1)]

WEIGHTS_BY_METRIC = {"path_latency": "latency", "supervisors": "supervisors", "colocation": "colocation", "events": "events"}
"""Weight of each metric."""


class ScoreWeights(Document):
    """Weights w1 to w4 of the objective (latency-aware placement, eq. 1); the defaults are the paper's."""

    latency: NonNegative = Field(1e-6, description="w1, of the path latency", **unit("1/ms"))
    supervisors: NonNegative = Field(1.0, description="w2, of the share of nodes in use", **unit("1"))
    colocation: NonNegative = Field(
        1.0, description="w3, of the share of streams between instances on different nodes", **unit("1")
    )
    events: NonNegative = Field(1.0, description="w4, of the share of tuples between nodes", **unit("1"))


class LatencyAwareProblem(PlacementProblem):
    """Placement of operators with fixed numbers of instances on unequal supervisors, which here are nodes.

    All instances of an operator are joined to all of the next, and a stream's rate is split evenly over these pairs.

    Examples
    --------
    >>> problem = LatencyAwareProblem(
    ...     application={
    ...         "operators": [{"name": "read", "resources": {"cpu": 0.5}}, {"name": "count", "resources": {"cpu": 0.2}, "instances": 2}],
    ...         "streams": [{"source": "read", "target": "count", "rate": 100.0}],
    ...     },
    ...     network={
    ...         "nodes": [{"name": "edge", "resources": {"cpu": 1.0}}, {"name": "cloud", "resources": {"cpu": 4.0}}],
    ...         "links": [{"source": "edge", "target": "cloud", "delay": 0.004}],
    ...     },
    ... )
    >>> evaluation = problem.evaluate(Deployment({"read": ["edge"], "count": ["edge", "cloud"]}))
    >>> round(evaluation.objective, 6), evaluation.metrics["colocation"]
    (2.000004, 0.5)
    """  # noqa: E501 -- one document, one line

    possible_parts: ClassVar[Collection[str]] = (TIMES, TRAFFIC, IN_USE, RULES, DEVICES)

    kind: Literal["latency-aware"] = Field("latency-aware", description="says what the document is")
    application: Topology = Field(description="what is to be placed")
    network: Network = Field(description="the supervisors, and the latency between them")
    weights: ScoreWeights = Field(ScoreWeights(), description="of the terms of the objective")
    utilisation: dict[Name, UsableShare] = Field(
        {"cpu": 0.95, "memory": 1.0},
        description="share of each resource of a node that may be used; resources that are not named may be used up",
        **unit("1"),
    )
    current: Deployment | None = Field(None, description="deployment now, where methods start; it plays no part in the objective")

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Latency-aware placement, section 4.2."""
        return LATENCY_AWARE_METRICS

    @property
    def terms(self) -> tuple[Term, ...]:
        """Latency-aware placement, eq. 1."""
        weights = {metric: getattr(self.weights, name) for metric, name in WEIGHTS_BY_METRIC.items()}
        return tuple(Term(metric, weight, None, weight) for metric, weight in weights.items())

    @property
    def resolution(self) -> float:
        """Rounding of a number as large as the largest weight: shares of 1 are sums that end near it."""
        return SUM_ROUNDING * max(term.coefficient for term in self.terms)

    def edrp_terms(self) -> EdrpTerms:
        """The objective (latency-aware placement, eq. 1) in the terms of EDRP.

        Operators take no time and paths run through instances, so that the response time is the path latency. A stream's rate
        is the increase of the objective when all of it leaves its node, and every link costs 1 per unit of that, so that the
        cost is the sum of the terms of co-location and events. A node is available with probability exp(−w2/S), so that −ln of
        the availability is the term of supervisors.
        """
        application, weights = self.application, self.weights
        pairs = [application.by_name[s.source].instances * application.by_name[s.target].instances for s in application.streams]
        rates = [application.rate(s.source, s.target) for s in application.streams]
        stream_rate = np.zeros(len(application.streams))
        for weight, carried in ((weights.colocation, np.array(pairs, float)), (weights.events, np.array(rates, float))):
            if carried.sum() > 0:
                stream_rate = stream_rate + weight * carried / carried.sum()
        return EdrpTerms(
            weight={"response_time": weights.latency * MILLISECONDS, "cost": 1.0, "availability": 1.0},
            stream_rate=tuple(stream_rate.tolist()),
            link_price=1.0,
            node_loss=weights.supervisors / len(self.network.nodes),
            equal_nodes=True,
            instance_paths=True,
        )

    def usable_share(self, resource: str) -> float:
        """Share of a node's resource that replicas may use together."""
        return self.utilisation.get(resource, 1.0)

    def _check_kind(self, faults: Faults) -> None:
        resources = {name for operator in self.application.operators for name in named_resources(operator.resources)}
        offered = {name for node in self.network.nodes for name in named_resources(node.resources or {})}
        for name in self.utilisation:
            if name not in resources | offered | {"cpu", "memory"}:
                faults.add(("utilisation", name), self.utilisation[name], "is a resource that nothing here has or needs")

    def solution(self, decision: Deployment | None, fields: dict[str, Any]) -> LatencyAwareSolution:
        """The deployment and the actions that lead to it from the current one."""
        actions = () if decision is None or self.current is None else self.current.actions_to(decision)
        return LatencyAwareSolution.model_construct(**fields, deployment=decision, actions=actions)

    def weight_name(self, metric: str) -> str:
        """Name of a metric's weight in `weights`."""
        return WEIGHTS_BY_METRIC[metric]

    def _warnings(self) -> Iterator[Fault]:
        yield from super()._warnings()
        needed = {name for operator in self.application.operators for name in named_resources(operator.resources)}
        limited = {name for node in self.network.nodes for name in named_resources(node.resources or {})}
        for name, share in self.utilisation.items() if "utilisation" in self.model_fields_set else ():
            if share < 1 and name not in needed & limited:
                why = f"no node states what it has of {name}" if name in needed else f"no operator needs any {name}"
                yield Fault(f"utilisation.{name}", f"{share:g}", f"has no effect: {why}")

    def clashes(self) -> tuple[str, ...]:
        """Which resource is short on which nodes, and by how much."""
        instances = {operator.name: operator.instances for operator in self.application.operators}
        if clashes := (*homeless_operators(self), *(short.text for short in shortages(self, instances))):
            return clashes
        needed: dict[str, float] = {}
        for operator in self.application.operators:
            for resource, amount in named_resources(operator.resources).items():
                needed[resource] = needed.get(resource, 0.0) + operator.instances * amount
        offered = {name: sum(usable(self, node, name) for node in self.network.by_name) for name in needed}
        sums = enumerated([f"{amount:.6g} of {offered[name]:.6g} of {name}" for name, amount in needed.items()])
        return (f"resources of the nodes: no arrangement on the nodes has room for all instances, although they need {sums}",)


class LatencyAwareSolution(Solution):
    """The answer of a method to a problem of kind `latency-aware`."""

    metric_units: ClassVar[Mapping[str, str]] = {"path_latency": "s"}

    kind: Literal["latency-aware-solution"] = Field("latency-aware-solution", description="says what the document is")
    objective: float | None = Field(description="objective (eq. 1) as re-evaluated", **unit("1"))
    deployment: Deployment | None = Field(description="nodes per operator, once per instance")
    actions: tuple[Action, ...] = Field((), description="changes from the current deployment")

    @property
    def decision(self) -> Deployment | None:
        """The deployment."""
        return self.deployment
