"""The problem of kind `rescale`: how many replicas, which keys on which, and on which node, for all operators together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Document, Faults, NonNegative, Positive, unit
from edrp.core.errors import Fault, numbered
from edrp.core.limits import digits_apart
from edrp.core.problem import SCENARIOS
from edrp.core.solution import Solution
from edrp.core.tolerances import LIMIT_SLACK, STATE_RESOLUTION, UNIT_SUM_SLACK
from edrp.migration.rescale import documents
from edrp.migration.rescale.metrics import RESCALE_METRICS, RESCALE_PARTS
from edrp.placement.deployment import Action
from edrp.placement.latency import serves
from edrp.placement.metrics.base import DEVICES, Metric
from edrp.placement.metrics.peak_load import PEAK_LOAD, shared_resources
from edrp.placement.problem import StreamPlacement, Term, limit_needed, note_other_places, sum_needed
from edrp.placement.shortage import homeless_operators, shortages


def _overload(problem: Any, operator: documents.KeyedOperator) -> str:
    max_replicas, load = operator.most_replicas, problem.application.load(operator.name)
    replicas = f"{max_replicas} replicas at most" if max_replicas > 1 else "a single replica"
    below = f" below utilisation {problem.utilisation:g}" if problem.utilisation < 1 else ""
    below += problem.heaviest_text
    if operator.latency is not None and (speedup := problem.fastest[operator.name]) < 1:
        below += f" at a speed-up of {speedup:g}, the largest of its nodes"
    if operator.tasks is None or max_replicas == 1:
        return f"{operator.name}: with {replicas} it cannot serve its load of {load:.6g} tuples/s{below}"
    tolerated = "" if problem.tolerance is None else f" and within tolerance {problem.tolerance:g}"
    alone = [
        task for task in range(operator.tasks.count) if not documents.range_fits(problem, operator, task, task + 1, max_replicas)
    ]
    if alone:
        heaviest = max(alone, key=operator.tasks.work.__getitem__)
        rate = load * operator.tasks.share(heaviest, heaviest + 1)
        return (
            f"{operator.name}: task {heaviest} alone brings {rate:.6g} of {load:.6g} tuples/s, "
            f"which one of {replicas} does not serve{below}{tolerated}; split the task or serve faster"
        )
    even = "even ranges" if problem.ranges == "even" else "ranges of neighbouring tasks"
    return f"{operator.name}: with {replicas} no {even} keep all of them stable{below}{tolerated}"


Share = Annotated[float, Field(ge=0, le=1)]


class RescaleWeights(Document):
    """Weight of each metric in the objective; they sum to 1."""

    response_time: Share = Field(0.0, description="of the response time", **unit("1"))
    cost: Share = Field(0.0, description="of the cost", **unit("1"))
    downtime: Share = Field(0.0, description="of the downtime", **unit("1"))
    moved_state: Share = Field(0.0, description="of the state that changes its node", **unit("1"))
    peak_load: Share = Field(0.0, description="of the largest share of a node's capacity that is asked for", **unit("1"))

    def of(self, metric: str) -> float:
        """Weight of the metric of that name."""
        return float(getattr(self, metric))


class RescaleLimits(Document):
    """Worst acceptable value of each metric; it also normalises the metric's term of the objective."""

    response_time: Positive | None = Field(None, description="maximum response time", **unit("s"))
    cost: Positive | None = Field(None, description="maximum cost", **unit("money/h"))
    downtime: Positive | None = Field(None, description="maximum downtime", **unit("s"))
    moved_state: Positive | None = Field(None, description="maximum state that changes its node", **unit("bytes"))
    peak_load: Positive | None = Field(
        None, description="maximum share of any node's capacity of any shared resource", **unit("1")
    )

    def of(self, metric: str) -> float | None:
        """Limit of the metric of that name; None where there is none."""
        limit: float | None = getattr(self, metric)
        return limit


