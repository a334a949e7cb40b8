"""Projected migration costs of small problems by plain value iteration over every partition and every pair of them.

It shares no table and no algorithm with the methods that it checks: partitions are listed by `itertools`, migrations
are costed by an assignment problem, and the Bellman equation of state migration, Fig. 6, is iterated as it stands.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from edrp.problems.migration_policy import MigrationPolicyProblem

Partition = tuple[int, ...]


class PolicyBruteForce:
    """C of every partition of a small problem.

    Attributes
    ----------
    projected : by partition (its boundaries, empty intervals last)
        C in bytes; empty when some number of nodes that may follow has no partition within the load limit.
    """

    def __init__(self, problem: MigrationPolicyProblem) -> None:
        self._problem = problem
        self._classes = {count: _partitions(problem, count) for count in problem.reachable_counts}
        self.projected: dict[Partition, float] = {}
        if all(self._classes.values()):
            self._iterate()

    def best(self) -> float | None:
        """Least c(P, P′) + γ·C(P′) of the problem's own migration, or None where it is infeasible."""
        if not self.projected:
            return None
        return min(self.objective(each) for each in self._classes[self._problem.nodes])

    def objective(self, partition: Partition) -> float:
        """c(P, P′) + γ·C(P′) of the problem's own migration to a partition."""
        before = tuple(sorted(each for each in self._problem.intervals if each[0] < each[1]))
        start = (0, *(end for _, end in before))
        return self._cost(start, partition) + self._problem.discount * self.projected[partition]

    def _iterate(self) -> None:
        states = [each for rows in self._classes.values() for each in rows]
        number = {each: index for index, each in enumerate(states)}
        costs = np.array([[self._cost(a, b) for b in states] for a in states])
        members = {count: [number[each] for each in rows] for count, rows in self._classes.items()}
        values = np.zeros(len(states))
        while True:
            totals = costs + self._problem.discount * values
            best = {count: totals[:, rows].min(axis=1) for count, rows in members.items()}
            new = np.array([self._expected(len(each) - 1, best, index) for index, each in enumerate(states)])
            change, values = np.abs(new - values).max(), new
            if change <= 1e-13 * max(1.0, np.abs(values).max()):
                break
        self.projected = dict(zip(states, values.tolist(), strict=True))

    def _expected(self, count: int, best: dict[int, NDArray[np.float64]], state: int) -> float:
        return sum(chance * float(best[target][state]) for target, chance in self._problem.row(count).items())

    def _cost(self, before: Partition, after: Partition) -> float:
        kept = np.array([[self._overlap(before, after, i, j) for j in range(len(after) - 1)] for i in range(len(before) - 1)])
        rows, columns = linear_sum_assignment(kept, maximize=True)
        return sum(self._problem.state_size) - float(kept[rows, columns].sum())

    def _overlap(self, before: Partition, after: Partition, i: int, j: int) -> float:
        first, end = max(before[i], after[j]), min(before[i + 1], after[j + 1])
        return sum(self._problem.state_size[first:end]) if first < end else 0.0


def _partitions(problem: MigrationPolicyProblem, count: int) -> list[Partition]:
    tasks = len(problem.work)
    limit = (1 + problem.tolerance) * sum(problem.work) / count * (1 + 1e-9)
    inner = (
        combinations_with_replacement(range(1, tasks + 1), count - 1)
        if problem.allow_empty
        else combinations(range(1, tasks), count - 1)
    )
    found = [(0, *each, tasks) for each in inner]
    # Of partitions that differ only in where their empty intervals stand, the one that has them last is kept.
    canonical = [each for each in found if all(a < b or a == tasks for a, b in pairwise(each))]
    return [each for each in canonical if all(sum(problem.work[a:b]) <= limit for a, b in pairwise(each))]
