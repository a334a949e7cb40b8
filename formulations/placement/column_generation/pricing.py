"""Pricing: the patterns of a class that are worth most at given prices of instances (a quadratic knapsack)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.formulations.placement.column_generation.grid import MOST_ENTRIES, MOST_UPDATES, grid_of
from edrp.formulations.placement.column_generation.kernels import fill_bounds, search_patterns
from edrp.formulations.placement.column_generation.model import Model, SupervisorClass
from edrp.formulations.placement.column_generation.order import Order

COARSEST, FINEST = 32, 1024
"""Cells per axis of the first grid and of the last."""

KEPT = 24
"""Patterns that one pricing returns at most."""

PATIENCE, MOST_PATIENCE = 30_000, 1_500_000
"""Nodes of a search that may find nothing before the grid is refined, and before the search is given up."""

NODES_PER_SECOND = 1_000_000
"""Of a search, about; so that time limits are kept."""


@dataclass(frozen=True, slots=True)
class Priced:
    """Patterns worth more than asked for, best last, and what no pattern is worth more than.

    `patterns` has shape (patterns, operators), `worth` shape (patterns,).
    """

    patterns: Ints
    worth: Floats
    at_most: float


class Pricer:
    """Searches the patterns of one class.

    A dynamic program over the operators, in an order with a small frontier, bounds what the operators to come can still
    be worth with the room that is left on a grid of resources. A depth-first search with exact resources follows these
    bounds; where it takes long, the grid is refined. Patterns found are exact on any grid; so is the best one, once the
    search has ended by itself.
    """

    def __init__(self, model: Model, order: Order, each: SupervisorClass) -> None:
        self.order = order
        steps = order.operators
        self.most = each.most[steps]
        self.demand = np.ascontiguousarray(model.demand[steps])
        self.capacity = each.capacity
        self.counts = model.instances[steps] + 1
        self.correction = _correction(model, order)
        self.nodes = 0
        self.fineness = (2 * COARSEST, 2 * COARSEST)
        while not self._grid((self.fineness[0] // 2, self.fineness[1] // 2)):
            self.fineness = (max(2, self.fineness[0] // 2), max(2, self.fineness[1] // 2))

    def _grid(self, fineness: tuple[int, int]) -> bool:
        """Take a grid of that fineness, unless its tables were too large."""
        grid = grid_of(self.demand, self.capacity, self.most, fineness)
        cells = int(grid.cells.prod())
        entries = int(self.order.states.sum()) * cells
        updates = int((self.order.states[:-1] * self.counts).sum()) * cells
        if (entries > MOST_ENTRIES or updates > MOST_UPDATES) and max(fineness) > 1:
            return False
        self.fineness, self.grid = fineness, grid
        self.start = np.cumsum([0, *(self.order.states * cells)])
        self.table = np.empty(entries)
        self.filled: bytes | None = None
        return True

    def refine(self) -> bool:
        """Tell apart twice as many amounts of both resources, or of one, if that helps and memory allows."""
        first, second = self.fineness
        if self.grid.exact or max(first, second) >= FINEST:
            return False
        return self._grid((2 * first, 2 * second)) or self._grid((2 * first, second)) or self._grid((first, 2 * second))

    def bound(self, worth: Floats) -> float:
        """What no pattern is worth more than, from the grid alone; `worth` of an instance, shape (operators,)."""
        self._fill(worth)
        return float(self.table[int(self.grid.cells.prod()) - 1])

    def best(self, worth: Floats, threshold: float, seconds: float) -> Priced:
        """Some patterns worth more than the threshold, with the best one if the search is not given up."""
        patience = PATIENCE
        while True:
            at_most = self.bound(worth)
            most_nodes = int(min(patience, 1000 + NODES_PER_SECOND * seconds))
            patterns, values, complete, last = self._search(worth, threshold, True, most_nodes, KEPT)
            if complete:
                return Priced(patterns, values, min(at_most, last))
            if values.size or most_nodes < patience or patience > MOST_PATIENCE:
                return Priced(patterns, values, at_most)
            if not self.refine():
                patience *= 8

    def all_above(self, worth: Floats, threshold: float, most_patterns: int, most_nodes: int) -> Priced | None:
        """Every pattern worth more than the threshold; None where there are too many, or the search takes too long."""
        while True:
            at_most = self.bound(worth)
            patterns, values, complete, _ = self._search(worth, threshold, False, most_nodes, most_patterns)
            if complete and values.size <= most_patterns:
                return Priced(patterns, values, at_most)
            if values.size >= most_patterns or not self.refine():
                return None

    def _fill(self, worth: Floats) -> None:
        key = worth.tobytes()
        if self.filled != key:
            order, grid = self.order, self.grid
            self.table.fill(-np.inf)
            fill_bounds(
                order.states, order.first, order.saving, order.following, worth[order.operators], self.most, grid.need,
                int(grid.cells[0]), int(grid.cells[1]), self.counts, self.start, self.table,
            )  # fmt: skip
            self.filled = key

    def _search(
        self, worth: Floats, threshold: float, improve: bool, most_nodes: int, most_patterns: int
    ) -> tuple[Ints, Floats, bool, float]:
        order, grid = self.order, self.grid
        found = np.zeros((most_patterns, order.operators.size), np.int64)
        values = np.zeros(most_patterns)
        met, nodes, last = search_patterns(
            order.first, order.saving, order.following, self.correction, worth[order.operators], self.most, self.demand,
            self.capacity, grid.axis, grid.unit, int(grid.cells[0]), int(grid.cells[1]), self.counts, self.start, self.table,
            threshold, improve, most_nodes, found, values,
        )  # fmt: skip
        self.nodes += nodes
        kept = min(met, most_patterns)
        patterns = np.empty((kept, order.operators.size), np.int64)
        patterns[:, order.operators] = found[:kept]
        return patterns, values[:kept], nodes <= most_nodes and (improve or met <= most_patterns), last


def _correction(model: Model, order: Order) -> Floats:
    """By steps: score of the streams let go, and what the bounds hold instead; empty where there are none."""
    if not order.let_go.any():
        return np.zeros((0, 0, 3))
    steps = order.operators
    let_go = order.let_go[np.ix_(steps, steps)]
    ratio = model.instances[steps][None, :] / model.instances[steps][:, None]
    return np.stack([let_go, 0.5 * let_go * ratio, 0.5 * let_go * ratio.T], axis=2)