class RescaleProblem(StreamPlacement):
    """Replicas, key ranges and nodes of all operators, initial (without `current`) or as a change of `current`.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> count = {"name": "count", "latency": queue, "external_rate": 12.0, "max_replicas": 2}
    >>> problem = RescaleProblem(
    ...     application={"operators": [{**count, "tasks": {"work": [3, 1, 2], "state_size": [1, 1, 1]}}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]},
    ...     weights={"response_time": 1.0},
    ...     limits={"response_time": 1.0},
    ... )
    >>> problem.evaluate({"count": [{"node": "a", "tasks": [0, 1]}, {"node": "b", "tasks": [1, 3]}]}).objective
    0.25
    """

    decision_type: ClassVar[Any] = documents.KeyedDeployment

    possible_parts: ClassVar[Collection[str]] = RESCALE_PARTS | {DEVICES}

    kind: Literal["rescale"] = Field("rescale", description="says what the document is")
    application: documents.KeyedApplication = Field(description="what is to be placed")
    network: documents.RescaleNetwork = Field(description="where it can be placed")
    synchronisation_time: NonNegative = Field(0.0, description="time of any change", **unit("s"))
    ranges: Literal["free", "even"] = Field(
        "free", description="whether replicas may hold any range of tasks, or ranges of equal numbers as Flink's key groups"
    )
    operator_latency: Literal["slowest", "mean"] = Field(
        "slowest", description="latency of an operator: that of its slowest replica, or the mean over its tuples"
    )
    transfer: Literal["store", "direct"] = Field(
        "store", description="how state moves: by way of the data store (EDRP, eqs. 24–32), or from node to node"
    )
    tolerance: NonNegative | None = Field(
        None,
        description="how much more than the average of its operator's replicas a replica may have; null for any",
        **unit("1"),
    )
    utilisation: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="share of what it serves that a replica's load must stay below", **unit("1")
    )
    scenarios: tuple[documents.LoadScenario, ...] = Field(
        (),
        description="loads until the next decision: every replica must be stable in each, and the response time is the expected "
        "one; none for the load of the application alone. Other metrics are those of the load of the application",
    )
    weights: RescaleWeights = Field(RescaleWeights(response_time=0.5, cost=0.5), description="of the metrics in the objective")
    limits: RescaleLimits = Field(RescaleLimits(), description="on the metrics; one is needed for each metric with a weight")
    current: documents.KeyedDeployment | None = Field(
        None, description="replicas with nodes and ranges now; null for an initial placement, which moves nothing"
    )

    @property
    def reconfiguration(self) -> str:
        """Downtime of operators without tasks is that of EDRP's pause-and-resume."""
        return "pause-and-resume"

    @property
    def load_scenarios(self) -> tuple[documents.LoadScenario, ...]:
        """The scenarios; where none are given, the load of the application."""
        return self.scenarios or documents.NOW

    @cached_property
    def scenario_problems(self) -> tuple[RescaleProblem, ...]:
        """The problem at the load of each of `load_scenarios`."""
        if not self.scenarios:
            return (self,)
        return tuple(
            self.replace(application=documents.multiplied(self.application, scenario.factor), scenarios=())
            for scenario in self.scenarios
        )

    @property
    def heaviest_text(self) -> str:
        """Return in words how much more than the application's load replicas must serve; empty without scenarios."""
        return f" at up to {max(scenario.factor for scenario in self.scenarios):g} times the load" if self.scenarios else ""

    @property
    def resolution(self) -> float:
        """1e-9 of what all state weighs: what moves is a difference of sums over it."""
        term = next(term for term in self.terms if term.metric == "moved_state")
        return STATE_RESOLUTION * term.coefficient * sum(operator.total_state for operator in self.application.operators)

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of `RESCALE_METRICS`; peak load where shared resources are used."""
        used = bool(shared_resources(self.application))
        return {name: metric for name, metric in RESCALE_METRICS.items() if used or name != PEAK_LOAD}

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Weight per unit of the limit, which normalises the metric; peak load is a share anyway."""
        return tuple(
            Term.normalised(metric, self.weights.of(name), self.limits.of(name)) for name, metric in self.metrics.items()
        )

    @property
    def parts(self) -> Mapping[str, str]:
        """Metrics, rules and scenarios."""
        return {**super().parts, **({SCENARIOS: SCENARIOS} if self.scenarios else {})}

    def _check_kind(self, faults: Faults) -> None:
        documents.note_scenario_faults(self.scenarios, faults)
        total = math.fsum(self.weights.of(name) for name in RESCALE_METRICS)
        if abs(total - 1.0) > UNIT_SUM_SLACK:
            faults.add(("weights",), total, sum_needed(total, "RescaleWeights"))
        for name in RESCALE_METRICS:
            if self.weights.of(name) > 0 and self.limits.of(name) is None and name != PEAK_LOAD:
                faults.add(("limits", name), None, limit_needed(self, name))
        if not shared_resources(self.application):
            for field, value in (("weights", self.weights.peak_load), ("limits", self.limits.peak_load)):
                if value:
                    faults.add((field, PEAK_LOAD), value, "needs a `usage` of shared resources; no operator or stream has one")
        for index, stream in enumerate(self.application.streams):
            if stream.partitioning == "forward" and stream.usage:
                why = "is not known of streams that forward one to one; leave it out, or give another `partitioning`"
                faults.add(("application", "streams", index, "usage"), stream.usage, why)
        self._check_capacities(faults)

    def _check_present(self, faults: Faults) -> None:
        if self.current is None:
            return
        documents.note_replica_faults(self.application, self.network.by_name, self.current, ("current",), faults)
        for operator in self.application.operators:
            if operator.name in self.current:
                note_other_places(operator, self.current.nodes(operator.name), self.network.by_name, faults)

    def _check_decision(self, decision: documents.KeyedDeployment, place: str, faults: Faults) -> None:
        documents.note_replica_faults(self.application, self.network.by_name, decision, (place,), faults)

    def _broken_placement(self, deployment: Any) -> list[str]:
        broken = super()._broken_placement(deployment)
        for operator in self.application.operators:
            loads = documents.replica_loads(self.application, deployment, operator.name)
            broken += self._overloaded(operator, loads)
            if operator.tasks is not None:
                broken += self._broken_ranges(operator, loads)
        return broken

    def _overloaded(self, operator: documents.KeyedOperator, loads: list[documents.ReplicaLoad]) -> list[str]:
        """Replicas that are not stable below the utilisation."""
        if operator.latency is None:
            return []
        replicas = len(loads)
        speed = {node.name: node.speedup for node in self.network.nodes}
        if operator.tasks is None and not self.is_stable(operator, loads[0].rate, replicas, speedup=1.0):
            return [f"{operator.name} is overloaded with {numbered(replicas, 'replica')}{self.heaviest_text}"]
        unstable = [load for load in loads if not self.is_stable(operator, load.rate, replicas, speed[load.node])]
        return list(dict.fromkeys(self._overload_sentence(operator, load, replicas, speed[load.node]) for load in unstable))

    def _overload_sentence(
        self, operator: documents.KeyedOperator, load: documents.ReplicaLoad, replicas: int, speedup: float
    ) -> str:
        """What a replica is asked for that it does not serve, and what it serves on a slow node."""
        asked, served, model = f"{load.rate:.6g}", "", operator.latency
        if speedup < 1 and model is not None:
            asked, most = digits_apart(load.rate, self.utilisation * model.true_rate(replicas) * speedup)
            served = f", which serves {most} at the speed-up of {speedup:g}"
        whose = "each replica" if operator.tasks is None else documents.range_text(load)
        return f"{operator.name} is overloaded on {load.node}: {asked} tuples/s{self.heaviest_text} for {whose}{served}"

    @cached_property
    def fastest(self) -> Mapping[str, float]:
        """Speed-up of the fastest node that each operator may run on."""
        speed = {node.name: node.speedup for node in self.network.nodes}
        return {o.name: max(speed[name] for name in o.candidates or speed) for o in self.application.operators}

    def is_stable(self, operator: documents.KeyedOperator, rate: float, replicas: int, speedup: float | None = None) -> bool:
        """Whether each of `replicas` replicas is stable below the utilisation at that rate, times the factor of each scenario.

        On a node of that speed-up; None for the fastest one.
        """
        speedup = self.fastest[operator.name] if speedup is None else speedup
        rates = [rate * scenario.factor / self.utilisation for scenario in self.load_scenarios]
        return all(serves(operator.latency, reached, replicas, speedup) for reached in rates)

    def _broken_ranges(self, operator: documents.KeyedOperator, loads: list[documents.ReplicaLoad]) -> list[str]:
        """Ranges above the tolerance, and such that are not even where they have to be."""
        assert operator.tasks is not None
        broken, replicas = [], len(loads)
        if self.tolerance is not None:
            max_share = (1 + self.tolerance) / replicas
            broken += [
                f"tolerance: {documents.range_text(load)} of {operator.name}, "
                f"{load.share:.6g} of the work against {max_share:.6g}"
                for load in loads
                if load.share > max_share * (1 + LIMIT_SLACK)
            ]
        if self.ranges == "even":
            boundaries = documents.even_boundaries(operator.tasks.count, replicas)
            if [load.tasks[1] for load in loads if load.tasks] != boundaries[1:]:
                broken.append(f"ranges: those of {operator.name} are not even; they must end at {boundaries[1:]}")
        return broken

    def solution(self, decision: documents.KeyedDeployment | None, fields: dict[str, Any]) -> RescaleSolution:
        """The deployment, the actions that lead to it from the current one, and the tasks that move."""
        actions: tuple[Action, ...] = ()
        moves: tuple[documents.KeyMove, ...] = ()
        if decision is not None and self.current is not None:
            actions = self.current.places.actions_to(decision.places)
            moves = documents.moves_to(self.application, self.current, decision)
        return RescaleSolution.model_construct(**fields, deployment=decision, actions=actions, moves=moves)

    def _warnings(self) -> Iterator[Fault]:
        yield from super()._warnings()
        operators = self.application.operators
        if self.tolerance is not None and all(operator.tasks is None for operator in operators):
            yield Fault("tolerance", f"{self.tolerance:g}", "has no effect: no operator has tasks")
        if self.utilisation < 1 and all(operator.latency is None for operator in operators):
            yield Fault("utilisation", f"{self.utilisation:g}", "has no effect: no operator has a latency")

    def clashes(self) -> tuple[str, ...]:
        """Return the reasons why no deployment is feasible, as far as operators show it one by one."""
        replicas = {operator.name: documents.possible_replicas(self, operator) for operator in self.application.operators}
        overloaded = [_overload(self, operator) for operator in self.application.operators if not replicas[operator.name]]
        if alone := (*overloaded, *homeless_operators(self)):
            return alone
        return tuple(shortage.text for shortage in shortages(self, {name: counts[0] for name, counts in replicas.items()}))


class RescaleSolution(Solution):
    """The answer of a method to a problem of kind `rescale`."""

    metric_units: ClassVar[Mapping[str, str]] = {"response_time": "s", "downtime": "s", "cost": "money/h", "moved_state": "bytes"}

    kind: Literal["rescale-solution"] = Field("rescale-solution", description="says what the document is")
    objective: float | None = Field(description="weighted sum of the metrics as re-evaluated", **unit("1"))
    deployment: documents.KeyedDeployment | None = Field(description="replicas of each operator with nodes and ranges of tasks")
    actions: tuple[Action, ...] = Field(description="changes of the nodes of replicas from the current deployment")
    moves: tuple[documents.KeyMove, ...] = Field(
        description="tasks that go from node to node, in the order of operators and tasks"
    )

    @property
    def decision(self) -> documents.KeyedDeployment | None:
        """The deployment."""
        return self.deployment
