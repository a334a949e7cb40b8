"""Documents of kind "latency-aware": the value of a placement."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from .network import Application, amounts, by_resource, fits
from .program import Bound
from .reading import SLACK, fraction, need
from .rules import penalties


class Instances(Application):
    """A problem of kind "latency-aware": what its streams cost when cut, what nodes cost, what instances and nodes have."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        weights = {"supervisors": 1, "colocation": 1, "events": 1, "latency": Fraction("1e-6"), **problem.get("weights", {})}
        self.second, self.price = 1000 * fraction(weights["latency"]), fraction(weights["supervisors"]) / len(self.nodes)
        self.count = {name: operator.get("instances", 1) for name, operator in self.operators.items()}
        pairs = {(u, v): self.count[u] * self.count[v] for u, v in self.streams}
        shares = ((weights["colocation"], pairs), (weights["events"], self.rate))
        self.cut = {s: sum((w * x[s] / sum(x.values()) for w, x in shares if any(x.values())), Fraction(0)) for s in self.streams}
        """Objective of each stream when no instances of its ends are together."""
        self.share = usable = problem.get("utilisation", {"cpu": Fraction("0.95"), "memory": 1})
        self.need = {name: by_resource(operator.get("resources", 1)) for name, operator in self.operators.items()}
        self.usable = dict[str, Any]()
        for name, node in self.nodes.items():
            free = amounts(node)
            self.usable[name] = None if free is None else {r: x * usable.get(r, 1) * SLACK for r, x in free.items()}

    def room(self, node: str, resource: str) -> Bound:
        """Return the amount of a resource that instances on a node may use together; None for any amount."""
        free = self.usable[node]
        return None if free is None else fraction(free.get(resource, 0))


def evaluate_latency_aware(problem: dict[str, Any], decision: Any) -> Fraction:
    """Nodes in use, streams and tuples between nodes, slowest path (latency-aware placement, eq. 1), and penalties of rules."""
    model, used, arrival = Instances(problem), dict[Any, Any](), dict[str, dict[str, Fraction]]()
    need(decision.keys() == model.operators.keys(), "other operators than those of the application")
    value = sum(model.cut.values(), penalties(model.rules, decision))
    for name in model.order:
        need(len(decision[name]) == model.count[name], f"{name}: wrong number of instances")
        model.choices(name, decision[name])
        arrival[name] = dict.fromkeys(decision[name], Fraction(0))
        for source, v in product(model.before[name], arrival[name]):
            ways = (seconds + (fraction(model.link(u, v)["delay"]) if u != v else 0) for u, seconds in arrival[source].items())
            arrival[name][v] = max(arrival[name][v], *ways)
            together = decision[source].count(v) * decision[name].count(v)
            value -= model.cut[source, name] * together / (model.count[source] * model.count[name])
        for node, (resource, amount) in product(decision[name], model.need[name].items()):
            used.setdefault((node, resource), []).append(amount)
    for (node, resource), needs in used.items():
        need(fits(model.nodes[node], resource, needs, model.share.get(resource, 1)), f"node {node}: too much of {resource}")
    nodes = {node for row in arrival.values() for node in row}
    return value + model.price * len(nodes) + model.second * max(x for row in arrival.values() for x in row.values())
