"""A growing pool of deployments, each with its cost in every period.

The Lagrangian relaxation over a pool of deployments: multipliers on the borders between periods, and a price of any change.

The value is that of a shortest path over intervals [s, e) in which one deployment d stays. Multipliers telescope inside, so that
an interval costs Σ_t f_t(d) + (p_s − p_e) · z(d), where z are the coordinates of d; a border costs the fixed price of a change.
Over a pool the path is found by a dynamic program in O(periods × pool). Over all deployments its value is a lower bound.

All deployments of a problem, where they are few.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.budget import spend
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.placement.compiled import Compiled, count_configurations, multisets, replica_counts
from edrp.placement.counted_values import CELL_WORK, PeriodValues

MAX_POOL_CELLS = 40_000_000
"""Entries of a pool, over deployments and what is known of each, beyond which it takes no more neighbours."""


class DeploymentPool:
    """Deployments that are feasible in at least one period; none is there twice.

    Attributes
    ----------
    counts : shape (deployments, operators, nodes), replicas.
    values : shape (deployments, periods), cost in seconds, infinite where infeasible.
    coordinates : shape (deployments, coordinates), what changes are priced by.
    coordinates_of : computes them, and knows the prices.
    """

    def __init__(self, evaluate: PeriodValues, coordinates_of: ChangeCoordinates) -> None:
        self._evaluate, self.coordinates_of = evaluate, coordinates_of
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
        self.coordinates = np.concatenate([self.coordinates, self.coordinates_of(new[feasible])])
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


class Interval(NamedTuple):
    """Periods from `start` up to, but not including, `end`, and the deployment of the pool that stays there."""

    start: int
    end: int
    member: int


@dataclass(frozen=True)
class Origin:
    """The deployment before the first period.

    Attributes
    ----------
    coordinates : shape (coordinates,), of the initial deployment; None where there is none, and the first period is free.
    member : index of the initial deployment in the pool; -1 where it is infeasible in all periods, or there is none.
    """

    coordinates: Floats | None
    member: int = -1

    def potential(self, multipliers: Floats) -> float:
        """The constant that multipliers of the first border add, shape (periods + 1, coordinates)."""
        return 0.0 if self.coordinates is None else -float(multipliers[0] @ self.coordinates)

    def entry(self, fixed: float) -> float:
        """The fixed price of the first border."""
        return 0.0 if self.coordinates is None else fixed


@dataclass(frozen=True)
class PoolRelaxation:
    """The relaxation over a pool at some multipliers.

    Attributes
    ----------
    value : least cost of a path.
    tree : for each border but the first, the last interval of a shortest path to it.
    through : shape (deployments, periods), least cost of a path on which the deployment runs in the period.
    levels : shape (periods + 1,), of the borders, halfway between least costs up to them and what least costs from them on leave.
        No interval of the pool costs less than the rise between its borders, less the fixed price of the first.
    """

    value: float
    tree: tuple[Interval, ...]
    through: Floats
    levels: Floats


def relax_over_pool(pool: DeploymentPool, multipliers: Floats, fixed: float, origin: Origin) -> PoolRelaxation:
    """Solve the relaxation over a pool.

    Parameters
    ----------
    multipliers
        Shape (periods + 1, coordinates); 0 at the last border, and at the first one where nothing runs before.
    """
    values = pool.values
    count, periods = values.shape
    priced = pool.coordinates @ multipliers.T
    spend(CELL_WORK * count * (periods + 1) * (4 + multipliers.shape[1] / 4))
    reached, ahead, tree = _forward(values, priced, fixed, origin, origin.potential(multipliers))
    value = float(reached[-1])
    through, left = np.empty_like(values), np.append(reached[0], np.full(periods, value))
    rest, potential = np.zeros(count), 0.0
    for t in range(periods - 1, -1, -1):
        through[:, t] = ahead[:, t] + rest
        here = values[:, t] + rest
        potential = float((priced[:, t] + here).min(initial=np.inf))
        if t:
            left[t] = value - fixed - potential
        leave = fixed + potential - priced[:, t]
        rest = leave if fixed == 0 else np.minimum(here, leave)
    return PoolRelaxation(value, tree, through, (reached + left) / 2)


def _forward(
    values: Floats, priced: Floats, fixed: float, origin: Origin, potential: float
) -> tuple[Floats, Floats, tuple[Interval, ...]]:
    """Least costs up to each border, and of paths that end with each deployment in each period; the tree of shortest paths."""
    count, periods = values.shape
    ahead, tree, reached = np.empty_like(values), [], [potential]
    cost, start = np.full(count, np.inf), np.zeros(count, np.int64)
    if origin.member >= 0:
        cost[origin.member] = 0.0
    for t in range(periods):
        enter = potential + (origin.entry(fixed) if t == 0 else fixed) + priced[:, t]
        fresh = enter < cost if fixed > 0 or t == 0 else np.ones(count, bool)
        start = np.where(fresh, t, start)
        cost = np.where(fresh, enter, cost) + values[:, t]
        ahead[:, t] = cost
        leaving = cost - priced[:, t + 1]
        member = int(leaving.argmin()) if count else -1
        potential = float(leaving[member]) if count else np.inf
        reached.append(potential)
        tree.append(Interval(int(start[member]) if count else t, t + 1, member))
    return np.array(reached), ahead, tuple(tree)


def count_deployments(compiled: Compiled) -> float:
    """Number of deployments by candidates and numbers of replicas alone.

    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "parser", "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0},
    ... )
    >>> count_deployments(compile_problem(problem))
    5.0
    """
    total = 1.0
    for i, nodes in enumerate(compiled.candidate.sum(axis=1).tolist()):
        least, most = int(compiled.min_replicas[i]), int(compiled.max_replicas[i])
        below = count_configurations(nodes, least - 1) if least > 1 else 0
        total *= count_configurations(nodes, most) - below
    return total


def all_deployments(compiled: Compiled) -> Ints:
    """All deployments by candidates and numbers of replicas alone, shape (deployments, operators, nodes)."""
    nodes = compiled.candidate.shape[1]
    rows = []
    for i in range(len(compiled.operators)):
        members = multisets(compiled.candidates(i), int(compiled.max_replicas[i]))
        counts = replica_counts(members, nodes).astype(np.int64)
        rows.append(counts[counts.sum(axis=1) >= compiled.min_replicas[i]])
    choice = flattened(np.indices([len(counts) for counts in rows]))
    return np.stack([counts[chosen] for counts, chosen in zip(rows, choice, strict=True)], axis=1)
