"""Brute force for a known sequence of migrations: every partition of every step, with SciPy's assignment between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from edrp.problems.migration_sequence import MigrationSequence

Ends = tuple[int, ...]
"""Boundaries of the intervals that hold tasks."""


def brute_force_sequence(problem: MigrationSequence) -> float | None:
    """Least state that moves in all steps of a small problem, in bytes; None where a step has no partition.

    Shares nothing with the methods that it checks.

    Examples
    --------
    Table 3 of state migration, whose own answer moves 9 tasks:

    >>> problem = MigrationSequence(
    ...     work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=[3, 4], tolerance=[0.4, 0.4]
    ... )
    >>> brute_force_sequence(problem)
    6.0
    """
    start = sorted({bound for interval in problem.intervals for bound in interval if interval[0] < interval[1]})
    least: dict[Ends, float] = {tuple(start): 0.0}
    for step in range(len(problem.nodes)):
        state = problem.state_size_at(step)
        least = {
            after: min(value + moved_between(before, after, state) for before, value in least.items())
            for after in feasible_partitions(problem, step)
        }
        if not least:
            return None
    return min(least.values())


def feasible_partitions(problem: MigrationSequence, step: int) -> list[Ends]:
    """All partitions of a step within its load limit, by their intervals that hold tasks."""
    work, nodes = problem.work_at(step), problem.nodes[step]
    limit = (1 + problem.tolerance[step]) * sum(work) / nodes * (1 + 1e-9)
    counts = range(1, nodes + 1) if problem.allow_empty else [nodes]
    found = []
    for count in counts:
        for inner in combinations(range(1, len(work)), count - 1):
            ends = (0, *inner, len(work))
            if all(sum(work[first:end]) <= limit for first, end in pairwise(ends)):
                found.append(ends)
    return found


def moved_between(before: Ends, after: Ends, state_size: Sequence[float]) -> float:
    """State that moves on the way from one partition to another with the best assignment of nodes, in bytes."""
    shares = np.array(
        [[sum(state_size[task] for task in {*range(*a)} & {*range(*b)}) for b in pairwise(after)] for a in pairwise(before)]
    )
    rows, columns = linear_sum_assignment(shares, maximize=True)
    return float(sum(state_size) - shares[rows, columns].sum())
