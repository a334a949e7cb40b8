"""Costs of deployments at every level, whatever metrics count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.mdp.placement.period_values import PeriodValues
from edrp.placement.compiled import Compiled
from edrp.placement.counts_objective import counts_objective

DEPLOYMENT_UNITS = 2e-4
"""Units of work to evaluate a deployment at a level by itself."""


class SingleValues(PeriodValues):
    """The same one deployment at a time, which takes longer and knows peak loads."""

    def __init__(self, periods: Sequence[Compiled]) -> None:
        super().__init__(periods)
        self._periods = tuple(periods)

    def _values(self, counts: Ints) -> Floats:
        spend(DEPLOYMENT_UNITS * len(counts) * self.count)
        objectives = [[counts_objective(period, row) for period in self._periods] for row in counts]
        return np.array(objectives).reshape(len(counts), self.count)


def level_values(periods: Sequence[Compiled]) -> PeriodValues:
    """Costs of deployments in periods or at levels, by the fastest way that knows all metrics that count."""
    return SingleValues(periods) if periods[0].contended else PeriodValues(periods)
