"""The lexicographic trie of all partitions of a class, stored as the graph whose paths they are.

Partitions in lexicographic order are the leaves of a trie whose inner nodes are prefixes of boundaries. All prefixes that
end at the same position and boundary continue in the same ways, so one *place* stands for all of them: the trie is the
graph of places and *arcs* (one more interval). Numbers of leaves and prefixes, counted per place, number the leaves
(the rows of `enumerate_partitions`) and the prefixes (in preorder), so that a value per prefix is one flat array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import spend
from edrp.mdp.partitions import LISTED_PARTITION_UNITS, Boundaries, Layers, Partitions, boundary_type, layers, paths_to_end

PRICE_SAMPLES = 5_000
"""Number of partitions to which arc prices are fitted."""

TRIE_PLACE_UNITS, TRIE_ARC_UNITS = 2e-6, 3e-8
"""Units of work per place and per arc to build a trie."""

SAMPLED_INTERVAL_UNITS, PREFIX_UNITS = 3e-8, 5e-8
"""Units of work per interval of a sampled partition, and per prefix, to prepare values for searching."""


class Trie(NamedTuple):
    """All feasible partitions of one class, as places and arcs; kernels are in edrp/native/mdp/trie.cpp.

    Attributes
    ----------
    nodes : number of intervals n of a partition.
    count : number of partitions.
    boundary : shape (places,), boundary of each place; places are sorted by position, then boundary. The first is the root.
    level : shape (n + 2,), first place of each position.
    arc_start : shape (places + 1,), arcs out of each place, by boundary of their end.
    arc_target, arc_span : shape (arcs,), place that an arc leads to; its interval as an index into spans.
    arc_leaves, arc_prefixes : shape (arcs,), offset of the number of the first leaf, and of the number of the prefix, when the
        arc is followed.
    leaves, prefixes : shape (places,), how many partitions, and how many prefixes with more than one continuation or the first
        with one, lie below.
    span_start : shape (m + 1,), first span that begins at each boundary.
    span_end : shape (spans,), end of each interval that some partition contains.
    """

    nodes: int
    count: int  # type: ignore[assignment] # hides that of tuples, which nobody needs
    boundary: Ints
    level: Ints
    arc_start: Ints
    arc_target: Ints
    arc_span: Ints
    arc_leaves: Ints
    arc_prefixes: Ints
    leaves: Ints
    prefixes: Ints
    span_start: Ints
    span_end: Ints

    @classmethod
    def of(cls, work_before: Floats, nodes: int, limit: float, allow_empty: bool) -> Trie:
        """Build the trie of the partitions that `enumerate_partitions` lists for the same arguments.

        Raises
        ------
        OverflowError
            When there are more than 2**62 partitions: such a class has no numbered leaves.
        """
        graph = layers(work_before, nodes, limit, allow_empty)
        counts = paths_to_end(graph)
        count = sum(counts[0])
        if count > 2**62:
            raise OverflowError(f"{min(count, 10**30):.3g} partitions into {nodes} intervals are too many to be numbered")
        if count == 0:
            return _empty(nodes, work_before.size - 1)
        leaves = np.array([ways for level in counts for ways in level], dtype=np.int64)
        return _numbered(_linked(graph, nodes, leaves))

    @classmethod
    def unnumbered(cls, work_before: Floats, nodes: int, limit: float, allow_empty: bool) -> Trie:
        """Build places and arcs alone, for a class of any size: nothing is counted or numbered.

        Its `count` is 0 where the class is empty, and 1 otherwise.

        Examples
        --------
        >>> Trie.unnumbered(np.arange(5.0), 2, 3.0, allow_empty=False).arc_target.tolist()
        [1, 2, 3, 4, 4, 4]
        """
        graph = layers(work_before, nodes, limit, allow_empty)
        if not graph.feasible:
            return _empty(nodes, work_before.size - 1)
        return _linked(graph, nodes, np.ones(int((graph.last - graph.first + 1).sum()), np.int64))


def _empty(nodes: int, tasks: int) -> Trie:
    none, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
    level = np.ones(nodes + 2, np.int64)
    level[0] = 0
    start = np.zeros(tasks + 1, np.int64)
    return Trie(nodes, 0, one, level, np.zeros(2, np.int64), none, none, none, none, one, one, start, none)


def _linked(graph: Layers, nodes: int, leaves: Ints) -> Trie:
    tasks = graph.reach.size - 1
    sizes = graph.last - graph.first + 1
    spend(TRIE_PLACE_UNITS * float(sizes.sum()))
    level = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    boundary = np.concatenate([np.arange(a, b + 1) for a, b in zip(graph.first, graph.last, strict=True)]).astype(np.int64)
    position = np.repeat(np.arange(nodes + 1), sizes)
    ends = [graph.ends(int(k), int(a)) for k, a in zip(position[: level[nodes]], boundary[: level[nodes]], strict=True)]
    first_end, last_end = np.array([*ends, (0, -1)], dtype=np.int64).T
    width = last_end - first_end + 1
    arc_start = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    spend(TRIE_ARC_UNITS * float(arc_start[-1]))
    source = np.repeat(np.arange(boundary.size), width)
    end = np.arange(arc_start[-1]) - arc_start[source] + first_end[source]
    target = level[position[source] + 1] + end - graph.first[position[source] + 1]
    spans, arc_span = np.unique(boundary[source] * (tasks + 1) + end, return_inverse=True)
    span_start = np.searchsorted(spans, np.arange(tasks + 1) * (tasks + 1)).astype(np.int64)
    return Trie(
        nodes,
        int(leaves[0]),
        boundary,
        level,
        arc_start,
        target.astype(np.int64),
        arc_span.astype(np.int64).ravel(),
        np.zeros(target.size, np.int64),
        np.zeros(target.size, np.int64),
        leaves,
        np.ones(boundary.size, np.int64),
        span_start,
        spans % (tasks + 1),
    )


def _numbered(trie: Trie) -> Trie:
    """Fill in the numbers of prefixes below each place, and the offsets of each arc, from its numbers of leaves."""
    _native.number_leaves(trie, trie.arc_leaves, trie.arc_prefixes, trie.prefixes)
    return trie


class PreparedValues(NamedTuple):
    """Values of the partitions of a class, prepared for searching (edrp/native/mdp/best_response.cpp).

    Values are split into a sum of prices of the partition's arcs, and a residue: prices enter the exact bound on what
    is left of a path, and only the residue, which varies far less than the values, has to be bounded by its minimum.

    Attributes
    ----------
    values : shape (count,)
    price : shape (arcs,)
    least : shape (prefixes,), least residue below each prefix, in preorder.
    slack : least difference of values that is not rounding, relative to values alone.
    """

    values: Floats
    price: Floats
    least: Floats
    slack: float


def prepare_values(trie: Trie, values: Floats) -> PreparedValues:
    """Prepare one value per partition for `best_responses`; O(prefixes) and a least-squares fit to a sample.

    Parameters
    ----------
    trie
        Trie of the class.
    values
        Shape (count,), in the order of `enumerate_partitions`; +inf for partitions that are not allowed.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    spend(SAMPLED_INTERVAL_UNITS * min(trie.count, PRICE_SAMPLES) * trie.nodes + PREFIX_UNITS * float(trie.prefixes[0]))
    price = _fitted_prices(trie, values)
    min_residue = np.empty(int(trie.prefixes[0]))
    _native.least_residues(trie, values, price, min_residue)
    largest = np.abs(values).max(initial=0.0, where=np.isfinite(values))
    return PreparedValues(values, price, min_residue, 1e-12 * float(largest))


