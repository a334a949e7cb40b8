"""Compiled: what patterns cost at least, by dynamic programming along the tree of streams.

One row, that of slots or another that is scarce, is counted in whole units; all others have multipliers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.placement.fixed_tasks import LoadArrays, leaving


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
    taken : shape (operators, tasks + 1), units of the scarcest row that so many tasks take, rounded down.
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
    under : shape (operators, tasks + 1, units + 1), least cost of all operators under one with so many tasks, that together take
        at most so many units.
    after : shape (operators, tasks + 1, units + 1), the same of those under its parent that come after it and what is under it,
        by tasks of the parent (0 for roots).
    tails : shape (operators, units + 1), room for the least cost of all that comes after an operator and what is under it.
    sums : shape (2, units + 1), room to reckon.
    """

    single: np.ndarray
    joint: np.ndarray
    under: np.ndarray
    after: np.ndarray
    tails: np.ndarray
    sums: np.ndarray


@inner_loop
def set_costs(arrays: LoadArrays, prices: np.ndarray, weights: np.ndarray, multipliers: np.ndarray, costs: TreeCosts) -> None:
    """Cost of a task of each operator and of each stream with multipliers on the rows."""
    single, joint = costs.single, costs.joint
    rooms = arrays.demand.shape[1]
    for i in range(single.size):
        single[i] = prices[i]
        for m in range(rooms):
            single[i] += multipliers[m] * arrays.demand[i, m]
        for k in range(weights.size):
            single[i] += (weights[k] + multipliers[rooms + k]) * arrays.use[i, k]
    for e in range(joint.size):
        joint[e] = 0.0
        for k in range(weights.size):
            joint[e] += (weights[k] + multipliers[rooms + k]) * arrays.sent[e, k]


@inlined
def _parent_cost(rows: PatternRows, costs: TreeCosts, x: int, i: int, v: int) -> float:
    """Cost of the stream between operator i with v tasks and its parent with x; 0 for roots."""
    e = rows.tree.link[i]
    if e < 0:
        return 0.0
    arrays = rows.arrays
    a, b = arrays.source[e], arrays.target[e]
    sending, receiving = (v, x) if a == i else (x, v)
    return costs.joint[e] * leaving(sending, receiving, arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])


@inner_loop
def own_cost(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray, i: int) -> float:
    """Cost of operator i, of the stream to its parent and of those out of the tree that end at it."""
    above = rows.tree.parent[i]
    cost = costs.single[i] * pattern[i] + _parent_cost(rows, costs, pattern[above] if above >= 0 else 0, i, pattern[i])
    for c in range(rows.tree.closing.shape[1]):
        e = rows.tree.closing[i, c]
        if e >= 0:
            cost += costs.joint[e] * _share(rows.arrays, pattern, e)
    return cost


@inner_loop
def _add_up(one: np.ndarray, two: np.ndarray, both: np.ndarray) -> None:
    """Least sums of two costs that share units, by units."""
    for s in range(both.size):
        least = np.inf
        for t in range(s + 1):
            least = min(least, one[t] + two[s - t])
        both[s] = least


@inner_loop
def fill_tree(rows: PatternRows, costs: TreeCosts) -> float:
    """Least cost of all operators within the units of a node, without streams out of the tree; fills `under` and `after`."""
    most, parent, units = rows.most, rows.tree.parent, rows.units
    under, after, roots, whole = costs.under, costs.after, costs.sums[0], costs.sums[1]
    under[:] = 0.0
    roots[:] = 0.0
    for i in range(most.size - 1, -1, -1):
        above = parent[i]
        for x in range(1 if above < 0 else most[above] + 1):
            whole[:] = np.inf
            for v in range(most[i] + 1):
                cost, taken = costs.single[i] * v + _parent_cost(rows, costs, x, i, v), rows.taken[i, v]
                for s in range(taken, units + 1):
                    whole[s] = min(whole[s], cost + under[i, v, s - taken])
            joined = roots if above < 0 else under[above, x]
            for s in range(units + 1):
                after[i, x, s] = joined[s]
            _add_up(after[i, x], whole, joined)
    return float(roots[units])


@inner_loop
def _set_tail(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray, i: int) -> None:
    """The tail of operator i where its parent's tail and tasks are known."""
    above, tails = rows.tree.parent[i], costs.tails
    if above < 0:
        for s in range(rows.units + 1):
            tails[i, s] = costs.after[i, 0, s]
    elif rows.tree.end[i] < rows.tree.end[above]:
        _add_up(costs.after[i, pattern[above]], tails[above], tails[i])
    else:  # nothing else is under the parent
        for s in range(rows.units + 1):
            tails[i, s] = tails[above, s]


@inner_loop
def set_tails(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray, i: int) -> None:
    """The tails of operator i and of all above it, whose tasks are known."""
    for j in range(i + 1):
        if rows.tree.end[j] > i:
            _set_tail(rows, costs, pattern, j)


@inner_loop
def rest_cost(rows: PatternRows, costs: TreeCosts, i: int, v: int, left: int) -> float:
    """Least cost of all that is not decided where operator i takes v tasks, of so many units; infinite if they are too few."""
    left -= rows.taken[i, v]
    least = np.inf
    for s in range(left + 1):
        least = min(least, costs.under[i, v, s] + costs.tails[i, left - s])
    return least


@inner_loop
def follow_tree(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray) -> None:
    """The pattern of least cost within the units, without streams out of the tree."""
    left = rows.units
    for i in range(rows.most.size):
        _set_tail(rows, costs, pattern, i)
        above = rows.tree.parent[i]
        x = pattern[above] if above >= 0 else 0
        best, chosen = np.inf, 0
        for v in range(rows.most[i] + 1):
            cost = costs.single[i] * v + _parent_cost(rows, costs, x, i, v) + rest_cost(rows, costs, i, v, left)
            if cost < best:
                best, chosen = cost, v
        pattern[i] = chosen
        left -= rows.taken[i, chosen]


@inlined
def _share(arrays: LoadArrays, pattern: np.ndarray, e: int) -> float:
    """Share of a stream that leaves a node with this pattern."""
    a, b = arrays.source[e], arrays.target[e]
    return leaving(pattern[a], pattern[b], arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])


@inner_loop
def add_use(rows: PatternRows, pattern: np.ndarray, i: int, before: np.ndarray, after: np.ndarray) -> None:
    """Use of rows by the operators up to i, from that of the operators before it."""
    arrays, tree = rows.arrays, rows.tree
    rooms = arrays.demand.shape[1]
    for m in range(rooms):
        after[m] = before[m] + pattern[i] * arrays.demand[i, m]
    for k in range(arrays.use.shape[1]):
        after[rooms + k] = before[rooms + k] + pattern[i] * arrays.use[i, k]
    for c in range(tree.closing.shape[1] + 1):
        e = tree.link[i] if c == 0 else tree.closing[i, c - 1]
        if e >= 0:
            share = _share(arrays, pattern, e)
            for k in range(arrays.use.shape[1]):
                after[rooms + k] += share * arrays.sent[e, k]


@inlined
def fits(used: np.ndarray, upper: np.ndarray) -> bool:
    """Whether no row is exceeded."""
    fitting = True
    for r in range(upper.size):
        fitting = fitting and used[r] <= upper[r]
    return fitting
