"""Replicas and presence of operators on nodes as expressions over the columns of any program, and columns that join cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from scipy import sparse

from edrp.core.expressions import JOINED, Block, Expression, sum_positions, widened
from edrp.core.program import Program
from edrp.formulations.placement.node_loads import Holdings
from edrp.placement.compiled import Compiled


class PlacementColumns(Protocol):
    """The columns of a program that say which replicas run where; `exclusive` if at most one of an operator on a node is 1."""

    program: Program
    compiled: Compiled
    exclusive: bool

    def holdings(self, operator: int) -> Holdings:
        """Columns of an operator and the replicas that each stands for."""


class PlacementBlocks:
    """Expressions that own rows are written over: every operator on every node of the network, by name; 0 without columns."""

    def __init__(self, expressions: PlacementColumns) -> None:
        self.expressions, self.program = expressions, expressions.program
        problem = expressions.compiled.problem
        self.operators, self.nodes = tuple(problem.application.by_name), tuple(problem.network.by_name)
        self._joins = 0

    @cached_property
    def replicas(self) -> Block:
        """Number of replicas, shape (operators, nodes)."""
        return self._block(replica_cells(self.expressions, self.operators, self.nodes)[0], binary=False)

    @cached_property
    def on(self) -> Block:
        """1 where the operator runs on the node, else 0, of the same shape; with columns of its own if need be."""
        held = replica_cells(self.expressions, self.operators, self.nodes)[1]
        exclusive = self.expressions.exclusive
        return self._block(held if exclusive else add_joined(self.program, held, None, "on"), binary=True)

    def _block(self, matrix: sparse.csr_array, *, binary: bool) -> Block:
        cells = Expression(matrix, np.zeros((len(self.operators), len(self.nodes))), binary)
        return Block(cells, operator=self.operators, node=self.nodes)

    def any(self, cells: Expression, axis: int | tuple[int, ...] | None = None) -> Expression:
        """Columns that are 1 where any of some cells of `on` is 1, else 0, along some axes or over all.

        Raises
        ------
        TypeError
            For cells that may be other than 0 and 1.
        """
        if not cells.binary:
            raise TypeError(JOINED)
        self._joins += 1
        target, shape = sum_positions(cells.shape, axis), cells.constant.sum(axis).shape
        members = sparse.csr_array((np.ones(cells.size), (target, np.arange(cells.size))), shape=(prod(shape), cells.size))
        joined = add_joined(self.program, members, widened(cells.matrix, self.program.columns), f"any {self._joins}")
        return Expression(joined, np.zeros(shape), binary=True)


def replica_cells(
    expressions: PlacementColumns, operators: Sequence[str], nodes: Sequence[str]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Replicas of operators on nodes over the columns, and the columns of which any is 1 where there is a replica.

    Parameters
    ----------
    operators, nodes
        All that the arrays of the problem have, and others; in the order of the cells.

    Returns
    -------
    pair of scipy.sparse.csr_array
        Shape (operators × nodes, columns).
    """
    compiled = expressions.compiled
    position = {name: index for index, name in enumerate(nodes)}
    place = np.array([position[name] for name in compiled.nodes], np.int64)
    holdings = [expressions.holdings(i) for i in range(len(compiled.operators))]
    first = [operators.index(name) * len(nodes) for name in compiled.operators]
    row = np.concatenate([start + place[held.nodes] for start, held in zip(first, holdings, strict=True)])
    column = np.concatenate([held.columns for held in holdings])
    count = np.concatenate([held.counts for held in holdings]).astype(float)
    shape = (len(operators) * len(nodes), expressions.program.columns)
    counted, held = (sparse.csr_array((values, (row, column)), shape=shape) for values in (count, np.ones(row.size)))
    return counted, held


def add_joined(program: Program, members: sparse.csr_array, cells: sparse.csr_array | None, name: str) -> sparse.csr_array:
    """Add columns that are 1 where any of some binary cells is 1, else 0; return them as cells, shape (members, columns).

    Parameters
    ----------
    members : shape (joined, cells)
        The cells that each column joins.
    cells : shape (cells, columns before)
        The cells over the columns; None where they are columns themselves.
    name
        Name of the block of columns, which begins those of the rows.
    """
    count = members.shape[0]
    columns = program.add_columns(name, count, upper=1.0, integer=True) if count else np.zeros(0, np.int64)
    each = members.tocoo()
    one = sparse.csr_array((np.ones(each.nnz), (np.arange(each.nnz), each.coords[1])), shape=(each.nnz, members.shape[1]))
    for kind, which, parts, sign in (("at most", np.arange(count), members, 1.0), ("at least", each.coords[0], one, -1.0)):
        inside = (parts if cells is None else sparse.csr_array(parts @ cells)).tocoo()
        entries = [(np.arange(which.size), columns[which], -sign), (inside.coords[0], inside.coords[1], sign * inside.data)]
        program.add_rows(f"{name}, {kind}", which.size, entries, lower=0.0)
    return sparse.csr_array((np.ones(count), (np.arange(count), columns)), shape=(count, program.columns))
