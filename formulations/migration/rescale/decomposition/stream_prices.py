"""Least costs of a stream in every pair of states, once the shares of its ends pay their part: a bilinear form on a box.

Of the prices between two parts of the nodes each pair of parts counts its least one; the form in the shares x and y of the first
part at both ends is least in a corner of their ranges.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from edrp.core.arrays import Bools, Floats
from edrp.formulations.migration.rescale.decomposition.node_sets import NodeSets


def least_prices(sets: NodeSets, table: Floats) -> Floats:
    """The least of Σ p·table·q over shares p and q that two states allow, shape (states, states).

    >>> from edrp.formulations.migration.rescale.decomposition.node_sets import node_sets
    >>> least_prices(node_sets(np.zeros((1, 1)), np.zeros((1, 1))), np.array([[2.0]])).tolist()
    [[2.0]]
    """
    least_price = np.full((sets.low.size, sets.low.size), np.inf)
    blocks = {
        (i, j): _least(table, sets.inside & first, sets.inside & second)
        for (i, first), (j, second) in product(enumerate((sets.part, ~sets.part)), repeat=2)
    }
    for x, y in product((sets.low, sets.high), repeat=2):
        value = np.zeros_like(least_price)
        for (i, j), block in blocks.items():
            weight = np.outer(1 - x if i else x, 1 - y if j else y)
            value += np.where(weight > 0, weight * np.where(np.isfinite(block), block, 0.0), 0.0)
        least_price = np.minimum(least_price, value)
    return least_price


def cheapest_flow(sets: NodeSets, table: Floats, s: int, t: int) -> Floats:
    """Shares of the stream between nodes, shape (nodes, nodes), that have the least price of two states."""
    best, flow = np.inf, np.zeros_like(table)
    for x, y in product((sets.low[s], sets.high[s]), (sets.low[t], sets.high[t])):
        candidate, value = np.zeros_like(table), 0.0
        for (i, first), (j, second) in product(enumerate((sets.part, ~sets.part)), repeat=2):
            weight = (1 - x if i else x) * (1 - y if j else y)
            rows, columns = np.flatnonzero(sets.inside[s] & first), np.flatnonzero(sets.inside[t] & second)
            if weight <= 0 or not rows.size or not columns.size:
                continue
            part = table[np.ix_(rows, columns)]
            u, v = np.unravel_index(int(part.argmin()), part.shape)
            candidate[rows[u], columns[v]] += weight
            value += weight * float(part[u, v])
        if value < best:
            best, flow = value, candidate
    return flow


def _least(table: Floats, rows: Bools, columns: Bools) -> Floats:
    """The least entry between a set of rows and a set of columns, for every pair of them; infinite where one is empty."""
    over = np.where(rows[:, :, None], table[None], np.inf).min(axis=1)
    return np.asarray(np.where(columns[None], over[:, None, :], np.inf).min(axis=2))
