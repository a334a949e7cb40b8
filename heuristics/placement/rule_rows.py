"""Rules of problems as kernels evaluate them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.late_imports import sparse
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compiled import Compiled
from edrp.placement.rules.arrays import RuleArrays

RULE_UNITS = 5.5e-9
"""Units of work of a change per coefficient of rules, which are all evaluated again."""


class RuleRows(NamedTuple):
    """Rows of rules as sums of terms; all sizes are 0 without rules.

    Attributes
    ----------
    row_start : shape (rows + 1,); row k has the terms from `row_start[k]` up to `row_start[k + 1]`.
    term_start : shape (terms + 1,); term x counts the replicas of cells from `term_start[x]` up to `term_start[x + 1]`.
    coefficient, joined : shape (terms,); factor of a term, and whether it is 1 for any number of replicas.
    operators, node : shape (cells,)
    lower, upper : shape (rows,)
    last : shape (rows,); whether a row is the last of its group, in which the largest violation counts.
    penalty : shape (rows,); objective per unit of violation, infinite where the rule must be met.
    scale : shape (rows,); what a violation of a rule that must be met is divided by.
    max_penalty, max_price : largest finite penalty, and a bound on the sum of penalties, both of the objective.
    """

    row_start: Ints
    term_start: Ints
    coefficient: Floats
    joined: Bools
    operators: Ints
    node: Ints
    lower: Floats
    upper: Floats
    last: Bools
    penalty: Floats
    scale: Floats
    max_penalty: float
    max_price: float


def searched_rows(compiled: Compiled) -> RuleArrays:
    """The rows of rules, and one for each operator that needs more replicas on slow candidates than on others.

    Where candidates need k₀ < k₁ < … replicas in all, that is replicas ≥ k₀ + Σ (kⱼ - kⱼ₋₁) · (any on nodes that need kⱼ or
    more). Searches meet it as a rule: the fewer replicas are missing, the smaller the violation.
    """
    nodes, cells = compiled.candidate.shape[1], compiled.candidate.size
    levels = [np.unique(needed[chosen]) for needed, chosen in zip(compiled.fewest_replicas, compiled.candidate, strict=True)]
    operators = [i for i, level in enumerate(levels) if level.size > 1]
    if not operators:
        return compiled.rules
    matrix = sparse.lil_array((len(operators), 2 * cells + sum(levels[i].size - 1 for i in operators)))
    members = sparse.lil_array((matrix.shape[1] - 2 * cells, cells))
    joined = 0
    for row, i in enumerate(operators):
        matrix[row, i * nodes : (i + 1) * nodes] = 1.0
        for needed, more in zip(levels[i][1:], np.diff(levels[i]), strict=True):
            slow = np.flatnonzero(compiled.candidate[i] & (compiled.fewest_replicas[i] >= needed))
            members[joined, i * nodes + slow] = 1.0
            matrix[row, 2 * cells + joined] = -more
            joined += 1
    return compiled.rules.with_rows(matrix.tocsr(), members.tocsr(), np.array([levels[i][0] for i in operators], float))


def rule_rows(compiled: Compiled, scale: float) -> RuleRows:
    """Convert the rows that searches meet for kernels, for an objective that is divided by `scale`."""
    rules = searched_rows(compiled)
    columns, one = rules.matrix.indices, sparse.eye_array(compiled.candidate.size, format="csr")
    terms = sparse.csr_array(sparse.vstack([one, one, rules.members], format="csr"))[columns]
    operators, node = np.divmod(terms.indices.astype(np.int64), compiled.candidate.shape[1])
    return RuleRows(
        row_start=rules.matrix.indptr.astype(np.int64),
        term_start=terms.indptr.astype(np.int64),
        coefficient=np.array(rules.matrix.data, float),
        joined=columns >= compiled.candidate.size,
        operators=operators,
        node=node,
        lower=np.array(rules.lower, float),
        upper=np.array(rules.upper, float),
        last=np.diff(rules.group, append=-1) != 0,
        penalty=rules.penalty[rules.group] / scale,
        scale=rules.slack[rules.group] / LIMIT_SLACK,
        max_penalty=float(rules.penalty[np.isfinite(rules.penalty)].max(initial=0.0)) / scale,
        max_price=rules.price_ceiling(compiled.max_replicas) / scale,
    )
