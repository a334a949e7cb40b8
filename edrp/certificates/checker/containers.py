"""Documents of kind "enactment" and "leasing": the value of leased hosts and the instances on them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain
from typing import Any

from .network import Graph, by_resource
from .reading import SLACK, fraction, need, unique

Counts = dict[str, int]


class Containers(Graph):
    """Operators in containers and types of hosts."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        self.types = {host["name"]: host for host in problem["host_types"]}
        self.busy, self.queues = problem.get("utilisation", 1), problem.get("queues", {})
        self.penalty = fraction(problem.get("penalty", Fraction("1e-4")))

    def check_host(self, name: str, kind: str, instances: Counts) -> None:
        """A host has room for its instances, and may run them."""
        need(instances.keys() <= self.operators.keys(), f"host {name}: runs an operator that there is not")
        for operator, count in instances.items():
            allowed = self.operators[operator].get("candidates") or (kind,)
            need(not count or kind in allowed, f"host {name}: may not run {operator}")
        offered = by_resource(self.types[kind]["resources"])
        for resource, amount in self.used(instances).items():
            need(amount <= offered.get(resource, 0) * SLACK, f"host {name}: too much of {resource}")

    def used(self, instances: Counts) -> dict[str, Fraction]:
        """Amounts of resources that instances hold together."""
        used = dict[str, Fraction]()
        for operator, count in instances.items():
            for resource, amount in by_resource(self.operators[operator].get("resources", 1)).items():
                used[resource] = used.get(resource, Fraction(0)) + count * amount
        return used

    def check_moment(self, load: Any, hosts: list[str], counts: Counts) -> None:
        """Check that each type has no more hosts than it may have, and each operator the instances that its load needs."""
        for name, host in self.types.items():
            need(host.get("limit") is None or hosts.count(name) <= host["limit"], f"more hosts of type {name} than there may be")
        for name, operator in self.operators.items():
            fewest = operator.get("min_instances", 1)
            if self.busy is not None:
                fewest = max(fewest, math.ceil(load * self.load[name] * self.occupied(name) / self.busy * (2 - SLACK)))
            max_instances = operator.get("max_instances") or 10**5
            count = counts.get(name, 0)
            need(fewest <= count <= max_instances, f"{name}: {count} instances, where {fewest} to {max_instances} are due")

    def lease_price(self, name: str, hours: Any) -> Fraction:
        """Price of a host for one billing time unit, or for all units begun in some hours."""
        host = self.types[name]
        units = 1 if hours is None else math.ceil(fraction(hours) * 3600 / fraction(host["billing_time"]) * (2 - SLACK))
        return fraction(host["price"]) * units

    def occupied(self, name: str) -> Fraction:
        """Seconds for which an item occupies an instance."""
        return fraction(self.operators[name]["processing_duration"] * self.operators[name].get("occupancy", 1))

    def left(self, name: str, arriving: Fraction, count: int, seconds: Any) -> Fraction:
        """Items that are left of those that arrive when `count` instances have served them for `seconds`."""
        unserved = arriving - count * seconds / self.occupied(name)
        return unserved if unserved > (SLACK - 1) * arriving else Fraction(0)


def added(parts: Any) -> Counts:
    """Numbers of instances of several hosts together."""
    total = Counts()
    for name, count in chain.from_iterable(part.items() for part in parts):
        total[name] = total.get(name, 0) + count
    return total


