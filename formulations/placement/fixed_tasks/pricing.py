"""The pattern that gains most at given prices of tasks: branch and bound over operators, bounded along a tree of streams.

Minimised is Σ price·tasks + Σ weight·load over patterns within room and limits. Without these rows, and with streams that close a
cycle left out (they only ever add), the minimum is found by dynamic programming along the tree; with multipliers on the rows it
is a bound for every partial pattern, and orders what is tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inner_loop, kernel
from edrp.placement.fixed_tasks import SAME, FixedTasks, LoadArrays, leaving

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


class Pricing:
    """Patterns of the least reduced cost, with a bound on all.

    Parameters
    ----------
    tasks
        Operators are renumbered inside along the tree.
    limits : shape (shared,)
        Largest load of a node.
    """

    def __init__(self, tasks: FixedTasks, limits: Floats) -> None:
        order, self.tree = _build_tree(tasks)
        self.nodes, self.order, place = tasks.nodes, order, np.argsort(order)
        arrays = tasks.arrays
        self.arrays = arrays._replace(
            totals=arrays.totals[order],
            demand=np.ascontiguousarray(arrays.demand[order]),
            use=np.ascontiguousarray(arrays.use[order]),
            source=place[arrays.source],
            target=place[arrays.target],
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(arrays.use > 0, np.floor(limits * (1 + SAME) / arrays.use + SAME), np.inf).min(
                axis=1, initial=np.inf
            )
        self.most = np.minimum(tasks.max_tasks, alone).astype(np.int64)[order]
        self.upper = np.concatenate([tasks.room, limits]) * (1 + SAME)
        self.multipliers = np.zeros(self.upper.size)

    @property
    def places_all(self) -> bool:
        """Whether the nodes have enough tasks of each operator if each has as many of it as fit there alone."""
        return bool((self.most * self.nodes >= self.arrays.totals).all())

    def best(self, prices: Floats, weights: Floats, tolerance: float) -> tuple[Ints, float]:
        """Patterns of small cost, the best last, shape (patterns, operators), and a bound on the cost of every pattern.

        Parameters
        ----------
        prices : shape (operators,)
            Of a task; negative where it gains.
        weights : shape (shared,)
            Of a node's load.
        tolerance
            Patterns that are better by less are not looked for; the bound counts them.
        """
        found = np.zeros((32, self.order.size), np.int64)
        number, bound = _price(
            self.arrays, self.tree, self.most, self.upper, prices[self.order], weights, self.multipliers, tolerance, found
        )
        patterns = np.empty((number, self.order.size), np.int64)
        patterns[:, self.order] = found[:number]
        return patterns, float(bound)


def _build_tree(tasks: FixedTasks) -> tuple[Ints, Tree]:
    """Order of operators by depth-first search along streams, and the tree in that order."""
    arrays, count = tasks.arrays, tasks.operators
    streams: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for e, (i, j) in enumerate(zip(arrays.source.tolist(), arrays.target.tolist(), strict=True)):
        streams[i].append((j, e))
        streams[j].append((i, e))
    order: list[int] = []
    parent, link, seen, used = [-1] * count, [-1] * count, [False] * count, set()
    for root in range(count):
        stack = [(root, -1, -1)]
        while stack:
            i, above, e = stack.pop()
            if seen[i]:
                continue
            seen[i], parent[i], link[i] = True, above, e
            used.add(e)
            order.append(i)
            stack.extend((j, i, f) for j, f in streams[i] if not seen[j])
    place = np.argsort(order)
    closing: list[list[int]] = [[] for _ in range(count)]
    for e in range(arrays.source.size):
        if e not in used:
            closing[max(place[arrays.source[e]], place[arrays.target[e]])].append(e)
    padded = np.full((count, max([1, *map(len, closing)])), -1, np.int64)
    for i, one in enumerate(closing):
        padded[i, : len(one)] = one
    parents = np.array([place[parent[i]] if parent[i] >= 0 else -1 for i in order], np.int64)
    return np.array(order, np.int64), Tree(parents, np.array([link[i] for i in order], np.int64), padded)


@inner_loop
def _tree_values(
    arrays: LoadArrays, tree: Tree, most: np.ndarray, single: np.ndarray, joint: np.ndarray, below: np.ndarray, least: np.ndarray
) -> float:
    """Least cost of all operators without rows.

    `below[i, v]` becomes the cost of operator i with v tasks and of all under it without the stream to its parent, `least[i, x]`
    the least with that stream where the parent has x tasks (x = 0 for roots).
    """
    operators = most.size
    value = 0.0
    for i in range(operators):
        for v in range(most[i] + 1):
            below[i, v] = single[i] * v
    for i in range(operators - 1, -1, -1):
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
                cost = min(cost, below[i, v] + joint[e] * share)
            least[i, x] = cost
            below[above, x] += cost
    return value


@inner_loop
def _follow_tree(
    arrays: LoadArrays, tree: Tree, most: np.ndarray, joint: np.ndarray, below: np.ndarray, pattern: np.ndarray
) -> None:
    """The pattern of least cost without rows."""
    for i in range(most.size):
        above, e = tree.parent[i], tree.link[i]
        best = np.inf
        for v in range(most[i] + 1):
            cost = below[i, v]
            if above >= 0:
                a, b = arrays.source[e], arrays.target[e]
                sent = v if a == i else pattern[a]
                got = v if b == i else pattern[b]
                cost += joint[e] * leaving(sent, got, arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])
            if cost < best:
                best = cost
                pattern[i] = v


@inner_loop
def _add_use(arrays: LoadArrays, tree: Tree, pattern: np.ndarray, i: int, before: np.ndarray, after: np.ndarray) -> None:
    """Use of rows by the operators up to i, from that of the operators before it."""
    rooms = arrays.demand.shape[1]
    for m in range(rooms):
        after[m] = before[m] + pattern[i] * arrays.demand[i, m]
    for k in range(arrays.use.shape[1]):
        after[rooms + k] = before[rooms + k] + pattern[i] * arrays.use[i, k]
    for c in range(tree.closing.shape[1] + 1):
        e = tree.link[i] if c == 0 else tree.closing[i, c - 1]
        if e >= 0:
            a, b = arrays.source[e], arrays.target[e]
            share = leaving(pattern[a], pattern[b], arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])
            for k in range(arrays.use.shape[1]):
                after[rooms + k] += share * arrays.sent[e, k]


@kernel
def _price(
    arrays: LoadArrays,
    tree: Tree,
    most: np.ndarray,
    upper: np.ndarray,
    prices: np.ndarray,
    weights: np.ndarray,
    multipliers: np.ndarray,
    tolerance: float,
    found: np.ndarray,
) -> tuple[int, float]:
    """Number of patterns put into `found`, and the bound. Multipliers of the rows are kept for the next time."""
    operators, rows = most.size, upper.size
    size = most.max() + 1
    below, least = np.empty((operators, size)), np.zeros((operators, size))
    single, joint = np.empty(operators), np.empty(arrays.source.size)
    best_multipliers, root = multipliers.copy(), -np.inf
    pattern, used = np.zeros(operators, np.int64), np.zeros((operators + 1, rows))
    for turn in range(ROUNDS + 1):
        if turn == ROUNDS:
            multipliers[:] = best_multipliers
        _set_costs(arrays, prices, weights, multipliers, single, joint)
        value = _tree_values(arrays, tree, most, single, joint, below, least)
        for r in range(rows):
            if multipliers[r] > 0:
                value -= multipliers[r] * upper[r]
        if turn == ROUNDS:
            break
        if value > root:
            root = value
            best_multipliers[:] = multipliers
        _follow_tree(arrays, tree, most, joint, below, pattern)
        for i in range(operators):
            _add_use(arrays, tree, pattern, i, used[i], used[i + 1])
        norm = 0.0
        for r in range(rows):
            if np.isfinite(upper[r]) and upper[r] > 0 and (multipliers[r] > 0 or used[operators, r] > upper[r]):
                norm += (used[operators, r] / upper[r] - 1.0) ** 2
        if norm < 1e-16:
            continue
        length = 0.3 * max(1e-9, abs(root)) / (1.0 + 0.3 * turn) / norm
        for r in range(rows):
            if np.isfinite(upper[r]) and upper[r] > 0:
                step = length * (used[operators, r] / upper[r] - 1.0) / upper[r]
                multipliers[r] = max(0.0, multipliers[r] + step)
    return _branch(arrays, tree, most, upper, prices, weights, joint, below, least, value, tolerance, found)


@inner_loop
def _set_costs(
    arrays: LoadArrays, prices: np.ndarray, weights: np.ndarray, multipliers: np.ndarray, single: np.ndarray, joint: np.ndarray
) -> None:
    """Cost of a task of each operator and of each stream with multipliers on the rows."""
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
    arrays: LoadArrays,
    tree: Tree,
    most: np.ndarray,
    upper: np.ndarray,
    prices: np.ndarray,
    weights: np.ndarray,
    joint: np.ndarray,
    below: np.ndarray,
    least: np.ndarray,
    root: float,
    tolerance: float,
    found: np.ndarray,
) -> tuple[int, float]:
    """Depth first, the most promising number of tasks of each operator first; as `_price`."""
    operators, rows = most.size, upper.size
    rooms, shared = arrays.demand.shape[1], arrays.use.shape[1]
    size = below.shape[1]
    pattern = np.zeros(operators, np.int64)
    used, bound = np.zeros((operators + 1, rows)), np.zeros(operators + 1)
    bound[0] = root
    costs, order, turn = np.empty((operators, size)), np.empty((operators, size), np.int64), np.zeros(operators, np.int64)
    best, number, steps, i = np.inf, 0, 0, 0
    enters = True
    while i >= 0:
        if enters:
            _options(arrays, tree, most, joint, below, least, pattern, i, costs[i])
            for v in range(most[i] + 1):
                place = v
                while place > 0 and costs[i, order[i, place - 1]] > costs[i, v]:
                    order[i, place] = order[i, place - 1]
                    place -= 1
                order[i, place] = v
            turn[i] = 0
        enters = False
        if turn[i] > most[i] or steps > MAX_STEPS:
            i -= 1
            continue
        steps += 1
        v = order[i, turn[i]]
        turn[i] += 1
        value = bound[i] + costs[i, v]
        if value >= best - tolerance:
            i -= 1
            continue
        pattern[i] = v
        _add_use(arrays, tree, pattern, i, used[i], used[i + 1])
        fits = True
        for r in range(rows):
            if used[i + 1, r] > upper[r]:
                fits = False
        for c in range(tree.closing.shape[1]):
            e = tree.closing[i, c]
            if e >= 0:
                a, b = arrays.source[e], arrays.target[e]
                value += joint[e] * leaving(pattern[a], pattern[b], arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])
        if not fits or value >= best - tolerance:
            continue
        if i < operators - 1:
            bound[i + 1] = value
            i += 1
            enters = True
            continue
        cost = 0.0
        for o in range(operators):
            cost += prices[o] * pattern[o]
        for k in range(shared):
            cost += weights[k] * used[operators, rooms + k]
        if cost < best:
            best = cost
            if number == found.shape[0]:
                for p in range(number - 1):
                    found[p] = found[p + 1]
                number -= 1
            found[number] = pattern
            number += 1
    return number, (root if steps > MAX_STEPS else max(root, best - tolerance))


@inner_loop
def _options(
    arrays: LoadArrays,
    tree: Tree,
    most: np.ndarray,
    joint: np.ndarray,
    below: np.ndarray,
    least: np.ndarray,
    pattern: np.ndarray,
    i: int,
    costs: np.ndarray,
) -> None:
    """By how much the bound rises with each number of tasks of operator i."""
    above, e = tree.parent[i], tree.link[i]
    known = least[i, pattern[above]] if above >= 0 else least[i, 0]
    for v in range(most[i] + 1):
        costs[v] = below[i, v] - known
        if above >= 0:
            a, b = arrays.source[e], arrays.target[e]
            sent = v if a == i else pattern[a]
            got = v if b == i else pattern[b]
            costs[v] += joint[e] * leaving(sent, got, arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])
