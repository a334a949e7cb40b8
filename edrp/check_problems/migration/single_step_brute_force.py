"""Brute force for one migration: every partition, with the best matching of each, ties included.

It shares nothing with the methods that it checks: SciPy's assignment settles ties by encoding what comes later in smaller
digits, so sizes must be whole numbers (of a few digits).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.intervals import Assignment
from edrp.migration.single_step import MigrationProblem


class BestMigration(NamedTuple):
    """The best of all partitions: by cost, then maximal load, then moves, then boundaries.

    Attributes
    ----------
    cost : bytes that move.
    largest_load : work of the node that has most.
    moves : runs of neighbouring tasks that go from one old node to one other node.
    boundaries : boundaries of the intervals that hold tasks.
    kept : for each of these the node that keeps it, or None.
    """

    cost: float
    largest_load: float
    moves: int
    boundaries: tuple[int, ...]
    kept: tuple[int | None, ...]


def brute_force_migration(problem: MigrationProblem) -> BestMigration | None:
    """The best of all partitions of a small problem with whole sizes; None where none is feasible."""
    tasks = len(problem.work)
    best = None
    limit = (1 + problem.tolerance) * sum(problem.work) / problem.nodes * (1 + LIMIT_SLACK)
    counts = range(1, problem.nodes + 1) if problem.allow_empty else [problem.nodes]
    for count in counts:
        for inner in combinations(range(1, tasks), count - 1):
            boundaries = (0, *inner, tasks)
            load = max(sum(problem.work[first:end]) for first, end in pairwise(boundaries))
            if load <= limit:
                candidate = _matched(problem, boundaries, load)
                if best is None or candidate[:4] < best[:4]:
                    best = candidate
    return best


def _matched(problem: MigrationProblem, boundaries: tuple[int, ...], load: float) -> BestMigration:
    new = list(pairwise(boundaries))
    shares = [[sorted({*range(*a)} & {*range(*b)}) for b in problem.intervals] for a in new]
    pieces = sorted(share[0] for row in shares for share in row if share)
    weight = np.zeros((len(new), len(problem.intervals)))
    for i, row in enumerate(shares):
        for j, share in enumerate(row):
            if share:
                state = sum(problem.state_size[task] for task in share)
                early = 2.0 ** -(2 + pieces.index(share[0]))
                weight[i, j] = (state * 2 * len(pieces) + 1) + early
    rows, columns = linear_sum_assignment(weight, maximize=True)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if shares[i][j]}
    stays = sum(sum(problem.state_size[task] for task in shares[i][j]) for i, j in pairs.items())
    kept = tuple(pairs.get(i) for i in range(len(new)))
    return BestMigration(float(sum(problem.state_size) - stays), float(load), len(pieces) - len(pairs), boundaries, kept)


def assignments(problem: MigrationProblem) -> Iterator[Assignment]:
    """Yield every decision: each split of the tasks, on old and new nodes in any order; idle nodes are added where possible."""
    tasks, before = len(problem.work), len(problem.intervals)
    for count in range(1, min(tasks, problem.nodes) + 1):
        for inner in combinations(range(1, tasks), count - 1):
            intervals = list(pairwise((0, *inner, tasks)))
            for nodes in permutations(range(before + count), count):
                if [node for node in nodes if node >= before] == list(range(before, before + sum(n >= before for n in nodes))):
                    held = dict(zip(nodes, intervals, strict=True))
                    idle = [node for node in range(before + problem.nodes) if node not in held][: problem.nodes - count]
                    held.update(dict.fromkeys(idle, (tasks, tasks)))
                    yield tuple(held.get(node) for node in range(max(held) + 1))
