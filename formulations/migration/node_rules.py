"""Columns of the program over intervals, and rules about tasks and current nodes: what they forbid, and what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.program import Program
from edrp.migration.intervals import Interval
from edrp.migration.rules import TaskRule
from edrp.migration.single_step import MigrationProblem

NOBODY = -1
"""Index in place of the old node where no old node keeps an interval."""

OPEN, TAKEN = 0, 1


class IntervalColumns(NamedTuple):
    """Meaning of the columns of the block `interval`; arrays of shape (columns,).

    Attributes
    ----------
    place : place of the interval in the order of the tasks, from 0 on.
    first, end : tasks [first, end).
    enters, leaves : `OPEN` or `TAKEN`, at the first boundary and at the end.
    node : the old node that keeps the interval, or `NOBODY`.
    moved : bytes that move.
    moves : runs of neighbouring tasks that move from one node.
    """

    place: Ints
    first: Ints
    end: Ints
    enters: Ints
    leaves: Ints
    node: Ints
    moved: Floats
    moves: Ints


def required_nodes(problem: MigrationProblem) -> list[int]:
    """Nodes to which an interval may have to go that shares no task with what they hold."""
    return sorted({node for rule in problem.rules if rule.rule == "required" for node in rule.nodes})


def with_rules(problem: MigrationProblem, arcs: IntervalColumns) -> IntervalColumns:
    """The columns that no rule forbids, with those of intervals that are given to a required node from which nothing stays."""
    if not problem.rules:
        return arcs
    parts = [arcs, *(_given(problem, arcs, node) for node in required_nodes(problem))]
    columns = IntervalColumns._make(np.concatenate(column) for column in zip(*parts, strict=True))
    stays = may_hold(problem, columns.node, columns.first, columns.end)
    return IntervalColumns._make(column[stays] for column in columns)


def may_hold(problem: MigrationProblem, node: Ints, first: Ints | int, end: Ints | int) -> Bools:
    """Whether the rules let nodes hold tasks [first, end), elementwise; `NOBODY` and numbers of new nodes are no current node."""
    allowed = np.ones(np.shape(node), np.bool_)
    for rule in problem.rules:
        named = np.isin(node, rule.nodes)
        allowed &= ~_touches(rule, first, end) | (~named if rule.rule == "forbidden" else named)
    return allowed


def placed(problem: MigrationProblem, kept: Mapping[int, Interval], others: Sequence[Interval]) -> dict[int, Interval]:
    """Intervals by node, those of nobody on the first free nodes that may hold them; nodes that join may hold them all."""
    held = dict(kept)
    for first, end in others:
        free = (node for node in count() if node not in held and may_hold(problem, np.array(node), first, end))
        held[next(free)] = first, end
    return held


def add_once_rows(program: Program, columns: Ints, arcs: IntervalColumns, nodes: list[int]) -> None:
    """Rows `once`: a required node holds one interval at most; without one from elsewhere, the path sees to that by itself."""
    row, column = np.nonzero(arcs.node == np.array(nodes, np.int64)[:, None])
    program.add_rows("once", len(nodes), [(row, columns[column], 1.0)], upper=1.0)


def _given(problem: MigrationProblem, arcs: IntervalColumns, node: int) -> IntervalColumns:
    """Columns in which a node takes an interval that some rule requires to be there, and of which it holds nothing now."""
    begins, ends = problem.intervals[node]
    wanted = np.zeros(arcs.node.size, np.bool_)
    for rule in problem.rules:
        if rule.rule == "required" and node in rule.nodes:
            wanted |= _touches(rule, arcs.first, arcs.end)
    apart = (np.minimum(arcs.end, ends) <= np.maximum(arcs.first, begins)) & (arcs.node == NOBODY)
    taken = IntervalColumns._make(column[wanted & apart] for column in arcs)
    return taken._replace(node=np.full(taken.node.size, node))


def _touches(rule: TaskRule, first: Ints | int, end: Ints | int) -> Bools:
    """Whether intervals hold any task of a rule."""
    touched = np.zeros(np.shape(first), np.bool_)
    for begin, stop in rule.tasks:
        touched |= (first < stop) & (end > begin)
    return touched
