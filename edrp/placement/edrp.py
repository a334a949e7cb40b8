"""The EDRP problem: application, network, current deployment, weights and limits (EDRP, sections 4 and 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Faults, Name, NonNegative, unit
from edrp.core.errors import EdrpError, numbered
from edrp.core.limits import digits_apart
from edrp.core.solution import Solution, StageOutcome
from edrp.core.stages import Stage
from edrp.core.tolerances import MIN_STAGE_LIMIT, REACHED_LIMIT_ROOM
from edrp.placement.application import Application
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Action, Deployment
from edrp.placement.latency import serves
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.metrics import EDRP_METRICS, NORMALISED, Metric, contention_metrics, package_metrics
from edrp.placement.metrics.base import PARTS
from edrp.placement.metrics.evenness import EVENNESS, REPLICAS, STATE, Evenness, evenness_metrics
from edrp.placement.metrics.own import HOW_REGISTERED, MetricRows, check_metrics, metric_rows, registered_metrics
from edrp.placement.metrics.peak_load import PEAK_LOAD, PEAK_LOADS, shared_resources
from edrp.placement.metrics.penalties import ALL, SINGLE, penalty_metrics
from edrp.placement.network import Network
from edrp.placement.priorities import Priority, check_priorities, has_weighted_stage, stage_after
from edrp.placement.problem import EdrpTerms, PlacementProblem, Term, limit_needed
from edrp.placement.rules import PlacementRule


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

    possible_parts: ClassVar[Collection[str]] = PARTS

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
    evenness: dict[Name, Evenness] = Field({}, description="what is to be even, by name: of the metric `evenness.<name>`")
    priorities: tuple[Priority, ...] = Field(
        (),
        description="metrics to be minimised one after the other, before the weighted sum; `weights` default to the last of them",
    )

    def _check_kind(self, faults: Faults) -> None:
        prioritised = {priority.metric for priority in self.priorities}
        if self.priorities and "weights" not in self.model_fields_set and self.priorities[-1].metric in self.metrics:
            object.__setattr__(self, "weights", Weights.of_metrics({self.priorities[-1].metric: 1.0}))
        for name in NORMALISED:
            if getattr(self.weights, name) > 0 and getattr(self.limits, name) is None and name not in prioritised:
                faults.add(("limits", name), None, limit_needed(self, name))
        self._check_peak_loads(faults)
        self._check_named(faults)
        check_metrics(self, faults)
        check_priorities(self, faults)
        self._check_capacities(faults)

    def _check_named(self, faults: Faults) -> None:
        """Note faults of entries of `evenness`, and weights and limits on entries and penalties that there are none of."""
        for name, document in self.evenness.items():
            document.check(self, (EVENNESS, name), faults)
            if document.of in (REPLICAS, STATE) and document.of in shared_resources(self.application):
                why = "is the name of a shared resource, too; call that by another name"
                faults.add((EVENNESS, name, "of"), document.of, why)
        wishes = [rule.name for rule in self.rules if not rule.hard]
        for part in ("weights", "limits"):
            for name in getattr(self, part).named:
                field, _, single = name.partition(".")
                known = {EVENNESS: ("entry of `evenness`", self.evenness), SINGLE: ("rule with a penalty", wishes)}.get(field)
                if known is not None and single and single not in known[1]:
                    faults.add_unknown((part, name), single, *known)
                elif name == ALL and not wishes:
                    faults.add((part, ALL), getattr(self, part).of(ALL), "needs a rule with a penalty; there is none")

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
        """EDRP, sections 3 and 4, peak loads where shared resources are used, and metrics without kernels that the problem names.

        Raises
        ------
        EdrpError
            Where a metric of your own is not registered here: the problem has come from another process.
        """
        named = dict.fromkeys([*self.weights.own, *self.limits.own])
        if lost := next((name for name in named if name not in registered_metrics()), None):
            raise EdrpError(f"the problem names {lost!r}, which is no metric in this process; {HOW_REGISTERED}")
        package = {**EDRP_METRICS, **evenness_metrics(self), **penalty_metrics(self)}
        first = [priority.metric for priority in self.priorities]
        named |= {name: None for name in first if name not in package}
        own: dict[str, Metric] = {
            name: package[name] for name in (*first, *self.weights.named, *self.limits.named) if name in package
        }
        own |= {name: metric for name in named if (metric := registered_metrics().get(name))}
        return {**NORMALISED, **contention_metrics(shared_resources(self.application)), **own}

    @cached_property
    def counted_rules(self) -> tuple[PlacementRule, ...]:
        """Rules that must be met, and those whose penalties are part of the objective as they are.

        The others have a weight, a limit or a priority of their own.
        """
        if ALL in self.metrics:
            return tuple(rule for rule in self.rules if rule.hard)
        return tuple(rule for rule in self.rules if rule.hard or f"{SINGLE}.{rule.name}" not in self.metrics)

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
        """A value of a metric of the package, on its scale, that no feasible deployment reaches."""
        return (1 + REACHED_LIMIT_ROOM) * package_metrics(())[metric].ceiling(compile_problem(self)) + MIN_STAGE_LIMIT

    def stage(self, done: Sequence[StageOutcome], decision: Deployment | None) -> Stage:
        """The stage that follows those that are done (`edrp.core.stages`)."""
        return stage_after(self, done, decision)

    def solution(self, decision: Deployment | None, fields: dict[str, Any]) -> EdrpSolution:
        """The deployment and the actions that lead to it from the current one."""
        actions = () if decision is None or self.current is None else self.current.actions_to(decision)
        return EdrpSolution.model_construct(**fields, deployment=decision, actions=actions)

    def _broken_operator(self, operator: Any, replicas: Counter[str]) -> list[str]:
        broken, total, model = super()._broken_operator(operator, replicas), replicas.total(), operator.latency
        rate = self.application.load(operator.name) / total
        if not serves(model, rate, total):
            return [*broken, f"{operator.name} is overloaded with {numbered(total, 'replica')}"]
        for node in replicas:
            speedup = self.network.by_name[node].speedup
            if not serves(model, rate, total, speedup):
                asked, served = digits_apart(rate, model.true_rate(total) * speedup)
                why = f"{asked} tuples/s for each replica, which serves {served} at the speed-up of {speedup:g}"
                broken.append(f"{operator.name} is overloaded on {node}: {why}")
        return broken


class EdrpSolution(Solution):
    """The answer of a method to a problem of kind `edrp`."""

    metric_units: ClassVar[Mapping[str, str]] = {name: metric.unit for name, metric in EDRP_METRICS.items() if metric.unit != "1"}

    kind: Literal["edrp-solution"] = Field("edrp-solution", description="says what the document is")
    objective: float | None = Field(description="weighted sum of the metrics as re-evaluated", **unit("1"))
    deployment: Deployment | None = Field(description="nodes per operator, once per replica")
    actions: tuple[Action, ...] = Field(description="changes from the current deployment")

    @property
    def decision(self) -> Deployment | None:
        """The deployment."""
        return self.deployment
