"""Projected migration costs by partition, as data, with plain code that checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import AnyInts, Floats


@dataclass(frozen=True, slots=True)
class ProjectedCosts:
    """C of every partition that keeps the load limit, by number of intervals (state migration, Fig. 6).

    Attributes
    ----------
    boundaries : by number of intervals n, shape (count, n + 1)
        Partitions in lexicographic order.
    values : by number of intervals, shape (count,)
        C in bytes.
    error_bound : float
        Proven: no value is further than this from the exact one, in bytes.
    """

    boundaries: Mapping[int, AnyInts]
    values: Mapping[int, Floats]
    error_bound: float = 0.0

    @property
    def states(self) -> int:
        """Number of partitions."""
        return sum(costs.size for costs in self.values.values())

    def row_index(self, boundaries: Sequence[int]) -> int | None:
        """Row of a partition among those with as many intervals, or None."""
        rows = self.boundaries.get(len(boundaries) - 1)
        if rows is None:
            return None
        low, high = 0, len(rows)
        key = tuple(int(boundary) for boundary in boundaries)
        while low < high:
            middle = (low + high) // 2
            if tuple(rows[middle].tolist()) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(rows) and tuple(rows[low].tolist()) == key else None

    def cost(self, boundaries: Sequence[int]) -> float | None:
        """C of a partition in bytes, or None where it is not in the table."""
        index = self.row_index(boundaries)
        return None if index is None else float(self.values[len(boundaries) - 1][index])

    def backup(self, boundaries: Sequence[int], state_size: Sequence[float], row: Mapping[int, float], discount: float) -> float:
        """Right-hand side of the Bellman equation at one partition, by a full scan of the table.

        Parameters
        ----------
        state_size
            Shape (m,), bytes.
        row
            M[|P|, n] by n, without zeros.
        discount
            γ.

        Returns
        -------
        float
            Σ_n M[|P|, n] · min_Q (c(P, Q) + γ·C(Q)) in bytes.

        Examples
        --------
        One task on one node, which stays where it is:

        >>> costs = ProjectedCosts({1: np.array([[0, 1]])}, {1: np.array([0.0])})
        >>> costs.backup((0, 1), [8.0], {1: 1.0}, 0.5)
        0.0
        """
        total = 0.0
        for count, chance in row.items():
            costs = migration_costs(boundaries, self.boundaries[count], state_size)
            total += chance * float((costs + discount * self.values[count]).min())
        return total


def migration_costs(before: Sequence[int], after: AnyInts, state_size: Sequence[float]) -> Floats:
    """Least state that moves from one partition to each of many, in bytes.

    Old and new intervals overlap like the teeth of a zip: sweeping over the tasks, each piece between two
    boundaries belongs to one old and one new interval, and an old and a new interval are matched at most once. It
    suffices to remember whether the old and the new interval of the current piece are still free.

    Parameters
    ----------
    after : shape (count, n + 1)
        New partitions.
    state_size : shape (m,)
        In bytes.

    Returns
    -------
    numpy.ndarray
        Shape (count,).

    Examples
    --------
    >>> migration_costs((0, 13, 20), np.array([[0, 9, 11, 20], [0, 8, 13, 20]]), [1.0] * 20).tolist()
    [4.0, 5.0]
    """
    prefix = np.concatenate([[0.0], np.cumsum(state_size)])
    rows = np.arange(len(after))
    old, new = np.zeros(len(after), np.int64), np.zeros(len(after), np.int64)
    ends, targets = np.asarray(before)[1:], np.asarray(after)[:, 1:]
    position = np.zeros(len(after), np.int64)
    # Best kept state so far, by whether the current old interval and the current new interval are used.
    free, old_used, new_used, both_used = (np.full(len(after), value) for value in (0.0, -np.inf, -np.inf, -np.inf))
    for _ in range(len(ends) + targets.shape[1]):
        old_end, new_end = ends[old], targets[rows, new]
        upto = np.minimum(old_end, new_end)
        both_used = np.maximum(both_used, free + prefix[upto] - prefix[position])
        position = upto
        closes_old, closes_new = old_end <= new_end, new_end <= old_end
        # A closed interval gives way to the next one, which is free.
        free, new_used = (
            np.where(closes_old, np.maximum(free, old_used), free),
            np.where(closes_old, np.maximum(new_used, both_used), new_used),
        )
        old_used, both_used = np.where(closes_old, -np.inf, old_used), np.where(closes_old, -np.inf, both_used)
        free, old_used = (
            np.where(closes_new, np.maximum(free, new_used), free),
            np.where(closes_new, np.maximum(old_used, both_used), old_used),
        )
        new_used, both_used = np.where(closes_new, -np.inf, new_used), np.where(closes_new, -np.inf, both_used)
        old = np.minimum(old + closes_old, len(ends) - 1)
        new = np.minimum(new + closes_new, targets.shape[1] - 1)
    kept_state = np.maximum.reduce([free, old_used, new_used, both_used])
    return np.asarray(prefix[-1] - kept_state)
