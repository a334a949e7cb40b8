"""Snapshots: which instances run on which leased hosts at one moment (cost-efficient enactment, eq. 1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from edrp.core.arrays import Floats, Ints
from edrp.core.document import Document, Faults, Name, NonNegative, Positive, Probability, checks, named_resources, unit
from edrp.core.errors import Fault, numbered
from edrp.core.limits import digits_apart, exceeds
from edrp.core.problem import RULES, Evaluation, Margin, Problem
from edrp.core.rules import HardRule, check_named
from edrp.core.solution import Solution
from edrp.core.tolerances import LIMIT_SLACK
from edrp.core.wording import enumerated
from edrp.enactment import containers
from edrp.enactment.change_prices import EnactmentChangePrices, started
from edrp.placement.problem_warnings import unreached_operators

CHANGES = "changes"
"""Part of a problem: prices of what changes against the hosts that run."""


class HostRule(HardRule):
    """Operators of which no two may have instances on one host; several instances of one of them may be together.

    Examples
    --------
    >>> rule = HostRule(rule="apart", name="tenants", operators=["ocr", "mail"])
    >>> rule.sentence, rule.shared_hosts([containers.Host(name="a", type="small", instances={"ocr": 2, "mail": 1})])
    ('ocr and mail may not share a host', 1)
    """

    rule: Literal["apart"] = Field(description="says what the rule demands")
    operators: Annotated[tuple[Name, ...], Field(min_length=2)] = Field(description="that may not share a host")

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        return f"{enumerated(self.operators)} may not share a host"

    def shared_hosts(self, hosts: Iterable[containers.Host]) -> int:
        """Number of hosts with instances of more than one of the operators."""
        return sum(sum(host.instances.get(name, 0) > 0 for name in self.operators) > 1 for host in hosts)


class EnactmentWeights(Document):
    """Weights of the terms of eq. 1; the paper's are all 1."""

    host_cost: NonNegative = Field(1.0, description="of the price of all leased hosts, and of `changes`", **unit("1/money"))
    free_resources: NonNegative = Field(1.0, description="of the free share of each resource on all leased hosts", **unit("1"))
    violations: NonNegative = Field(1.0, description="of the penalties that are expected", **unit("1/money"))


class EnactmentSolution(Solution):
    """The decision of a method for a problem of kind `enactment`, and the bound that it proved."""

    metric_units: ClassVar[Mapping[str, str]] = {"host_cost": "money", "violations": "items", "change_price": "money"}

    kind: Literal["enactment-solution"] = Field("enactment-solution", description="says what the document is")
    hosts: tuple[containers.Host, ...] | None = Field(description="leased hosts with their instances")

    @property
    def decision(self) -> tuple[containers.Host, ...] | None:
        """The hosts."""
        return self.hosts


