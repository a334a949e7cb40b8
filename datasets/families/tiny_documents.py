"""Tiny problems whose decisions can all be listed, in numbers of any magnitude, as documents.

Numbers are small integers times a power of ten for each dimension, so that a sum is on a limit or far from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Document = dict[str, Any]

MAGNITUDES = (-6, 6)
"""Powers of ten by which a dimension is scaled, at least and at most."""


class _Draw:
    """Draws numbers; each dimension has a magnitude of its own."""

    def __init__(self, seed: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(seed)
        self.power: dict[str, int] = {}

    def of(self, *values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def count(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def amount(self, dimension: str, low: int, high: int, tenths: bool = False, max_power: int = MAGNITUDES[1]) -> float:
        power = self.power.setdefault(dimension, self.count(MAGNITUDES[0], max_power))
        return float(f"{self.count(low, high)}e{power - tenths}")

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)


def tiny_document(kind: str, seed: int) -> Document:
    """Draw a tiny problem of a kind; it may have faults, such as an operator that fits on no host."""
    return TINY[kind](_Draw((seed, 36)))


def _network(draw: _Draw, names: list[str]) -> Document:
    nodes = []
    for name in names:
        node: Document = {"name": name, "capacity": draw.amount("capacity", 0, 9)}
        if draw.chance(0.2):
            node["total_capacity"] = node["capacity"] * draw.of(1, 2) or draw.amount("capacity", 1, 9)
        if draw.chance(0.5):
            node["uplink"] = draw.amount("rate", 0, 9)
        if draw.chance(0.3):
            node["downlink"] = draw.amount("rate", 0, 9)
        if draw.chance(0.2):
            node["services"] = draw.of(["s"], ["t"], ["s", "t"], [])
        nodes.append(node)
    symmetric = draw.chance(0.6)
    pairs = [(u, v) for u in names for v in names if (u < v if symmetric else u != v) and draw.chance(0.7)]
    links = []
    for u, v in pairs:
        link: Document = {"source": u, "target": v, "bandwidth": draw.amount("rate", 0, 9)}
        if draw.chance(0.8):
            link["cost"] = draw.amount("money", 0, 9)
        links.append(link)
    return {"nodes": nodes, "links": links, "symmetric": symmetric}


def _mapping(draw: _Draw) -> Document:
    names = list("abcd"[: draw.count(2, 4)])
    parts = []
    for number in range(draw.of(0, 1, 1, 2, 2, 2)):
        part: Document = {"name": f"c{number}", "capacity": draw.amount("capacity", 0, 6)}
        if draw.chance(0.3):
            part["shrinkage"] = draw.of(0.5, 2.0, 0.25)
        if draw.chance(0.2):
            part["service"] = draw.of("s", "t")
        parts.append(part)
    document: Document = {"kind": "mapping", "network": _network(draw, names), "max_empty_hops": draw.count(0, 2)}
    task: Document = {"source": draw.of(*names), "delivery": draw.of(*names), "components": parts}
    if draw.chance(0.5):
        task["rate"] = draw.amount("rate", 0, 6)
        for part in parts:
            if draw.chance(0.3):
                part["cpu_factor"] = float(f"{draw.count(1, 3)}e{draw.power['capacity'] - draw.power['rate']}")
    else:
        task["bandwidths"] = [draw.amount("rate", 0, 6) for _ in range(len(parts) + 1)]
    choices = {
        "cost": ("additive", "additive", "load-balance", "public-hops", "public-hops-links"),
        "empty_hops": ("per_edge", "total"),
        "bandwidth": ("cumulative", "per_edge"),
    }
    return {**document, "task": task, "public_cost": draw.amount("money", 0, 9)} | {k: draw.of(*v) for k, v in choices.items()}


def _walks(network: Document, source: str, target: str) -> Iterator[list[str]]:
    links = [(link["source"], link["target"]) for link in network["links"]]
    links += [(v, u) for u, v in links] if network["symmetric"] else []
    waiting = [[source]]
    while waiting:
        path = waiting.pop()
        if path[-1] == target:
            yield path
        else:
            waiting += [[*path, v] for u, v in links if u == path[-1] and v not in path]


def _link_allocation(draw: _Draw) -> Document:
    names = list("abcd"[: draw.count(2, 4)])
    network, flows = _network(draw, names), []
    for number in range(draw.count(1, 3)):
        source, target = draw.random.permutation(names)[:2].tolist()
        flow: Document = {"name": f"f{number}", "source": source, "target": target, "rate": draw.amount("rate", 1, 9)}
        flow["price"] = draw.amount("price", 0, 9, max_power=2)
        routes = list(_walks(network, source, target))
        if routes and draw.chance(0.3):
            flow["route"] = draw.of(*routes)
        flows.append(flow)
    document: Document = {"kind": "link-allocation", "network": network, "flows": flows, "max_links": draw.count(1, 3)}
    document |= {"public_share": draw.of(0.5, 0.81, 1.0), "keep": draw.chance(0.5)}
    return document | ({"forwarding_price": draw.amount("price", 0, 9, tenths=True)} if draw.chance(0.6) else {})


def _containers(draw: _Draw) -> Document:
    types = list("xy"[: draw.count(1, 2)])
    names, named = list("ab"[: draw.count(1, 2)]), draw.chance(0.5)

    def resources(low: int, high: int) -> Any:
        amounts = {"cpu": draw.amount("cpu", low, high), "memory": draw.amount("memory", 0 if low == 1 else low, high)}
        return amounts if named else amounts["cpu"]

    operators = []
    for name in names:
        operator: Document = {"name": name, "resources": resources(1, 3), "processing_duration": draw.amount("time", 1, 3)}
        operator["external_rate"] = float(f"{draw.count(0, 9)}e{-draw.power['time'] - 1}")
        operator |= {"occupancy": draw.of(0.5, 0.2)} if draw.chance(0.4) else {}
        operator |= {"selectivity": draw.of(0.5, 2.0)} if draw.chance(0.3) else {}
        operator |= {"candidates": [draw.of(*types)]} if draw.chance(0.2) else {}
        operator |= {"min_instances": 2} if draw.chance(0.2) else {}
        operator |= {"max_instances": draw.count(2, 3)} if draw.chance(0.5) else {}
        operators.append(operator)
    streams = [{"source": "a", "target": "b"}] if len(names) == 2 and draw.chance(0.7) else []
    hosts = [
        {"name": name, "resources": resources(2, 6), "price": draw.amount("money", 0, 9), "limit": draw.of(1, 1, 2)}
        for name in types
    ]
    document: Document = {"application": {"operators": operators, "streams": streams}, "host_types": hosts}
    document["utilisation"] = draw.of(1.0, 1.0, 0.5, None)
    document["penalty"] = draw.amount("money", 0, 9, tenths=draw.chance(0.5))
    document["queues"] = {name: float(draw.count(0, 20)) for name in names if draw.chance(0.5)}
    return document


def _enactment(draw: _Draw) -> Document:
    document = _containers(draw)
    for host in document["host_types"]:
        host |= {"billing_time": 600.0}
    weights = {name: draw.of(0.0, 1.0, 1.0, 0.001, 1000.0) for name in ("host_cost", "free_resources", "violations")}
    return {"kind": "enactment", **document, "horizon": draw.amount("time", 1, 9), "weights": weights}


def _leasing(draw: _Draw) -> Document:
    document, periods = _containers(draw), draw.count(1, 3)
    power = draw.power["time"]
    for host in document["host_types"]:
        host |= {"billing_time": float(f"{draw.count(1, 3)}e{power}"), "start_up": [0.0, 0.0]}
    forecast = [draw.of(0.0, 0.5, 1.0, 2.0) for _ in range(periods)]
    leased = [{"name": "old", "type": document["host_types"][0]["name"], "paid_periods": draw.count(0, periods)}]
    document |= {"leased": leased} if draw.chance(0.4) else {}
    return {"kind": "leasing", **document, "period": float(f"1e{power}"), "forecast": forecast, "prorate": draw.chance(0.5)}


TINY: dict[str, Callable[[_Draw], Document]] = {
    "mapping": _mapping,
    "link-allocation": _link_allocation,
    "enactment": _enactment,
    "leasing": _leasing,
}
"""Functions that draw a document, by kind."""
