"""The EDRP problem: application, network, current deployment, weights and limits (EDRP, sections 4 and 5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from edrp.core.document import Document, Faults, NonNegative, Positive
from edrp.core.solution import Solution
from edrp.placement.application import Application
from edrp.placement.deployment import Action, Deployment
from edrp.placement.metrics import EDRP_METRICS, Metric
from edrp.placement.network import Network
from edrp.placement.problem import EdrpTerms, PlacementProblem, Term

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
        total = sum(getattr(self, name) for name in EDRP_METRICS)
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
    network_usage: Positive | None = Field(None, description="maximum tuples in flight", json_schema_extra={"unit": "tuples"})
    availability: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="minimum availability", json_schema_extra={"unit": "1"}
    )


class EdrpProblem(PlacementProblem):
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

    def _check_kind(self, faults: Faults) -> None:
        for name in EDRP_METRICS:
            if getattr(self.weights, name) > 0 and getattr(self.limits, name) is None:
                faults.add(("limits", name), None, f"needed because weights.{name} > 0: the limit normalises that term")

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """EDRP, sections 3 and 4."""
        return EDRP_METRICS

    @property
    def terms(self) -> tuple[Term, ...]:
        """Weight per unit of the limit, which normalises the metric (EDRP, eq. 12)."""
        return tuple(_term(name, getattr(self.weights, name), getattr(self.limits, name)) for name in EDRP_METRICS)

    def edrp_terms(self) -> EdrpTerms:
        """Its own terms."""
        return EdrpTerms(
            weight={term.metric: term.coefficient for term in self.terms},
            limit={term.metric: term.scaled_limit for term in self.terms},
            replica_cost={operator.name: operator.replica_cost for operator in self.application.operators},
            synchronisation_time=self.synchronisation_time,
            storm=self.reconfiguration == "storm",
        )

    def solution(self, decision: Deployment | None, fields: dict[str, Any]) -> EdrpSolution:
        """The deployment and the actions that lead to it from the current one."""
        actions = () if decision is None or self.current is None else self.current.actions_to(decision)
        return EdrpSolution.model_construct(**fields, deployment=decision, actions=actions)

    def _broken_operator(self, operator: Any, replicas: Counter[str]) -> list[str]:
        broken = super()._broken_operator(operator, replicas)
        load = self.application.load(operator.name) / replicas.total()
        if operator.latency is not None and math.isinf(operator.latency.at(load, replicas.total())):
            broken.append(f"{operator.name} is overloaded with {replicas.total()} replicas")
        return broken


class EdrpSolution(Solution):
    """The answer of a method to a problem of kind `edrp`."""

    metric_units: ClassVar[Mapping[str, str]] = {
        "response_time": "s",
        "downtime": "s",
        "cost": "money/h",
        "network_usage": "tuples",
    }

    kind: Literal["edrp-solution"] = Field("edrp-solution", description="says what the document is")
    objective: float | None = Field(description="weighted sum of the metrics as re-evaluated", json_schema_extra={"unit": "1"})
    deployment: Deployment | None = Field(description="nodes per operator, once per replica")
    actions: tuple[Action, ...] = Field(description="changes from the current deployment")

    @property
    def decision(self) -> Deployment | None:
        """The deployment."""
        return self.deployment


def _term(metric: str, weight: float, limit: float | None) -> Term:
    if limit is None:
        return Term(metric, weight, limit, 0.0)
    scaled = EDRP_METRICS[metric].scaled(limit)
    return Term(metric, weight, limit, weight / scaled if weight else 0.0, scaled)
