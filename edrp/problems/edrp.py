"""The EDRP problem: application, network, current deployment, weights and limits (EDRP, sections 4 and 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from edrp.documents import Application, Deployment, Network
from edrp.documents.base import Document, Faults, NonNegative, Positive
from edrp.metrics import METRICS
from edrp.metrics.base import LIMIT_SLACK
from edrp.problems.base import Evaluation, Problem
from edrp.problems.edrp_solution import EdrpSolution

Share = Annotated[float, Field(ge=0, le=1)]


class Weights(Document):
    """Weight of each metric in the objective (EDRP, eq. 12); they sum to 1."""

    response_time: Share = Field(0.0, description="w_r", json_schema_extra={"unit": "1"})
    cost: Share = Field(0.0, description="w_c", json_schema_extra={"unit": "1"})
    downtime: Share = Field(0.0, description="w_d", json_schema_extra={"unit": "1"})
    network_usage: Share = Field(0.0, description="of the tuples in flight", json_schema_extra={"unit": "1"})
    availability: Share = Field(0.0, description="of −ln(availability)", json_schema_extra={"unit": "1"})

    @model_validator(mode="after")
    def _check(self) -> Self:
        total = sum(getattr(self, name) for name in METRICS)
        if abs(total - 1.0) > 1e-9:
            faults = Faults("weights")
            faults.add((), total, "must sum to 1")
            faults.raise_if_any()
        return self


class Limits(Document):
    """Worst acceptable value of each metric (EDRP, eqs. 15–17); it also normalises the metric's term (eq. 12)."""

    response_time: Positive | None = Field(None, description="R_max", json_schema_extra={"unit": "s"})
    cost: Positive | None = Field(None, description="C_max", json_schema_extra={"unit": "money/h"})
    downtime: Positive | None = Field(None, description="T_D,max", json_schema_extra={"unit": "s"})
    network_usage: Positive | None = Field(None, description="most tuples in flight", json_schema_extra={"unit": "tuples"})
    availability: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="least availability", json_schema_extra={"unit": "1"}
    )


@dataclass(frozen=True, slots=True)
class Term:
    """One metric of the objective: `weight × scaled value / scaled limit`; `limit` is None where none is set."""

    metric: str
    weight: float
    limit: float | None

    @property
    def coefficient(self) -> float:
        """Objective per unit of the scaled value."""
        if not self.weight or self.limit is None:
            return 0.0
        return self.weight / METRICS[self.metric].scaled(self.limit)

    @property
    def scaled_limit(self) -> float:
        """Upper limit on the scaled value; infinite where none is set."""
        return math.inf if self.limit is None else METRICS[self.metric].scaled(self.limit)


