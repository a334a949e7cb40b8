"""A growing pool of deployments, each with its cost in every period."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.placement.counted_values import PeriodValues

MAX_POOL_CELLS = 40_000_000
"""Entries of a pool, over deployments and what is known of each, beyond which it takes no more neighbours."""


class DeploymentPool:
    """Deployments that are feasible in at least one period; none is there twice.

    Attributes
    ----------
    counts : shape (deployments, operators, nodes), replicas.
    values : shape (deployments, periods), cost in seconds, infinite where infeasible.
    coordinates : shape (deployments, coordinates), what changes are priced by.
    """

    def __init__(self, evaluate: PeriodValues, coordinates_of: ChangeCoordinates) -> None:
        self._evaluate, self._coordinates_of = evaluate, coordinates_of
        shape = evaluate.first.candidate.shape
        self.counts: Ints = np.zeros((0, *shape), np.int64)
        self.values: Floats = np.zeros((0, evaluate.count))
        self.coordinates: Floats = np.zeros((0, coordinates_of.upper.size))
        self._index: dict[bytes, int] = {}
        self._expanded: set[int] = set()

    def __len__(self) -> int:
        """Number of deployments."""
        return len(self.counts)

    @property
    def full(self) -> bool:
        """Whether it takes no more neighbours."""
        width = self.counts.shape[1] * self.counts.shape[2] + self.values.shape[1] + self.coordinates.shape[1]
        return len(self) * width > MAX_POOL_CELLS

    def index(self, counts: Ints) -> int:
        """Index of a deployment, shape (operators, nodes); -1 where it is not in the pool."""
        return self._index.get(_key(counts), -1)

    def add(self, counts: Ints) -> int:
        """Add deployments, shape (deployments, operators, nodes), but for those that are known or infeasible everywhere.

        Returns
        -------
        int
            How many were new and feasible.
        """
        fresh: dict[bytes, int] = {}
        for position, row in enumerate(counts):
            key = _key(row)
            if key not in self._index:
                fresh.setdefault(key, position)
        if not fresh:
            return 0
        new = counts[list(fresh.values())]
        values = self._evaluate(new)
        feasible: Bools = np.asarray(np.isfinite(values).any(axis=1))
        place = len(self) + np.cumsum(feasible) - 1
        self._index.update(zip(fresh, np.where(feasible, place, -1).tolist(), strict=True))
        self.counts = np.concatenate([self.counts, new[feasible]])
        self.values = np.concatenate([self.values, values[feasible]])
        self.coordinates = np.concatenate([self.coordinates, self._coordinates_of(new[feasible])])
        return int(feasible.sum())

    def expand(self, members: Iterable[int]) -> int:
        """Add the neighbours of deployments, given by index; return how many were new."""
        wanted = [k for k in dict.fromkeys(members) if k not in self._expanded]
        if not wanted or self.full:
            return 0
        self._expanded.update(wanted)
        return self.add(np.concatenate([neighbours(self.counts[k], self._evaluate.first.candidate) for k in wanted]))


def _key(counts: Ints) -> bytes:
    return counts.astype(np.int16).tobytes()


def neighbours(counts: Ints, candidate: Bools) -> Ints:
    """Deployments with one replica more, fewer or elsewhere, shape (neighbours, operators, nodes).

    >>> neighbours(np.array([[1, 0]]), np.array([[True, True]])).tolist()
    [[[2, 0]], [[1, 1]], [[0, 0]], [[0, 1]]]
    """
    moves: list[tuple[int, int, int]] = []
    for i, row in enumerate(counts):
        running, allowed = np.flatnonzero(row).tolist(), np.flatnonzero(candidate[i]).tolist()
        moves += [(i, -1, v) for v in allowed]
        moves += [(i, u, -1) for u in running]
        moves += [(i, u, v) for u in running for v in allowed if u != v]
    operator, source, target = np.array(moves, np.int64).reshape(-1, 3).T
    changed = np.repeat(counts[None], len(moves), axis=0)
    leaving, arriving = np.flatnonzero(source >= 0), np.flatnonzero(target >= 0)
    changed[leaving, operator[leaving], source[leaving]] -= 1
    changed[arriving, operator[arriving], target[arriving]] += 1
    return changed
