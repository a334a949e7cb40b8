"""The Lagrangian relaxation over a pool of deployments: multipliers on the borders between periods, and a price of any change.

The value is that of a shortest path over intervals [s, e) in which one deployment d stays. Multipliers telescope inside, so that
an interval costs Σ_t f_t(d) + (p_s − p_e) · z(d), where z are the coordinates of d; a border costs the fixed price of a change.
Over a pool the path is found by a dynamic program in O(periods × pool). Over all deployments its value is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.mdp.placement.pool import DeploymentPool
from edrp.placement.counted_values import CELL_WORK


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
