"""Compiled: patterns of small cost by labels, operator after operator along the tree of streams.

A label is a pattern that is decided up to some operator. Of two with the same tasks of all operators that still matter, one that
costs and uses no more of anything makes the other superfluous. The tree says what a label costs at least in the end: labels that
cannot come below a cutoff are left out, and where there are too many those with the least bound go on, and the least bound of
the others limits what the search proves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.kernel_helpers import sort_by, value_in_place
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.formulations.placement.fixed_tasks.pricing_tree import (
    PatternRows,
    TreeCosts,
    add_use,
    fits,
    own_cost,
    rest_cost,
    set_tails,
)

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
