"""Rules as rows and columns of any program: hard ones as rows, others with a column for what they are violated by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edrp.core.arrays import Ints
from edrp.core.program import Linear, Program
from edrp.placement.rules.arrays import RuleArrays

if TYPE_CHECKING:
    from edrp.formulations.placement.builder import PlacementExpressions

RULES = "rules."
"""Begins the name of the block of rows of a rule, before the name of the rule."""


def add_rule_rows(expressions: PlacementExpressions) -> Linear:
    """Add the rows of all rules of a problem; return what violations of those with a penalty add to the objective."""
    rules, program = expressions.compiled.rules, expressions.program
    if not len(rules):
        return Linear.zero()
    cells = _cells(expressions, _cells_used(rules))
    joined = _joined_columns(program, rules.members, cells[rules.members.shape[1] :], "any of")
    known = sparse.vstack([_widened(cells, program.columns), joined], format="csr")
    matrix = sparse.csr_array(rules.matrix @ known)
    return Linear.total([_add_rule(program, rules, matrix, index) for index in np.unique(rules.rule).tolist()])


def _cells_used(rules: RuleArrays) -> Ints:
    """Cells of the block `on` that rows or what they join refer to, ascending."""
    size = rules.members.shape[1]
    rows = np.unique(rules.matrix.indices)
    return np.union1d(rows[(rows >= size) & (rows < 2 * size)] - size, rules.members.indices)


def _cells(expressions: PlacementExpressions, used: Ints) -> sparse.csr_array:
    """Replicas, and below them presence, of every operator and node over the columns, shape (2 × cells, columns)."""
    compiled, program = expressions.compiled, expressions.program
    operators, nodes = compiled.candidate.shape
    row, column, count = [], [], []
    for i in range(operators):
        holdings = expressions.holdings(i)
        row.append(i * nodes + holdings.nodes)
        column.append(holdings.columns)
        count.append(holdings.counts)
    place = (np.concatenate(row), np.concatenate(column))
    shape = (operators * nodes, program.columns)
    replicas = sparse.csr_array((np.concatenate(count).astype(float), place), shape=shape)
    held = sparse.csr_array((np.ones(place[0].size), place), shape=shape)
    if not expressions.exclusive:  # several columns of a node may be 1: presence needs a column of its own
        chosen = sparse.csr_array((np.ones(used.size), (np.arange(used.size), used)), shape=(used.size, operators * nodes))
        present = _joined_columns(program, sparse.csr_array(chosen @ held), None, "on")
        held = sparse.csr_array(chosen.T @ present)
    return sparse.vstack([_widened(replicas, program.columns), _widened(held, program.columns)], format="csr")


def _joined_columns(program: Program, members: sparse.csr_array, cells: sparse.csr_array | None, name: str) -> sparse.csr_array:
    """Columns that are 1 where any of some binary cells is 1, else 0, as cells themselves, shape (members, columns).

    Parameters
    ----------
    members : shape (joined, cells)
        The cells that each column joins.
    cells : shape (cells, columns before)
        The cells over the columns; None where they are columns themselves.
    """
    count = members.shape[0]
    columns = program.add_columns(f"rules {name}", count, upper=1.0, integer=True) if count else np.zeros(0, np.int64)
    each = members.tocoo()
    one = sparse.csr_array((np.ones(each.nnz), (np.arange(each.nnz), each.coords[1])), shape=(each.nnz, members.shape[1]))
    for kind, which, parts, sign in (("at most", np.arange(count), members, 1.0), ("at least", each.coords[0], one, -1.0)):
        inside = (parts if cells is None else sparse.csr_array(parts @ cells)).tocoo()
        entries = [(np.arange(which.size), columns[which], -sign), (inside.coords[0], inside.coords[1], sign * inside.data)]
        program.add_rows(f"rules {name}, {kind}", which.size, entries, lower=0.0)
    return sparse.csr_array((np.ones(count), (np.arange(count), columns)), shape=(count, program.columns))


def _widened(matrix: sparse.csr_array, columns: int) -> sparse.csr_array:
    """The same over more columns."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


def _add_rule(program: Program, rules: RuleArrays, matrix: sparse.csr_array, index: int) -> Linear:
    """Add the rows of one rule; return its penalty in terms of the columns that hold its violations."""
    chosen = np.flatnonzero(rules.rule == index)
    rule, rows = rules.rules[index], matrix[chosen].tocoo()
    lower, upper = rules.lower[chosen], rules.upper[chosen]
    entries = [(rows.coords[0], rows.coords[1], rows.data / rule.scale)]
    name = RULES + rule.name
    if rule.hard:
        program.add_rows(name, chosen.size, entries, lower=lower / rule.scale, upper=upper / rule.scale)
        return Linear.zero()
    groups, group = np.unique(rules.group[chosen], return_inverse=True)
    violation = program.add_columns(f"violation of {rule.name}", groups.size)
    for side, sign, bound in (("lower", 1.0, lower), ("upper", -1.0, upper)):
        bounded = np.flatnonzero(np.isfinite(bound))
        if bounded.size:
            slack = [(bounded, violation[group[bounded]], sign / rule.scale)]
            limits = np.where(np.isfinite(bound), bound, -sign * np.inf) / rule.scale
            program.add_rows(f"{name}, {side}", chosen.size, entries + slack, **{side: limits})
    return Linear.of(violation, rules.penalty[groups])
