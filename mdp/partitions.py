"""Tasks and their partitions into intervals as flat arrays: the form in which all algorithms of this room work.

A *partition* of m tasks into n intervals is its n + 1 boundaries `0 = b[0] ≤ b[1] ≤ … ≤ b[n] = m`: interval i holds the
tasks `b[i] … b[i+1] − 1`. Which node holds which interval does not matter to later migrations (state migration,
Lemmas 4.1 and 4.2), so partitions are states and nodes are not.

Feasible partitions are counted before they are enumerated, enumerated, or drawn at random. A partition is a path through
*layers*: layer k holds the boundaries that may stand at position k, and an interval leads from a boundary to a later one within
the load limit. In each layer these boundaries are neighbours, and each of them lies on a whole partition, so two numbers a layer
describe the class. Where intervals may be empty, a partition is listed once, with its empty intervals last.

Old nodes are matched with the intervals of a new partition so that the most state stays (edrp/native/mdp/partitions.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edrp import _native
from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import look, refuse_beyond_memory, spend
from edrp.migration.intervals import Assignment, give_out, sums_before

Boundaries = Ints

COUNTED_PLACE_UNITS = 3e-7
"""Units of work per place (a boundary at a position) to count partitions."""

LISTED_PARTITION_UNITS = 5e-8
"""Units of work per partition that is listed."""

DRAWN_INTERVAL_UNITS = 3e-8
"""Units of work per interval of a partition that is drawn at random."""


class Tasks(NamedTuple):
    """Tasks with prefix sums, as kernels take them.

    Attributes
    ----------
    work, state_size : shape (m,), amount of work, and bytes of state, of each task.
    work_before, state_before : shape (m + 1,), sums over the tasks before each boundary.
    """

    work: Floats
    state_size: Floats
    work_before: Floats
    state_before: Floats

    @classmethod
    def of(cls, work: ArrayLike, state_size: ArrayLike) -> Tasks:
        """Create tasks with given work and state sizes (bytes), both of shape (m,).

        Examples
        --------
        >>> Tasks.of([1, 2, 3], [5, 5, 5]).work_before.tolist()
        [0.0, 1.0, 3.0, 6.0]
        """
        work = np.ascontiguousarray(work, dtype=np.float64)
        state_size = np.ascontiguousarray(state_size, dtype=np.float64)
        return cls(work, state_size, sums_before(work), sums_before(state_size))


class OldNodes(NamedTuple):
    """The current assignment, in the order of the tasks.

    Attributes
    ----------
    boundaries : shape (k + 1,), boundaries of the k intervals that are not empty, strictly ascending.
    nodes : shape (k,), node of each of them.
    idle : shape (n − k,), nodes whose interval is empty, ascending.
    """

    boundaries: Boundaries
    nodes: Boundaries
    idle: Boundaries

    @classmethod
    def of(cls, intervals: Sequence[tuple[int, int]]) -> OldNodes:
        """Create from one half-open interval per node, in any order; together they must hold every task once.

        Examples
        --------
        >>> old = OldNodes.of([(2, 5), (3, 3), (0, 2)])
        >>> old.boundaries.tolist(), old.nodes.tolist(), old.idle.tolist()
        ([0, 2, 5], [2, 0], [1])
        """
        array = np.asarray(intervals, dtype=np.int64).reshape(-1, 2)
        empty = array[:, 0] == array[:, 1]
        used = np.flatnonzero(~empty)
        order = used[np.argsort(array[used, 0], kind="stable")]
        boundaries = np.concatenate([array[order, 0], array[order[-1:], 1]])
        return cls(boundaries, order.astype(np.int64), np.flatnonzero(empty).astype(np.int64))


Partitions = NDArray[np.int16] | Ints32 | Ints
"""Boundaries of many partitions, one row each, in lexicographic order."""


class Layers(NamedTuple):
    """Boundaries that are possible at each position of a partition of one class.

    Attributes
    ----------
    first, last : shape (n + 1,), least and greatest boundary at each position; last < first somewhere when no partition is
        feasible.
    reach : shape (m + 1,), greatest end of an interval that begins at a boundary, within the load limit.
    """

    first: Boundaries
    last: Boundaries
    reach: Boundaries

    @property
    def feasible(self) -> bool:
        """Whether there is any partition."""
        return bool((self.first <= self.last).all())

    def ends(self, position: int, begin: int) -> tuple[int, int]:
        """Return least and greatest boundary after `begin` at `position`; there is none if the second is smaller."""
        tasks = self.reach.size - 1
        if begin == tasks:
            return tasks, tasks
        return max(begin + 1, int(self.first[position + 1])), min(int(self.reach[begin]), int(self.last[position + 1]))


def layers(work_before: Floats, nodes: int, limit: float, allow_empty: bool) -> Layers:
    """Compute the layers of all partitions into `nodes` intervals of at most `limit` work; O(m log m + n log m).

    Parameters
    ----------
    work_before
        Shape (m + 1,), work of the tasks before each boundary, nondecreasing.
    """
    tasks = work_before.size - 1
    reach = np.searchsorted(work_before, work_before + limit, side="right") - 1
    first, last = np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64)
    last[0], first[nodes] = 0, tasks
    for k in range(nodes):
        last[k + 1] = reach[last[k]]
    for k in range(nodes - 1, -1, -1):
        first[k] = np.searchsorted(reach, first[k + 1], side="left")
    min_tasks = np.arange(nodes + 1)
    if allow_empty:
        return Layers(np.maximum(first, np.minimum(min_tasks, tasks)), last, reach)
    return Layers(np.maximum(first, min_tasks), np.minimum(last, tasks - min_tasks[::-1]), reach)


def paths_to_end(graph: Layers) -> list[list[int]]:
    """Count, for each position and boundary, the ways to complete a partition from there; exact."""
    nodes, tasks = graph.first.size - 1, graph.reach.size - 1
    if not graph.feasible:
        return [[] for _ in range(nodes + 1)]
    first, last, reach = graph.first.tolist(), graph.last.tolist(), graph.reach.tolist()
    spend(COUNTED_PLACE_UNITS * float((graph.last - graph.first + 1).sum()))
    counts: list[list[int]] = [[] for _ in range(nodes)] + [[1]]
    for k in range(nodes - 1, -1, -1):
        before = [0, *accumulate(counts[k + 1])]
        low, high = first[k + 1], last[k + 1]
        counts[k] = [
            before[min(reach[begin], high) + 1 - low] - before[max(begin + 1, low) - low]
            for begin in range(first[k], min(last[k] + 1, tasks))
        ]
        if last[k] == tasks:  # only empty intervals follow
            counts[k].append(1)
    return counts


def count_partitions(work_before: Floats, nodes: int, limit: float, allow_empty: bool) -> int:
    """Count the feasible partitions without listing them; exact at any size, O(m·n).

    Examples
    --------
    Four equal tasks on two nodes with at most three tasks each: 1+3, 2+2 and 3+1.

    >>> count_partitions(np.arange(5.0), 2, 3.0, allow_empty=False)
    3
    >>> count_partitions(np.arange(65.0), 8, 64.0, allow_empty=False) == 553270671
    True
    """
    return sum(paths_to_end(layers(work_before, nodes, limit, allow_empty))[0])


def boundary_type(tasks: int) -> Any:
    """The smallest signed integer type that holds every boundary of that many tasks."""
    return np.int16 if tasks <= np.iinfo(np.int16).max else np.int32


def partition_bytes(tasks: int, nodes: int, count: int) -> int:
    """Memory of `count` enumerated partitions, in bytes.

    >>> partition_bytes(64, 16, 1_000_000)
    34000000
    """
    return count * (nodes + 1) * np.dtype(boundary_type(tasks)).itemsize


def enumerate_partitions(
    work_before: Floats, nodes: int, limit: float, allow_empty: bool, expected: int | None = None
) -> Partitions:
    """List every feasible partition, one row of boundaries each, in lexicographic order.

    Parameters
    ----------
    work_before, nodes, limit, allow_empty
        As for `layers`.
    expected
        Their number, if `count_partitions` was called before.

    Raises
    ------
    ProblemTooLargeError
        When they do not fit into memory.
    """
    tasks = work_before.size - 1
    graph = layers(work_before, nodes, limit, allow_empty)
    count = sum(paths_to_end(graph)[0]) if expected is None else expected
    shown = min(count, 10**30)  # an int may exceed every float
    what = f"{shown:.6g} partitions of {tasks} tasks into {nodes} intervals"
    refuse_beyond_memory(partition_bytes(tasks, nodes, shown), what, "lower the tolerance", ("fitted",))
    look("the partitions")
    spend(LISTED_PARTITION_UNITS * count)
    rows = np.empty((count, nodes + 1), boundary_type(tasks))
    if count:
        _native.enumerate_partitions(graph.first, graph.last, graph.reach, rows)
    return rows


def sample_partitions(
    work_before: Floats, nodes: int, limit: float, allow_empty: bool, size: int, generator: np.random.Generator
) -> Partitions:
    """Draw feasible partitions uniformly, with replacement, without listing them; shape (size, nodes + 1)."""
    tasks = work_before.size - 1
    graph = layers(work_before, nodes, limit, allow_empty)
    counts = paths_to_end(graph)
    spend(DRAWN_INTERVAL_UNITS * size * nodes)
    rows = np.zeros((size if counts[0] else 0, nodes + 1), boundary_type(tasks))
    for k in range(nodes if rows.size else 0):
        # Shares of the paths before each boundary; huge counts are scaled to fit a float.
        shift = max(0, max(counts[k + 1]).bit_length() - 900)
        before = np.concatenate([[0.0], np.cumsum([float(ways >> shift) for ways in counts[k + 1]])])
        begin = rows[:, k].astype(np.int64)
        offset = graph.first[k + 1]
        low = np.where(begin == tasks, tasks, np.maximum(begin + 1, offset)) - offset
        high = np.where(begin == tasks, tasks, np.minimum(graph.reach[begin], graph.last[k + 1])) - offset
        target = before[low] + generator.random(size) * (before[high + 1] - before[low])
        rows[:, k + 1] = np.clip(np.searchsorted(before, target, side="right") - 1, low, high) + offset
    return rows


def as_boundaries(partition: ArrayLike) -> Boundaries:
    """Return the boundaries of a partition as kernels take them, whatever their integer type."""
    return np.ascontiguousarray(partition, np.int64)


def gain_between(state_before: Floats, old_boundaries: Boundaries, new_boundaries: Boundaries) -> float:
    """Compute the bytes that can stay in a migration from one partition to another, in O(n + n′).

    It is symmetric in both partitions, and all state minus it, the cost, is a metric on partitions.

    Parameters
    ----------
    state_before : shape (m + 1,)
        Bytes of state before each boundary.
    old_boundaries, new_boundaries
        Partitions of the m tasks; intervals may be empty.

    Returns
    -------
    float
        Bytes that stay, with the best one-to-one matching of old to new intervals (state migration, section 3.2).
    """
    return float(_native.gain_between(state_before, as_boundaries(old_boundaries), as_boundaries(new_boundaries)))


def match(state_before: Floats, old_boundaries: Boundaries, new_boundaries: Boundaries) -> Boundaries:
    """Find the old interval whose node keeps each new interval.

    Among matchings that keep the most state, those in which the most pieces stay (a piece is the overlap of an old
    and a new interval; one without state counts too), and among these the one that, from the first task on, lets a
    piece stay as soon as possible.

    Parameters
    ----------
    state_before : shape (m + 1,)
        Bytes of state before each boundary.
    old_boundaries, new_boundaries
        Partitions of the m tasks; intervals may be empty.

    Returns
    -------
    array of shape (n′,)
        Index of the old interval, −1 where no old node keeps the new interval.
    """
    matched: Boundaries = _native.match_intervals(state_before, as_boundaries(old_boundaries), as_boundaries(new_boundaries))
    return matched


def assign(old: OldNodes, nodes_before: int, boundaries: Boundaries, matched: Boundaries, nodes_after: int) -> Assignment:
    """Assign the intervals of a partition to nodes after a migration.

    Parameters
    ----------
    nodes_before, nodes_after
        Number of nodes before and after; new nodes are numbered after the old ones.
    boundaries
        Target partition, at most `nodes_after` intervals of which hold tasks.
    matched
        Old interval per new interval, −1 for none, as from `match`.

    Returns
    -------
    tuple of (first, end) or None
        `max(nodes_before, nodes_after)` entries, `nodes_after` of them intervals; None for a node that is removed.
    """
    intervals = list(pairwise(boundaries.tolist()))
    owners = matched.tolist()
    kept_intervals = {int(old.nodes[owner]): interval for interval, owner in zip(intervals, owners, strict=True) if owner >= 0}
    others = [interval for interval, owner in zip(intervals, owners, strict=True) if owner < 0 and interval[0] < interval[1]]
    return give_out(kept_intervals, others, nodes_before, nodes_after, int(boundaries[-1]))
