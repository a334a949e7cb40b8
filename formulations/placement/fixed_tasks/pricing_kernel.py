"""Arrays of `set_multipliers` and `extend_labels`, which find patterns of small cost by labels along the tree of streams.

The kernels are in edrp/native/formulations/placement/fixed_tasks/pricing_kernel.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.placement.fixed_tasks import LoadArrays


class OperatorTree(NamedTuple):
    """Operators such that each comes after its parent and what is under it in one piece; the streams that join them.

    Attributes
    ----------
    parent, link : shape (operators,), parent of each operator and the stream that joins them, or -1.
    end : shape (operators,), the first operator that is not under this one.
    closing : shape (operators, most), streams out of the tree whose later end is this operator, padded with -1.
    open : shape (operators, operators), bool, whether the tasks of the second operator still matter where all up to the first one
        are decided.
    """

    parent: np.ndarray
    link: np.ndarray
    end: np.ndarray
    closing: np.ndarray
    open: np.ndarray


class PatternRows(NamedTuple):
    """The patterns that a node can have.

    Attributes
    ----------
    arrays, tree : operators in the order of the tree, and their streams.
    most : shape (operators,), largest number of tasks of each operator on a node.
    upper : shape (rows,), amount that a node has of each resource that tasks take, then the largest load of each that they share.
    counted : shape (operators, rows), bool, whether operators after this one can exceed the row.
    taken : shape (operators, tasks + 1), units of the scarcest row that a number of tasks takes, rounded down.
    units : int, units that a node has of it; 0 for no such row.
    """

    arrays: LoadArrays
    tree: OperatorTree
    most: np.ndarray
    upper: np.ndarray
    counted: np.ndarray
    taken: np.ndarray
    units: int


class TreeCosts(NamedTuple):
    """Costs with multipliers on the rows, and what follows from them along the tree.

    Attributes
    ----------
    single : shape (operators,), cost of a task.
    joint : shape (streams,), cost of a stream all of whose tuples leave the node.
    under : shape (operators, tasks + 1, units + 1), least cost of all operators under one, by its tasks and by the units
        that they take together at most.
    after : shape (operators, tasks + 1, units + 1), the same of those under its parent that come after it and what is under it,
        by tasks of the parent (0 for roots).
    tails : shape (operators, units + 1), room for the least cost of all that comes after an operator and what is under it.
    """

    single: np.ndarray
    joint: np.ndarray
    under: np.ndarray
    after: np.ndarray
    tails: np.ndarray


THINNING_FACTOR = 4
"""Labels are thinned out when there are this many times as many as go on."""


class PatternLabels(NamedTuple):
    """Patterns that are decided up to some operator.

    Attributes
    ----------
    patterns : shape (labels, operators)
    used : shape (labels, rows)
    costs, spent, bounds : shape (labels,), cost of what is decided without and with multipliers on the rows, least cost of the
        whole pattern.
    left : shape (labels,), units that are left.
    keys : shape (labels,), numbers that are equal where the tasks of all operators that still matter are, and seldom where they
        are not.
    """

    patterns: np.ndarray
    used: np.ndarray
    costs: np.ndarray
    spent: np.ndarray
    bounds: np.ndarray
    left: np.ndarray
    keys: np.ndarray


class TaskPrices(NamedTuple):
    """Costs without multipliers: of a task of each operator, and of a node's load."""

    tasks: np.ndarray
    loads: np.ndarray


class PatternLabelSearch(NamedTuple):
    """Labels of the operators up to one, which `extend_labels` takes further.

    Attributes
    ----------
    now, then : labels that go on, and room for what becomes of them.
    done : shape (3,), operators that are decided, labels in `now`, and in `then` after the last operator.
    missed : shape (1,), least cost of any pattern that was not looked at.
    """

    now: PatternLabels
    then: PatternLabels
    done: np.ndarray
    missed: np.ndarray


def first_labels(rows: PatternRows, cutoff: float, width: int) -> PatternLabelSearch:
    """The label of no operator."""
    room = max(THINNING_FACTOR * width, width + int(rows.most.max(initial=0)) + 1)
    now, then = _new_labels(rows, room), _new_labels(rows, room)
    now.patterns[0], now.used[0], now.costs[0], now.spent[0], now.left[0] = 0, 0.0, 0.0, 0.0, rows.units
    return PatternLabelSearch(now, then, np.array([0, 1, 0]), np.array([cutoff]))


def cheapest_patterns(search: PatternLabelSearch, cutoff: float, most: int) -> tuple[Ints, float]:
    """A limited number of patterns below a cutoff, the best last, and a bound on the cost of all patterns."""
    made = int(search.done[2])
    costs = search.then.costs[:made]
    order = np.argsort(costs, kind="stable")[: min(int((costs < cutoff).sum()), most)]
    least = float(costs[order[0]]) if order.size else np.inf
    return search.then.patterns[order[::-1]], min(least, float(search.missed[0]))


def _new_labels(rows: PatternRows, size: int) -> PatternLabels:
    patterns, used = np.empty((size, rows.most.size), np.int64), np.empty((size, rows.upper.size))
    left, keys = np.empty(size, np.int64), np.empty(size, np.int64)
    return PatternLabels(patterns, used, np.empty(size), np.empty(size), np.empty(size), left, keys)


MULTIPLIER_STEPS = 60
"""Steps of the multipliers before each search."""


def empty_costs(rows: PatternRows) -> TreeCosts:
    """Room for costs along the tree."""
    operators, units = rows.most.size, rows.units + 1
    shape = (operators, int(rows.most.max(initial=0)) + 1, units)
    single, joint = np.empty(operators), np.empty(rows.arrays.source.size)
    return TreeCosts(single, joint, np.empty(shape), np.empty(shape), np.empty((operators, units)))
