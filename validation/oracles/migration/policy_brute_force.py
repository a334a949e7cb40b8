"""Projected migration costs of small problems by plain value iteration over every partition and every pair of them.

It shares no table and no algorithm with the methods that it checks: partitions are listed by `itertools`, migrations
are costed by an assignment problem, and the Bellman equation of state migration, Fig. 6, is iterated as it stands.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.migration.policy import MigrationPolicyProblem
from edrp.validation.oracles.migration.plain_partitions import Partition, all_partitions, least_cost, partition_boundaries


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
