"""Trails of the ant system over counts: between operators that good placements have on the same nodes."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints, UInts
from edrp.heuristics.placement.search.count_arrays import CountTables
from edrp.heuristics.placement.search.count_filling import Taste
from edrp.heuristics.placement.search.parameters import ColonyParameters

LEAST_SCORE = 1e-6
"""Score below which an ant deposits no more than at it."""


class Trails:
    """Pheromone between operators, shape (operators, operators) (latency-aware placement, eqs. 2–5)."""

    def __init__(self, tables: CountTables, parameters: ColonyParameters) -> None:
        self._tables = tables
        self._parameters = parameters
        operators = tables.instances.size
        self.trail = np.full((operators, operators), max(parameters.initial_pheromone, parameters.minimum_pheromone))

    def taste(self, random: UInts) -> Taste:
        """How an ant chooses (eq. 2)."""
        operators, classes = self._tables.instances.size, self._tables.class_start.size - 1
        return Taste(
            power=self._parameters.heuristic_power,
            trail_power=self._parameters.pheromone_power,
            noise=np.ones(1),
            trail=self.trail,
            random=random,
            scent=np.zeros(operators),
            useless=np.zeros(classes, np.bool_),
        )

    def evaporate(self) -> None:
        """Leave a share of the pheromone, at least the minimum (eq. 4)."""
        self.trail = np.maximum(self._parameters.persistence * self.trail, self._parameters.minimum_pheromone)

    def deposit(self, held: Ints, score: float, times: float) -> None:
        """What an ant that built `held` (operators, nodes) leaves (eq. 5), so many times."""
        shares = held[:, held.any(axis=0)] / self._tables.instances[:, None]
        self.trail = self.trail + times * self._parameters.deposit / max(score, LEAST_SCORE) * (shares @ shares.T)
