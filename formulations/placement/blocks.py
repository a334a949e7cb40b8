"""Replicas and presence of operators on nodes as expressions over the columns of any program, and columns that join cells.

Rules as rows and columns of any program: hard ones as rows, others with a column for what they are violated by.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.expressions import JOINED, Block, Expression, sum_positions, widened
from edrp.core.late_imports import sparse
from edrp.core.program import Linear, Program
from edrp.formulations.placement.node_loads import Holdings
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.own import WrittenMetric
from edrp.placement.rules.arrays import RuleArrays, cell_matrices
from edrp.placement.rules.base import RULES


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


class MetricColumns(PlacementColumns, Protocol):
    """A program that also has columns of flows and times."""

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Σ of weights × shares of streams between nodes."""

    def response_time(self) -> Linear:
        """Seconds of the critical path."""

    def downtime(self) -> Linear:
        """Seconds of the reconfiguration."""


def add_rule_rows(expressions: PlacementColumns) -> Linear:
    """Add the rows of all rules of a problem; return what violations of those with a penalty add to the objective."""
    rules = expressions.compiled.rules
    if not len(rules):
        return Linear.zero()
    matrix = _over_columns(expressions, rules.matrix, rules.members, "rules")
    return Linear.total([_add_rule(expressions.program, rules, matrix, index) for index in np.unique(rules.rule).tolist()])


def metric_value(expressions: MetricColumns, name: str, written: WrittenMetric) -> Linear:
    """A metric of your own over the columns; the sum of a column for each group that is at least every cell of it.

    Of a single cell, which is not that of a row, it is the cell.
    """
    compiled, program = expressions.compiled, expressions.program
    position = {node: index for index, node in enumerate(compiled.problem.network.by_name)}
    nodes = [position[node] for node in compiled.nodes]
    recorded = cell_matrices(written.model, compiled.operators, compiled.nodes, [written.counted.matrix])
    matrix, cells = _over_columns(expressions, *recorded, f"metrics.{name}"), []
    for row, constant in enumerate(written.counted.constant.tolist()):
        part = slice(*matrix.indptr[row : row + 2])
        cell = Linear.of(matrix.indices[part], matrix.data[part]) + constant
        if written.shares is not None and written.shares[row].any():
            cell += _share_sum(expressions, written.shares[row][:, nodes])
        if written.flows is not None and written.flows[row].any():
            cell += expressions.stream_pair_sum(written.flows[row][:, nodes][:, :, nodes])
        for factor, seconds in zip(written.times[row].tolist(), (expressions.response_time, expressions.downtime), strict=True):
            cell += seconds() * factor if factor else 0.0
        cells.append(cell)
    if len(cells) == 1 and not written.as_rows:
        return cells[0]
    largest = program.add_columns(f"metrics.{name}", int(written.group[-1]) + 1)
    for row, (cell, group) in enumerate(zip(cells, written.group.tolist(), strict=True)):
        program.add_row(f"metrics.{name}, {row}", cell - Linear.of(largest[group]), upper=0.0)
    return Linear.of(largest)


def _share_sum(expressions: PlacementColumns, weights: Floats) -> Linear:
    """Σ of weights × share of an operator's replicas on a node, shape (operators of the problem, nodes)."""
    compiled = expressions.compiled
    position = {name: index for index, name in enumerate(compiled.problem.application.by_name)}
    parts = [(weights[position[name]], expressions.holdings(i)) for i, name in enumerate(compiled.operators)]
    return Linear.total([Linear.of(held.columns, weight[held.nodes] * held.counts / held.totals) for weight, held in parts])


def _over_columns(
    expressions: PlacementColumns, matrix: sparse.csr_array, members: sparse.csr_array, name: str
) -> sparse.csr_array:
    """Expressions over (replicas, on, any) as expressions over the columns of a program."""
    size, program = members.shape[1], expressions.program
    parts = np.unique(matrix.indices)
    cells = _cells(expressions, np.union1d(parts[(parts >= size) & (parts < 2 * size)] - size, members.indices), name)
    joined = add_joined(program, members, cells[size:], f"{name} any of")
    return sparse.csr_array(matrix @ sparse.vstack([widened(cells, program.columns), joined], format="csr"))


def _cells(expressions: PlacementColumns, used: Ints, name: str) -> sparse.csr_array:
    """Replicas, and below them presence, of every operator and node over the columns, shape (2 × cells, columns).

    Cells whose presence is `used` have a column of their own where several columns of a node may be 1.
    """
    program, compiled = expressions.program, expressions.compiled
    replicas, held = replica_cells(expressions, compiled.operators, compiled.nodes)
    if not expressions.exclusive:  # several columns of a node may be 1: presence needs a column of its own
        shape = (used.size, held.shape[0])
        chosen = sparse.csr_array((np.ones(used.size), (np.arange(used.size), used)), shape=shape)
        present = add_joined(program, sparse.csr_array(chosen @ held), None, f"{name} on")
        held = sparse.csr_array(chosen.T @ present)
    return sparse.vstack([widened(replicas, program.columns), held], format="csr")


def _add_rule(program: Program, rules: RuleArrays, matrix: sparse.csr_array, index: int) -> Linear:
    """Add the rows of one rule; return its penalty in terms of the columns that hold its violations."""
    first, last = np.searchsorted(rules.rule, [index, index + 1]).tolist()
    rule, chosen, size = rules.rules[index], slice(first, last), last - first
    part = slice(matrix.indptr[first], matrix.indptr[last])
    row = np.repeat(np.arange(size), np.diff(matrix.indptr[first : last + 1]))
    lower, upper = rules.lower[chosen], rules.upper[chosen]
    entries = [(row, matrix.indices[part], matrix.data[part] / rule.scale)]
    name = rule.block
    if rule.hard:
        program.add_rows(name, size, entries, lower=lower / rule.scale, upper=upper / rule.scale)
        return Linear.zero()
    groups, group = np.unique(rules.group[chosen], return_inverse=True)
    step: float | None = getattr(rule, "step", None)
    violation = program.add_columns(f"violation of {name.removeprefix(RULES)}", groups.size, integer=step is not None)
    for side, sign, bound in (("lower", 1.0, lower), ("upper", -1.0, upper)):
        bounded = np.flatnonzero(np.isfinite(bound))
        if bounded.size:
            slack = [(bounded, violation[group[bounded]], sign * (step or 1.0) / rule.scale)]
            limits = np.where(np.isfinite(bound), bound, -sign * np.inf) / rule.scale
            program.add_rows(f"{name}, {side}", size, entries + slack, **{side: limits})
    return Linear.of(violation, rules.penalty[groups] * (step or 1.0))
