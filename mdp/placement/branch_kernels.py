"""Kernels of the bound over branches: operators' courses and the longest path of each period agree on prices, period by period.

A tree stands for the branches: each of its nodes is an operator on the way of some paths, and an operator may have several nodes.
Latencies are rounded down to ticks. The last level stands for all longer times, and there each latency has a price.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.kernels import inlined, inner_loop
from edrp.mdp.placement.vector_kernels import OperatorTables, cost_before, following_costs, reached


class Branches(NamedTuple):
    """Trees of branches; the root of each is before its nodes, and a node before those that follow it.

    Attributes
    ----------
    parent : shape (nodes,), the node before, or −1.
    owner : shape (nodes,), operator.
    copies : shape (operators,), nodes of each operator.
    first : shape (nodes + 1,), columns of each node in `shared`.
    begin : shape (trees + 1,), nodes of each tree.
    ticks : shape (periods, columns of the operators), latencies in ticks of the operator's tree.
    price : shape (periods, trees), of a tick of the longest path.
    tail : shape (periods, columns), price of each node's latency where the longest path is on the last level.
    last : shape (periods, trees), price of the last level besides.
    allowed : shape (periods, trees), longest path in ticks that is allowed.
    """

    parent: Ints
    owner: Ints
    copies: Ints
    first: Ints
    begin: Ints
    ticks: Ints32
    price: Floats
    tail: Floats
    last: Floats
    allowed: Ints


class Work(NamedTuple):
    """Overwritten arrays: costs of subtrees, of what follows a node, of the rest, and by node, operator and column."""

    inner: Floats
    below: Floats
    outer: Floats
    own: Floats
    least: Floats
    through: Floats
    best: Floats
    source: Ints32
    need: Floats


@inlined
def _inside(branches: Branches, tables: OperatorTables, tree: int, t: int, work: Work) -> None:
    """Least cost of each subtree whose paths take at most so many ticks."""
    levels = work.inner.shape[1]
    start, end = branches.begin[tree], branches.begin[tree + 1]
    work.below[start : end + 1] = 0.0
    for c in range(end - 1, start - 1, -1):
        i = branches.owner[c]
        first, low = branches.first[c], tables.first[i]
        inner, below = work.inner[c], work.below[c]
        inner[:] = np.inf
        for k in range(branches.first[c + 1] - first):
            cost, ticks = work.own[first + k], branches.ticks[t, low + k]
            if cost == np.inf:
                continue
            for r in range(ticks, levels - 1):
                inner[r] = min(inner[r], cost + below[r - ticks])
            inner[levels - 1] = min(inner[levels - 1], cost + branches.tail[t, first + k] + below[levels - 1])
        parent = branches.parent[c] if branches.parent[c] >= 0 else end
        for r in range(levels):
            work.below[parent, r] += inner[r]


@inlined
def _level_cost(branches: Branches, tree: int, t: int, r: int, work: Work) -> float:
    """Cost of a longest path of so many ticks, infinite where it is not allowed."""
    if r > branches.allowed[t, tree]:
        return np.inf
    return branches.last[t, tree] if r == work.inner.shape[1] - 1 else branches.price[t, tree] * r


@inlined
def tree_cost(branches: Branches, tables: OperatorTables, tree: int, t: int, work: Work) -> float:
    """Least cost of a tree with the costs of its nodes in `work.own`."""
    _inside(branches, tables, tree, t, work)
    end, least = branches.begin[tree + 1], np.inf
    for r in range(work.inner.shape[1]):
        least = min(least, _level_cost(branches, tree, t, r, work) + work.below[end, r])
    return least


@inlined
def _outside(branches: Branches, tables: OperatorTables, tree: int, t: int, work: Work) -> None:
    """Fill in `work.least`: for each node and number of replicas, the least cost of the tree with it."""
    levels = work.inner.shape[1]
    start, end = branches.begin[tree], branches.begin[tree + 1]
    for c in range(start, end):
        parent, outer = branches.parent[c], work.outer[c]
        if parent < 0:
            for r in range(levels):
                rest = work.below[end, r]
                outer[r] = _level_cost(branches, tree, t, r, work) + rest - work.inner[c, r] if rest < np.inf else np.inf
        else:
            _handed_down(branches, tables, parent, t, work, outer)
            for r in range(levels):
                rest = work.below[parent, r]
                outer[r] += rest - work.inner[c, r] if rest < np.inf else np.inf
        for r in range(levels - 3, -1, -1):  # more time than is needed is allowed
            outer[r] = min(outer[r], outer[r + 1])
        first, low = branches.first[c], tables.first[branches.owner[c]]
        for k in range(branches.first[c + 1] - first):
            cost, ticks = work.own[first + k], branches.ticks[t, low + k]
            least = outer[levels - 1] + branches.tail[t, first + k] + work.below[c, levels - 1]
            for r in range(ticks, levels - 1):
                least = min(least, outer[r] + work.below[c, r - ticks])
            work.least[first + k] = least + cost


@inlined
def _handed_down(branches: Branches, tables: OperatorTables, c: int, t: int, work: Work, result: Floats) -> None:
    """Least cost of a node and all that is not after it, where so many ticks are left after it."""
    levels, outer = work.inner.shape[1], work.outer[c]
    first, low = branches.first[c], tables.first[branches.owner[c]]
    result[:] = np.inf
    for k in range(branches.first[c + 1] - first):
        cost, ticks = work.own[first + k], branches.ticks[t, low + k]
        if cost == np.inf:
            continue
        for r in range(levels - 1 - ticks):
            result[r] = min(result[r], cost + outer[r + ticks])
        result[levels - 1] = min(result[levels - 1], cost + branches.tail[t, first + k] + outer[levels - 1])


@inlined
def _agree(
    branches: Branches, tables: OperatorTables, t: int, costs: Floats, values: Floats, after: Floats, shared: Floats, work: Work
) -> None:
    """Share out what the branches and the operators' courses cost together in a period; raises the bound or keeps it."""
    for tree in range(branches.begin.size - 1):
        start, end = branches.begin[tree], branches.begin[tree + 1]
        for c in range(start, end):
            i = branches.owner[c]
            low, first = tables.first[i], branches.first[c]
            count, least = branches.first[c + 1] - first, np.inf
            for k in range(count):
                least = min(least, values[t, low + k] + after[t, low + k])
            if least == np.inf:
                return
            for k in range(count):
                through = (values[t, low + k] + after[t, low + k] - least) / branches.copies[i]
                work.through[first + k] = through
                work.own[first + k] = through - shared[t, first + k] if through < np.inf else np.inf
        total = tree_cost(branches, tables, tree, t, work)
        if total == np.inf:
            continue
        _outside(branches, tables, tree, t, work)
        for c in range(start, end):
            low, first = tables.first[branches.owner[c]], branches.first[c]
            for k in range(branches.first[c + 1] - first):
                if work.least[first + k] == np.inf:
                    continue
                moved = (work.least[first + k] - total) / (end - start) - work.through[first + k]
                shared[t, first + k] += moved
                costs[t, low + k] += moved
                values[t, low + k] += moved


