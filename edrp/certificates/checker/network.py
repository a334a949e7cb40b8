"""Networks and applications of placements: nodes, links, operators and streams."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from .reading import MAX_STATES, SLACK, Unknown, fraction, need, unique
from .rules import read_rules


def read_network(problem: dict[str, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Links by source and target, in both directions where the network is symmetric, and nodes by name."""
    network = problem["network"]
    both = [1, -1] if network.get("symmetric", True) else [1]
    arcs = unique(((link["source"], link["target"])[::turn], link) for turn in both for link in network.get("links", ()))
    return arcs, unique((node["name"], node) for node in network["nodes"])


def read_pairs(problem: dict[str, Any]) -> dict[Any, Any]:
    """Links by source and target, as streams use them: of a routed network, the routes with the least delay.

    Delays are compared in whole steps, of 1 ps if sums of these are exact in binary64; of equal ones the route with the lowest
    cost is taken, then the one with the largest bandwidth, then the one whose last node but one comes first.
    """
    links, nodes = read_network(problem)
    if not problem["network"].get("routed"):
        return links
    number = {name: index for index, name in enumerate(nodes)}
    step = max([1e-12, *(float(link["delay"]) * len(nodes) / 2**52 for link in links.values())])
    leaving: dict[str, list[Any]] = {name: [] for name in nodes}
    for (u, v), link in links.items():
        leaving[u].append((v, max(1, round(float(link["delay"]) / step)), link))
    return {(source, v): way[-1] for source in nodes for v, way in _routes(source, leaving, number).items() if v != source}


def _routes(source: str, leaving: dict[str, list[Any]], number: dict[str, int]) -> dict[str, tuple[Any, ...]]:
    """Routes by the node that is reached, after what they are compared by: steps, cost, −bandwidth, number of the node before."""
    nothing = {"delay": Fraction(0), "cost": Fraction(0), "availability": Fraction(1)}
    best: dict[str, tuple[Any, ...]] = {source: (0, 0.0, -math.inf, -1, nothing)}
    heap, settled = [(0, source)], set[str]()
    while heap:
        u = heappop(heap)[1]
        if u in settled:
            continue
        settled.add(u)
        far, price, narrow, _, way = best[u]
        for v, steps, link in leaving[u]:
            longer = {
                "delay": way["delay"] + link["delay"],
                "cost": way["cost"] + link.get("cost", 0),
                "availability": way["availability"] * link.get("availability", 1),
            }
            width = float(link.get("bandwidth") or math.inf)
            route = (far + steps, price + float(link.get("cost", 0)), max(narrow, -width), number[u], longer)
            if v not in best or route[:4] < best[v][:4]:
                best[v] = route
                heappush(heap, (route[0], v))
    return best


def by_resource(resources: Any) -> dict[str, Any]:
    """Amounts by resource; a single number is of a resource without a name."""
    return resources if isinstance(resources, dict) else {"resources": resources}


def amounts(node: Any) -> dict[str, Any] | None:
    """What a node has by resource, units counted; None for no limit."""
    free = node.get("resources")
    return None if free is None else {r: units_of(node, r) or amount for r, amount in by_resource(free).items()}


def units_of(node: Any, resource: str) -> int | None:
    """How many equal units of a resource a node has; None where it has an amount or any."""
    free = node.get("resources")
    offered = free.get(resource) if isinstance(free, dict) else None
    return offered["units"] if isinstance(offered, dict) else None


def unit_patterns(demands: list[Any], caps: list[int], room: Any = SLACK) -> Iterator[list[int]]:
    """Ways to fill a unit with replicas that need fractions of it, of each at most so many as its cap, so that none fits in."""
    if not demands:
        yield []
        return
    first, *others = demands
    for count in range(min(caps[0], int(room / first)), -1, -1):
        for pattern in unit_patterns(others, caps[1:], room - count * first):
            left = room - count * first - sum(n * amount for n, amount in zip(pattern, others, strict=True))
            if count == caps[0] or left < first:
                yield [count, *pattern]


