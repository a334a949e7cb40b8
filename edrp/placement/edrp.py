"""The EDRP problem: application, network, current deployment, weights and limits (EDRP, sections 4 and 5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from edrp.core.document import Document, Faults, Name, NonNegative, Positive, unit
from edrp.core.errors import numbered
from edrp.core.solution import Solution, StageOutcome
from edrp.core.stages import Stage
from edrp.core.tolerances import UNIT_SUM_SLACK
from edrp.placement.application import Application
from edrp.placement.ceilings import ceiling
from edrp.placement.deployment import Action, Deployment
from edrp.placement.metrics import EDRP_METRICS, Metric, contention_metrics
from edrp.placement.metrics.own import MetricRows, check_metrics, metric_rows, registered_metrics
from edrp.placement.metrics.peak_load import PEAK_LOAD, PEAK_LOADS, shared_resources
from edrp.placement.network import Network
from edrp.placement.priorities import Priority, check_priorities, has_weighted_stage, stage_after
from edrp.placement.problem import EdrpTerms, PlacementProblem, Term, limit_needed, sum_needed

Share = Annotated[float, Field(ge=0, le=1)]


class MetricValues(Document):
    """One value for each of some metrics; those of your own have their registered names (`edrp.register_metric`)."""

    model_config = ConfigDict(extra="allow")

    @property
    def own(self) -> dict[str, Any]:
        """Values of registered metrics."""
        return dict(self.__pydantic_extra__ or {})

    def of(self, metric: str) -> Any:
        """Value of the metric of that name, such as "cost" or "peak_loads.cpu"; None where there is none."""
        name, _, resource = metric.partition(".")
        return getattr(self, name).get(resource) if resource else getattr(self, name, None)

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with some values changed."""
        return type(self)(**{**{name: getattr(self, name) for name in type(self).model_fields}, **self.own, **changes})

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        faults, known = Faults(type(self).__name__), registered_metrics()
        for name in self.own:
            if name not in known:
                need = "or metric that a package (entry point edrp.metrics) or edrp.register_metric has registered"
                faults.add_unknown((name,), name, f"field {need}", [*type(self).model_fields, *known])
        faults.raise_if_any()
        return self


class Weights(MetricValues):
    """Weight of each metric in the objective (EDRP, eq. 12); they sum to 1."""

    __pydantic_extra__: dict[str, Share]

    response_time: Share = Field(0.0, description="w_r", **unit("1"))
    cost: Share = Field(0.0, description="w_c", **unit("1"))
    downtime: Share = Field(0.0, description="w_d", **unit("1"))
    network_usage: Share = Field(0.0, description="of the tuples in flight", **unit("1"))
    availability: Share = Field(0.0, description="of −ln(availability)", **unit("1"))
    peak_load: Share = Field(0.0, description="of the largest share of a node's capacity that is asked for", **unit("1"))
    peak_loads: dict[Name, Share] = Field({}, description="the same of single shared resources, by name", **unit("1"))

    @classmethod
    def of_metrics(cls, weights: Mapping[str, float]) -> Self:
        """Weights by metric, such as "cost" or "peak_loads.cpu"."""
        plain = {name: weight for name, weight in weights.items() if not name.startswith(f"{PEAK_LOADS}.")}
        peaks = {name.partition(".")[2]: weight for name, weight in weights.items() if name not in plain}
        return cls(**plain, peak_loads=peaks)

    @model_validator(mode="after")
    def _check(self) -> Self:
        single = (value for name, value in self if name != PEAK_LOADS)
        total = sum(single) + sum(self.peak_loads.values())
        if abs(total - 1.0) > UNIT_SUM_SLACK:
            faults = Faults("weights")
            faults.add((), total, sum_needed(total, "Weights"))
            faults.raise_if_any()
        return self


class Limits(MetricValues):
    """Worst acceptable value of each metric (EDRP, eqs. 15–17); it also normalises the metric's term (eq. 12)."""

    __pydantic_extra__: dict[str, Positive | None]

    response_time: Positive | None = Field(None, description="R_max", **unit("s"))
    cost: Positive | None = Field(None, description="C_max", **unit("money/h"))
    downtime: Positive | None = Field(None, description="T_D,max", **unit("s"))
    network_usage: Positive | None = Field(None, description="maximum tuples in flight", **unit("tuples"))
    availability: Annotated[float, Field(gt=0, lt=1)] | None = Field(None, description="minimum availability", **unit("1"))
    peak_load: Positive | None = Field(
        None, description="maximum share of any node's capacity of any shared resource", **unit("1")
    )
    peak_loads: dict[Name, Positive] = Field({}, description="the same of single shared resources, by name", **unit("1"))

    def with_limit(self, metric: str, limit: float | None) -> Self:
        """The same with another limit, or none, on the metric of that name."""
        name, _, resource = metric.partition(".")
        if not resource:
            return self.replace(**{name: limit})
        others = {key: value for key, value in self.peak_loads.items() if key != resource}
        return self.replace(peak_loads=others if limit is None else {**others, resource: limit})


