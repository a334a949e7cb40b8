"""Networks and applications of placements: nodes, links, operators and streams."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from typing import Any

from .reading import Unknown, fraction, need, unique


def read_network(problem: dict[str, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Links by source and target, in both directions where the network is symmetric, and nodes by name."""
    network = problem["network"]
    both = [1, -1] if network.get("symmetric", True) else [1]
    arcs = unique(((link["source"], link["target"])[::turn], link) for turn in both for link in network.get("links", ()))
    return arcs, unique((node["name"], node) for node in network["nodes"])


def by_resource(resources: Any) -> dict[str, Any]:
    """Amounts by resource; a single number is of a resource without a name."""
    return resources if isinstance(resources, dict) else {"resources": resources}


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
    """Operators, streams with their rates, and links between nodes of a placement problem."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        self.network, (self.links, self.nodes) = problem["network"], read_network(problem)

    def find_link(self, u: str, v: str) -> Any:
        """The link between two nodes: listed, else what holds for their zones, or None."""
        return find_link(self.network, self.links, self.nodes, u, v)

    def link(self, u: str, v: str) -> dict[str, Any]:
        """The link between two nodes, which there must be."""
        found = self.find_link(u, v)
        need(found, f"there is no link {u} → {v}")
        return dict(found)

    def choices(self, name: str, nodes: Iterable[str]) -> None:
        """Refuse nodes that are no candidates of an operator."""
        allowed = self.operators[name].get("candidates") or self.nodes
        need(set(nodes) <= set(allowed), f"{name}: runs on a node that is no candidate")
