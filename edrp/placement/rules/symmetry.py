"""Which nodes may be exchanged without changing what rules say of any deployment."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.placement.rules.arrays import RuleArrays


class RuleSymmetry:
    """Compares what rules demand before and after an exchange of two nodes; their cells are operators × nodes."""

    def __init__(self, rules: RuleArrays, nodes: int) -> None:
        self.rules, self.nodes = rules, nodes
        self.row, self.cell = rules.reach.nonzero()

    @property
    def properties(self) -> Floats:
        """Numbers that exchangeable nodes share, shape (nodes, operators): sums of what rows hold of them, by their bits."""
        sums = np.zeros(self.rules.reach.shape[1], np.uint64)
        np.add.at(sums, self.cell, self.rules.reach.data.view(np.uint64))
        return sums.reshape(sums.size // self.nodes, self.nodes).T.astype(float)

    def exchangeable(self, u: int, v: int) -> bool:
        """Whether an exchange of two nodes turns the groups of rows into one another."""
        same, swap = np.arange(self.nodes), np.arange(self.nodes)
        swap[[u, v]] = v, u
        groups = np.unique(self.rules.group[self.row[np.isin(self.cell % self.nodes, (u, v))]]).tolist()
        return Counter(self._demand(group, same) for group in groups) == Counter(self._demand(group, swap) for group in groups)

    def _demand(self, group: int, swap: Ints) -> tuple[Any, ...]:
        """Demand of a group of rows, with other nodes in place of each."""
        rows = range(*np.searchsorted(self.rules.group, (group, group + 1)).tolist())
        return self.rules.penalty[group], self.rules.slack[group], *sorted(self._row(row, swap) for row in rows)

    def _row(self, row: int, swap: Ints) -> tuple[Any, ...]:
        """Bounds of a row, its cells in order with their coefficients, and the same of the sets of cells that it joins."""
        matrix, members = self.rules.matrix, self.rules.members
        part = slice(*matrix.indptr[row : row + 2])
        column, coefficient = matrix.indices[part], matrix.data[part]
        single = column < 2 * members.shape[1]
        cells = self._exchanged(column[single], swap)
        order = np.argsort(cells)
        joins = (slice(*members.indptr[join : join + 2]) for join in column[~single] - 2 * members.shape[1])
        joined = (np.sort(self._exchanged(members.indices[join], swap)).tobytes() for join in joins)
        parts = sorted(zip(joined, coefficient[~single].tolist(), strict=True))
        return self.rules.lower[row], self.rules.upper[row], cells[order].tobytes(), coefficient[single][order].tobytes(), *parts

    def _exchanged(self, cells: Any, swap: Ints) -> Ints:
        node = cells % self.nodes
        return np.asarray(cells - node + swap[node])
