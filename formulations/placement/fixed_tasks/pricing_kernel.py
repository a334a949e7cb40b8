"""Compiled: multipliers of the rows by the subgradient method."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inner_loop, kernel
from edrp.formulations.placement.fixed_tasks.pricing_labels import TaskPrices
from edrp.formulations.placement.fixed_tasks.pricing_tree import (
    PatternRows,
    TreeCosts,
    add_use,
    fill_tree,
    follow_tree,
    set_costs,
)

MULTIPLIER_STEPS = 60
"""Steps of the multipliers before each search."""


def empty_costs(rows: PatternRows) -> TreeCosts:
    """Room for costs along the tree."""
    operators, units = rows.most.size, rows.units + 1
    shape = (operators, int(rows.most.max(initial=0)) + 1, units)
    single, joint = np.empty(operators), np.empty(rows.arrays.source.size)
    return TreeCosts(single, joint, np.empty(shape), np.empty(shape), np.empty((operators, units)), np.empty((2, units)))


@kernel
def set_multipliers(rows: PatternRows, prices: TaskPrices, multipliers: np.ndarray, costs: TreeCosts) -> tuple[float, float]:
    """Multipliers of a high bound on the cost of every pattern, and the costs along the tree that they make.

    Parameters
    ----------
    prices
        As for `Pricing.best`, with operators in the order of the tree.
    multipliers : shape (rows,)
        Multipliers of the rows to begin with; written: the best ones met.

    Returns
    -------
    tuple
        The bound, and the cost of the multipliers alone.
    """
    upper, operators = rows.upper, rows.most.size
    best_multipliers, root = multipliers.copy(), -np.inf
    pattern, used = np.zeros(operators, np.int64), np.zeros((operators + 1, upper.size))
    for turn in range(MULTIPLIER_STEPS):
        constant = _set_costs(rows, prices, multipliers, costs)
        value = constant + fill_tree(rows, costs)
        if value > root:
            root = value
            best_multipliers[:] = multipliers
        follow_tree(rows, costs, pattern)
        for i in range(operators):
            add_use(rows, pattern, i, used[i], used[i + 1])
        _step(upper, used[operators], 0.3 * max(1e-9, abs(root)) / (1.0 + 0.3 * turn), multipliers)
    multipliers[:] = best_multipliers
    constant = _set_costs(rows, prices, multipliers, costs)
    fill_tree(rows, costs)
    return root, constant


@inner_loop
def _set_costs(rows: PatternRows, prices: TaskPrices, multipliers: np.ndarray, costs: TreeCosts) -> float:
    """Costs of tasks and streams with multipliers; returns the cost of the multipliers alone."""
    set_costs(rows.arrays, prices.tasks, prices.loads, multipliers, costs)
    constant = 0.0
    for r in range(multipliers.size):
        if multipliers[r] > 0:
            constant -= multipliers[r] * rows.upper[r]
    return constant


@inner_loop
def _step(upper: np.ndarray, used: np.ndarray, length: float, multipliers: np.ndarray) -> None:
    """A step of the subgradient method: raise the multipliers of rows that are exceeded, and lower the others."""
    norm = 0.0
    for r in range(upper.size):
        if np.isfinite(upper[r]) and upper[r] > 0 and (multipliers[r] > 0 or used[r] > upper[r]):
            norm += (used[r] / upper[r] - 1.0) ** 2
    if norm < 1e-16:
        return
    for r in range(upper.size):
        if np.isfinite(upper[r]) and upper[r] > 0:
            step = length / norm * (used[r] / upper[r] - 1.0) / upper[r]
            multipliers[r] = max(0.0, multipliers[r] + step)
