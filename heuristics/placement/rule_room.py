"""How many more replicas the rules of a problem leave to nodes while a placement is filled, and what wishes say of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.problem import derived
from edrp.heuristics.placement.rule_rows import rule_rows
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled


class RuleRoom:
    """The rows by which rules that must be met allow only so many replicas, whatever else is placed.

    These have an upper bound and no negative coefficient. Of each operator, `_parts` are the cells through which it adds to
    them, and `_pair` numbers the pairs of a row and a node that these are of.
    """

    def __init__(self, compiled: Compiled) -> None:
        rules, rows = compiled.rules, rule_rows(compiled, 1.0)
        self._rows, self._shape = rows, compiled.candidate.shape
        self._row = np.repeat(np.arange(len(rules)), np.diff(rows.row_start))
        self._term = np.repeat(np.arange(self._row.size), np.diff(rows.term_start))
        negative = np.bincount(self._row[rows.coefficient < 0], minlength=len(rules)) > 0
        self._upper = np.where(rules.hard & ~negative, rows.upper + rules.slack[rules.group], np.inf)
        final = np.isfinite(self._upper)[self._row[self._term]]
        self._parts = [np.flatnonzero(final & (rows.operator == i)) for i in range(self._shape[0])]
        wished = np.isfinite(rows.penalty)[self._row[self._term]]
        self._wishes = [np.flatnonzero(wished & (rows.operator == i)) for i in range(self._shape[0])]
        keys = [self._row[self._term[part]] * self._shape[1] + rows.node[part] for part in self._parts]
        self._pairs = [np.unique(key, return_inverse=True) for key in keys]

    def room(self, counts: Ints, operator: int, limit: int) -> Ints:
        """Number of further replicas of an operator that each node can take without exceeding a row, shape (nodes,).

        It is at most `limit`, and supposes for each node that all of them go there.
        """
        rows, part, (pair, number) = self._rows, self._parts[operator], self._pairs[operator]
        replicas, values = self._values(counts)
        free = (self._upper - values)[pair // self._shape[1]]
        term = self._term[part]
        each = np.bincount(number, rows.coefficient[term] * ~rows.joined[term], pair.size)
        first = np.bincount(number, rows.coefficient[term] * (rows.joined & (replicas == 0))[term], pair.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            fitting = np.where(each > 0, (free - first) // each, np.where((first > 0) & (first > free), 0, limit))
        room = np.full(self._shape[1], limit)
        np.minimum.at(room, pair % self._shape[1], np.clip(fitting, 0, limit).astype(np.int64))
        return room

    def prices(self, counts: Ints, operator: int) -> Floats:
        """Objective that one more replica of an operator adds on each node by rules with a penalty, shape (nodes,).

        Negative where it meets a wish. Rows that are violated together count each by itself: prices compare nodes, no more.
        """
        rows, part, prices = self._rows, self._wishes[operator], np.zeros(self._shape[1])
        replicas, values = self._values(counts)
        term = self._term[part]
        pair, number = np.unique(self._row[term] * self._shape[1] + rows.node[part], return_inverse=True)
        row, node = np.divmod(pair, self._shape[1])
        more = np.bincount(number, rows.coefficient[term] * ~(rows.joined & (replicas > 0))[term], pair.size)
        before, after = (
            np.maximum(0.0, np.maximum(rows.lower[row] - value, value - rows.upper[row]))
            for value in (values[row], values[row] + more)
        )
        np.add.at(prices, node, rows.penalty[row] * (after - before))
        return prices

    def _values(self, counts: Ints) -> tuple[Floats, Floats]:
        """Replicas of each term, and value of each row."""
        rows = self._rows
        replicas = np.bincount(self._term, counts[rows.operator, rows.node].astype(float), self._row.size)
        values = rows.coefficient * np.where(rows.joined, replicas > 0, replicas)
        return replicas, np.bincount(self._row, values, self._upper.size)


@derived
def rule_room(problem: Any) -> RuleRoom:
    """The room that the rules of a problem of placement leave."""
    return RuleRoom(compile_problem(problem))
