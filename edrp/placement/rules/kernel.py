"""Rules as arrays that kernels take, and what replicas per operator and node break of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.rules.arrays import RuleArrays


class RuleTables(NamedTuple):
    """Rows of `RuleArrays` one after another: those of row r have the entries from `start[r]` to `start[r + 1]`.

    Attributes
    ----------
    start, column, coefficient : entries of rows.
    member_start, member : cells that each column of kind `any` joins.
    lower, upper : shape (rows,)
    last : shape (rows,), whether the row is the last of its group.
    slack, weight, penalty : shape (rows,), of the group: violation up to which it counts as met, what a violation beyond
        counts (in multiples of the rule's scale), and objective per unit; the last two are 0 where the other counts.
    """

    start: Ints
    column: Ints
    coefficient: Floats
    member_start: Ints
    member: Ints
    lower: Floats
    upper: Floats
    last: Bools
    slack: Floats
    weight: Floats
    penalty: Floats


def rule_tables(rules: RuleArrays) -> RuleTables:
    """Convert the rows of rules for kernels."""
    hard, slack = rules.hard, rules.slack[rules.group]
    return RuleTables(
        start=rules.matrix.indptr.astype(np.int64),
        column=rules.matrix.indices.astype(np.int64),
        coefficient=rules.matrix.data,
        member_start=rules.members.indptr.astype(np.int64),
        member=rules.members.indices.astype(np.int64),
        lower=rules.lower,
        upper=rules.upper,
        last=np.diff(rules.group, append=-1) != 0,
        slack=slack,
        weight=np.where(hard, LIMIT_SLACK / slack, 0.0),
        penalty=np.where(hard, 0.0, rules.penalty[rules.group]),
    )


@inlined
def rule_value(t: RuleTables, counts: np.ndarray, row: int) -> float:
    """Value of a row for numbers of replicas, shape (operators, nodes)."""
    cells, nodes, value = counts.size, counts.shape[1], 0.0
    for k in range(t.start[row], t.start[row + 1]):
        column = t.column[k]
        if column < cells:
            value += t.coefficient[k] * counts[column // nodes, column % nodes]
        elif column < 2 * cells:
            value += t.coefficient[k] if counts[(column - cells) // nodes, column % nodes] > 0 else 0.0
        else:
            joined = column - 2 * cells
            for p in range(t.member_start[joined], t.member_start[joined + 1]):
                if counts[t.member[p] // nodes, t.member[p] % nodes] > 0:
                    value += t.coefficient[k]
                    break
    return value


@inlined
def rule_terms(t: RuleTables, counts: np.ndarray) -> tuple[float, float]:
    """Return by how much rules that must be met are broken, relative to their scale, and what broken others cost."""
    breach, price, violated = 0.0, 0.0, 0.0
    for row in range(t.lower.size):
        value = rule_value(t, counts, row)
        violated = max(violated, t.lower[row] - value, value - t.upper[row])
        if t.last[row]:
            if violated > t.slack[row]:
                breach += t.weight[row] * violated
            price += t.penalty[row] * violated
            violated = 0.0
    return breach, price
