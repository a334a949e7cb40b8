"""Grids of resources: how finely the room that is left is told apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import EQUAL_AMOUNTS, GRID_CELL_SLACK

MAX_ENTRIES = 6_000_000
"""Entries of all tables of a class."""

MAX_UPDATES = 60_000_000
"""Updates of entries when all tables of a class are filled once: some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Two axes of cells; needs are rounded down to cells, so that what fits the resources fits the grid.

    Attributes
    ----------
    axis : shape (2,), resource of each axis, -1 for none.
    unit : shape (2,), amount per cell.
    cells : shape (2,), one more than fit.
    need : shape (operators, 2), cells that an instance needs.
    exact : bool, whether needs are whole numbers of cells on both axes, so that a finer grid would say the same.
    """

    axis: Ints
    unit: Floats
    cells: Ints
    need: Ints
    exact: bool


def resource_grid(demand: Floats, capacity: Floats, max_instances: Ints, fineness: tuple[int, int]) -> Grid:
    """A grid over the (at most two) resources that are shortest, the shortest first.

    Parameters
    ----------
    demand
        Demand of one instance, shape (operators, resources).
    capacity
        Shape (resources,).
    max_instances
        Upper limit on the instances of each operator, shape (operators,).
    fineness
        Cells of each axis; up to twice as many where all needs are then whole numbers of cells.
    """
    usable = max_instances > 0
    total_demand = (max_instances[:, None] * demand).sum(axis=0)
    short = [m for m in np.argsort(-total_demand / np.maximum(capacity, 1e-300), kind="stable") if total_demand[m] > capacity[m]]
    axis, unit, cells = np.full(2, -1, np.int64), np.ones(2), np.ones(2, np.int64)
    need = np.zeros((max_instances.size, 2), np.int64)
    exact = len(short) <= 2
    for side, m in enumerate(short[:2]):
        axis[side] = m
        divisor = common_divisor(demand[usable & (demand[:, m] > 0), m])
        is_exact = capacity[m] / divisor <= 2 * fineness[side]
        exact &= is_exact
        unit[side] = divisor if is_exact else capacity[m] / fineness[side]
        cells[side] = int(capacity[m] / unit[side] + (0.0 if is_exact else GRID_CELL_SLACK)) + 1
        # The margin is far below what `kernels._bound_after` adds to the room that is left.
        need[:, side] = np.where(usable, np.floor(demand[:, m] / unit[side] + 1e-7 / max_instances.sum()), 0)
    return Grid(axis, unit, cells, need, exact)


def common_divisor(amounts: Floats) -> float:
    """Largest amount of which all are multiples, up to rounding.

    >>> round(common_divisor(np.array([0.15, 0.35, 0.1])), 9)
    0.05
    """
    tolerance = EQUAL_AMOUNTS * float(amounts.max())

    def euclid(a: float, b: float) -> float:
        while b > tolerance:
            remainder = a - b * np.floor(a / b)
            a, b = b, 0.0 if b - remainder <= tolerance else remainder
        return a

    return float(reduce(euclid, amounts.tolist()))