def evaluate_enactment(problem: dict[str, Any], decision: Any) -> Fraction:
    """Price of hosts, shares that they leave free, and penalties (cost-efficient enactment, eq. 1)."""
    model, hosts = Containers(problem), unique((host["name"], host) for host in decision)
    for name, host in hosts.items():
        need(host["type"] in model.types, f"host {name}: there is no type {host['type']}")
        need({*host.get("images", ())} <= model.operators.keys(), f"host {name}: has the image of an operator that there is not")
        model.check_host(name, host["type"], host.get("instances", {}))
        for rule in problem.get("rules", []):
            present = [operator for operator in rule["operators"] if host.get("instances", {}).get(operator, 0)]
            need(len(present) < 2, f"host {name}: rule {rule['name']!r} is broken")
    kinds, counts = [host["type"] for host in hosts.values()], added(host.get("instances", {}) for host in hosts.values())
    model.check_moment(1, kinds, counts)
    offered, used, seconds = dict[str, Fraction](), model.used(counts), problem.get("horizon", 60)
    for kind in kinds:
        for resource, amount in by_resource(model.types[kind]["resources"]).items():
            offered[resource] = offered.get(resource, Fraction(0)) + amount
    free = (1 - used.get(resource, 0) / amount for resource, amount in offered.items() if amount)
    late = Fraction(0)
    for name, rate in model.load.items():
        late += model.left(name, model.queues.get(name, 0) + rate * seconds, counts.get(name, 0), seconds)
    weights = {"host_cost": 1, "free_resources": 1, "violations": 1, **problem.get("weights", {})}
    changes = problem.get("changes") or {}
    price = sum((model.lease_price(kind, changes.get("hours")) for kind in kinds), Fraction(0)) + _started(
        problem, hosts, changes
    )
    terms = {"host_cost": price, "free_resources": sum(free, Fraction(0)), "violations": model.penalty * late}
    return sum((weights[name] * term for name, term in terms.items()), Fraction(0))


def _started(problem: dict[str, Any], hosts: dict[str, dict[str, Any]], changes: dict[str, Any]) -> Fraction:
    """Price of the hosts and instances that do not run now."""
    price, running = Fraction(0), {host["name"]: host for host in problem.get("current", [])}
    for name, host in hosts.items():
        same = name in running and running[name]["type"] == host["type"]
        before = running[name].get("instances", {}) if same else {}
        more = sum(max(0, count - before.get(operator, 0)) for operator, count in host.get("instances", {}).items())
        price += more * fraction(changes.get("started_instance", 0)) + (not same) * fraction(changes.get("started_host", 0))
    return price


def evaluate_leasing(problem: dict[str, Any], decision: Any) -> Fraction:
    """Return the price of the units bought plus the penalties for items that wait, charged in each period."""
    model, hosts, forecast = Containers(problem), unique((host["name"], host) for host in decision), problem["forecast"]
    before, periods, price = {host["name"]: host for host in problem.get("leased", [])}, len(forecast), Fraction(0)
    idle = {"units": 0, "instances": [{}] * periods}
    leased: list[list[str]] = [[] for _ in forecast]
    for name, host in {**{name: {**idle, "type": host["type"]} for name, host in before.items()}, **hosts}.items():
        kind, first, units, paid = host["type"], host.get("first", 0), host["units"], before.get(name, {}).get("paid_periods", 0)
        need(len(host["instances"]) == periods, f"host {name}: not one entry of instances for each period")
        need(name not in before or before[name]["type"] == kind, f"host {name}: is of another type")
        need(not units or first >= paid, f"host {name}: a unit begins where it is paid already")
        need(kind in model.types, f"host {name}: there is no type {kind}")
        length = round(fraction(model.types[kind]["billing_time"]) / problem["period"])
        for period, instances in enumerate(host["instances"]):
            model.check_host(name, kind, instances)
            in_use = period < paid or first <= period < first + units * length
            need(in_use or not any(instances.values()), f"host {name}: period {period} is not paid")
            leased[period] += [kind] if in_use else []
        for end in range(first + length, first + units * length + 1, length):
            beyond = Fraction(max(0, end - periods), length) if problem.get("prorate", False) else 0
            price += model.types[kind]["price"] * max(0, 1 - beyond)
    waiting, late = {name: fraction(model.queues.get(name, 0)) for name in model.operators}, Fraction(0)
    for period, load in enumerate(forecast):
        counts = added(host["instances"][period] for host in hosts.values())
        model.check_moment(load, leased[period], counts)
        for name, rate in model.load.items():
            waiting[name] = model.left(
                name, waiting[name] + load * rate * problem["period"], counts.get(name, 0), problem["period"]
            )
            late += waiting[name]
    return price + model.penalty * late
