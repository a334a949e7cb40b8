"""Rules in elimination: those about one operator price its configurations, others follow sums that labels carry.

A label knows the value of every row so far, and how many cells of a join that crosses operators are in use. Rows are tested as
soon as what later operators may add is no help, and priced once the last of their operators is placed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.late_imports import sparse
from edrp.placement.compiled import NO_NODE
from edrp.placement.rules.arrays import RuleArrays

MAX_CELLS = 4_000_000
"""Configurations times rows that are looked at together."""


class RuleStage(NamedTuple):
    """What is tested where one operator is placed, for kernels.

    Attributes
    ----------
    added : shape (configurations, sums), what each adds to the sums: rows, then joins that cross operators.
    row, group : shape (tested,), the sum of a row, and its group, ascending.
    lower, upper : shape (tested,), bounds; of hard rows with their slack, and without what later operators may add.
    penalty : shape (tested,), objective per unit of violation; infinite for hard rows.
    first, join, coefficient : crossing joins of each tested row, in `join[first[k]:first[k + 1]]`.
    """

    added: Floats
    row: Ints
    group: Ints
    lower: Floats
    upper: Floats
    penalty: Floats
    first: Ints
    join: Ints
    coefficient: Floats


class RuleSums:
    """Values of rows as sums over operators."""

    def __init__(self, rules: RuleArrays, nodes: int) -> None:
        self.rules, self.nodes, self.cells = rules, nodes, rules.members.shape[1]
        self.matrix = rules.matrix.tocsc()
        self.joined = self.matrix[:, 2 * self.cells :]
        ends = [rules.members.indices[first:end] // nodes for first, end in pairwise(rules.members.indptr)]
        self.owner = np.array([each[0] if each.size and (each == each[0]).all() else -1 for each in ends], np.int64)
        """Operator of each join; -1 where it crosses operators."""
        several = (self.owner < 0) & (np.diff(rules.members.indptr) > 0)  # a join of no cells is 0
        self.crossing = np.flatnonzero(several & (np.diff(self.joined.indptr) > 0))
        self.crossed = self.joined.tocsr()[:, self.crossing]
        """Coefficients of joins that cross operators, shape (rows, crossing joins)."""

    def __len__(self) -> int:
        return len(self.rules) + self.crossing.size

    def added(self, operator: int, members: Ints32) -> Floats:
        """What configurations of an operator add to rows and crossing joins, shape (configurations, sums)."""
        if not len(self):
            return np.zeros((len(members), 0))
        part = slice(operator * self.nodes, (operator + 1) * self.nodes)
        configuration, place = np.nonzero(members != NO_NODE)
        pairs = (members[configuration, place], configuration)
        replicas = sparse.csc_array((np.ones(configuration.size), pairs), shape=(self.nodes, len(members)))
        on = (replicas > 0).astype(float)
        mine = np.flatnonzero(self.owner == operator)
        held = self.rules.members[:, part] @ on
        rows = self.matrix[:, part] @ replicas + self.matrix[:, self.cells + part.start : self.cells + part.stop] @ on
        rows = rows + self.joined[:, mine] @ (held[mine] > 0).astype(float)
        return np.ascontiguousarray(np.vstack([rows.toarray(), held[self.crossing].toarray()]).T)

    def prices(self, operator: int, members: Ints32) -> Floats:
        """Penalty of configurations by rows about this operator alone, infinite where they break a rule."""
        parts = np.array_split(members, 1 + len(members) * len(self) // MAX_CELLS)
        return np.concatenate([self._prices(operator, part) for part in parts])

    def _prices(self, operator: int, members: Ints32) -> Floats:
        rules, values = self.rules, self.added(operator, members)
        outside = np.maximum(0.0, np.maximum(rules.lower - values, values - rules.upper))
        violated = np.maximum.reduceat(outside, np.searchsorted(rules.group, np.arange(rules.penalty.size)), axis=1)
        hard = np.isinf(rules.penalty)
        price = violated[:, ~hard] @ rules.penalty[~hard]
        return np.where((violated > rules.slack)[:, hard].any(axis=1), np.inf, price)


class OrderedRules:
    """The rules of a problem over operators in search order."""

    def __init__(self, rules: RuleArrays, order: Ints, nodes: int) -> None:
        self.order, self.nodes = order, nodes
        first, last = _ends(rules, order, nodes)
        alone = np.where(first == last, last, -1)
        self.own = {place: RuleSums(rules.without(alone != place), nodes) for place in np.unique(alone[alone >= 0]).tolist()}
        self.shared = RuleSums(rules.without(first == last), nodes)
        self.last = last[first < last]
        """Place of the last operator of each shared row's group."""

    def allowed(self, place: int, members: Ints32) -> tuple[Ints32, Floats]:
        """Those of some configurations of the operator at a place that break no rule by themselves, and their penalties."""
        if place not in self.own:
            return members, np.zeros(len(members))
        prices = self.own[place].prices(int(self.order[place]), members)
        return members[np.isfinite(prices)], prices[np.isfinite(prices)]

    def stages(self, members: Sequence[Ints32]) -> list[RuleStage]:
        """What is tested where each operator is placed, from the configurations that each has left."""
        added = [self.shared.added(int(operator), part) for operator, part in zip(self.order, members, strict=True)]
        rules, stages = self.shared.rules, list[RuleStage]()
        slack = np.where(rules.hard, rules.slack[rules.group], 0.0)
        least = most = np.zeros(len(rules))
        for place in range(self.order.size - 1, -1, -1):
            values = added[place][:, : len(rules)]
            early = rules.hard & (self.last > place) & (np.diff(self.shared.crossed.indptr) == 0) & values.any(axis=0)
            tested = np.flatnonzero(early | (self.last == place))
            joins = self.shared.crossed[tested]
            stage = RuleStage(
                added=added[place],
                row=tested,
                group=rules.group[tested],
                lower=(rules.lower - most - slack)[tested],
                upper=(rules.upper - least + slack)[tested],
                penalty=rules.penalty[rules.group[tested]],
                first=joins.indptr.astype(np.int64),
                join=joins.indices.astype(np.int64) + len(rules),
                coefficient=joins.data,
            )
            stages.insert(0, stage)
            least, most = least + values.min(axis=0), most + values.max(axis=0)
        return stages

    def pending(self, place: int) -> Bools:
        """Which sums still matter once the operator at a place is placed, shape (sums,)."""
        rows = self.last > place
        return np.concatenate([rows, abs(self.shared.crossed).T @ rows.astype(float) > 0])


def _ends(rules: RuleArrays, order: Ints, nodes: int) -> tuple[Ints, Ints]:
    """First and last place of the operators that the group of each row is about, shape (rows,); 0 where it is about none."""
    row, cell = rules.reach.nonzero()
    group, place = rules.group[row], np.argsort(order)[cell // nodes]
    first, last = np.full(rules.penalty.size, order.size), np.zeros(rules.penalty.size, np.int64)
    np.minimum.at(first, group, place)
    np.maximum.at(last, group, place)
    return np.minimum(first, last)[rules.group], last[rules.group]
