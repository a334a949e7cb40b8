"""Partitions and the way between them in plain code, for brute force: no table and no algorithm of the methods is used."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.sequence import MigrationSequence

Partition = tuple[int, ...]
"""Boundaries, with empty intervals last."""


def all_partitions(work: Sequence[float], nodes: int, tolerance: float, *, allow_empty: bool) -> list[Partition]:
    """Every partition of a few tasks that keeps the load limit.

    >>> all_partitions([1, 1, 1], 2, 0.4, allow_empty=False)
    [(0, 1, 3), (0, 2, 3)]
    """
    tasks = len(work)
    limit = (1 + tolerance) * sum(work) / nodes * (1 + LIMIT_SLACK)
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
    kept_state = np.array([[_overlap(old, new, state_size) for new in pairwise(after)] for old in pairwise(before)])
    rows, columns = linear_sum_assignment(kept_state, maximize=True)
    return float(sum(state_size) - kept_state[rows, columns].sum())


def partition_boundaries(intervals: Sequence[tuple[int, int]]) -> Partition:
    """Boundaries of the intervals that hold tasks.

    >>> partition_boundaries([(2, 5), (3, 3), (0, 2)])
    (0, 2, 5)
    """
    return (0, *(end for first, end in sorted(intervals) if first < end))


def _overlap(old: tuple[int, int], new: tuple[int, int], state_size: Sequence[float]) -> float:
    first, end = max(old[0], new[0]), min(old[1], new[1])
    return sum(state_size[first:end]) if first < end else 0.0


class PolicyBruteForce:
    """C of every partition of a small problem.

    Attributes
    ----------
    projected : by partition (its boundaries, empty intervals last)
        C in bytes; empty when some number of nodes that may follow has no partition within the load limit.
    """

    def __init__(self, problem: MigrationPolicyProblem) -> None:
        self._problem = problem
        self._classes = {
            count: all_partitions(problem.work, count, problem.tolerance, allow_empty=problem.allow_empty)
            for count in problem.reachable_counts
        }
        self.projected: dict[Partition, float] = {}
        if all(self._classes.values()):
            self._iterate()

    def best(self) -> float | None:
        """Least c(P, P′) + γ·C(P′) of the problem's own migration, or None where it is infeasible."""
        if not self.projected:
            return None
        return min(self.objective(partition) for partition in self._classes[self._problem.nodes])

    def objective(self, partition: Partition) -> float:
        """c(P, P′) + γ·C(P′) of the problem's own migration to a partition."""
        moved = least_cost(partition_boundaries(self._problem.intervals), partition, self._problem.state_size)
        return moved + self._problem.discount * self.projected[partition]

    def _iterate(self) -> None:
        states = [partition for rows in self._classes.values() for partition in rows]
        number = {partition: index for index, partition in enumerate(states)}
        costs = np.array([[least_cost(a, b, self._problem.state_size) for b in states] for a in states])
        members = {count: [number[partition] for partition in rows] for count, rows in self._classes.items()}
        values = np.zeros(len(states))
        while True:
            totals = costs + self._problem.discount * values
            best = {count: totals[:, rows].min(axis=1) for count, rows in members.items()}
            new = np.array([self._expected(len(partition) - 1, best, index) for index, partition in enumerate(states)])
            change, values = np.abs(new - values).max(), new
            if change <= 1e-13 * max(1.0, np.abs(values).max()):
                break
        self.projected = dict(zip(states, values.tolist(), strict=True))

    def _expected(self, count: int, best: dict[int, Floats], state: int) -> float:
        return sum(chance * float(best[target][state]) for target, chance in self._problem.row(count).items())


def brute_force_sequence(problem: MigrationSequence) -> float | None:
    """Least state that moves in all steps of a small problem, in bytes; None where a step has no partition.

    Table 3 of state migration, whose own answer moves 9 tasks:

    >>> problem = MigrationSequence(
    ...     work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=[3, 4], tolerance=[0.4, 0.4],
    ...     allow_empty=False,
    ... )
    >>> brute_force_sequence(problem)
    6.0
    """
    reached: dict[Partition, float] = {partition_boundaries(problem.intervals): 0.0}
    for step, (nodes, tolerance) in enumerate(zip(problem.nodes, problem.tolerance, strict=True)):
        state_size = problem.state_size_at(step)
        targets = all_partitions(problem.work_at(step), nodes, tolerance, allow_empty=problem.allow_empty)
        reached = {
            after: min(cost + least_cost(before, after, state_size) for before, cost in reached.items()) for after in targets
        }
        if not reached:
            return None
    return min(reached.values())
