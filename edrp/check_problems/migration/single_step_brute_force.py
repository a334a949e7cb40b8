"""Brute force for one migration: every partition, with the best matching of each, ties included.

Two versions that share nothing with the methods that they check, nor with each other: a plain one with SciPy's
assignment, and a compiled one, with an assignment over sets of old nodes, for instances by the hundred thousand. Both
settle ties by encoding what comes later in smaller digits, so sizes must be whole numbers (of a few digits) there.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import kernel
from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.single_step import MigrationProblem


class BestMigration(NamedTuple):
    """The best of all partitions: by cost, then maximal load, then moves, then boundaries.

    Attributes
    ----------
    cost
        Bytes that move.
    largest_load
        Work of the node that has most.
    moves
        Runs of neighbouring tasks that go from one old node to one other node.
    boundaries
        Boundaries of the intervals that hold tasks.
    kept
        For each of these the node that keeps it, or None.
    """

    cost: float
    largest_load: float
    moves: int
    boundaries: tuple[int, ...]
    kept: tuple[int | None, ...]


def brute_force_migration(problem: MigrationProblem) -> BestMigration | None:
    """The best of all partitions of a small problem with whole sizes; None where none is feasible.

    Examples
    --------
    >>> problem = MigrationProblem(work=[1, 1], state_size=[3, 5], intervals=[[0, 2]], nodes=2, tolerance=0.0)
    >>> brute_force_migration(problem)
    BestMigration(cost=3.0, largest_load=1.0, moves=1, boundaries=(0, 1, 2), kept=(None, 0))
    """
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


@kernel
def enumerate_migrations(
    work: Floats,
    state_size: Floats,
    old: Ints,
    nodes: int,
    limit: float,
    allow_empty: bool,
    boundaries: Ints,
    kept: Ints,
) -> tuple[float, float, int]:
    """The compiled version, for whole numbers.

    Parameters
    ----------
    work, state_size : shape (m,)
    old : shape (n, 2)
        Interval of each node, in any order, at most 12 of them.
    nodes, limit, allow_empty
        Fields of the target.
    boundaries, kept : shape (n′ + 1,), (n′,)
        Filled in: the best partition, empty intervals last, and the node that keeps each interval, or −1.

    Returns
    -------
    tuple
        Most state that stays, least maximal load, fewest moves; −1 each where nothing is feasible.
    """
    tasks = work.size
    best_gain, best_load, best_moves = -1.0, -1.0, -1
    trial = np.zeros(nodes + 1, np.int64)
    trial[nodes] = tasks
    weight = np.empty((nodes, old.shape[0]), np.int64)
    value = np.empty((nodes + 1, 1 << old.shape[0]), np.int64)
    for i in range(1, nodes):
        trial[i] = min(i, tasks)
    while True:
        load, fits = 0.0, True
        for i in range(nodes):
            load = max(load, work[trial[i] : trial[i + 1]].sum())
            fits = fits and (allow_empty or trial[i + 1] > trial[i])
        if fits and load <= limit:
            pieces = _weigh(state_size, old, trial, weight)
            code = _assign(weight, value)
            gain, moves = float(code >> 20), pieces - ((code >> 14) & 63)
            wins = gain > best_gain or (gain == best_gain and load < best_load)
            if wins or (gain == best_gain and load == best_load and moves < best_moves):
                best_gain, best_load, best_moves = gain, load, moves
                boundaries[:] = trial
                _read_back(weight, value, kept)
        position = nodes - 1
        while position > 0 and trial[position] == tasks:
            position -= 1
        if position <= 0:
            return best_gain, best_load, best_moves
        trial[position] += 1
        for i in range(position + 1, nodes):
            trial[i] = min(trial[i - 1] + 1, tasks)


STAYS, FIRST = 14, 13
"""Digits of a matching's code: gain from bit 20, pieces that stay from bit 14, the first piece is bit 13, the next 12, …"""


@kernel
def _weigh(state_size: Floats, old: Ints, boundaries: Ints, weight: Ints) -> int:
    """Code of each overlap of a new interval with an old node's; returns how many pieces hold tasks."""
    weight[:] = 0
    pieces = 0
    for i in range(boundaries.size - 1):
        for task in range(boundaries[i], boundaries[i + 1]):
            for j in range(old.shape[0]):
                if old[j, 0] <= task < old[j, 1]:
                    if weight[i, j] == 0:
                        weight[i, j] = (1 << STAYS) + (1 << (FIRST - pieces))
                        pieces += 1
                    weight[i, j] += int(state_size[task]) << 20
    return pieces


@kernel
def _assign(weight: Ints, value: Ints) -> int:
    """Best sum of codes: value[i, used] is the best that the intervals from i on can add when these nodes are used."""
    intervals, nodes = weight.shape
    value[intervals] = 0
    for i in range(intervals - 1, -1, -1):
        for used in range(1 << nodes):
            value[i, used] = value[i + 1, used]
            for j in range(nodes):
                if weight[i, j] > 0 and not (used >> j) & 1:
                    value[i, used] = max(value[i, used], weight[i, j] + value[i + 1, used | (1 << j)])
    return value[0, 0]


@kernel
def _read_back(weight: Ints, value: Ints, kept: Ints) -> None:
    used = 0
    for i in range(weight.shape[0]):
        kept[i] = -1
        for j in range(weight.shape[1]):
            if weight[i, j] > 0 and not (used >> j) & 1 and value[i, used] == weight[i, j] + value[i + 1, used | (1 << j)]:
                kept[i] = j
        if kept[i] >= 0:
            used |= 1 << kept[i]
