"""Shortest routes over the links of a network, in plain code that shares nothing with `route_arrays.py`, and over graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Any, NamedTuple

from edrp.core.late_imports import csgraph, sparse
from edrp.core.tolerances import EQUAL_ROUTE_DELAYS


class Route(NamedTuple):
    """The best route to a node; of two routes between the same nodes, the smaller one is taken.

    Attributes
    ----------
    steps : delay as a whole number, by which routes are compared; every link counts at least 1.
    cost : money/h per tuple/s, the sum over the links.
    narrowness : minus the bandwidth of the narrowest link in bytes/s.
    before : position of the last node but one in the order of the nodes; -1 where the route starts.
    delay : seconds, the sum over the links.
    availability : product over the links.
    """

    steps: int
    cost: float
    narrowness: float
    before: int
    delay: float
    availability: float


class Router:
    """Finds routes by Dijkstra's algorithm, from each source once.

    Parameters
    ----------
    nodes
        Names in order.
    links
        Physical links by source and target, in every direction that they serve.
    """

    def __init__(self, nodes: tuple[str, ...], links: Mapping[tuple[str, str], Any]) -> None:
        self.nodes = nodes
        self._position = {name: position for position, name in enumerate(nodes)}
        longest = max((link.delay for link in links.values()), default=0.0)
        step = max(EQUAL_ROUTE_DELAYS, longest * len(nodes) / 2**52)  # whole numbers up to 2**53 are exact in binary64
        self._leaving: dict[str, list[tuple[str, Route]]] = {name: [] for name in nodes}
        for (source, target), link in links.items():
            steps, narrowness = max(1, round(link.delay / step)), -(link.bandwidth or math.inf)
            alone = Route(steps, link.cost, narrowness, self._position[source], link.delay, link.availability)
            self._leaving[source].append((target, alone))
        self._found: dict[str, dict[str, Route]] = {}

    def routes_from(self, source: str) -> dict[str, Route]:
        """The best route from a node to every node that it reaches, itself included."""
        if source not in self._found:
            self._found[source] = self._search(source)
        return self._found[source]

    def path(self, source: str, target: str) -> tuple[str, ...]:
        """Nodes on the route from one node to another that it reaches, both included."""
        routes, path = self.routes_from(source), [target]
        while path[-1] != source:
            path.append(self.nodes[routes[path[-1]].before])
        return tuple(reversed(path))

    def _search(self, source: str) -> dict[str, Route]:
        best = {source: Route(0, 0.0, -math.inf, -1, 0.0, 1.0)}
        queue, settled = [(0, source)], set[str]()
        while queue:
            node = heappop(queue)[1]
            if node in settled:
                continue
            settled.add(node)
            here = best[node]
            for target, link in self._leaving[node]:
                if target in best and here.steps + link.steps > best[target].steps:
                    continue
                longer = Route(
                    here.steps + link.steps,
                    here.cost + link.cost,
                    max(here.narrowness, link.narrowness),
                    link.before,
                    here.delay + link.delay,
                    here.availability * link.availability,
                )
                if target not in best or longer < best[target]:
                    best[target] = longer
                    heappush(queue, (longer.steps, target))
        return best


def shortest_delays(edges: Iterable[tuple[int, int, float]], vertices: int, *, directed: bool) -> Any:
    """Shortest-path delays between all vertices, shape (vertices, vertices); infinite where there is no path.

    Parameters
    ----------
    edges
        Both ends by number, and the delay; of several edges with the same ends, the fastest counts.
    directed
        Whether an edge serves only the direction from its first end to its second.
    """
    shortest: dict[tuple[int, int], float] = {}
    for u, v, delay in edges:
        for pair in ((u, v),) if directed else ((u, v), (v, u)):
            shortest[pair] = min(shortest.get(pair, math.inf), delay)
    # A sparse matrix, where a stored 0 is an edge without delay: in a dense one it would be no edge.
    rows, columns = [u for u, _ in shortest], [v for _, v in shortest]
    matrix = sparse.csr_array((list(shortest.values()), (rows, columns)), shape=(vertices, vertices), dtype=float)
    return csgraph.shortest_path(matrix, method="D", directed=True)