@inlined
def _share_change(
    tables: OperatorTables, t: int, costs: Floats, values: Floats, after: Floats, price: float, prices: Floats, work: Work
) -> None:
    """Share out the price of any change into a period by what each operator would pay."""
    operators, total = tables.started.size, 0.0
    for i in range(operators):
        stays, moves = np.inf, np.inf
        for k in range(tables.first[i], tables.first[i + 1]):
            rest = costs[t, k] + after[t, k]
            stays, moves = min(stays, values[t - 1, k] + rest), min(moves, work.best[k] + rest)
        work.need[i] = min(stays - moves, price) if moves < np.inf else 0.0
        total += work.need[i]
    for i in range(operators):
        if total > price:
            prices[t, i] = work.need[i] * (price / total)
        else:
            prices[t, i] = work.need[i] + (price - total) / operators


@inner_loop
def sweep(
    branches: Branches,
    tables: OperatorTables,
    change: Floats,
    costs: Floats,
    prices: Floats,
    shared: Floats,
    values: Floats,
    after: Floats,
    work: Work,
) -> float:
    """Go forward and back over the periods, and raise the bound in each; return the bound without constants."""
    periods, operators = len(costs), tables.started.size
    following_costs(tables, costs, prices, after, work.best)
    for t in range(periods):
        _after(tables, t, change, costs, prices, values, after, work)
        _agree(branches, tables, t, costs, values, after, shared, work)
    for t in range(periods - 1, -1, -1):
        _agree(branches, tables, t, costs, values, after, shared, work)
        if t > 0:
            cost_before(tables, t, costs, prices, after, work.best)
    total = 0.0
    for i in range(operators):
        least = np.inf
        for k in range(tables.first[i], tables.first[i + 1]):
            entry = tables.entry[k] + (prices[0, i] if tables.enters[k] > 0 else 0.0)
            least = min(least, costs[0, k] + after[0, k] + entry)
        total += least
    for t in range(periods):
        for tree in range(branches.begin.size - 1):
            for c in range(branches.first[branches.begin[tree]], branches.first[branches.begin[tree + 1]]):
                work.own[c] = -shared[t, c]
            total += tree_cost(branches, tables, tree, t, work)
    return total


@inlined
def _after(
    tables: OperatorTables, t: int, change: Floats, costs: Floats, prices: Floats, values: Floats, after: Floats, work: Work
) -> None:
    """Least costs of the courses that end in a period."""
    if t == 0:
        for i in range(tables.started.size):
            for k in range(tables.first[i], tables.first[i + 1]):
                values[0, k] = costs[0, k] + tables.entry[k] + (prices[0, i] if tables.enters[k] > 0 else 0.0)
        return
    for i in range(tables.started.size):
        reached(tables, i, values[t - 1], work.best, work.source)
    if change[t] < np.inf:
        _share_change(tables, t, costs, values, after, change[t], prices, work)
    for i in range(tables.started.size):
        for k in range(tables.first[i], tables.first[i + 1]):
            values[t, k] = min(values[t - 1, k], work.best[k] + prices[t, i]) + costs[t, k]
