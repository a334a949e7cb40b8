"""Shortest routes over the links of a network, in plain code that shares nothing with `route_arrays.py`, and over graphs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from edrp.core.document import RANGES, NonNegative
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.late_imports import csgraph, sparse
from edrp.core.tolerances import EQUAL_ROUTE_DELAYS
from edrp.core.wording import shown

if TYPE_CHECKING:
    import networkx as nx

DELAY = TypeAdapter(Annotated[NonNegative, Field(le=RANGES["s"].largest, allow_inf_nan=False)])


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


def read_delay(value: object) -> float | None:
    """Read a delay in seconds as a number of a document is read, also from text; None for what is none, or a boolean.

    >>> read_delay(" 0.5 "), read_delay([0.5, 0.7]), read_delay(True)
    (0.5, None, None)
    """
    try:
        delay = None if isinstance(value, (bool, np.bool_)) else DELAY.validate_python(value)
    except ValidationError:
        return None
    return None if delay and delay < RANGES["s"].smallest else delay


def shortest_delays(graph: nx.Graph[Any], vertices: list[Hashable], weight: str) -> Any:
    """Shortest-path delays between all vertices, shape (vertices, vertices); infinite where there is no path.

    Raises
    ------
    InvalidInstanceError
        Naming every edge without a usable delay.
    """
    index = {vertex: position for position, vertex in enumerate(vertices)}
    shortest: dict[tuple[int, int], float] = {}
    faults, why = [], "must be a delay of at least 0 s, one number: 0, or {:g} to {:g}".format(*RANGES["s"])
    edges: Any = graph.edges(data=weight)  # type: ignore[call-overload]
    for u, v, value in edges:
        delay = read_delay(value)
        if delay is None:
            faults.append(Fault(f"graph.edges[{u!r}, {v!r}].{weight}", shown(value), why))
            continue
        for a, b in ((u, v),) if graph.is_directed() else ((u, v), (v, u)):
            pair = index[a], index[b]
            shortest[pair] = min(shortest.get(pair, math.inf), delay)
    InvalidInstanceError.raise_if_any(faults)
    # A sparse matrix, where a stored 0 is an edge without delay: in a dense one it would be no edge.
    rows, columns = [u for u, _ in shortest], [v for _, v in shortest]
    matrix = sparse.csr_array((list(shortest.values()), (rows, columns)), shape=(len(vertices), len(vertices)), dtype=float)
    return csgraph.shortest_path(matrix, method="D", directed=True)