class EnactmentProblem(Problem):
    """Choose the number of instances of each operator and their leased hosts, at the rates of one moment.

    An operator needs the instances that serve its load; queued items that cannot be served within the horizon are
    expected to be late. With a weight on free resources, it pays to fill room that is paid for, as in the paper.

    Raises
    ------
    InvalidInstanceError
        All faults of the document, each with its place; an operator that fits on no host among them.

    Examples
    --------
    >>> problem = EnactmentProblem(
    ...     application={"operators": [
    ...         {"name": "filter", "processing_duration": 0.5, "external_rate": 6.0, "resources": {"cpu": 1, "memory": 2}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 4, "memory": 4}, "price": 1.0, "billing_time": 600.0}],
    ... )
    >>> problem.minimum_instances
    {'filter': 3}
    >>> evaluation = problem.evaluate((containers.Host(name="a", type="small", instances={"filter": 2}),
    ...                                containers.Host(name="b", type="small", instances={"filter": 1})))
    >>> evaluation.objective, evaluation.metrics["free_memory"]
    (2.875, 0.25)
    """

    decision_type: ClassVar[Any] = tuple[containers.Host, ...]
    possible_parts: ClassVar[Collection[str]] = (RULES, CHANGES)

    kind: Literal["enactment"] = Field("enactment", description="says what the document is")
    application: containers.ContainerApplication = Field(description="application; external rates are those of the moment")
    host_types: Annotated[tuple[containers.HostType, ...], Field(min_length=1)] = Field(
        description="types of hosts that can be leased"
    )
    queues: dict[Name, NonNegative] = Field({}, description="items that wait, by operator", **unit("1"))
    horizon: Positive = Field(60.0, description="time within which queued items must be served", **unit("s"))
    utilisation: Probability | None = Field(
        1.0,
        description="share of its time that an instance may be occupied by the load; null: the load asks for none",
        **unit("1"),
    )
    penalty: NonNegative = Field(1e-4, description="P, for each item that is late", **unit("money"))
    weights: EnactmentWeights = Field(EnactmentWeights(), description="of the terms of the objective")
    current: tuple[containers.Host, ...] = Field(
        (), description="running hosts, from which methods may start; only `changes` gives them a part in the objective"
    )
    changes: EnactmentChangePrices | None = Field(
        None, description="prices of instances and hosts that `current` does not have; null: nothing depends on what runs"
    )
    rules: tuple[HostRule, ...] = Field((), description="operators that may not share a host")

    @checks()
    def _check(self, faults: Faults) -> None:
        containers.check_hosting(self.application, self.host_types, faults)
        containers.check_counts(self.application, 1.0, self.utilisation, faults)
        containers.check_hosts(self.current, self.application, self.types, faults, "current")
        containers.check_queues(self.queues, self.application, faults)
        check_named(self.rules, "operators", self.application.by_name, "operator of the application", faults)

    @property
    def types(self) -> dict[str, containers.HostType]:
        """Host types by name."""
        return {host_type.name: host_type for host_type in self.host_types}

    @property
    def priced_types(self) -> tuple[containers.HostType, ...]:
        """Host types with the price of the time for which they are paid."""
        if self.changes is None or self.changes.hours is None:
            return self.host_types
        return tuple(kind.model_copy(update={"price": self.changes.lease_price(kind)}) for kind in self.host_types)

    @property
    def parts(self) -> Mapping[str, str]:
        """Rules, and prices of changes."""
        return {**super().parts, **({} if self.changes is None else {CHANGES: "prices of changes"})}

    @property
    def apart(self) -> tuple[tuple[str, ...], ...]:
        """Groups of operators of which no two may share a host."""
        return tuple(rule.operators for rule in self.rules)

    @property
    def minimum_instances(self) -> dict[str, int]:
        """Fewest instances of each operator: those that serve its load."""
        load = self.application.load
        return {
            operator.name: fewest_instances(operator, load(operator.name), self.utilisation)
            for operator in self.application.operators
        }

    def expected_violations(self, operator: str, instances: float) -> float:
        """Items that a number of instances leaves unserved at the end of the horizon."""
        described: containers.ContainerOperator = self.application.by_name[operator]
        arriving = self.queues.get(operator, 0.0) + self.application.load(operator) * self.horizon
        unserved = arriving - instances * self.horizon / described.occupied
        return unserved if unserved > LIMIT_SLACK * arriving else 0.0

    def _check_decision(self, decision: tuple[containers.Host, ...], place: str, faults: Faults) -> None:
        containers.check_hosts(decision, self.application, self.types, faults, place)

    def evaluate(self, decision: Sequence[containers.Host | Mapping[str, Any]]) -> Evaluation:
        """Evaluate hosts and their instances (cost-efficient enactment, eq. 1).

        Returns
        -------
        Evaluation
            Metrics: `host_cost` (money per billing time unit of each host), `free_<resource>` (share of the leased resources),
            `violations` (items), `hosts` and `instances`; with `changes`, `host_cost` is that of its `hours`, and
            `started_instances`, `started_hosts` and their `change_price` (money) come last.

        Raises
        ------
        InvalidInstanceError
            When hosts share a name, or host types or operators are unknown.
        """
        hosts: tuple[containers.Host, ...] = self.read_decision(decision)
        counts: Counter[str] = Counter()
        for host in hosts:
            counts.update(host.instances)
        free = self._free_shares(hosts)
        price = {host_type.name: host_type.price for host_type in self.priced_types}
        cost = math.fsum(price[host.type] for host in hosts)
        violations = math.fsum(self.expected_violations(name, counts[name]) for name in self.application.by_name)
        metrics = {
            "host_cost": cost,
            **{f"free_{name}": share for name, share in free.items()},
            "violations": violations,
            "hosts": float(len(hosts)),
            "instances": float(sum(counts.values())),
        }
        if self.changes is not None:
            instances, new_hosts = started(self.current, hosts)
            metrics |= {"started_instances": float(instances), "started_hosts": float(new_hosts)}
            metrics["change_price"] = self.changes.of(instances, new_hosts)
        weights = self.weights
        objective = weights.host_cost * (cost + metrics.get("change_price", 0.0)) + weights.free_resources * math.fsum(
            free.values()
        )
        objective += weights.violations * self.penalty * violations
        return Evaluation(objective, metrics, tuple(self._broken(hosts, counts)))

    def objective_parts(self, evaluation: Evaluation) -> dict[str, float]:
        """The weighted terms of eq. 1, and that of changes where they have prices."""
        cost = self.weights.host_cost * evaluation.metrics["host_cost"]
        late = self.weights.violations * self.penalty * evaluation.metrics["violations"]
        change = self.weights.host_cost * evaluation.metrics.get("change_price", 0.0)
        parts = {"host_cost": cost, "free resources": evaluation.objective - cost - late - change, "violations": late}
        return parts if self.changes is None else {**parts, "change_price": change}

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield the resources of each host that are used."""
        for host in self.read_decision(decision):
            yield from containers.host_margins(host.name, host.instances, self.types[host.type], self.application)

    def _free_shares(self, hosts: tuple[containers.Host, ...]) -> dict[str, float]:
        names = dict.fromkeys(name for host_type in self.host_types for name in host_type.capacity)
        capacity, used = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        for host in hosts:
            for name, amount in self.types[host.type].capacity.items():
                capacity[name] += amount
            for name, amount in containers.used_resources(host.instances, self.application).items():
                used[name] = used.get(name, 0.0) + amount
        return {name: 1 - used[name] / capacity[name] if capacity[name] else 0.0 for name in names}

    def _broken(self, hosts: tuple[containers.Host, ...], counts: Counter[str]) -> Iterator[str]:
        for host in hosts:
            for why in containers.overfull(host.instances, self.types[host.type], self.application):
                yield f"host {host.name}: {why}"
        for name, fewest in self.minimum_instances.items():
            yield from count_faults(self.application.by_name[name], counts[name], fewest)
        leased = Counter(host.type for host in hosts)
        for host_type in self.host_types:
            if host_type.limit is not None and leased[host_type.name] > host_type.limit:
                yield f"limit of {host_type.name}: {leased[host_type.name]} hosts against {host_type.limit}"
        for rule in self.rules:
            yield from rule.broken(rule.shared_hosts(hosts))

    def solution(self, decision: tuple[containers.Host, ...] | None, fields: dict[str, Any]) -> EnactmentSolution:
        """The hosts."""
        return EnactmentSolution.model_construct(**fields, hosts=decision)

    def _warnings(self) -> Iterator[Fault]:
        yield from unreached_operators(self.application, (name for name, items in self.queues.items() if items))
        set_weights = self.weights.model_fields_set if "weights" in self.model_fields_set else set()
        if "host_cost" in set_weights and self.weights.host_cost and not any(host_type.price for host_type in self.host_types):
            yield Fault("weights.host_cost", f"{self.weights.host_cost:g}", "has no effect: no host type has a price")
        if self.changes is not None and not self.weights.host_cost:
            yield Fault("changes", "given", "has no effect: weights.host_cost, which weighs all that is paid, is 0")
        if "violations" in set_weights and self.weights.violations and not self.penalty:
            yield Fault("weights.violations", f"{self.weights.violations:g}", "has no effect: penalty is 0")
        elif why := never_late(self):
            for place, value in (("weights.violations", self.weights.violations), ("penalty", self.penalty)):
                if value and place.removeprefix("weights.") in set_weights | self.model_fields_set:
                    yield Fault(place, f"{value:g}", f"has no effect: {why}")

    def clashes(self) -> tuple[str, ...]:
        """The limits that leave no room for the instances that the load needs."""
        return hosting_clashes(self.application, self.host_types, self.minimum_instances)


@dataclass(frozen=True, slots=True)
class EnactmentArrays:
    """Eq. 1 over numbers of instances and hosts instead of documents: O operators, K host types, R resources.

    Attributes
    ----------
    sizes : needs and capacities.
    price : shape (K,): weighted price of a host.
    filling : weight of the free share of each resource.
    late : weighted penalty of an item.
    min_counts, max_counts : shape (O,): fewest and most instances.
    arriving, served : shape (O,): items within the horizon, queue included, and items that one instance serves in it.
    start_instance, start_host : weighted prices of what does not run now.
    """

    sizes: containers.Sizes
    price: Floats
    filling: float
    late: float
    min_counts: Ints
    max_counts: Floats
    arriving: Floats
    served: Floats
    start_instance: float = 0.0
    start_host: float = 0.0

    @classmethod
    def of(cls, problem: EnactmentProblem, sizes: containers.Sizes) -> EnactmentArrays:
        """The problem as arrays, with the sizes of its operators and host types."""
        operators, weights = problem.application.operators, problem.weights
        prices = problem.changes or EnactmentChangePrices()
        return cls(
            sizes,
            weights.host_cost * np.array([host_type.price for host_type in problem.priced_types]),
            weights.free_resources,
            weights.violations * problem.penalty,
            np.array(list(problem.minimum_instances.values()), np.int64),
            np.array([float(operator.allowed_instances) for operator in operators]),
            np.array([problem.expected_violations(operator.name, 0) for operator in operators]),
            np.array([problem.horizon / operator.occupied for operator in operators]),
            *(weights.host_cost * price for price in (prices.started_instance, prices.started_host)),
        )

    @property
    def always_gains(self) -> bool:
        """Whether the number of instances and hosts is unbounded: no field of the document limits it."""
        fills = self.filling * self.sizes.needs.sum(axis=1) > 0
        unlimited = np.array([operator.max_instances is None for operator in self.sizes.operators])
        return bool((fills & unlimited).any())

    def violations(self, counts: Floats | Ints) -> Floats:
        """Items that are late, for numbers of instances of shape (…, O)."""
        return np.maximum(self.arriving - self.served * counts, 0.0)

    def objective(self, hosts: Ints, counts: Floats | Ints, offered: Floats) -> float:
        """The objective of numbers of hosts (K,), which offer resources (R,), and of instances (O,)."""
        free = 1.0 - np.divide(counts @ self.sizes.needs, offered, out=np.ones_like(offered), where=offered > 0)
        return float(self.price @ hosts + self.filling * free.sum() + self.late * self.violations(counts).sum())


def never_late(problem: Any) -> str:
    """Return in words why no item is ever late: none waits, and the load must be served; empty where some may be late."""
    if problem.utilisation is None or any(problem.queues.values()):
        return ""
    return "no items wait in `queues`, and as `utilisation` is not null all others are served"


def fewest_instances(operator: containers.ContainerOperator, load: float, utilisation: float | None) -> int:
    """Fewest instances that serve a load (items/s) when each may be occupied for a share `utilisation` of its time.

    >>> ocr = containers.ContainerOperator(name="ocr", processing_duration=1.5, occupancy=0.2)
    >>> fewest_instances(ocr, 10.0, 1.0), fewest_instances(ocr, 10.0, 0.8), fewest_instances(ocr, 10.0, None)
    (3, 4, 1)
    """
    if utilisation is None:
        return operator.min_instances
    return max(operator.min_instances, math.ceil(load * operator.occupied / utilisation * (1 - LIMIT_SLACK)))


def count_faults(operator: containers.ContainerOperator, instances: int, fewest: int) -> Iterator[str]:
    """Yield why a number of instances is not allowed, in words."""
    if instances < fewest:
        yield f"instances of {operator.name}: {instances}, but its load needs {fewest}"
    if instances > operator.allowed_instances:
        yield f"max_instances of {operator.name}: {instances} against {operator.allowed_instances}"


def hosting_clashes(
    application: containers.ContainerApplication, host_types: tuple[containers.HostType, ...], instances: dict[str, int]
) -> tuple[str, ...]:
    """The limits that leave no room for these numbers of instances, in words.

    >>> application = containers.ContainerApplication(operators=[{"name": "f", "processing_duration": 1.0, "max_instances": 2}])
    >>> hosting_clashes(application, (), {"f": 3})
    ('max_instances of f is 2, but its load needs 3 instances',)
    """
    clashes = [
        f"max_instances of {operator.name} is {operator.max_instances}, but its load needs {instances[operator.name]} instances"
        for operator in application.operators
        if operator.max_instances is not None and instances[operator.name] > operator.max_instances
    ]
    if clashes:
        return tuple(clashes)
    needed: dict[str, float] = {}
    for operator in application.operators:
        for name, amount in named_resources(operator.resources).items():
            needed[name] = needed.get(name, 0.0) + instances[operator.name] * amount
    offered = {name: math.fsum(_offered_in_all(host_type, name) for host_type in host_types) for name in needed}
    limited = [f"{host_type.limit} of {host_type.name}" for host_type in host_types if host_type.limit is not None]
    clashes = [
        f"{name}: {enumerated(_takers(application, instances, name), 3)} take {taken}, "
        f"all hosts within their limits ({enumerated(limited)}) offer {free}"
        for name, amount in needed.items()
        if exceeds(amount, offered[name])
        for taken, free in [digits_apart(amount, offered[name])]
    ]
    return tuple(clashes) or ("limits of the host types: the instances that the load needs find no arrangement on so few hosts",)


def _takers(application: containers.ContainerApplication, instances: dict[str, int], resource: str) -> list[str]:
    """The operators that need a resource, with the number of their instances, those that take the most first."""
    takes = {o.name: instances[o.name] * named_resources(o.resources).get(resource, 0.0) for o in application.operators}
    ranked = sorted(filter(takes.__getitem__, takes), key=lambda name: -takes[name])
    return [f"{numbered(instances[name], 'instance')} of {name}" for name in ranked]


def _offered_in_all(host_type: containers.HostType, resource: str) -> float:
    if not host_type.capacity.get(resource):
        return 0.0
    return math.inf if host_type.limit is None else host_type.limit * host_type.capacity[resource]