class EdrpProblem(PlacementProblem):
    """Joint replication and placement, initial (without `current`) or as a reconfiguration of `current`.

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
    synchronisation_time: NonNegative = Field(0.0, description="t_syn of a reconfiguration", **unit("s"))
    weights: Weights = Field(Weights(response_time=0.5, cost=0.5), description="of the metrics in the objective")
    limits: Limits = Field(Limits(), description="on the metrics; one is needed for each metric that has a weight")
    current: Deployment | None = Field(None, description="deployment now; null for an initial placement, which has no downtime")
    reconfiguration: Literal["pause-and-resume", "storm"] = Field(
        "pause-and-resume", description="how the application is reconfigured"
    )
    priorities: tuple[Priority, ...] = Field(
        (),
        description="metrics to be minimised one after the other, before the weighted sum; `weights` default to the last of them",
    )

    def _check_kind(self, faults: Faults) -> None:
        prioritised = {priority.metric for priority in self.priorities}
        if self.priorities and "weights" not in self.model_fields_set and self.priorities[-1].metric in self.metrics:
            object.__setattr__(self, "weights", Weights.of_metrics({self.priorities[-1].metric: 1.0}))
        for name in EDRP_METRICS:
            if getattr(self.weights, name) > 0 and getattr(self.limits, name) is None and name not in prioritised:
                faults.add(("limits", name), None, limit_needed(self, name))
        self._check_peak_loads(faults)
        check_metrics(self, faults)
        check_priorities(self, faults)
        self._check_capacities(faults)

    def _check_peak_loads(self, faults: Faults) -> None:
        """Note weights and limits on peak loads of resources that nothing uses."""
        used = shared_resources(self.application)
        for field in ("weights", "limits"):
            values = getattr(self, field)
            if values.peak_load and not used:
                faults.add(
                    (field, PEAK_LOAD), values.peak_load, "needs a `usage` of shared resources; no operator or stream has one"
                )
            for resource, value in values.peak_loads.items():
                if resource not in used:
                    known = f"they use {', '.join(used)}" if used else "nothing is used at all"
                    faults.add(
                        (field, PEAK_LOADS, resource), value, f"is a shared resource that no operator or stream uses; {known}"
                    )

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """EDRP, sections 3 and 4, where shared resources are used, peak loads, and metrics of your own that the problem names."""
        named = dict.fromkeys([*self.weights.own, *self.limits.own, *(priority.metric for priority in self.priorities)])
        own = {name: metric for name in named if (metric := registered_metrics().get(name))}
        return {**EDRP_METRICS, **contention_metrics(shared_resources(self.application)), **own}

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Weight per unit of the limit, which normalises the metric (EDRP, eq. 12); peak loads are shares anyway."""
        return tuple(
            Term.normalised(metric, self.weights.of(name) or 0.0, self.limits.of(name)) for name, metric in self.metrics.items()
        )

    @property
    def weighted_peaks(self) -> list[str]:
        """Names of the peak loads that have a weight."""
        return [term.metric for term in self.terms if term.metric.startswith(PEAK_LOAD) and term.weight > 0]

    @cached_property
    def metric_rows(self) -> tuple[MetricRows, ...]:
        """Weights and limits on metrics of your own that numbers of replicas decide."""
        return metric_rows(self)

    def edrp_terms(self) -> EdrpTerms:
        """Its own terms, besides those that are rows."""
        rows = {row.name for row in self.metric_rows}
        terms = [term for term in self.terms if term.metric not in rows]
        return EdrpTerms(
            weight={term.metric: term.coefficient for term in terms},
            limit={term.metric: term.scaled_limit for term in terms},
            replica_cost={operator.name: operator.replica_cost for operator in self.application.operators},
            synchronisation_time=self.synchronisation_time,
            storm=self.reconfiguration == "storm",
        )

    @property
    def stage_count(self) -> int:
        """One for each priority, and one for the weighted sum unless it is the last of them; 0 without priorities."""
        return len(self.priorities) + has_weighted_stage(self) if self.priorities else 0

    def ceiling(self, metric: str) -> float:
        """A value of a metric, on its scale, that no feasible deployment reaches."""
        return ceiling(self, metric)

    def stage(self, done: Sequence[StageOutcome], decision: Deployment | None) -> Stage:
        """The stage that follows those that are done (`edrp.core.stages`)."""
        return stage_after(self, done, decision)

    def solution(self, decision: Deployment | None, fields: dict[str, Any]) -> EdrpSolution:
        """The deployment and the actions that lead to it from the current one."""
        actions = () if decision is None or self.current is None else self.current.actions_to(decision)
        return EdrpSolution.model_construct(**fields, deployment=decision, actions=actions)

    def _broken_operator(self, operator: Any, replicas: Counter[str]) -> list[str]:
        broken = super()._broken_operator(operator, replicas)
        load = self.application.load(operator.name) / replicas.total()
        if operator.latency is not None and math.isinf(operator.latency.at(load, replicas.total())):
            broken.append(f"{operator.name} is overloaded with {numbered(replicas.total(), 'replica')}")
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
    objective: float | None = Field(description="weighted sum of the metrics as re-evaluated", **unit("1"))
    deployment: Deployment | None = Field(description="nodes per operator, once per replica")
    actions: tuple[Action, ...] = Field(description="changes from the current deployment")

    @property
    def decision(self) -> Deployment | None:
        """The deployment."""
        return self.deployment
