"""What all judges share: judgements, whole steps, and how networks and applications are read."""

from dataclasses import dataclass, field
from itertools import product

STEPS = 10**8
"""Steps of a metric within its limit, or of a unit of an objective."""


class NotJudgedError(Exception):
    """A part of a document that the models here do not know."""


@dataclass
class Judgement:
    """A model: what is minimised, one after the other; steps in a unit of the last one; and how to read a decision."""

    model: object
    stages: list
    scale: float
    read: object
    slack: list = field(default_factory=lambda: [0])
    linearization: int = 2


def steps(value, scale=STEPS):
    return round(value * scale)


def topological(operators, streams):
    """Names of operators, sources first; streams are pairs of names."""
    order, left = [], list(operators)
    while left:
        ready = [name for name in left if not any(u in left for u, v in streams if v == name)]
        if not ready:
            raise NotJudgedError("a cycle")
        order += ready
        left = [name for name in left if name not in ready]
    return order


def rates_of(application, external=None):
    """Load of each operator and rate of each stream, in tuples/s."""
    operators = {o["name"]: o for o in application["operators"]}
    streams = {(s["source"], s["target"]): s for s in application["streams"]}
    load = {name: (external or {}).get(name, o["external_rate"]) for name, o in operators.items()}
    rate = {}
    for name in topological(operators, streams):
        for (u, v), stream in streams.items():
            if v == name:
                rate[u, v] = load[u] * operators[u]["selectivity"] if stream["rate"] is None else stream["rate"]
                load[name] += rate[u, v]
    return load, rate


def links_of(network):
    """Delay in seconds and price per tuple/s between any two nodes."""
    if network["routed"]:
        raise NotJudgedError("routes")
    zone = {node["name"]: node["zone"] for node in network["nodes"]}
    listed = {(x["source"], x["target"])[::turn]: x for turn in (-1, 1) for x in network["links"]}
    found = {}
    for u, v in product(zone, zone):
        if u != v:
            within = zone[u] is not None and zone[u] == zone[v]
            link = listed.get((u, v)) or network["within_zone" if within else "between_zones"]
            found[u, v] = (link["delay"], link["cost"])
    return found


def in_steps(model, price, *amounts):
    """At least each amount times a price that may be below a step, in whole steps."""
    value = model.new_int_var(0, 10**4 * STEPS, "")
    for amount in amounts:
        model.add(10**6 * value >= steps(price * 10**6) * amount)
    return value


def counts_of(model, name, most):
    """A count from 0 to `most`, the literals of each of its values, and the literal of its being above 0."""
    values = [model.new_bool_var(f"{name}={k}") for k in range(most + 1)]
    model.add_exactly_one(values)
    return sum(k * x for k, x in enumerate(values)), values, values[0].Not()


def common(model, ours, theirs):
    """Upper bound, which is reached, of the product of two numbers, given as pairs of a value above 0 and its literal."""
    both = [(a * b, x, y, model.new_bool_var("")) for (a, x), (b, y) in product(ours, theirs)]
    for _, x in ours:
        model.add(sum(q for _, left, _, q in both if left is x) <= x)
    for _, y in theirs:
        model.add(sum(q for _, _, right, q in both if right is y) <= y)
    return [(value, q) for value, _, _, q in both]
