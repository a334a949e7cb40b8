"""Classes of equal nodes: exchanging two nodes of a class changes nothing in a problem."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look
from edrp.core.problem import derived
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.problem import PlacementProblem
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


MAX_CLASSES = 3
"""Classes up to which methods work with sets of them instead of nodes."""

SUBJECT = "classes of equal nodes"


@derived
def find_node_classes(problem: PlacementProblem) -> Ints | None:
    """Class of each node of the compiled problem, whatever runs on it now; None where there are more than `MAX_CLASSES`."""
    return few_classes(compile_problem(problem), MAX_CLASSES)


def node_classes(compiled: Compiled) -> Ints:
    """Number the class of each node, shape (nodes,); classes are numbered by their first node.

    Nodes of a class have equal resources, capacities, speed-up, spawn time, availability and data-store links, the same
    operators may run on them, and their links to every other node and to each other are equal in delay, price and availability.
    Rules say the same of both (`RuleSymmetry`), and they run the same replicas now.
    """
    number = few_classes(compiled, len(compiled.nodes), with_current=True)
    assert number is not None
    return number


def few_classes(compiled: Compiled, most: int, *, with_current: bool = False) -> Ints | None:
    """Number the class of each node where there are at most `most` classes; None as soon as there are more."""
    tables = [compiled.delay, compiled.link_cost, compiled.link_availability]
    properties, symmetry = _properties(compiled, tables, with_current), None
    if len(compiled.rules):
        symmetry = RuleSymmetry(compiled.rules, len(compiled.nodes))
        properties = np.hstack([properties, symmetry.properties])
    number = np.full(len(compiled.nodes), -1)
    first: list[int] = []
    alike = defaultdict[bytes, list[int]](list)
    for node in range(len(compiled.nodes)):
        look(SUBJECT)
        similar = alike[properties[node].tobytes()]
        found = next((k for k in similar if _equal(tables, symmetry, first[k], node)), None)
        if found is None:
            if len(first) == most:
                return None
            found = len(first)
            first.append(node)
            similar.append(found)
        number[node] = found
    return number


def delays_between_sets(delay: Floats, members: Sequence[Ints]) -> Floats:
    """Least certain delay between operators on two sets of classes, not both wholly on one node; shape (sets, sets).

    Nodes of one class differ for certain only where both sets are that class alone.

    Parameters
    ----------
    members
        Nodes of each class; sets of classes are numbered by their bits.
    """
    classes = len(members)
    between = np.zeros((classes, classes))
    for k, nodes in enumerate(members):
        for other, targets in enumerate(members):
            ends = (nodes[0], targets[-1])
            between[k, other] = delay[ends] if ends[0] != ends[1] else 0.0
    table = np.zeros((1 << classes, 1 << classes))
    for source in range(1, 1 << classes):
        for target in range(1, 1 << classes):
            pairs = [(k, j) for k in range(classes) for j in range(classes) if source >> k & 1 and target >> j & 1]
            certain = [(k, j) for k, j in pairs if k != j or len(pairs) == 1]
            table[source, target] = max(between[pair] for pair in certain)
    return table


def _properties(compiled: Compiled, tables: Sequence[Floats], with_current: bool) -> Floats:
    """Properties of the nodes themselves, shape (nodes, properties)."""
    parts = [
        compiled.capacity,
        compiled.units.astype(float),
        compiled.contention.capacity,
        compiled.speedup[:, None],
        compiled.spawn_time[:, None],
        compiled.store_delay[:, None],
        compiled.store_bandwidth[:, None],
        compiled.node_loss[:, None],
        compiled.candidate.T.astype(float),
    ]
    if with_current and compiled.current is not None:
        parts.append(compiled.current.T.astype(float))
    parts.extend(line for table in tables for line in _sums(table))
    return np.column_stack(parts) + 0.0  # no -0.0, which has other bits


def _sums(table: Floats) -> Iterator[Floats]:
    """Sums of the rows and columns of a table, by their bits: exchangeable nodes have the same, in whatever order."""
    bits = table.view(np.uint64)
    for axis in (1, 0):
        look(SUBJECT)
        yield bits.sum(axis=axis, dtype=np.uint64)[:, None].astype(float)


def _equal(tables: Sequence[Floats], symmetry: RuleSymmetry | None, u: int, v: int) -> bool:
    """Whether exchanging two nodes of equal properties changes nothing."""
    return all(_exchangeable(table, u, v) for table in tables) and (symmetry is None or symmetry.exchangeable(u, v))


def _exchangeable(table: Floats, u: int, v: int) -> bool:
    """Whether exchanging two nodes leaves a table over pairs of nodes as it is."""
    if table[u, v] != table[v, u] or table[u, u] != table[v, v]:
        return False
    return all(set(np.flatnonzero(lines[u] != lines[v]).tolist()) <= {u, v} for lines in (table, table.T))
