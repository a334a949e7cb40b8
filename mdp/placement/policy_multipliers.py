"""Multipliers for bounds of policies, by subgradient steps over a pool of deployments (Polyak 1969).

Over a pool the relaxation of `policy_bounds` is solved by value iteration, which takes no priced
problems. Where its policy changes at a level from b to d, z(d) − z(b) is the direction in which its multipliers raise the value.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend, units_left
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.level_arrays import LevelArrays
from edrp.mdp.placement.pool import DeploymentPool

CELL_UNITS = 2e-9
"""Units of work per deployment, level and coordinate in one step."""

STEPS, PASSES = 200, 12
"""Subgradient steps; passes of value iteration between two of them, which begin where the last ones ended."""

MAX_STEP, PATIENCE = 1.0, 12
"""Step length relative to Polyak's at the beginning; steps without improvement after which it is halved."""

FLOW_PASSES = 400
"""Maximum number of periods for which the flow of a policy is followed."""

FLOW_UNITS = 2e-6
"""Units of work to follow the flow of one state to one level."""

MIN_FLOW = 1e-4
"""Discounted flow below which the rest of it is left out of the direction."""


@dataclass
class PolicyRelaxation:
    """The relaxation over a pool.

    Attributes
    ----------
    fixed : price of any change in it, in seconds.
    """

    levels: LevelArrays
    coordinates: ChangeCoordinates
    pool: DeploymentPool
    fixed: float
    _staying: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._staying = np.zeros((self.levels.count, len(self.pool)))

    def climb(self, multipliers: Floats, goal: float) -> Floats:
        """Better multipliers for this pool, of the same shape (levels, coordinates).

        Parameters
        ----------
        goal
            Objective that is known; the value of the relaxation cannot be more.
        """
        best, top, length, vain = multipliers, -np.inf, MAX_STEP, 0
        for _ in range(STEPS):
            value, direction = self._evaluate(multipliers)
            if value > top:
                best, top, vain = multipliers, value, 0
            else:
                vain += 1
            if vain > PATIENCE:
                multipliers, length, vain = best, length / 2, 0
                value, direction = self._evaluate(multipliers)
            square = float((direction**2).sum())
            if square == 0 or value >= goal or units_left() <= 0:
                break
            step = length * (goal - value) / square
            multipliers = np.clip(multipliers + step * direction, 0.0, self.coordinates.upper)
        return best

    def _evaluate(self, multipliers: Floats) -> tuple[float, Floats]:
        """About the value at some multipliers, and the direction in which it rises."""
        levels, pool = self.levels, self.pool
        spend(CELL_UNITS * pool.values.size * (multipliers.shape[1] + PASSES * levels.count))
        net = multipliers - levels.discount * levels.transitions @ multipliers
        costs = pool.values.T + net @ pool.coordinates.T
        staying = self._staying
        for _ in range(PASSES):
            after = np.minimum(staying, self.fixed + staying.min(axis=1, keepdims=True))
            staying = costs + levels.discount * (levels.transitions @ after)
        self._staying = staying
        return self._follow(multipliers, staying)

    def _follow(self, multipliers: Floats, staying: Floats) -> tuple[float, Floats]:
        """Value of what runs now, and what the policy changes, by level and coordinate."""
        levels, coordinates = self.levels, self.pool.coordinates
        chosen, initial = staying.argmin(axis=1), levels.sequence.initial
        direction = np.zeros_like(multipliers)
        level = levels.level
        if initial is None:
            worth = staying[level] - coordinates @ multipliers[level]
            member = int(worth.argmin())
            value = float(worth[member])
        else:
            at = self.coordinates(initial[None])[0]
            running = self.pool.index(initial)
            member, value = int(chosen[level]), self.fixed + float(staying[level].min())
            if running >= 0 and staying[level, running] <= value:
                member, value = running, float(staying[level, running])
            direction[level] = coordinates[member] - at
            value -= float(multipliers[level] @ at)
        flow = {(level, member): 1.0}
        for _ in range(FLOW_PASSES):
            arriving: dict[tuple[int, int], float] = {}
            spend(FLOW_UNITS * len(flow) * levels.count)
            for (here, running), share in flow.items():
                for other in np.flatnonzero(levels.transitions[here]).tolist():
                    part = share * levels.discount * levels.transitions[here, other]
                    target = running
                    if staying[other, running] > self.fixed + staying[other, chosen[other]]:
                        target = int(chosen[other])
                        direction[other] += part * (coordinates[target] - coordinates[running])
                    arriving[other, target] = arriving.get((other, target), 0.0) + part
            flow = arriving
            if sum(flow.values()) < MIN_FLOW:
                break
        return value, direction
