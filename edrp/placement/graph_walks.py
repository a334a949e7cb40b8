"""Walks through the graph of operators that every instance needs; they ask for no package of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

Successors = Mapping[str, Sequence[str]]
"""Targets of the streams of each operator, in their order."""


def successors(vertices: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Targets of the edges of each vertex.

    >>> successors("abc", [("a", "c"), ("a", "b")])
    {'a': ['c', 'b'], 'b': [], 'c': []}
    """
    found: dict[str, list[str]] = {vertex: [] for vertex in vertices}
    for source, target in edges:
        found[source].append(target)
    return found


def topological_order(graph: Successors) -> tuple[str, ...] | None:
    """Vertices such that edges go forward, ties in the order of the graph; None where there is a cycle.

    >>> topological_order({"c": [], "b": ["c"], "a": ["c"]})
    ('b', 'a', 'c')
    >>> topological_order({"a": ["b"], "b": ["a"]}) is None
    True
    """
    position = {vertex: index for index, vertex in enumerate(graph)}
    names = list(graph)
    waiting = dict.fromkeys(graph, 0)
    for targets in graph.values():
        for target in targets:
            waiting[target] += 1
    ready = [position[vertex] for vertex, count in waiting.items() if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        order.append(names[heappop(ready)])
        for target in graph[order[-1]]:
            waiting[target] -= 1
            if not waiting[target]:
                heappush(ready, position[target])
    return tuple(order) if len(order) == len(names) else None


def paths_to_sinks(graph: Successors, source: str) -> Iterator[tuple[str, ...]]:
    """All simple paths of at least one edge from a vertex to vertices without successors, depth first.

    >>> list(paths_to_sinks({"a": ["b", "c"], "b": ["c"], "c": []}, "a"))
    [('a', 'b', 'c'), ('a', 'c')]
    """
    path = {source: None}
    branches = [iter(graph[source])]
    while branches:
        target = next(branches[-1], None)
        if target is None:
            branches.pop()
            path.popitem()
        elif not graph[target]:
            yield (*path, target)
        elif target not in path:
            path[target] = None
            branches.append(iter(graph[target]))
