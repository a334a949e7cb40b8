"""Judges of leased hosts: the value of a decision, and of all decisions of a tiny problem, by the document alone.

No code of the package is used, and numbers are the fractions that the text states.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from edrp.validation.oracles.judging import ROUNDING, SLACK, Document, Judged

MANY = 100
"""Instances of an operator on a host, or hosts of a type, where nothing limits them; more are never looked for."""


def _amounts(resources: Any) -> dict[str, Any]:
    return resources if isinstance(resources, dict) else {"": resources}


class Hosting:
    """Operators with their loads, and types of hosts."""

    def __init__(self, document: Document) -> None:
        self.operators = {operator["name"]: operator for operator in document["application"]["operators"]}
        self.types = {host["name"]: host for host in document["host_types"]}
        self.busy, self.queues = document.get("utilisation", 1), document.get("queues", {})
        self.penalty = document.get("penalty", Fraction("0.0001"))
        streams = document["application"].get("streams", [])
        self.rate = {name: Fraction(operator.get("external_rate", 0)) for name, operator in self.operators.items()}
        for _ in self.operators:  # as often as a path can be long
            rate = {name: Fraction(operator.get("external_rate", 0)) for name, operator in self.operators.items()}
            for stream in streams:
                passed = self.rate[stream["source"]] * self.operators[stream["source"]].get("selectivity", 1)
                rate[stream["target"]] += passed if stream.get("rate") is None else stream["rate"]
            self.rate = rate
        self.seconds = {
            name: Fraction(operator["processing_duration"]) * operator.get("occupancy", 1)
            for name, operator in self.operators.items()
        }

    def used(self, counts: dict[str, int]) -> Counter[str]:
        """Amounts of resources that instances hold."""
        used = Counter[str]()
        for name, count in counts.items():
            for resource, amount in _amounts(self.operators[name].get("resources", 1)).items():
                used[resource] += count * amount
        return used

    def fits(self, kind: str, counts: dict[str, int]) -> bool:
        """Whether one host of a type can carry these instances."""
        offered = _amounts(self.types[kind]["resources"])
        for name, count in counts.items():
            if count and kind not in (self.operators[name].get("candidates") or [kind]):
                return False
        return all(amount <= offered.get(resource, 0) * SLACK for resource, amount in self.used(counts).items())

    def range(self, name: str, load: Any) -> tuple[int, int]:
        """Fewest and most instances of an operator at a load."""
        operator, fewest = self.operators[name], self.operators[name].get("min_instances", 1)
        if self.busy is not None:
            fewest = max(fewest, math.ceil(load * self.rate[name] * self.seconds[name] / self.busy * (1 - ROUNDING)))
        return fewest, operator.get("max_instances") or 100_000

    def enough(self, counts: dict[str, int], load: Any) -> bool:
        """Whether there are as many instances as a load asks for."""
        return all(low <= counts.get(name, 0) <= high for name in self.operators for low, high in (self.range(name, load),))

    def left(self, name: str, arriving: Any, count: int, length: Any) -> Fraction:
        """Items that so many instances do not serve in a time."""
        unserved = Fraction(arriving) - count * length / self.seconds[name]
        return unserved if unserved > ROUNDING * arriving else Fraction(0)

    def fillings(self, kind: str) -> list[dict[str, int]]:
        """All ways to fill one host of a type."""
        rooms = []
        for name, operator in self.operators.items():
            count, max_instances = 0, operator.get("max_instances") or MANY
            while count < max_instances and self.fits(kind, {name: count + 1}):
                count += 1
            rooms.append(range(count + 1))
        ways = (dict(zip(self.operators, counts, strict=True)) for counts in product(*rooms))
        return [way for way in ways if self.fits(kind, way)]


def _sum(parts: Iterable[dict[str, int]]) -> Counter[str]:
    total = Counter[str]()
    for part in parts:
        total.update(part)
    return total


def judge_hosts(document: Document, decision: Any) -> Judged:
    """Leased hosts at one moment."""
    model, counts = Hosting(document), _sum(host.get("instances", {}) for host in decision)
    kinds = Counter(host["type"] for host in decision)
    fine = [model.fits(host["type"], host.get("instances", {})) for host in decision]
    fine += [host.get("limit") is None or kinds[name] <= host["limit"] for name, host in model.types.items()]
    fine += [model.enough(counts, 1), len({host["name"] for host in decision}) == len(decision)]
    used, free, length = model.used(counts), dict[str, Fraction](), document.get("horizon", 60)
    for resource in {resource for host in model.types.values() for resource in _amounts(host["resources"])}:
        offered = sum(count * _amounts(model.types[name]["resources"]).get(resource, 0) for name, count in kinds.items())
        free[resource or "resources"] = 1 - used[resource] / Fraction(offered) if offered else Fraction(0)
    late = Fraction(0)
    for name, rate in model.rate.items():
        late += model.left(name, model.queues.get(name, 0) + rate * length, counts[name], length)
    price = sum((Fraction(model.types[name]["price"]) * count for name, count in kinds.items()), Fraction(0))
    weight = {"host_cost": 1, "free_resources": 1, "violations": 1, **document.get("weights", {})}
    objective = weight["host_cost"] * price + weight["free_resources"] * sum(free.values())
    metrics = {"host_cost": price, **{f"free_{name}": share for name, share in free.items()}, "violations": late}
    metrics |= {"hosts": Fraction(len(decision)), "instances": Fraction(counts.total())}
    return Judged(Fraction(objective + weight["violations"] * model.penalty * late), metrics, all(fine))


def host_values(document: Document) -> Iterator[Fraction]:
    """Values of all multisets of filled hosts; one without instances never makes a decision better."""
    model = Hosting(document)
    filled = [(kind, way) for kind in model.types for way in model.fillings(kind) if any(way.values())]
    instances = sum(operator.get("max_instances") or MANY for operator in model.operators.values())
    max_hosts = sum(instances if host.get("limit") is None else min(host["limit"], instances) for host in model.types.values())
    for number in range(1, max_hosts + 1):
        for hosts in combinations_with_replacement(filled, number):
            if model.enough(_sum(way for _, way in hosts), 1):
                decision = [{"name": str(i), "type": kind, "instances": way} for i, (kind, way) in enumerate(hosts)]
                value = judge_hosts(document, decision)
                if value.feasible:
                    yield value.objective


def _unit(model: Hosting, document: Document, kind: str) -> int:
    return round(Fraction(model.types[kind]["billing_time"]) / document["period"])


def judge_leases(document: Document, decision: Any) -> Judged:
    """Hosts with their units and instances over all periods."""
    model, forecast, fine, cost = Hosting(document), document["forecast"], list[bool](), Fraction(0)
    known, leased = {host["name"]: host for host in document.get("leased", [])}, [Counter[str]() for _ in forecast]
    named = {host["name"] for host in decision}
    nothing: Document = {"units": 0, "instances": [{}] * len(forecast)}
    idle = [{**nothing, "name": name, "type": host["type"]} for name, host in known.items() if name not in named]
    for host in (*decision, *idle):
        length, first, before = _unit(model, document, host["type"]), host.get("first", 0), known.get(host["name"])
        paid = 0 if before is None else before["paid_periods"]
        fine.append(before is None or (before["type"] == host["type"] and not (host["units"] and first < paid)))
        fine.append(len(host["instances"]) == len(forecast))
        for period, counts in enumerate(host["instances"]):
            is_leased = period < paid or first <= period < first + host["units"] * length
            leased[period][host["type"]] += is_leased
            fine.append(model.fits(host["type"], counts) and (is_leased or not any(counts.values())))
        cost += sum(_price(model, document, host["type"], first + unit * length) for unit in range(host["units"]))
    fine.append(len(named) == len(decision))
    late, waiting = Fraction(0), {name: Fraction(model.queues.get(name, 0)) for name in model.operators}
    for period, load in enumerate(forecast):
        counts = _sum(host["instances"][period] for host in decision)
        fine.append(model.enough(counts, load))
        fine += [host.get("limit") is None or leased[period][name] <= host["limit"] for name, host in model.types.items()]
        for name, rate in model.rate.items():
            waiting[name] = model.left(name, waiting[name] + load * rate * document["period"], counts[name], document["period"])
            late += waiting[name]
    units, max_instances = sum(host["units"] for host in decision), max(counts.total() for counts in leased)
    metrics = {"lease_cost": cost, "violations": late, "units": Fraction(units), "hosts": Fraction(max_instances)}
    return Judged(cost + model.penalty * late, metrics, all(fine))


def _price(model: Hosting, document: Document, kind: str, start: int) -> Fraction:
    """Money for a unit that begins in a period."""
    length = _unit(model, document, kind)
    beyond = max(0, start + length - len(document["forecast"])) if document.get("prorate", False) else 0
    return model.types[kind]["price"] * max(Fraction(0), 1 - Fraction(beyond, length))


def lease_values(document: Document) -> Iterator[Fraction]:
    """The value of each choice of units, by type and first period, and of instances of which no more could be carried.

    Where a host buys one unit after the other, as many hosts that buy one each do the same; more instances never do harm.
    """
    model, periods = Hosting(document), range(len(document["forecast"]))
    fillings = {kind: model.fillings(kind) for kind in model.types}
    choices = [list(product(range(host["limit"] + 1), repeat=len(periods))) for host in model.types.values()]
    carried = dict[Any, list[dict[str, int]]]()
    for bought in product(*choices):
        cost, hosted = Fraction(0), [Counter[str]() for _ in periods]
        for kind, starts in zip(model.types, bought, strict=True):
            for start, count in enumerate(starts):
                cost += count * _price(model, document, kind, start)
                for period in range(start, min(len(periods), start + _unit(model, document, kind))):
                    hosted[period][kind] += count
        for host in document.get("leased", []):
            for period in range(min(len(periods), host["paid_periods"])):
                hosted[period][host["type"]] += 1
        if any(hosts[kind] > host["limit"] for hosts in hosted for kind, host in model.types.items()):
            continue
        ways = []
        for period, load in enumerate(document["forecast"]):
            key = (tuple(sorted(hosted[period].items())), load)
            if key not in carried:
                carried[key] = _carried(model, fillings, hosted[period], load)
            ways.append(carried[key])
        for counts in product(*ways):
            late, waiting = Fraction(0), {name: Fraction(model.queues.get(name, 0)) for name in model.operators}
            for load, running in zip(document["forecast"], counts, strict=True):
                for name, rate in model.rate.items():
                    arriving = waiting[name] + load * rate * document["period"]
                    waiting[name] = model.left(name, arriving, running[name], document["period"])
                    late += waiting[name]
            yield cost + model.penalty * late


def _carried(model: Hosting, fillings: dict[str, list[dict[str, int]]], hosts: Counter[str], load: Any) -> list[dict[str, int]]:
    """Numbers of instances that hosts can carry at a load, without those of which others have as many of all."""
    sums = {tuple(0 for _ in model.operators)}
    for kind, count in hosts.items():
        for _ in range(count):
            sums = {tuple(map(sum, zip(total, way.values(), strict=True))) for total in sums for way in fillings[kind]}
    fine = [dict(zip(model.operators, total, strict=True)) for total in sums]
    fine = [counts for counts in fine if model.enough(counts, load)]
    return [a for a in fine if not any(a != b and all(a[name] <= b[name] for name in a) for b in fine)]
