"""The base of problems whose decision is a deployment: application, network, resources, current deployment."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from edrp.core.document import Faults, checks, named_resources
from edrp.core.errors import Fault
from edrp.core.limits import compared, exceeds
from edrp.core.problem import Evaluation, Margin, Problem
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import listed
from edrp.placement.application import OperatorBase, StreamGraph
from edrp.placement.deployment import Deployment
from edrp.placement.devices import fits, note_wrong_demands, unit_resources, units_needed, units_of, usable_units
from edrp.placement.metrics import Metric
from edrp.placement.metrics.base import DEVICES
from edrp.placement.metrics.own import OwnMetric
from edrp.placement.network import Network
from edrp.placement.problem_warnings import idle_bandwidths, idle_terms, odd_times, unreached_operators
from edrp.placement.rules import PlacementRule
from edrp.placement.rules.arrays import WrittenRule
from edrp.placement.rules.base import Placed

MAX_UNLINKED = 10_000
"""Number of pairs of nodes without a link after which no more are looked for."""

MAX_NAMED = 8
"""Maximum number of nodes, and of groups of them, that one fault about links names."""


PENALTIES = "penalties"
"""Name under which evaluations give what violated rules add to the objective."""


def sum_needed(total: float, weights: str) -> str:
    """Why weights of that class, which sum to something else than 1, are at fault; without any, how to give them."""
    return "must sum to 1" + ("" if total else f"; give at least one weight, for example {weights}(response_time=1.0)")


def limit_needed(problem: Problem, metric: str) -> str:
    """Why a metric with a weight needs a limit, for a fault at the limit; says what the weight is by default."""
    weight = getattr(problem.weights, metric)  # type: ignore[attr-defined]
    why = f"needed because weights.{metric} > 0: the limit normalises that term"
    return (
        why if "weights" in problem.model_fields_set else f"{why}; without `weights` it is {weight:g}, so give these or the limit"
    )


@dataclass(frozen=True, slots=True)
class Term:
    """One metric of the objective.

    Attributes
    ----------
    metric, weight, limit : as the problem gives them; `limit` is None where none is set.
    coefficient : objective per unit of the metric's scaled value.
    scaled_limit : upper limit on the scaled value; infinite where none is set.
    """

    metric: str
    weight: float
    limit: float | None
    coefficient: float
    scaled_limit: float = math.inf

    @classmethod
    def normalised(cls, metric: Metric, weight: float, limit: float | None) -> Self:
        """Weight per unit of the limit (EDRP, eq. 12); the metric as it is where there is none."""
        if limit is None:
            return cls(metric.name, weight, limit, weight)
        scaled = metric.scaled(limit)
        loosest = max(scaled, metric.scaled(limit * (1 - LIMIT_SLACK)))  # the scale of availability falls, and magnifies rounding
        return cls(metric.name, weight, limit, weight / scaled if weight else 0.0, loosest)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdrpTerms:
    """A problem's objective and limits in the terms of EDRP, which all problems are compiled to.

    Attributes
    ----------
    weight : objective per unit of each metric of EDRP on its scale; 0 where none is named.
    limit : upper limit of each metric of EDRP on its scale; infinite where none is named.
    replica_cost : money/h of a replica of each operator; 0 where none is named.
    stream_rate : in the order of the streams; empty for the application's own, in tuples/s.
    link_price : of every link, which is always available then; None for the network's own prices and availability.
    node_loss : −ln of the availability of every node; None for the network's own.
    equal_nodes : whether nodes are equally fast, whatever the network says.
    synchronisation_time : seconds.
    storm : whether downtime is Storm's instead of pause-and-resume.
    instance_paths : whether response time is that of the slowest path through replicas; else the slowest pair of replicas of
        every stream counts (EDRP, eqs. 5–7).
    """

    weight: Mapping[str, float]
    limit: Mapping[str, float] = field(default_factory=dict)
    replica_cost: Mapping[str, float] = field(default_factory=dict)
    stream_rate: Sequence[float] = ()
    link_price: float | None = None
    node_loss: float | None = None
    equal_nodes: bool = False
    synchronisation_time: float = 0.0
    storm: bool = False
    instance_paths: bool = False


class StreamPlacement(Problem):
    """Base of the kinds that place the replicas of operators on nodes, whatever a decision looks like beyond that."""

    application: StreamGraph = Field(description="what is to be placed")
    network: Network = Field(description="where it can be placed")
    rules: tuple[PlacementRule, ...] = Field((), description="rules of your own about where replicas run")

    if TYPE_CHECKING:  # a field of every kind, which says what its decisions look like
        current: Any

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, Metric]:
        """Metrics of a deployment by name."""

    @property
    @abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """Every metric with its weight and limit."""

    @property
    def counted_rules(self) -> tuple[PlacementRule, ...]:
        """Rules that must be met, and those whose penalties are part of the objective."""
        return self.rules

    def limit_margins(self, metrics: Mapping[str, float]) -> tuple[Margin, ...]:
        """How much is used of every limit on a metric, by the values of the metrics."""
        parts = []
        for term in self.terms:
            if term.limit is not None:
                metric, value = self.metrics[term.metric], metrics[term.metric]
                used = metric.scaled(value) / term.scaled_limit
                parts.append(Margin(f"limits.{term.metric}", value, term.limit, metric.unit, used))
        return tuple(parts)

    @property
    def metric_rows(self) -> tuple[WrittenRule, ...]:
        """Weights and limits on metrics that are rows as those of rules; kinds that take metrics of your own have some."""
        return ()

    @property
    def counted_metrics(self) -> frozenset[str]:
        """Names of the metrics that have a weight or a limit."""
        return frozenset(term.metric for term in self.terms if term.weight > 0 or term.limit is not None)

    @property
    def parts(self) -> Mapping[str, str]:
        """What methods have to know: metrics with a weight, a limit or a priority by their part, rules, and devices."""
        named = self.counted_metrics | {priority.metric for priority in getattr(self, "priorities", ())}
        in_units = unit_resources(self)
        devices = {DEVICES: f"units of {in_units[0]}"} if in_units else {}
        return {**{self.metrics[name].part_in(self): name for name in sorted(named, reverse=True)}, **super().parts, **devices}

    def usable_share(self, resource: str) -> float:
        """Share of a node's resource that replicas may use together."""
        return 1.0

    @checks()
    def _check_placement(self, faults: Faults) -> None:
        nodes = self.network.by_name
        for index, operator in enumerate(self.application.operators):
            for position, name in enumerate(operator.candidates or ()):
                if name not in nodes:
                    place = ("application", "operators", index, "candidates", position)
                    faults.add_unknown(place, name, "node of the network", nodes)
        self._check_resources(faults)
        faults.add_repeated_names("rules", [rule.name for rule in self.rules])
        for index, rule in enumerate(self.rules):
            rule.check(self, ("rules", index), faults)
        self._check_present(faults)
        self._check_kind(faults)
        self._check_links(faults)

    def _check_present(self, faults: Faults) -> None:
        """Note what is wrong with the current deployment."""

    def _check_kind(self, faults: Faults) -> None:
        """Note what is wrong with a kind's own fields."""

    def weight_name(self, metric: str) -> str:
        """Name of a metric's weight in `weights`."""
        return metric

    def _warnings(self) -> Iterator[Fault]:
        yield from idle_terms(self)
        yield from unreached_operators(self.application)
        yield from odd_times(self)
        yield from idle_bandwidths(self)
        for index, rule in enumerate(self.rules):
            yield from rule.warnings(f"rules[{index}]")

    def _check_resources(self, faults: Faults) -> None:
        named_nodes = [node for node in self.network.nodes if isinstance(node.resources, dict)]
        plain_nodes = [node for node in self.network.nodes if isinstance(node.resources, (int, float))]
        for index, operator in enumerate(self.application.operators):
            named = isinstance(operator.resources, dict)
            other = plain_nodes if named else named_nodes
            if other and operator.resources != {} and operator.resources != 0:
                form = "named resources" if named else "a number"
                other_form = "a number" if named else "named resources"
                why = f"is {form}, but node '{other[0].name}' gives {other_form}; use one form for all"
                faults.add(("application", "operators", index, "resources"), operator.resources, why)
        note_wrong_demands(self, faults)

    def _check_capacities(self, faults: Faults) -> None:
        """Note every node that has no capacity of a shared resource that an operator which it may run uses."""
        users = {o.name: dict.fromkeys(getattr(o, "usage", ()), o.name) for o in self.application.operators}
        for stream in self.application.streams:
            for resource in stream.usage:
                users[stream.source].setdefault(resource, f"{stream.source} → {stream.target}")
        for index, node in enumerate(self.network.nodes):
            missing = {
                resource: user
                for operator in self.application.operators
                if operator.candidates is None or node.name in operator.candidates
                for resource, user in users[operator.name].items()
                if resource not in node.capacity
            }
            for resource, user in missing.items():
                why = f"is missing for '{resource}', which {user} uses and this node may run; give what it has of it per second"
                faults.add(("network", "nodes", index, "capacity"), None, why)

    def _check_links(self, faults: Faults) -> None:
        everywhere = tuple(self.network.by_name)
        pools = {operator.name: everywhere for operator in self.application.operators}
        for operator in self.application.operators:
            if operator.candidates:
                pools[operator.name] = tuple(name for name in operator.candidates if name in self.network.by_name)
        checked: set[tuple[int, int]] = set()
        unlinked: set[tuple[str, str]] = set()
        for stream in [] if self.network.complete else self.application.streams:
            sources, targets = pools[stream.source], pools[stream.target]
            if (id(sources), id(targets)) in checked:
                continue
            checked.add((id(sources), id(targets)))
            groups = self._unlinked(sources, targets, unlinked)
            if groups:
                faults.add(("network", "links"), None, self._link_needed(f"{stream.source} → {stream.target}", groups))
            if len(unlinked) > MAX_UNLINKED:
                faults.add(("network", "links"), None, "… and more pairs of nodes may lack a link; these are checked first")
                return

    def _unlinked(
        self, sources: Sequence[str], targets: Sequence[str], known: set[tuple[str, str]]
    ) -> dict[tuple[str, ...], list[str]]:
        """Targets that have no link from some sources, with these sources; notes the pairs, and leaves out those known before."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for u in sources:
            missing = []
            for v in targets:
                pair = (v, u) if self.network.symmetric and v < u else (u, v)
                if u != v and pair not in known and self.network.link(u, v) is None:
                    known.add(pair)
                    missing.append(v)
            if missing:
                groups.setdefault(tuple(missing), []).append(u)
            if len(known) > MAX_UNLINKED:
                break
        return groups

    def _link_needed(self, stream: str, groups: Mapping[tuple[str, ...], list[str]]) -> str:
        way = "route" if self.network.routed else "link"
        verb, to = ("joins", "with") if self.network.symmetric else ("leads from", "to")
        pairs = [f"{listed(us, most=MAX_NAMED)} {to} {listed(vs, most=MAX_NAMED)}" for vs, us in groups.items()]
        physical = "" if self.network.routed else ", or list the physical links and set `routed`"
        return (
            f"no {way} {verb} {listed(pairs, '; ', MAX_NAMED)}, but stream {stream} may need one; "
            f"add links or narrow the candidates{physical}"
        )

    def evaluate(self, deployment: Any) -> Evaluation:
        """Evaluate a deployment with the plain face of every metric; independent of all methods.

        Raises
        ------
        InvalidInstanceError
            When operators or nodes are unknown, or operators are missing.
        """
        placed = self.read_decision(deployment, "deployment")
        broken = list(self._broken_placement(placed))
        values = {name: metric.evaluate(self, placed) for name, metric in self.metrics.items()}
        objective = 0.0
        for term in self.terms:
            metric = self.metrics[term.metric]
            scaled = metric.scaled(values[term.metric])
            if term.weight:
                objective += term.coefficient * scaled
            if term.limit is not None and exceeds(scaled, term.scaled_limit):
                between = "against" if metric.unit == "1" else f"{metric.unit} against"
                broken.append(f"limits.{term.metric}: {compared(values[term.metric], term.limit, between)}")
        penalties = 0.0
        counted = self.counted_rules
        for rule in counted:
            violation = rule.evaluate(self, placed)
            broken += rule.broken(violation)
            penalties += (rule.penalty or 0.0) * violation
        if any(rule.penalty for rule in counted):
            values[PENALTIES] = penalties
            objective += penalties
        return Evaluation(objective, values, tuple(broken))

    def inconsistency(self, deployment: Any) -> str:
        """Disagreement of `evaluate` and `linearise` of a rule in Python or a metric of your own, or ""."""
        placed = self.read_decision(deployment, "deployment")
        parts = [*self.rules, *(metric for metric in self.metrics.values() if isinstance(metric, OwnMetric))]
        return next(filter(None, (part.contradiction(self, placed) for part in parts)), "")

    def _broken_placement(self, deployment: Placed) -> list[str]:
        broken = []
        used: dict[str, dict[str, float]] = {}
        in_units: dict[tuple[str, str], Counter[float]] = {
            (n.name, r): Counter() for n in self.network.nodes for r in units_of(n)
        }
        for operator in self.application.operators:
            replicas = deployment.replicas(operator.name)
            broken += self._broken_operator(operator, replicas)
            for node, count in replicas.items():
                on_node = used.setdefault(node, {})
                for resource, amount in named_resources(operator.resources).items():
                    on_node[resource] = on_node.get(resource, 0.0) + count * amount
                    if (node, resource) in in_units:
                        in_units[node, resource][amount] += count
        for node, amounts in used.items():
            described = self.network.by_name[node].resources
            if described is None:
                continue
            free = named_resources(described)
            for resource, amount in amounts.items():
                usable = free.get(resource, 0.0) * self.usable_share(resource)
                if (node, resource) in in_units:
                    held, units = in_units[node, resource], usable_units(usable)
                    if not fits(held, units):
                        broken.append(f"{resource} of node {node}: {units_needed(held, units + 1)} units needed against {units}")
                elif exceeds(amount, usable):
                    broken.append(f"{resource} of node {node}: {compared(amount, usable)}")
        return broken

    def _broken_operator(self, operator: Any, replicas: Counter[str]) -> list[str]:
        """Limits that one operator's replicas break, whatever the other operators do."""
        broken = []
        total = replicas.total()
        if total > operator.max_replicas:
            broken.append(f"max_replicas of {operator.name}: {total} against {operator.max_replicas}")
        if total < operator.min_replicas:
            broken.append(f"min_replicas of {operator.name}: {total} against {operator.min_replicas}")
        if operator.candidates is not None:
            allowed = set(operator.candidates)
            broken += [f"candidates of {operator.name}: {node}" for node in replicas if node not in allowed]
        return broken


