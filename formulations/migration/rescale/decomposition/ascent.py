"""Prices that raise the bound: cutting planes within a box around the best prices so far, which grows and shrinks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edrp.backends.growing import GrowingProgram
from edrp.core.arrays import Floats
from edrp.core.tolerances import RESCALE_PRICE_PROGRESS
from edrp.formulations.migration.rescale.decomposition.model import BoundModel
from edrp.formulations.migration.rescale.decomposition.relaxation import (
    PriceBlocks,
    PriceRelaxation,
    Relaxed,
    allowed,
    even_flow,
    scales,
    usable,
)

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
        self.program = GrowingProgram(None, presolve="off")
        count = self.use.size
        self.signed = (self.use >= blocks.signed.start) & (self.use < blocks.signed.stop)
        cost = np.append(np.zeros(count), -1.0)
        lower, upper = np.append(np.where(self.signed, -1e3, 0.0), -MAX_BOUND), np.append(np.full(count, 1e3), MAX_BOUND)
        self.program.add_columns(cost, (), lower, upper)
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
            used = np.flatnonzero(values)
            self.program.add_rows(lower, upper, [(used, values[used])])

    def cut(self, prices: Floats, value: float, slope: Floats) -> None:
        """Add that the bound is at most value + slope · (other prices − prices)."""
        self._add(-slope * self.scale, -np.inf, value - float(slope @ prices), 1.0)

    def solve(self, centre: Floats, radius: float) -> tuple[float, Floats] | None:
        """The highest bound that cuts allow near some prices, and where; None where the linear program fails."""
        middle = centre[self.use] / self.scale[self.use]
        lower = np.where(self.signed, middle - radius, np.maximum(middle - radius, 0.0))
        self.program.bound_columns(np.arange(self.use.size), lower, middle + radius)
        _, values, _, optimal = self.program.solve()
        if not optimal:
            return None
        prices = np.zeros(self.blocks.size)
        prices[self.use] = values[:-1] * self.scale[self.use]
        return float(values[-1]), prices


RADIUS, MAX_RADIUS, MIN_RADIUS = 0.1, 2.0, 1e-4
"""Half the width of the box at first, at most and at least, in units of typical prices."""


TILTS = np.array([0.0, -8.0, -3.0, -1.0, -0.4, 0.4, 1.0, 3.0, 8.0])
"""Prices of the share of a part of the nodes that are tried, relative to the traffic of the operator."""


class PriceAscent:
    """Best prices so far, and the bound that they prove.

    Parameters
    ----------
    objective
        Of the best answer known, or of the worst that is feasible.
    before
        Prices of the same problem without ranges of shares, to begin with.
    """

    def __init__(self, relaxation: PriceRelaxation, objective: float, before: PriceAscent | None = None) -> None:
        self.relaxation, self.model = relaxation, relaxation.model
        self.blocks = PriceBlocks.of(self.model)
        self.best = even_flow(self.model, self.blocks)
        if before is not None:
            self.best[: self.blocks.tilt.start] = before.best[: before.blocks.tilt.start]
            self.best[self.blocks.tilt.stop :] = before.best[before.blocks.tilt.stop :]
        self.relaxed: Relaxed = relaxation.evaluate(self.blocks, self.best)
        self.bound = self.relaxed.value
        self.planes = PriceCuttingPlanes(self.model, self.blocks, scales(self.model, self.blocks, max(abs(objective), 1e-9)))
        self.radius, self.finished = RADIUS, not np.isfinite(self.bound)
        if not self.finished:
            self.planes.cut(self.best, self.bound, self.relaxed.slope)
            self.tilt()

    def tilt(self) -> None:
        """Choose among some tilts of every range of shares the best ones for the best prices."""
        relaxation, blocks = self.relaxation, self.blocks
        if not self.model.sets.ranges or self.finished:
            return
        prices = self.best.copy()
        prices[blocks.tilt] = relaxation.best_tilts(blocks, prices, TILTS).ravel()
        relaxed = relaxation.evaluate(blocks, prices)
        if np.isfinite(relaxed.value):
            self.planes.cut(prices, relaxed.value, relaxed.slope)
        if relaxed.value > self.bound:
            self.bound, self.best, self.relaxed = relaxed.value, prices, relaxed

    def step(self) -> Relaxed | None:
        """Evaluate the prices that cuts promise most of; None where that is not more than is known."""
        highest = self.planes.solve(self.best, self.radius)
        if highest is None or highest[0] - self.bound <= RESCALE_PRICE_PROGRESS * abs(self.bound):
            if highest is not None and self.radius < 0.5 * RADIUS:
                self.radius = RADIUS
                self.tilt()
                return self.step()
            self.finished = True
            return None
        prices = allowed(self.model, self.blocks, highest[1])
        relaxed = self.relaxation.evaluate(self.blocks, prices)
        if not np.isfinite(relaxed.value):
            self.bound, self.relaxed, self.finished = relaxed.value, relaxed, True
            return relaxed
        self.planes.cut(prices, relaxed.value, relaxed.slope)
        reached = (relaxed.value - self.bound) / (highest[0] - self.bound)
        if reached > 0.5:
            self.radius = min(MAX_RADIUS, 1.6 * self.radius)
        elif reached < -0.5:
            self.radius = max(MIN_RADIUS, 0.75 * self.radius)
        if relaxed.value > self.bound:
            self.bound, self.best, self.relaxed = relaxed.value, prices, relaxed
        return relaxed

    def run(self, steps: int, stop: Callable[[Relaxed], bool]) -> None:
        """Take steps until there have been `steps`, nothing is left to gain, or `stop` says so."""
        for _ in range(steps):
            relaxed = None if self.finished else self.step()
            if relaxed is None or stop(relaxed):
                return
