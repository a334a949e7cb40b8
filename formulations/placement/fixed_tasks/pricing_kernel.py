"""Compiled: multipliers of the rows by the subgradient method.

Compiled: patterns of small cost by labels, operator after operator along the tree of streams.

A label is a pattern that is decided up to some operator. Of two with the same tasks of all operators that still matter, one that
costs and uses no more of anything makes the other superfluous. The tree says what a label costs at least in the end: labels that
cannot come below a cutoff are left out, and where there are too many those with the least bound go on, and the least bound of
the others limits what the search proves.

Compiled: what patterns cost at least, by dynamic programming along the tree of streams.

One row, that of slots or another that is scarce, is counted in whole units; all others have multipliers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.kernel_helpers import sort_by, value_in_place
from edrp.core.kernels import inlined, inner_loop, kernel
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


THINNING_FACTOR = 4
"""Labels are thinned out when there are so many times as many as go on."""

MAX_COMPARED = 200
"""Labels with the same tasks that one is compared with."""


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


@kernel
def extend_labels(
    rows: PatternRows, prices: TaskPrices, costs: TreeCosts, constant: float, width: int, search: PatternLabelSearch, most: int
) -> bool:
    """Decide one operator after the other until so many labels were made; returns whether none is left."""
    operators, now, then = rows.most.size, search.now, search.then
    count, missed, looked = search.done[1], search.missed[0], 0
    while search.done[0] < operators and looked < most:
        i, made = search.done[0], 0
        for label in range(count):
            if label == 0 or not _alike(rows, now.patterns[label], now.patterns[label - 1], i - 1):
                set_tails(rows, costs, now.patterns[label], i)
            if made + rows.most[i] + 1 > then.costs.size:
                made, least = _thin(then, made, width)
                missed = min(missed, constant + least)
            made = _extend(rows, prices, costs, missed - constant, i, now, label, then, made)
        looked += made
        search.done[0], search.done[2] = i + 1, made
        if i == operators - 1:
            break
        _set_keys(rows, then, made, i)
        order = _ordered(then.bounds, made)
        sort_by(then.keys, order, np.empty_like(order))
        count = _reduce(rows, then, order, i, now)
        if count > width:
            count, least = _thin(now, count, width)
            missed = min(missed, constant + least)
    search.done[1], search.missed[0] = count, missed
    return search.done[0] == operators


def cheapest_patterns(search: PatternLabelSearch, cutoff: float, most: int) -> tuple[Ints, float]:
    """A limited number of patterns below a cutoff, the best last, and a bound on the cost of all patterns."""
    made = int(search.done[2])
    costs = search.then.costs[:made]
    order = np.argsort(costs, kind="stable")[: min(int((costs < cutoff).sum()), most)]
    least = float(costs[order[0]]) if order.size else np.inf
    return search.then.patterns[order[::-1]], min(least, float(search.missed[0]))


@kernel
def _ordered(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the first so many values, by value."""
    order = np.empty(count, np.int64)
    for k in range(count):
        order[k] = k
    sort_by(values, order, np.empty_like(order))
    return order


def _new_labels(rows: PatternRows, size: int) -> PatternLabels:
    patterns, used = np.empty((size, rows.most.size), np.int64), np.empty((size, rows.upper.size))
    left, keys = np.empty(size, np.int64), np.empty(size, np.int64)
    return PatternLabels(patterns, used, np.empty(size), np.empty(size), np.empty(size), left, keys)


@inlined
def _alike(rows: PatternRows, one: np.ndarray, two: np.ndarray, i: int) -> bool:
    """Whether two patterns that are decided up to operator i have the same tasks of all operators that still matter."""
    alike = True
    for a in range(i + 1):
        if rows.tree.open[i, a] and one[a] != two[a]:
            alike = False
            break
    return alike


@inner_loop
def _extend(
    rows: PatternRows,
    prices: TaskPrices,
    costs: TreeCosts,
    cutoff: float,
    i: int,
    now: PatternLabels,
    label: int,
    then: PatternLabels,
    made: int,
) -> int:
    """Append what becomes of a label with each number of tasks of operator i; returns how many there are then."""
    rooms, pattern, left = rows.arrays.demand.shape[1], now.patterns[label], now.left[label]
    for v in range(rows.most[i] + 1):
        if rows.taken[i, v] > left:
            break
        pattern[i] = v
        spent = now.spent[label] + own_cost(rows, costs, pattern, i)
        bound = spent + rest_cost(rows, costs, i, v, left)
        if bound >= cutoff:
            continue
        add_use(rows, pattern, i, now.used[label], then.used[made])
        if not fits(then.used[made], rows.upper):
            continue
        cost = now.costs[label] + prices.tasks[i] * v
        for k in range(prices.loads.size):
            cost += prices.loads[k] * (then.used[made, rooms + k] - now.used[label, rooms + k])
        for a in range(i + 1):
            then.patterns[made, a] = pattern[a]
        then.costs[made], then.spent[made], then.bounds[made] = cost, spent, bound
        then.left[made] = left - rows.taken[i, v]
        made += 1
    return made