def fit_into_units(demands: list[Any], units: int) -> bool:
    """Whether replicas with these needs fit into units: whole ones alone, fractions up to 1 together; by filling unit by unit."""
    free = units - sum(map(int, demands))
    kinds = sorted({amount for amount in demands if 0 < amount < 1}, reverse=True)
    open_states, known = [(tuple(demands.count(amount) for amount in kinds), free)], set[Any]()
    while open_states:
        left, free = open_states.pop()
        if free >= 0 and not any(left):
            return True
        if (left, free) in known or sum(n * x for n, x in zip(left, kinds, strict=True)) > free * SLACK:
            continue
        known.add((left, free))
        need(len(known) <= MAX_STATES, "too many ways to fill units of a resource")
        first = next(k for k, count in enumerate(left) if count)
        patterns = (pattern for pattern in unit_patterns(kinds, list(left)) if pattern[first])
        open_states += [(tuple(n - m for n, m in zip(left, pattern, strict=True)), free - 1) for pattern in patterns]
    return False


def fits(node: Any, resource: str, needs: list[Any], share: Any = 1) -> bool:
    """Whether replicas with these needs of a resource fit into a share of what a node has."""
    free, units = amounts(node), units_of(node, resource)
    if units is not None:
        return fit_into_units(needs, math.floor(units * share * SLACK))
    return free is None or sum(needs) <= free.get(resource, 0) * share * SLACK


def find_link(network: dict[str, Any], links: dict[Any, Any], nodes: dict[Any, Any], u: str, v: str) -> Any:
    """The link between two nodes: listed, else what holds for their zones, or None."""
    zone = nodes[u].get("zone")
    within = zone is not None and zone == nodes[v].get("zone")
    return links.get((u, v)) or network.get("within_zone" if within else "between_zones")


class Graph:
    """Operators, and streams with their rates."""

    def __init__(self, problem: dict[str, Any]) -> None:
        graph = problem["application"]
        self.operators = unique((operator["name"], operator) for operator in graph["operators"])
        self.streams = unique(((s["source"], s["target"]), s.get("rate")) for s in graph.get("streams", ()))
        self.before = {name: [u for u, v in self.streams if v == name] for name in self.operators}
        try:
            self.order = tuple(TopologicalSorter(self.before).static_order())
        except CycleError:
            raise Unknown("the checker does not know which of the streams of a cycle count for paths") from None
        self.load = {name: fraction(operator.get("external_rate", 0)) for name, operator in self.operators.items()}
        self.rate = dict[Any, Fraction]()
        for name in self.order:
            for stream in (stream for stream in self.streams if stream[1] == name):
                flow = self.load[stream[0]] * self.operators[stream[0]].get("selectivity", 1)
                self.rate[stream] = flow if self.streams[stream] is None else fraction(self.streams[stream])
                self.load[name] += self.rate[stream]


class Application(Graph):
    """Operators, streams with their rates, links between nodes and rules of a placement problem."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        self.network, self.links, self.nodes = problem["network"], read_pairs(problem), read_network(problem)[1]
        self.rules = read_rules(problem)

    def find_link(self, u: str, v: str) -> Any:
        """The link between two nodes: listed, else what holds for their zones, or None."""
        return find_link(self.network, self.links, self.nodes, u, v)

    def link(self, u: str, v: str) -> dict[str, Any]:
        """The link between two nodes, which there must be."""
        link = self.find_link(u, v)
        need(link, f"there is no link {u} → {v}")
        return dict(link)

    def choices(self, name: str, nodes: Iterable[str]) -> None:
        """Refuse nodes that are no candidates of an operator."""
        allowed = self.operators[name].get("candidates") or self.nodes
        need(set(nodes) <= set(allowed), f"{name}: runs on a node that is no candidate")
