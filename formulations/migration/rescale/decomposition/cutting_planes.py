"""The linear program over prices that grows by a row for each evaluation of the relaxation, around the best prices so far."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from edrp.backends.highs import new_solver
from edrp.core.arrays import Floats
from edrp.formulations.migration.rescale.decomposition.model import BoundModel
from edrp.formulations.migration.rescale.decomposition.prices import PriceBlocks, usable

OPTIMAL: Any = highspy.HighsModelStatus.kOptimal

MAX_BOUND = 1e6
"""Bound that no relaxation exceeds, on the scale of the objective."""


class PriceCuttingPlanes:
    """Columns are prices, each in units of its scale, and the bound; no evaluated cut is above it.

    Parameters
    ----------
    scale
        Typical prices; those of scale 0 stay 0.
    """

    def __init__(self, model: BoundModel, blocks: PriceBlocks, scale: Floats) -> None:
        self.blocks, self.scale = blocks, scale
        self.use = np.flatnonzero(usable(model, blocks) & (scale > 0))
        self.solver = new_solver(presolve="off")
        count = self.use.size
        self.signed = (self.use >= blocks.signed.start) & (self.use < blocks.signed.stop)
        cost, none = np.zeros(count + 1), np.zeros(0)
        cost[-1] = -1.0
        lower, upper = np.append(np.where(self.signed, -1e3, 0.0), -MAX_BOUND), np.append(np.full(count, 1e3), MAX_BOUND)
        self.solver.addCols(count + 1, cost, lower, upper, 0, none.astype(np.int32), none.astype(np.int32), none)
        for part, metric_index in blocks.budgets:
            row = np.zeros(blocks.size)
            row[part] = 1.0
            row[blocks.metric][metric_index] = -1.0
            self._add(row * scale, -np.inf, float(model.weights[metric_index]))
        compiled = model.arrays.compiled
        for i in range(len(model.numbers)):
            out = np.flatnonzero(compiled.forward & (compiled.stream_source == i))
            if not out.size:
                continue
            row = np.zeros(blocks.size)
            row[blocks.flow][out] = 1.0
            row[blocks.flow][np.flatnonzero(compiled.forward & (compiled.stream_target == i))] = -1.0
            row[blocks.entry][i] = -1.0
            self._add(row * scale, 0.0, 0.0)

    def _add(self, row: Floats, lower: float, upper: float, bound: float = 0.0) -> None:
        values = np.append(row[self.use], bound)
        largest = float(np.abs(values).max(initial=0.0))
        if largest > 0:
            values, lower, upper = values / largest, lower / largest, upper / largest
            used = np.flatnonzero(values).astype(np.int32)
            self.solver.addRow(lower, upper, used.size, used, values[used])

    def cut(self, prices: Floats, value: float, slope: Floats) -> None:
        """Add that the bound is at most value + slope · (other prices − prices)."""
        self._add(-slope * self.scale, -np.inf, value - float(slope @ prices), 1.0)

    def solve(self, centre: Floats, radius: float) -> tuple[float, Floats] | None:
        """The highest bound that cuts allow near some prices, and where; None where the linear program fails."""
        middle = centre[self.use] / self.scale[self.use]
        lower = np.where(self.signed, middle - radius, np.maximum(middle - radius, 0.0))
        columns = np.arange(self.use.size, dtype=np.int32)
        self.solver.changeColsBounds(columns.size, columns, lower, middle + radius)
        self.solver.run()
        if self.solver.getModelStatus() != OPTIMAL:
            return None
        values = np.array(self.solver.getSolution().col_value)
        prices = np.zeros(self.blocks.size)
        prices[self.use] = values[:-1] * self.scale[self.use]
        return float(values[-1]), prices
