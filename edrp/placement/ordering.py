"""An order of operators in which as few streams as possible go backward, also where they form cycles.

Latency-aware placement, Alg. 3: the heuristic of Eades, Lin and Smyth for feedback arc sets, which here removes all
sources (or sinks) at once, and opens a cycle where the flow enters it. The printed listing needs three repairs:

- lines 11–13 and 26–28 enqueue every source (sink) that there is, also those that wait already; here a vertex is
  enqueued once, when its last incoming (outgoing) edge disappears;
- nothing refills the queues after line 40, so that the rest of an opened cycle would be dissolved vertex by vertex;
- line 39 finds no vertex where nothing that was removed feeds the cycle; any vertex of it may then be chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def topological_layers(vertices: Sequence[str], edges: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Order a directed graph that may have cycles, in layers (latency-aware placement, Alg. 3).

    No edge joins two vertices of one layer, except to itself. An edge goes backward only if it lies on a cycle; the
    edges that do are a small set, not always the smallest, whose removal leaves no cycle.

    Parameters
    ----------
    vertices
        Names, each once; inside a layer they keep this order.
    edges
        Pairs of them, in any order. Repetitions are ignored, and edges of a vertex to itself, which no order can help.

    Returns
    -------
    tuple of tuple of str
        Every vertex once. In a graph without cycles the first layer are the sources, the next what then has become
        one, and so on.

    Raises
    ------
    KeyError
        An edge has an end that is none of `vertices`.
    """
    position = {name: index for index, name in enumerate(vertices)}
    joined = {(position[source], position[target]) for source, target in edges}
    graph = _Dissolving(len(vertices), sorted((u, v) for u, v in joined if u != v))
    first, last = [], []  # the stacks L and R
    while graph.left:
        while graph.sources:
            first.append(graph.take_all(graph.sources, feed=True))
        while graph.sinks:
            last.append(graph.take_all(graph.sinks, feed=False))
        if graph.left:
            first.append([graph.open_cycle()])
    return tuple(tuple(vertices[v] for v in layer) for layer in (*first, *reversed(last)) if layer)


class _Dissolving:
    """A graph without loops from which vertices are taken, and what has become a source or a sink by that."""

    def __init__(self, size: int, edges: list[tuple[int, int]]) -> None:
        self.left = size
        self._there = [True] * size
        self._fed = [False] * size  # by a vertex that was taken as a source or to open a cycle
        self._successors: list[list[int]] = [[] for _ in range(size)]
        self._predecessors: list[list[int]] = [[] for _ in range(size)]
        for u, v in edges:
            self._successors[u].append(v)
            self._predecessors[v].append(u)
        self._out = [len(vertices) for vertices in self._successors]
        self._into = [len(vertices) for vertices in self._predecessors]
        self.sources = [v for v in range(size) if not self._into[v]]
        self.sinks = [v for v in range(size) if not self._out[v]]
        # Sets of vertices that no cycle leaves; what feeds a set stands above it, so that the top is fed by none.
        self._regions = [list(range(size))]

    def take_all(self, queue: list[int], *, feed: bool) -> list[int]:
        """Take all that wait in `sources` or `sinks`; those that become one by that wait there then."""
        # A vertex without edges waits in both queues and may have been taken from the other one.
        layer = sorted(v for v in queue if self._there[v])
        queue.clear()
        for v in layer:
            self._take(v, feeds=feed)
        return layer

    def open_cycle(self) -> int:
        """Take a vertex of the first strongly connected component (lines 38–40); only without sources and sinks."""
        component = self._first_component()
        entries = [v for v in component if self._fed[v]] or component
        inside = set(component)
        chosen = max(entries, key=lambda v: self._surplus(v, inside))  # the first of equals
        self._take(chosen, feeds=True)
        self._regions.append([v for v in component if v != chosen])
        return chosen

    def _take(self, v: int, *, feeds: bool) -> None:
        self._there[v] = False
        self.left -= 1
        for w in self._successors[v]:
            self._fed[w] |= feeds
            self._into[w] -= 1
            if self._there[w] and not self._into[w]:
                self.sources.append(w)
        for u in self._predecessors[v]:
            self._out[u] -= 1
            if self._there[u] and not self._out[u]:
                self.sinks.append(u)

    def _surplus(self, v: int, inside: set[int]) -> int:
        """Edges that go forward less edges that go backward if v comes first in its component."""
        return sum(w in inside for w in self._successors[v]) - sum(u in inside for u in self._predecessors[v])

    def _first_component(self) -> list[int]:
        """The component that no other feeds, in ascending order: the last that Tarjan's algorithm finds."""
        import networkx as nx

        while True:
            region = [v for v in self._regions.pop() if self._there[v]]
            inside = set(region)
            graph: nx.DiGraph[int] = nx.DiGraph()
            graph.add_nodes_from(region)
            graph.add_edges_from((v, w) for v in region for w in self._successors[v] if w in inside)
            components = [sorted(component) for component in nx.strongly_connected_components(graph)]
            if len(components) == 1:
                return components[0]
            self._regions.extend(components)
