"""Rules as rows and columns of any program: hard ones as rows, others with a column for what they are violated by."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.expressions import widened
from edrp.core.late_imports import sparse
from edrp.core.program import Linear, Program
from edrp.formulations.placement.blocks import PlacementColumns, add_joined, replica_cells
from edrp.placement.rules.arrays import RuleArrays

RULES = "rules."
"""Begins the name of the block of rows of a rule, before the name of the rule."""


def add_rule_rows(expressions: PlacementColumns) -> Linear:
    """Add the rows of all rules of a problem; return what violations of those with a penalty add to the objective."""
    rules, program = expressions.compiled.rules, expressions.program
    if not len(rules):
        return Linear.zero()
    cells = _cells(expressions, _cells_used(rules))
    joined = add_joined(program, rules.members, cells[rules.members.shape[1] :], "rules any of")
    known = sparse.vstack([widened(cells, program.columns), joined], format="csr")
    matrix = sparse.csr_array(rules.matrix @ known)
    return Linear.total([_add_rule(program, rules, matrix, index) for index in np.unique(rules.rule).tolist()])


def _cells_used(rules: RuleArrays) -> Ints:
    """Cells of the block `on` that rows or what they join refer to, ascending."""
    size = rules.members.shape[1]
    rows = np.unique(rules.matrix.indices)
    return np.union1d(rows[(rows >= size) & (rows < 2 * size)] - size, rules.members.indices)


def _cells(expressions: PlacementColumns, used: Ints) -> sparse.csr_array:
    """Replicas, and below them presence, of every operator and node over the columns, shape (2 × cells, columns)."""
    program, compiled = expressions.program, expressions.compiled
    replicas, held = replica_cells(expressions, compiled.operators, compiled.nodes)
    if not expressions.exclusive:  # several columns of a node may be 1: presence needs a column of its own
        shape = (used.size, held.shape[0])
        chosen = sparse.csr_array((np.ones(used.size), (np.arange(used.size), used)), shape=shape)
        present = add_joined(program, sparse.csr_array(chosen @ held), None, "rules on")
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
    name = RULES + rule.name
    if rule.hard:
        program.add_rows(name, size, entries, lower=lower / rule.scale, upper=upper / rule.scale)
        return Linear.zero()
    groups, group = np.unique(rules.group[chosen], return_inverse=True)
    violation = program.add_columns(f"violation of {rule.name}", groups.size)
    for side, sign, bound in (("lower", 1.0, lower), ("upper", -1.0, upper)):
        bounded = np.flatnonzero(np.isfinite(bound))
        if bounded.size:
            slack = [(bounded, violation[group[bounded]], sign / rule.scale)]
            limits = np.where(np.isfinite(bound), bound, -sign * np.inf) / rule.scale
            program.add_rows(f"{name}, {side}", size, entries + slack, **{side: limits})
    return Linear.of(violation, rules.penalty[groups])
