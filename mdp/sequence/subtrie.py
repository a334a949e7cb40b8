"""Classes of partitions with forbidden intervals: graphs with fewer arcs, counted, numbered and listed."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Ints
from edrp.core.budget import spend
from edrp.core.kernels import inner_loop
from edrp.mdp.partitions import LISTED_PARTITION_UNITS, Boundaries, Partitions, boundary_type
from edrp.mdp.trie import Trie, number_leaves

REDUCED_ARC_UNITS, COUNTED_ARC_UNITS = 5e-8, 5e-8
"""Units of work per arc to leave out arcs, and to count paths."""


def without_arcs(graph: Trie, allowed: Bools) -> tuple[Trie, Ints]:
    """Build the unnumbered class of the partitions all of whose arcs are allowed.

    Parameters
    ----------
    allowed
        Shape (arcs,).

    Returns
    -------
    tuple
        The smaller graph, and for each of its arcs the arc of `graph` that it was. Its `count` is 0 where nothing is
        left.

    Examples
    --------
    >>> graph = Trie.unnumbered(np.arange(5.0), 2, 3.0, allow_empty=False)
    >>> smaller, arcs = without_arcs(graph, np.array([True, False, True, True, True, True]))
    >>> count_paths(smaller), arcs.tolist()
    (2, [0, 2, 3, 5])
    """
    spend(REDUCED_ARC_UNITS * graph.arc_target.size)
    places = graph.boundary.size
    source = np.repeat(np.arange(places), np.diff(graph.arc_start))
    alive = np.zeros((2, places), np.bool_)
    _mark(graph, allowed, alive)
    kept_places, arcs = np.flatnonzero(alive.all(axis=0)), np.flatnonzero(allowed & alive[0][source] & alive[1][graph.arc_target])
    if kept_places.size == 0:
        return graph._replace(count=0), arcs
    renamed = np.cumsum(alive.all(axis=0)) - 1
    kept_spans, arc_span = np.unique(graph.arc_span[arcs], return_inverse=True)
    ones = np.ones(kept_places.size, np.int64)
    smaller = Trie(
        graph.nodes,
        1,
        graph.boundary[kept_places],
        np.searchsorted(kept_places, graph.level).astype(np.int64),
        np.searchsorted(renamed[source[arcs]], np.arange(kept_places.size + 1)).astype(np.int64),
        renamed[graph.arc_target[arcs]],
        arc_span.astype(np.int64).ravel(),
        np.zeros(arcs.size, np.int64),
        np.zeros(arcs.size, np.int64),
        ones,
        ones.copy(),
        np.searchsorted(kept_spans, graph.span_start).astype(np.int64),
        graph.span_end[kept_spans],
    )
    return smaller, arcs


@inner_loop
def _mark(graph: Trie, allowed: np.ndarray, alive: np.ndarray) -> None:
    """Mark the places that allowed arcs connect to the root (row 0) and to the end (row 1)."""
    places = graph.boundary.size
    alive[0, 0] = alive[1, places - 1] = True
    for v in range(places):
        for e in range(graph.arc_start[v], graph.arc_start[v + 1]):
            if allowed[e] and alive[0, v]:
                alive[0, graph.arc_target[e]] = True
    for v in range(places - 1, -1, -1):
        for e in range(graph.arc_start[v], graph.arc_start[v + 1]):
            if allowed[e] and alive[1, graph.arc_target[e]]:
                alive[1, v] = True


def single_partition_trie(boundaries: Boundaries) -> Trie:
    """Build the numbered class of a single partition.

    >>> single_partition_trie(np.array([0, 2, 5])).count
    1
    """
    nodes, tasks = boundaries.size - 1, int(boundaries[-1])
    arcs, ones = np.arange(nodes), np.ones(nodes + 1, np.int64)
    trie = Trie(
        nodes,
        1,
        boundaries.astype(np.int64),
        np.arange(nodes + 2),
        np.minimum(np.arange(nodes + 2), nodes),
        arcs + 1,
        arcs,
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        ones,
        ones.copy(),
        np.searchsorted(boundaries[:-1], np.arange(tasks + 1)).astype(np.int64),
        boundaries[1:].astype(np.int64),
    )
    number_leaves(trie)
    return trie


def count_paths(graph: Trie) -> int:
    """Count the partitions of a graph, exactly."""
    spend(COUNTED_ARC_UNITS * graph.arc_target.size)
    ways = [0] * graph.boundary.size
    ways[-1] = int(graph.count > 0)
    targets = graph.arc_target.tolist()
    starts = graph.arc_start.tolist()
    for v in range(graph.boundary.size - 2, -1, -1):
        ways[v] = sum(ways[w] for w in targets[starts[v] : starts[v + 1]])
    return ways[0]


def numbered_trie(graph: Trie) -> Trie:
    """Number the partitions of a class, of which there are at most 2**62."""
    leaves = np.ones(graph.boundary.size, np.int64)
    _count(graph, leaves)
    trie = graph._replace(
        count=int(leaves[0]),
        leaves=leaves,
        prefixes=np.ones(leaves.size, np.int64),
        arc_leaves=np.zeros_like(graph.arc_target),
        arc_prefixes=np.zeros_like(graph.arc_target),
    )
    number_leaves(trie)
    return trie


@inner_loop
def _count(graph: Trie, leaves: np.ndarray) -> None:
    for v in range(leaves.size - 2, -1, -1):
        leaves[v] = 0
        for e in range(graph.arc_start[v], graph.arc_start[v + 1]):
            leaves[v] += leaves[graph.arc_target[e]]


def list_partitions(trie: Trie) -> Partitions:
    """List the partitions of a numbered class in order, shape (count, nodes + 1).

    >>> list_partitions(Trie.of(np.arange(5.0), 2, 3.0, allow_empty=False)).tolist()
    [[0, 1, 4], [0, 2, 4], [0, 3, 4]]
    """
    spend(LISTED_PARTITION_UNITS * trie.count)
    rows = np.zeros((trie.count, trie.nodes + 1), boundary_type(int(trie.boundary[-1])))
    _list(trie, rows, np.zeros((2, trie.nodes + 1), np.int64))
    return rows


@inner_loop
def _list(trie: Trie, rows: np.ndarray, stack: np.ndarray) -> None:
    """Walk all paths depth first; `stack` holds place and next arc of each position."""
    place, arc = stack[0], stack[1]
    arc[0] = trie.arc_start[0]
    k, row = 0, 0
    while k >= 0:
        v = place[k]
        if k == trie.nodes:
            for position in range(trie.nodes + 1):
                rows[row, position] = trie.boundary[place[position]]
            row += 1
            k -= 1
        elif arc[k] == trie.arc_start[v + 1]:
            k -= 1
        else:
            place[k + 1] = trie.arc_target[arc[k]]
            arc[k] += 1
            k += 1
            arc[k] = trie.arc_start[place[k]]