class PlacementProblem(StreamPlacement):
    """Base of the kinds that decide where each replica of each operator runs."""

    decision_type: ClassVar[Any] = Deployment

    current: Deployment | None = Field(None, description="deployment now; null for an initial placement")

    @abstractmethod
    def edrp_terms(self) -> EdrpTerms:
        """The same objective and limits over the metrics of EDRP, for methods that know no others."""

    def _check_present(self, faults: Faults) -> None:
        if self.current is not None:
            self._check_names(self.current, "current", faults, "name the nodes of every operator, or leave `current` out")
            for operator in self.application.operators:
                note_other_places(operator, self.current.get(operator.name, ()), self.network.by_name, faults)

    def _check_names(self, deployment: Deployment, place: str, faults: Faults, need: str) -> None:
        """Note operators and nodes that do not exist, and operators without any node."""
        operators, nodes = self.application.by_name, self.network.by_name
        faults.add_keys((place,), deployment, operators, "operator of the application", need)
        for operator in deployment:
            for position, node in enumerate(deployment[operator]):
                if node not in nodes:
                    faults.add_unknown((place, operator, position), node, "node of the network", nodes)

    def _check_decision(self, decision: Deployment, place: str, faults: Faults) -> None:
        self._check_names(decision, place, faults, "name the nodes of every operator")


def note_other_places(operator: OperatorBase, current: Sequence[str], nodes: Collection[str], faults: Faults) -> None:
    """Note nodes on which replicas of an operator run and may not, unless it is the candidates that name none of the network."""
    allowed = operator.candidates
    if allowed is None or not set(allowed) <= set(nodes):
        return
    for position, node in enumerate(current):
        if node in nodes and node not in allowed:
            faults.add(("current", operator.name, position), node, f"is not among the candidates of '{operator.name}'")