def _fitted_prices(trie: Trie, values: Floats) -> Floats:
    """Fit prices whose sums along paths are closest to the values, in least squares."""
    allowed = np.flatnonzero(np.isfinite(values))
    if allowed.size == 0 or values[allowed].min() == values[allowed].max():
        return np.zeros(trie.arc_target.size)
    rows = allowed[np.linspace(0, allowed.size - 1, min(allowed.size, PRICE_SAMPLES)).astype(np.int64)]
    arcs = _native.path_arcs(trie, rows)
    ones, starts = np.ones(arcs.size), np.arange(rows.size + 1) * trie.nodes
    paths = csr_array((ones, arcs.ravel(), starts), shape=(rows.size, trie.arc_target.size))
    return np.asarray(lsqr(paths, values[rows] - values[rows].mean(), damp=0.1, iter_lim=30)[0])


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
    _native.mark_connected(graph, allowed, alive)
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
    return _numbered(trie)


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
    _native.count_leaves(graph, leaves)
    trie = graph._replace(
        count=int(leaves[0]),
        leaves=leaves,
        prefixes=np.ones(leaves.size, np.int64),
        arc_leaves=np.zeros_like(graph.arc_target),
        arc_prefixes=np.zeros_like(graph.arc_target),
    )
    return _numbered(trie)


def list_partitions(trie: Trie) -> Partitions:
    """List the partitions of a numbered class in order, shape (count, nodes + 1).

    >>> list_partitions(Trie.of(np.arange(5.0), 2, 3.0, allow_empty=False)).tolist()
    [[0, 1, 4], [0, 2, 4], [0, 3, 4]]
    """
    spend(LISTED_PARTITION_UNITS * trie.count)
    rows = np.zeros((trie.count, trie.nodes + 1), boundary_type(int(trie.boundary[-1])))
    _native.list_paths(trie, rows)
    return rows
