"""Configurations of an operator: multisets of nodes (EDRP, section 4.1)."""

from __future__ import annotations

from math import comb

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32

NO_NODE = -1


def count_configurations(nodes: int, max_replicas: int) -> int:
    """Number of non-empty multisets of at most `max_replicas` out of `nodes` nodes.

    >>> count_configurations(24, 2)
    324
    """
    return comb(nodes + max_replicas, max_replicas) - 1


def multisets(nodes: Ints, max_replicas: int) -> Ints32:
    """All non-empty multisets of at most `max_replicas` of the given nodes, smaller ones first.

    Returns
    -------
    numpy.ndarray
        Shape (count_configurations(len(nodes), max_replicas), max_replicas); members ascending in the
        order of `nodes`, unused places hold -1.

    Examples
    --------
    >>> multisets(np.array([4, 7]), 2).tolist()
    [[4, -1], [7, -1], [4, 4], [4, 7], [7, 7]]
    """
    count = len(nodes)
    level = np.arange(count, dtype=np.int32)[:, None]
    levels = [level]
    for _ in range(1, max_replicas):
        # Extend every multiset by each node that is not before its last member.
        repeats = count - level[:, -1]
        extended = np.repeat(level, repeats, axis=0)
        offsets = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        level = np.column_stack([extended, extended[:, -1] + offsets.astype(np.int32)])
        levels.append(level)
    result = np.full((sum(len(level) for level in levels), max_replicas), NO_NODE, np.int32)
    start = 0
    for degree, level in enumerate(levels, start=1):
        result[start : start + len(level), :degree] = np.asarray(nodes, np.int32)[level]
        start += len(level)
    return result


def degrees(members: Ints32) -> Ints:
    """Number of replicas of each configuration, shape (configurations,)."""
    return np.asarray((members != NO_NODE).sum(axis=1))


def replica_counts(members: Ints32, nodes: int) -> Floats:
    """Replicas per node, shape (configurations, nodes)."""
    counts = np.zeros((len(members), nodes))
    rows, columns = np.nonzero(members != NO_NODE)
    np.add.at(counts, (rows, members[rows, columns]), 1.0)
    return counts
