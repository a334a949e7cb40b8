"""Rules as rows and columns of any program: hard ones as rows, others with a column for what they are violated by."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.expressions import widened
from edrp.core.late_imports import sparse
from edrp.core.program import Linear, Program
from edrp.formulations.placement.blocks import PlacementColumns, add_joined, replica_cells
from edrp.placement.metrics.own import WrittenMetric
from edrp.placement.rules.arrays import RuleArrays, cell_matrices
from edrp.placement.rules.base import RULES


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
    """A metric of your own over the columns; a column that is at least every cell where there are several."""
    compiled, program = expressions.compiled, expressions.program
    position = {node: index for index, node in enumerate(compiled.problem.network.by_name)}
    nodes = [position[node] for node in compiled.nodes]
    recorded = cell_matrices(written.model, compiled.operators, compiled.nodes, [written.counted.matrix])
    matrix, cells = _over_columns(expressions, *recorded, f"metrics.{name}"), []
    for row, constant in enumerate(written.counted.constant.tolist()):
        part = slice(*matrix.indptr[row : row + 2])
        cell = Linear.of(matrix.indices[part], matrix.data[part]) + constant
        if written.flows is not None and written.flows[row].any():
            cell += expressions.stream_pair_sum(written.flows[row][:, nodes][:, :, nodes])
        for factor, seconds in zip(written.times[row].tolist(), (expressions.response_time, expressions.downtime), strict=True):
            cell += seconds() * factor if factor else 0.0
        cells.append(cell)
    if len(cells) == 1:
        return cells[0]
    largest = Linear.of(program.add_columns(f"metrics.{name}"))
    for row, cell in enumerate(cells):
        program.add_row(f"metrics.{name}, {row}", cell - largest, upper=0.0)
    return largest


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
    violation = program.add_columns(f"violation of {name.removeprefix(RULES)}", groups.size)
    for side, sign, bound in (("lower", 1.0, lower), ("upper", -1.0, upper)):
        bounded = np.flatnonzero(np.isfinite(bound))
        if bounded.size:
            slack = [(bounded, violation[group[bounded]], sign / rule.scale)]
            limits = np.where(np.isfinite(bound), bound, -sign * np.inf) / rule.scale
            program.add_rows(f"{name}, {side}", size, entries + slack, **{side: limits})
    return Linear.of(violation, rules.penalty[groups])