class EdrpProblem(Problem):
    """Joint replication and placement, initial (without `current`) or as a reconfiguration of `current`.

    Raises
    ------
    InvalidInstanceError
        All faults of the document and of its parts, each with its place.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "work", "latency": queue, "external_rate": 5.0}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"response_time": 1.0},
    ...     limits={"response_time": 1.0},
    ... )
    >>> problem.evaluate(Deployment({"work": ["a"]})).objective
    0.2
    """

    kind: Literal["edrp"] = Field("edrp", description="says what the document is")
    application: Application = Field(description="what is to be placed")
    network: Network = Field(description="where it can be placed")
    synchronisation_time: NonNegative = Field(0.0, description="t_syn of a reconfiguration", json_schema_extra={"unit": "s"})
    weights: Weights = Field(Weights(response_time=0.5, cost=0.5), description="of the metrics in the objective")
    limits: Limits = Field(Limits(), description="on the metrics; one is needed for each metric that has a weight")
    current: Deployment | None = Field(None, description="deployment now; null for an initial placement, which has no downtime")
    reconfiguration: Literal["pause-and-resume", "storm"] = Field(
        "pause-and-resume", description="how the application is reconfigured"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = Faults("edrp")
        nodes, operators = self.network.by_name, self.application.by_name
        for index, operator in enumerate(self.application.operators):
            for position, name in enumerate(operator.candidates or ()):
                if name not in nodes:
                    faults.add(("application", "operators", index, "candidates", position), name, "is no node of the network")
        for name in METRICS:
            if getattr(self.weights, name) > 0 and getattr(self.limits, name) is None:
                faults.add(("limits", name), None, f"needed because weights.{name} > 0: the limit normalises that term")
        self._check_resources(faults)
        if self.current is not None:
            self._check_current(self.current, operators, nodes, faults)
        faults.raise_if_any()
        self._check_links(faults)
        faults.raise_if_any()
        return self

    def _check_resources(self, faults: Faults) -> None:
        named_nodes = [node for node in self.network.nodes if isinstance(node.resources, dict)]
        plain_nodes = [node for node in self.network.nodes if isinstance(node.resources, (int, float))]
        for index, operator in enumerate(self.application.operators):
            named = isinstance(operator.resources, dict)
            other = plain_nodes if named else named_nodes
            if other and operator.resources != {} and operator.resources != 0:
                form = "named resources" if named else "a number"
                found = "a number" if named else "named resources"
                why = f"is {form}, but node '{other[0].name}' gives {found}; use one form for all"
                faults.add(("application", "operators", index, "resources"), operator.resources, why)

    def _check_current(self, current: Deployment, operators: dict[str, Any], nodes: dict[str, Any], faults: Faults) -> None:
        for name in current:
            if name not in operators:
                faults.add(("current", name), list(current[name]), "is no operator of the application")
                continue
            allowed = operators[name].candidates
            for position, node in enumerate(current[name]):
                if node not in nodes:
                    faults.add(("current", name, position), node, "is no node of the network")
                elif allowed is not None and node not in allowed:
                    faults.add(("current", name, position), node, f"is not among the candidates of '{name}'")
        for name in operators:
            if name not in current:
                faults.add(("current", name), None, "is missing; name the nodes of every operator, or leave `current` out")

    def _check_links(self, faults: Faults) -> None:
        everywhere = tuple(node.name for node in self.network.nodes)
        checked: set[tuple[int, int]] = set()
        pools = {operator.name: operator.candidates or everywhere for operator in self.application.operators}
        for stream in [] if self.network.complete else self.application.streams:
            sources, targets = pools[stream.source], pools[stream.target]
            if (id(sources), id(targets)) in checked:
                continue
            checked.add((id(sources), id(targets)))
            missing = 0
            for u in sources:
                for v in targets:
                    if u == v or self.network.link(u, v) is not None:
                        continue
                    missing += 1
                    if missing <= 3:
                        why = (
                            f"no link, but stream {stream.source} → {stream.target} may need one; add it or narrow the candidates"
                        )
                        faults.add(("network", "links"), f"{u} → {v}", why)
                    if missing > 10_000:
                        return

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every metric with its weight and limit."""
        return tuple(Term(name, getattr(self.weights, name), getattr(self.limits, name)) for name in METRICS)

    def evaluate(self, deployment: Deployment) -> Evaluation:
        """Evaluate a deployment with the plain face of every metric; independent of all solvers.

        Returns
        -------
        Evaluation
            Objective (EDRP, eq. 12), metrics by name, and every limit that is broken.
        """
        broken = list(self._broken_placement(deployment))
        values = {name: metric.evaluate(self, deployment) for name, metric in METRICS.items()}
        objective = 0.0
        for term in self.terms:
            scaled = METRICS[term.metric].scaled(values[term.metric])
            if term.weight:
                objective += term.coefficient * scaled
            if scaled > term.scaled_limit * (1 + LIMIT_SLACK):
                broken.append(
                    f"limits.{term.metric}: {values[term.metric]:.6g} {METRICS[term.metric].unit} against {term.limit:.6g}"
                )
        return Evaluation(objective, values, tuple(broken))

    def solution(self, decision: Deployment | None, fields: dict[str, Any]) -> EdrpSolution:
        """The deployment and the actions that lead to it from the current one."""
        actions = () if decision is None or self.current is None else self.current.actions_to(decision)
        return EdrpSolution.model_construct(**fields, deployment=decision, actions=actions)

    def _broken_placement(self, deployment: Deployment) -> list[str]:
        broken = []
        used: dict[str, dict[str, float]] = {}
        for operator in self.application.operators:
            nodes = deployment[operator.name]
            if len(nodes) > operator.max_replicas:
                broken.append(f"max_replicas of {operator.name}: {len(nodes)} against {operator.max_replicas}")
            if len(nodes) < operator.min_replicas:
                broken.append(f"min_replicas of {operator.name}: {len(nodes)} against {operator.min_replicas}")
            allowed = None if operator.candidates is None else set(operator.candidates)
            for node in nodes:
                if allowed is not None and node not in allowed:
                    broken.append(f"candidates of {operator.name}: {node}")
                for resource, amount in named_resources(operator.resources).items():
                    on_node = used.setdefault(node, {})
                    on_node[resource] = on_node.get(resource, 0.0) + amount
            if operator.latency is not None and math.isinf(
                operator.latency.at(self.application.load(operator.name) / len(nodes))
            ):
                broken.append(f"{operator.name} is overloaded with {len(nodes)} replicas")
        for node, amounts in used.items():
            described = self.network.by_name[node].resources
            if described is None:
                continue
            free = named_resources(described)
            for resource, amount in amounts.items():
                if amount > free.get(resource, 0.0) * (1 + LIMIT_SLACK):
                    broken.append(f"{resource} of node {node}: {amount:.6g} against {free.get(resource, 0.0):.6g}")
        return broken


def named_resources(resources: float | dict[str, float]) -> dict[str, float]:
    """Resources by name; a plain number is the single resource called `resources`."""
    return resources if isinstance(resources, dict) else {"resources": resources}