@inner_loop
def _set_keys(rows: PatternRows, labels: PatternLabels, count: int, i: int) -> None:
    for label in range(count):
        key = 0
        for a in range(i + 1):
            if rows.tree.open[i, a]:
                key = key * 1_000_003 + labels.patterns[label, a]
        labels.keys[label] = key


@inner_loop
def _copy(source: PatternLabels, p: int, target: PatternLabels, q: int) -> None:
    for a in range(source.patterns.shape[1]):
        target.patterns[q, a] = source.patterns[p, a]
    for r in range(source.used.shape[1]):
        target.used[q, r] = source.used[p, r]
    target.costs[q], target.spent[q], target.bounds[q] = source.costs[p], source.spent[p], source.bounds[p]
    target.left[q], target.keys[q] = source.left[p], source.keys[p]


@inner_loop
def _reduce(rows: PatternRows, labels: PatternLabels, order: np.ndarray, i: int, kept: PatternLabels) -> int:
    """Keep, in this order, labels that no other makes superfluous; returns how many."""
    count, first = 0, 0
    for p in range(order.size):
        label = order[p]
        if count > 0 and kept.keys[count - 1] != labels.keys[label]:
            first = count
        superfluous = False
        for q in range(first, min(count, first + MAX_COMPARED)):
            if _is_no_better(rows, labels, label, kept, q, i):
                superfluous = True
                break
        if not superfluous:
            _copy(labels, label, kept, count)
            count += 1
    return count


@inlined
def _is_no_better(rows: PatternRows, labels: PatternLabels, p: int, kept: PatternLabels, q: int, i: int) -> bool:
    """Whether a label costs and uses no less than one that is kept, and is open to the same."""
    worse = kept.costs[q] <= labels.costs[p]
    for r in range(rows.upper.size):
        worse = worse and (not rows.counted[i, r] or kept.used[q, r] <= labels.used[p, r])
    return worse and _alike(rows, labels.patterns[p], kept.patterns[q], i)


@kernel
def _thin(labels: PatternLabels, count: int, width: int) -> tuple[int, float]:
    """Keep labels of the least bounds in their order; returns how many, and the least bound of the others."""
    if count <= width:
        return count, np.inf
    cut = value_in_place(labels.bounds[:count].copy(), count, width)
    ties, kept = width - (labels.bounds[:count] < cut).sum(), 0
    for label in range(count):
        bound = labels.bounds[label]
        if bound < cut or (bound == cut and ties > 0):
            ties -= bound == cut
            if kept < label:
                _copy(labels, label, labels, kept)
            kept += 1
    return kept, cut


MULTIPLIER_STEPS = 60
"""Steps of the multipliers before each search."""


def empty_costs(rows: PatternRows) -> TreeCosts:
    """Room for costs along the tree."""
    operators, units = rows.most.size, rows.units + 1
    shape = (operators, int(rows.most.max(initial=0)) + 1, units)
    single, joint = np.empty(operators), np.empty(rows.arrays.source.size)
    return TreeCosts(single, joint, np.empty(shape), np.empty(shape), np.empty((operators, units)), np.empty((2, units)))


@kernel
def set_multipliers(rows: PatternRows, prices: TaskPrices, multipliers: np.ndarray, costs: TreeCosts) -> tuple[float, float]:
    """Multipliers of a high bound on the cost of every pattern, and the costs along the tree that they make.

    Parameters
    ----------
    prices
        As for `Pricing.best`, with operators in the order of the tree.
    multipliers : shape (rows,)
        Multipliers of the rows to begin with; written: the best ones met.

    Returns
    -------
    tuple
        The bound, and the cost of the multipliers alone.
    """
    upper, operators = rows.upper, rows.most.size
    best_multipliers, root = multipliers.copy(), -np.inf
    pattern, used = np.zeros(operators, np.int64), np.zeros((operators + 1, upper.size))
    for turn in range(MULTIPLIER_STEPS):
        constant = _set_costs(rows, prices, multipliers, costs)
        value = constant + fill_tree(rows, costs)
        if value > root:
            root = value
            best_multipliers[:] = multipliers
        follow_tree(rows, costs, pattern)
        for i in range(operators):
            add_use(rows, pattern, i, used[i], used[i + 1])
        _step(upper, used[operators], 0.3 * max(1e-9, abs(root)) / (1.0 + 0.3 * turn), multipliers)
    multipliers[:] = best_multipliers
    constant = _set_costs(rows, prices, multipliers, costs)
    fill_tree(rows, costs)
    return root, constant


@inner_loop
def _set_costs(rows: PatternRows, prices: TaskPrices, multipliers: np.ndarray, costs: TreeCosts) -> float:
    """Costs of tasks and streams with multipliers; returns the cost of the multipliers alone."""
    set_costs(rows.arrays, prices.tasks, prices.loads, multipliers, costs)
    constant = 0.0
    for r in range(multipliers.size):
        if multipliers[r] > 0:
            constant -= multipliers[r] * rows.upper[r]
    return constant


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
