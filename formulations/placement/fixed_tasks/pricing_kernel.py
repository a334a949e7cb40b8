"""Compiled: multipliers of the rows, the dynamic program along the tree of streams, and branch and bound below it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.placement.fixed_tasks import LoadArrays, leaving

MAX_STEPS = 300_000
"""Steps of branch and bound after which the bound at its root is taken."""

ROUNDS = 60
"""Steps of the multipliers before each branch and bound."""


class Tree(NamedTuple):
    """Operators such that each comes after its parent; the stream between them, and streams that close a cycle.

    Attributes
    ----------
    parent, link : shape (operators,)
        Parent of each operator and the stream that joins them, or -1.
    closing : shape (operators, most)
        Streams out of the tree whose later end is this operator, padded with -1.
    """

    parent: np.ndarray
    link: np.ndarray
    closing: np.ndarray


class PatternRows(NamedTuple):
    """The patterns that a node can have.

    Attributes
    ----------
    arrays, tree
        Operators in the order of the tree, and their streams.
    most : shape (operators,)
        Largest number of tasks of each operator on a node.
    upper : shape (rows,)
        Amount that a node has of each resource that tasks take, then the largest load of each that they share.
    """

    arrays: LoadArrays
    tree: Tree
    most: np.ndarray
    upper: np.ndarray


class TreeCosts(NamedTuple):
    """Costs with multipliers on the rows, and what follows from them along the tree.

    Attributes
    ----------
    single : shape (operators,)
        Cost of a task.
    joint : shape (streams,)
        Cost of a stream all of whose tuples leave the node.
    below : shape (operators, tasks + 1)
        Least cost of an operator with so many tasks and of all under it, without the stream to its parent.
    least : shape (operators, tasks + 1)
        The least with that stream where the parent has so many tasks (0 for roots).
    """

    single: np.ndarray
    joint: np.ndarray
    below: np.ndarray
    least: np.ndarray


@inlined
def _share(arrays: LoadArrays, pattern: np.ndarray, e: int) -> float:
    """Share of a stream that leaves a node with this pattern."""
    a, b = arrays.source[e], arrays.target[e]
    return leaving(pattern[a], pattern[b], arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])


@inner_loop
def _fill_tree(rows: PatternRows, costs: TreeCosts) -> float:
    """Least cost of all operators without rows; fills `below` and `least`."""
    arrays, tree, most = rows.arrays, rows.tree, rows.most
    below, least = costs.below, costs.least
    value = 0.0
    for i in range(most.size):
        for v in range(most[i] + 1):
            below[i, v] = costs.single[i] * v
    for i in range(most.size - 1, -1, -1):
        above, e = tree.parent[i], tree.link[i]
        if above < 0:
            least[i, 0] = below[i, 0]
            for v in range(1, most[i] + 1):
                least[i, 0] = min(least[i, 0], below[i, v])
            value += least[i, 0]
            continue
        sends = arrays.source[e] == i
        one, two = (i, above) if sends else (above, i)
        for x in range(most[above] + 1):
            cost = np.inf
            for v in range(most[i] + 1):
                share = leaving(
                    v if sends else x, x if sends else v, arrays.totals[one], arrays.totals[two], arrays.one_to_one[e]
                )
                cost = min(cost, below[i, v] + costs.joint[e] * share)
            least[i, x] = cost
            below[above, x] += cost
    return value


@inlined
def _parent_cost(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray, i: int, v: int) -> float:
    """Cost of the stream between operator i with v tasks and its parent, whose tasks are known; 0 for roots."""
    e = rows.tree.link[i]
    if e < 0:
        return 0.0
    arrays = rows.arrays
    a, b = arrays.source[e], arrays.target[e]
    sent = v if a == i else pattern[a]
    got = v if b == i else pattern[b]
    return costs.joint[e] * leaving(sent, got, arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])


@inner_loop
def _follow_tree(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray) -> None:
    """The pattern of least cost without rows."""
    for i in range(rows.most.size):
        best = np.inf
        for v in range(rows.most[i] + 1):
            cost = costs.below[i, v] + _parent_cost(rows, costs, pattern, i, v)
            if cost < best:
                best = cost
                pattern[i] = v


@inner_loop
def _add_use(rows: PatternRows, pattern: np.ndarray, i: int, before: np.ndarray, after: np.ndarray) -> None:
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


@kernel
def price_patterns(
    rows: PatternRows, prices: np.ndarray, weights: np.ndarray, multipliers: np.ndarray, tolerance: float, found: np.ndarray
) -> tuple[int, float]:
    """Search for patterns of small cost.

    Parameters
    ----------
    prices, weights, tolerance
        As for `Pricing.best`, with operators in the order of the tree.
    multipliers : shape (rows,)
        Multipliers of the rows to begin with; written: the best ones met.
    found : shape (patterns, operators)
        Written: patterns, each better than the one before.

    Returns
    -------
    tuple
        Number of patterns found, and the bound on the cost of every pattern.
    """
    upper, operators = rows.upper, rows.most.size
    size = rows.most.max() + 1
    below, least = np.empty((operators, size)), np.zeros((operators, size))
    costs = TreeCosts(np.empty(operators), np.empty(rows.arrays.source.size), below, least)
    best_multipliers, root = multipliers.copy(), -np.inf
    pattern, used = np.zeros(operators, np.int64), np.zeros((operators + 1, upper.size))
    for turn in range(ROUNDS + 1):
        if turn == ROUNDS:
            multipliers[:] = best_multipliers
        _set_costs(rows.arrays, prices, weights, multipliers, costs)
        value = _fill_tree(rows, costs)
        for r in range(upper.size):
            if multipliers[r] > 0:
                value -= multipliers[r] * upper[r]
        if turn == ROUNDS:
            break
        if value > root:
            root = value
            best_multipliers[:] = multipliers
        _follow_tree(rows, costs, pattern)
        for i in range(operators):
            _add_use(rows, pattern, i, used[i], used[i + 1])
        _step(upper, used[operators], 0.3 * max(1e-9, abs(root)) / (1.0 + 0.3 * turn), multipliers)
    return _branch(rows, prices, weights, costs, value, tolerance, found)


@inner_loop
def _step(upper: np.ndarray, used: np.ndarray, length: float, multipliers: np.ndarray) -> None:
    """A step of the subgradient method: raise the multipliers of rows that are exceeded, and lower the others."""
    norm = 0.0
    for r in range(upper.size):
        if np.isfinite(upper[r]) and upper[r] > 0 and (multipliers[r] > 0 or used[r] > upper[r]):
            norm += (used[r] / upper[r] - 1.0) ** 2
    if norm < 1e-16:
        return
    for r in range(upper.size):
        if np.isfinite(upper[r]) and upper[r] > 0:
            step = length / norm * (used[r] / upper[r] - 1.0) / upper[r]
            multipliers[r] = max(0.0, multipliers[r] + step)


@inner_loop
def _set_costs(arrays: LoadArrays, prices: np.ndarray, weights: np.ndarray, multipliers: np.ndarray, costs: TreeCosts) -> None:
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


@kernel
def _branch(
    rows: PatternRows,
    prices: np.ndarray,
    weights: np.ndarray,
    costs: TreeCosts,
    root: float,
    tolerance: float,
    found: np.ndarray,
) -> tuple[int, float]:
    """Search depth first, the most promising number of tasks of each operator first; returns what `price_patterns` does."""
    most, (operators, size) = rows.most, costs.below.shape
    pattern, turn = np.zeros(operators, np.int64), np.zeros(operators, np.int64)
    used, bound = np.zeros((operators + 1, rows.upper.size)), np.zeros(operators + 1)
    bound[0] = root
    rises, ranked = np.empty((operators, size)), np.empty((operators, size), np.int64)
    best, number, steps, i = np.inf, 0, 0, 0
    enters = True
    while i >= 0:
        if enters:
            _rank_counts(rows, costs, pattern, i, rises[i], ranked[i])
            turn[i] = 0
        enters = False
        if turn[i] > most[i] or steps > MAX_STEPS:
            i -= 1
            continue
        steps += 1
        v = ranked[i, turn[i]]
        turn[i] += 1
        value = bound[i] + rises[i, v]
        if value >= best - tolerance:
            i -= 1
            continue
        pattern[i] = v
        _add_use(rows, pattern, i, used[i], used[i + 1])
        value = _with_closing(rows, costs, pattern, i, value)
        if not _fits(used[i + 1], rows.upper) or value >= best - tolerance:
            continue
        if i < operators - 1:
            bound[i + 1] = value
            i += 1
            enters = True
            continue
        cost = _pattern_cost(prices, weights, pattern, used[operators])
        if cost < best:
            best = cost
            number = _keep(pattern, found, number)
    return number, (root if steps > MAX_STEPS else max(root, best - tolerance))


@inner_loop
def _rank_counts(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray, i: int, rises: np.ndarray, ranked: np.ndarray) -> None:
    """By how much the bound rises with each number of tasks of operator i, and these numbers by ascending rise."""
    above = rows.tree.parent[i]
    known = costs.least[i, pattern[above]] if above >= 0 else costs.least[i, 0]
    for v in range(rows.most[i] + 1):
        rises[v] = costs.below[i, v] - known + _parent_cost(rows, costs, pattern, i, v)
        position = v
        while position > 0 and rises[ranked[position - 1]] > rises[v]:
            ranked[position] = ranked[position - 1]
            position -= 1
        ranked[position] = v


@inlined
def _with_closing(rows: PatternRows, costs: TreeCosts, pattern: np.ndarray, i: int, value: float) -> float:
    """A bound with the cost of the streams out of the tree that end at operator i."""
    for c in range(rows.tree.closing.shape[1]):
        e = rows.tree.closing[i, c]
        if e >= 0:
            value += costs.joint[e] * _share(rows.arrays, pattern, e)
    return value


@inlined
def _fits(used: np.ndarray, upper: np.ndarray) -> bool:
    """Whether no row is exceeded."""
    fits = True
    for r in range(upper.size):
        fits = fits and used[r] <= upper[r]
    return fits


@inlined
def _pattern_cost(prices: np.ndarray, weights: np.ndarray, pattern: np.ndarray, used: np.ndarray) -> float:
    """Cost of a pattern by its tasks and its loads, which are the last of what it uses."""
    cost = 0.0
    for i in range(pattern.size):
        cost += prices[i] * pattern[i]
    for k in range(weights.size):
        cost += weights[k] * used[used.size - weights.size + k]
    return cost


@kernel
def _keep(pattern: np.ndarray, found: np.ndarray, number: int) -> int:
    """Put a pattern behind those found, the first of which goes where there is no room; returns how many there are."""
    if number == found.shape[0]:
        for p in range(number - 1):
            found[p] = found[p + 1]
        number -= 1
    found[number] = pattern
    return number + 1
