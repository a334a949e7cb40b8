"""Rules as arrays over replicas per operator and node, which programs, searches and exact methods see instead of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.expressions import Rows
from edrp.core.late_imports import sparse
from edrp.core.program import stacked
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.rules.base import Placed, Rule, RuledProblem, RuleModel, WrittenRows


class WrittenRule(Protocol):
    """Something that is stated as rows: a rule, or the weight or limit of a metric of your own."""

    @property
    def name(self) -> str:
        """Name for readers."""

    @property
    def block(self) -> str:
        """Name of its rows in programs."""

    @property
    def penalty(self) -> float | None:
        """Objective per unit of violation; None where it must be met."""

    @property
    def hard(self) -> bool:
        """Whether it must be met."""

    @property
    def scale(self) -> float:
        """Size that rounding is relative to."""

    def linearise(self, model: RuleModel) -> WrittenRows | Rows | Sequence[WrittenRows | Rows]:
        """The rows, whose violations sum to its own."""


@dataclass(frozen=True)
class RuleArrays:
    """Rows `lower ≤ matrix · (replicas, on, any) ≤ upper` over operators i and nodes u.

    The columns are the flat numbers of replicas (operators × nodes), the same of whether there are any, and whether any of the
    cells that `members` joins has some. Rows of one group are violated together, by the largest of their violations.

    Attributes
    ----------
    rules : the rules that the rows are of, and after them weights and limits of metrics of your own.
    rule, group : shape (rows,), index of the rule and number of the group, both ascending.
    penalty : shape (groups,), objective per unit of violation; infinite where the rule must be met.
    slack : shape (groups,), violation up to which a rule counts as met.
    matrix : shape (rows, 2 × operators × nodes + any).
    members : shape (any, operators × nodes), 1 where the cell is joined.
    lower, upper : shape (rows,)
    """

    rules: tuple[WrittenRule, ...]
    rule: Ints
    group: Ints
    penalty: Floats
    slack: Floats
    matrix: sparse.csr_array
    members: sparse.csr_array
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rule)

    @property
    def hard(self) -> Bools:
        """Which rows must be met, shape (rows,)."""
        return np.isinf(self.penalty[self.group])

    @cached_property
    def group_rule(self) -> Ints:
        """Index of the rule of each group, shape (groups,)."""
        return np.asarray(self.rule[np.searchsorted(self.group, np.arange(self.penalty.size))])

    @cached_property
    def reach(self) -> sparse.csr_array:
        """Above 0 where a row depends on the replicas of a cell, shape (rows, operators × nodes)."""
        joined = sparse.eye_array(self.members.shape[1], format="csr")
        return sparse.csr_array(abs(self.matrix) @ sparse.vstack([joined, joined, self.members], format="csr"))

    def same_rows(self, other: RuleArrays) -> bool:
        """Whether the rows are those of others, whatever violations cost."""
        mine, theirs = (
            (m.indptr, m.indices, m.data, joins.indptr, joins.indices, r.lower, r.upper, r.group, r.hard)
            for r in (self, other)
            for m, joins in [(r.matrix, r.members)]
        )
        return all(map(np.array_equal, mine, theirs))

    def violations(self, counts: Any) -> Floats:
        """Violation of each group by replicas, shape ([deployments,] operators, nodes): shape ([deployments,] groups)."""
        replicas = np.asarray(counts, float)
        replicas = replicas.reshape(*replicas.shape[:-2], replicas.shape[-2] * replicas.shape[-1]).T
        on = (replicas > 0).astype(float)
        values = self.matrix @ np.concatenate([replicas, on, (self.members @ on > 0).astype(float)])
        outside = np.maximum(0.0, np.maximum((self.lower - values.T), (values.T - self.upper)))
        violated = np.zeros((self.penalty.size, *values.shape[1:]))
        np.maximum.at(violated, self.group, outside.T)
        return violated.T

    def price(self, counts: Any) -> float:
        """Σ over rules with a penalty of penalty × violation."""
        priced = np.isfinite(self.penalty)
        return float(self.penalty[priced] @ self.violations(counts)[priced])

    def price_ceiling(self, max_replicas: Ints) -> float:
        """A price that no deployment with at most `max_replicas` of each operator exceeds, shape (operators,)."""
        priced = np.isfinite(self.penalty)
        if not priced.any():
            return 0.0
        nodes = self.members.shape[1] // len(max_replicas)
        most = np.repeat(np.asarray(max_replicas, float), nodes)
        ceiling = np.concatenate([most, np.ones(most.size + self.members.shape[0])])
        reach = abs(self.matrix) @ ceiling + np.maximum(
            np.where(np.isfinite(self.lower), np.abs(self.lower), 0.0), np.where(np.isfinite(self.upper), np.abs(self.upper), 0.0)
        )
        violated = np.zeros(self.penalty.size)
        np.maximum.at(violated, self.group, reach)
        return float(self.penalty[priced] @ violated[priced])

    def breach(self, counts: Any) -> float:
        """Σ of the violations of rules that must be met; 0 where all are met."""
        violated = self.violations(counts)
        return float(violated[np.isinf(self.penalty) & (violated > self.slack)].sum())

    def without(self, rows: Bools) -> RuleArrays:
        """The same without some rows."""
        kept = np.flatnonzero(~rows)
        groups, group = np.unique(self.group[kept], return_inverse=True)
        return RuleArrays(
            self.rules,
            self.rule[kept],
            group,
            self.penalty[groups],
            self.slack[groups],
            self.matrix[kept],
            self.members,
            self.lower[kept],
            self.upper[kept],
        )

    def with_rows(self, matrix: sparse.csr_array, members: sparse.csr_array, lower: Floats) -> RuleArrays:
        """The same and further rows that must be met, `lower ≤ matrix · (replicas, on, any of members)`, which no rule is for."""
        cells, more, groups = self.members.shape[1], len(lower), self.penalty.size
        own, theirs = (sparse.csr_array(part[:, : 2 * cells]) for part in (self.matrix, matrix))
        any_of = sparse.block_diag([self.matrix[:, 2 * cells :], matrix[:, 2 * cells :]], format="csr")
        return RuleArrays(
            self.rules,
            np.concatenate([self.rule, np.full(more, len(self.rules))]),
            np.concatenate([self.group, groups + np.arange(more)]),
            np.concatenate([self.penalty, np.full(more, np.inf)]),
            np.concatenate([self.slack, np.full(more, LIMIT_SLACK)]),
            sparse.csr_array(sparse.hstack([sparse.vstack([own, theirs]), any_of], format="csr")),
            sparse.csr_array(sparse.vstack([self.members, members], format="csr")),
            np.concatenate([self.lower, lower]),
            np.concatenate([self.upper, np.full(more, np.inf)]),
        )

    def closed(self, kept: Bools, rules: int | None = None) -> tuple[Bools, Bools]:
        """Rows that say of some cells, and nothing else, that they hold no replica; and these cells, shape (operators, nodes).

        Parameters
        ----------
        kept : shape (operators, nodes)
            Cells that stay open; so do rows that reach any of them.
        rules
            Number of rules, from the first on, that count; None for all. Limits on metrics may differ between periods, whose
            candidates may not.
        """
        positive = np.ones(len(self), bool)
        each = self.matrix.tocoo()
        positive[each.coords[0][each.data < 0]] = False
        rows = self.hard & positive & (self.upper <= 0) & (self.lower <= 0)
        rows &= self.rule < (len(self.rules) if rules is None else rules)
        rows &= self.reach @ kept.ravel().astype(float) == 0
        closed = np.asarray(self.reach[np.flatnonzero(rows)].sum(axis=0)).ravel() > 0
        return rows, closed.reshape(kept.shape)


@cache
def no_rules(cells: int) -> RuleArrays:
    """The arrays of no rule, over `cells` pairs of operator and node; made once, since most problems have none."""
    nothing, none = np.zeros(0, np.int64), np.zeros(0)
    return RuleArrays(
        (), nothing, nothing, none, none, sparse.csr_array((0, 2 * cells)), sparse.csr_array((0, cells)), none, none
    )


def record_rules(
    rules: Sequence[WrittenRule], problem: RuledProblem, operators: Sequence[str], nodes: Sequence[str]
) -> RuleArrays:
    """The rows of rules over some operators and nodes of a problem, in their order; no other node holds any replica."""
    if not rules:
        return no_rules(len(operators) * len(nodes))
    model = RuleModel(problem)
    index_of: list[int] = []
    written: list[WrittenRows] = []
    for index, part in enumerate(rule.linearise(model) for rule in rules):
        blocks = [part] if isinstance(part, (Rows, WrittenRows)) else part
        written += [WrittenRows.of(block) if isinstance(block, Rows) else block for block in blocks]
        index_of += [index] * len(blocks)
    sizes = np.array([rows.count for rows in written], np.int64)
    shared = np.array([rows.shared for rows in written], bool)
    row = np.arange(sizes.sum()) - np.repeat(_starts(sizes), sizes)
    group = np.repeat(_starts(np.where(shared, np.minimum(sizes, 1), sizes)), sizes) + np.where(np.repeat(shared, sizes), 0, row)
    rule = np.repeat(np.array(index_of, np.int64), sizes)
    matrix, members = cell_matrices(model, operators, nodes, row_matrix(written, model.columns))
    of_group = rule[np.unique(group, return_index=True)[1]].tolist()
    shapes = [(rows.count,) for rows in written]
    penalties = [rules[index].penalty for index in of_group]
    return RuleArrays(
        rules=tuple(rules),
        rule=rule,
        group=group,
        penalty=np.array([np.inf if penalty is None else penalty for penalty in penalties]),
        slack=np.array([LIMIT_SLACK * rules[index].scale for index in of_group]),
        matrix=matrix,
        members=members,
        lower=stacked([rows.lower for rows in written], np.float64, shapes),
        upper=stacked([rows.upper for rows in written], np.float64, shapes),
    )


def row_matrix(written: Sequence[WrittenRows], columns: int) -> sparse.csr_array:
    """Coefficients of rows, one block after another, over the columns of a model."""
    ends = np.cumsum([0, *(rows.count for rows in written)]).tolist()
    entries = [(first + row, *rest) for first, rows in zip(ends, written, strict=False) for row, *rest in rows.entries]
    shapes = [np.shape(column) for _, column, _ in entries]
    row, column = (stacked([entry[part] for entry in entries], np.int64, shapes) for part in range(2))
    value = stacked([entry[2] for entry in entries], np.float64, shapes)
    matrix = sparse.csr_array((value, (row, column)), shape=(ends[-1], columns))
    matrix.eliminate_zeros()
    return matrix


def record_whole(rule: Rule, problem: RuledProblem) -> RuleArrays:
    """The rows of one rule over all operators and nodes of a problem."""
    return record_rules([rule], problem, tuple(problem.application.by_name), tuple(problem.network.by_name))


def row_violation(rows: RuleArrays, problem: RuledProblem, deployment: Placed) -> float:
    """By how much a deployment violates rows over all operators and nodes."""
    held = [deployment.replicas(name) for name in problem.application.by_name]
    return float(rows.violations([[replicas[node] for node in problem.network.by_name] for replicas in held]).sum())


def cell_matrices(
    model: RuleModel, operators: Sequence[str], nodes: Sequence[str], written: sparse.csr_array
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Coefficients of expressions over some operators and nodes, and what their columns join (see `RuleArrays`)."""
    position, size, joins = _positions(model, operators, nodes), len(operators) * len(nodes), len(model.memberships)
    columns = np.concatenate([position, np.where(position < 0, -1, position + size), 2 * size + np.arange(joins)])
    row, column = np.repeat(np.arange(written.shape[0]), np.diff(written.indptr)), columns[written.indices]
    known = column >= 0
    matrix = sparse.csr_array((written.data[known], (row[known], column[known])), shape=(written.shape[0], 2 * size + joins))
    member = position[np.concatenate([np.zeros(0, np.int64), *model.memberships])]
    join = np.repeat(np.arange(joins), [part.size for part in model.memberships])[member >= 0]
    joined = sparse.csr_array((np.ones(join.size), (join, member[member >= 0])), shape=(joins, size))
    return matrix, joined


def _starts(sizes: Ints) -> Ints:
    """Where each of some parts begins, one after another."""
    return np.cumsum(sizes) - sizes


def _positions(model: RuleModel, operators: Sequence[str], nodes: Sequence[str]) -> Ints:
    """Position, among these operators and nodes, of each operator and node of the problem, or -1."""
    rows = {name: index for index, name in enumerate(operators)}
    columns = {name: index for index, name in enumerate(nodes)}
    row = np.array([rows[name] for name in model.replicas.axes["operator"]])
    column = np.array([columns.get(name, -1) for name in model.replicas.axes["node"]])
    return np.asarray(np.where(column >= 0, row[:, None] * len(nodes) + column, -1).ravel())
