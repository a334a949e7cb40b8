"""Partitions and the way between them in plain code, for brute force: no table and no algorithm of the methods is used."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

Partition = tuple[int, ...]
"""Boundaries, with empty intervals last."""


def all_partitions(work: Sequence[float], nodes: int, tolerance: float, *, allow_empty: bool) -> list[Partition]:
    """Every partition of a few tasks that keeps the load limit.

    >>> all_partitions([1, 1, 1], 2, 0.4, allow_empty=False)
    [(0, 1, 3), (0, 2, 3)]
    """
    tasks = len(work)
    limit = (1 + tolerance) * sum(work) / nodes * (1 + 1e-9)
    choose = combinations_with_replacement if allow_empty else combinations
    inner = choose(range(1, tasks + (1 if allow_empty else 0)), nodes - 1)
    every = [(0, *ends, tasks) for ends in inner]
    # Of partitions that differ only in where their empty intervals stand, the one that has them last is kept.
    canonical = [boundaries for boundaries in every if all(a < b or a == tasks for a, b in pairwise(boundaries))]
    return [boundaries for boundaries in canonical if all(sum(work[a:b]) <= limit for a, b in pairwise(boundaries))]


def least_cost(before: Partition, after: Partition, state_size: Sequence[float]) -> float:
    """Least state that moves from one partition to another: an assignment problem (state migration, section 3.2).

    >>> least_cost((0, 13, 20), (0, 9, 11, 20), [1.0] * 20)
    4.0
    """
    kept = np.array([[_overlap(old, new, state_size) for new in pairwise(after)] for old in pairwise(before)])
    rows, columns = linear_sum_assignment(kept, maximize=True)
    return float(sum(state_size) - kept[rows, columns].sum())


def partition_boundaries(intervals: Sequence[tuple[int, int]]) -> Partition:
    """Boundaries of the intervals that hold tasks.

    >>> partition_boundaries([(2, 5), (3, 3), (0, 2)])
    (0, 2, 5)
    """
    return (0, *(end for first, end in sorted(intervals) if first < end))


def _overlap(old: tuple[int, int], new: tuple[int, int], state_size: Sequence[float]) -> float:
    first, end = max(old[0], new[0]), min(old[1], new[1])
    return sum(state_size[first:end]) if first < end else 0.0
