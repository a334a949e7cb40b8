"""The best multipliers over a pool: a linear program of cuts, in a box around the multipliers that were best so far.

Columns are the multipliers p_b of the borders b between periods, within [0, upper], and the potentials P_e of the borders. An
interval [s, e) in which a deployment d stays gives the cut P_e ≤ P_s + price of a change + Σ_t f_t(d) + (p_s − p_e) · z(d). Cuts
are those of shortest-path trees at the multipliers that were tried. The box keeps the multipliers from jumping to
vertices where only the pool, and no other deployment, is expensive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.backends.growing import GrowingProgram
from edrp.core.arrays import Floats
from edrp.core.budget import look
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.pool import DeploymentPool, Interval, Origin

STEP_WORK = 5e-9
"""Units of work of a step of the simplex method per column, row and nonzero, which warm starts keep cheap."""


class MultiplierProgram:
    """The linear program of cuts, warm-started whenever the pool or the box changes.

    Parameters
    ----------
    pool, coordinates, origin
        What there is to choose from, what changes are priced by, and what runs before the first period.
    """

    def __init__(self, pool: DeploymentPool, coordinates: ChangeCoordinates, origin: Origin) -> None:
        self.pool, self.coordinates, self.origin = pool, coordinates, origin
        self.periods, self.width = pool.values.shape[1], coordinates.upper.size
        self._program = GrowingProgram(STEP_WORK, presolve="off")
        # Multipliers of borders 0 … periods − 1, then potentials of borders 1 … periods.
        self._multipliers = self.periods * self.width
        columns = self._multipliers + self.periods
        objective = np.zeros(columns)
        objective[-1] = -1.0
        lower, upper = np.zeros(columns), np.concatenate([self._upper.ravel(), np.full(self.periods, np.inf)])
        lower[self._multipliers :] = -np.inf
        self._program.add_columns(objective, (), lower, upper)
        self._known: set[Interval] = set()

    @property
    def _upper(self) -> Floats:
        """Largest multipliers, shape (periods, coordinates): none at the first border where nothing runs before it."""
        upper = np.tile(self.coordinates.upper, (self.periods, 1))
        if self.origin.coordinates is None:
            upper[0] = 0.0
        return upper

    def best(self, center: Floats, radius: float) -> tuple[Floats, float]:
        """The best multipliers by the cuts within a box.

        Parameters
        ----------
        center
            Multipliers, shape (periods + 1, coordinates).
        radius
            Half the width of the box, as a share of the largest multipliers.

        Returns
        -------
        tuple
            Multipliers, and the value that the cuts promise there; infinite where they do not bound it.
        """
        room = radius * self._upper
        lower, upper = np.maximum(center[:-1] - room, 0.0), np.minimum(center[:-1] + room, self._upper)
        self._program.bound_columns(np.arange(self._multipliers), lower.ravel(), upper.ravel())
        look("multipliers")
        value, point, _, optimal = self._program.solve()
        if not optimal:
            return center, np.inf
        multipliers = np.zeros_like(center)
        multipliers[:-1] = np.clip(point[: self._multipliers].reshape(len(center) - 1, self.width), 0.0, self._upper)
        return multipliers, -value

    def add(self, tree: tuple[Interval, ...]) -> int:
        """Add the cuts of intervals that have none yet; return how many."""
        fresh = [interval for interval in dict.fromkeys(tree) if interval not in self._known and interval.member >= 0]
        self._known.update(fresh)
        rows = [row for row in map(self._cut, fresh) if np.isfinite(row[0])]
        if rows:
            self._program.add_rows(-np.inf, [limit for limit, *_ in rows], [(columns, entries) for _, columns, entries in rows])
        return len(rows)

    def _cut(self, interval: Interval) -> tuple[float, Any, Floats]:
        """Right side, columns and entries of P_e − P_s − (p_s − p_e) · z ≤ cost of the interval."""
        start, end, member = interval
        cost = float(self.pool.values[member, start:end].sum())
        z = self.pool.coordinates[member]
        columns, entries = [np.array([self._multipliers + end - 1])], [np.ones(1)]
        if end < self.periods:
            columns.append(end * self.width + np.arange(self.width))
            entries.append(z)
        if start:
            cost += self.coordinates.fixed
            columns += [np.array([self._multipliers + start - 1]), start * self.width + np.arange(self.width)]
            entries += [-np.ones(1), -z]
        elif self.origin.coordinates is not None and member != self.origin.member:
            cost += self.coordinates.fixed
            columns.append(np.arange(self.width))
            entries.append(self.origin.coordinates - z)
        row, entry = np.concatenate(columns), np.concatenate(entries)
        return cost, row[entry != 0], entry[entry != 0]
