"""Bounds on courses of more vectors than can be listed: each operator by itself, joined by prices.

Prices take apart what joins operators, and each operator's own course is a small dynamic program. The price of any change in a
period is shared out among the operators, Σ_i μ_it ≤ F_t; the longest path is at least the mean of paths with any shares; room
and limits have multipliers, and numbers of replicas that break a limit on response time whatever the others do are left out.
Subgradient steps raise the bound (Held, Wolfe & Crowder, "Validation of Subgradient Optimization", 1974, with the step of
Polyak). Where costs are sums over operators, the best prices usually close the gap.

A mean of paths is less than the longest one. A second bound is exact in each period: each operator has a price for each of its
numbers of replicas in each period; the response time of a period is minimised under these prices over all vectors within its
limit, and each operator's course is, too. The sum bounds every course from below, whatever the prices. They begin where the first
bound ends, and are raised period by period such that the bound never falls, by sharing out what both sides cost at least with
each number ("min-marginals": Kolmogorov, "Convergent Tree-Reweighted Message Passing for Energy Minimization", 2006).

Operators on all paths add to the response time whatever the others do, and divide the rest into trees of branches in a row.
Where branches join again within a tree, operators have several nodes, which need not agree: that only lowers the bound.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.placement.vector_costs import VectorCosts
from edrp.mdp.placement.vector_course import VectorProgram

COLUMN_UNITS = 1.5e-8
"""Units of work per period and number of replicas of an operator, of one round of all operators' courses."""

ROUND_UNITS = 1e-4
"""Units of work of a round besides."""

MOMENTUM = 0.7
"""Share of the slope before in each slope."""


class OperatorTables(NamedTuple):
    """Costs of each operator by itself; tables of all stand side by side (edrp/native/mdp/placement/vector_relaxation.hpp).

    Attributes
    ----------
    first : shape (operators + 1,), columns of each operator.
    replicas : shape (columns,), numbers of replicas, ascending for each operator.
    started : shape (operators,), price of one started replica.
    entry : shape (columns,), price of the replicas that are started in the first period.
    enters : shape (columns,), 1 where the first period begins with a change of the operator, else 0.
    """

    first: Ints
    replicas: Ints
    started: Floats
    entry: Floats
    enters: Floats


class CourseRelaxation:
    """Prices, the bound that they give, and the courses of the operators under them."""

    def __init__(self, costs: VectorCosts, program: VectorProgram) -> None:
        self.costs = costs
        self.periods, self.operators = costs.latency[0].shape[0], len(costs.replicas)
        sizes = np.array([numbers.size for numbers in costs.replicas])
        first, replicas = np.append(0, np.cumsum(sizes)), np.concatenate(costs.replicas)
        self.owner = np.repeat(np.arange(self.operators), sizes)
        change, entry, enters = program.change.copy(), np.zeros(replicas.size), np.zeros(replicas.size)
        if program.initial is None:
            change[0] = 0.0
        else:
            before = program.initial[self.owner]
            entry, enters = program.started[self.owner] * np.maximum(replicas - before, 0), (replicas != before).astype(float)
        self.tables = OperatorTables(first, replicas, program.started, entry, enters)
        self.change, self.initial = change, program.initial
        self.latency = latency = np.hstack(costs.latency)
        self._leave_out_slow()
        self.stable: Bools = np.isfinite(latency)
        self.prices = np.repeat(change[:, None] / self.operators, self.operators, axis=1)
        self.path_share = np.full((self.periods, len(costs.paths)), 1 / len(costs.paths))
        rooms = np.tile(costs.room, (self.periods, 1))
        limits = np.hstack([rooms, costs.money_limit[:, None], costs.response_limit[:, None]])
        self.limits, self.limited = np.where(np.isfinite(limits), limits, 0.0), np.isfinite(limits)
        self.limit_prices = np.zeros(limits.shape)  # of each resource, money and response time
        self._values = np.empty(latency.shape)
        self._slopes, self.mean_cost = (np.zeros_like(self.prices), np.zeros_like(self.path_share)), 0.0

    def _leave_out_slow(self) -> None:
        """Count replicas as overloaded that are too slow on a path even where its other operators are as fast as can be."""
        costs = self.costs
        fastest = np.minimum.reduceat(self.latency, self.tables.first[:-1], axis=1)
        fastest[np.isinf(fastest)] = 0.0  # overloaded whatever the number of replicas
        spare = costs.response_limit[:, None] * (1 + LIMIT_SLACK) - fastest @ costs.paths.T
        spare = np.where(costs.paths > 0, spare[:, :, None], inf).min(axis=1)
        self.latency[self.latency > (fastest + spare)[:, self.owner]] = inf

    @property
    def state(self) -> tuple[Floats, Floats, Floats]:
        """All prices and the shares of paths, for the bound to return to."""
        return self.prices.copy(), self.path_share.copy(), self.limit_prices

    @state.setter
    def state(self, state: tuple[Floats, Floats, Floats]) -> None:
        self.prices, self.path_share, self.limit_prices = state[0].copy(), state[1].copy(), state[2]

    @property
    def _response_weight(self) -> Floats:
        """Seconds of the objective per second of response time, with the price of its limit, shape (periods, 1)."""
        return (self.costs.response_weight + self.limit_prices[:, -1])[:, None]

    @property
    def units(self) -> float:
        """Units of work of a round."""
        return ROUND_UNITS + COLUMN_UNITS * self._values.size

    def table(self) -> Floats:
        """Costs of the numbers of replicas of each operator under the prices, shape (periods, columns)."""
        costs, prices = self.costs, self.limit_prices
        each = (costs.money_weight + prices[:, -2])[:, None] * costs.money + prices[:, :-2] @ costs.need.T
        slowness = self._response_weight * (self.path_share @ costs.paths)
        waiting = np.multiply(slowness[:, self.owner], self.latency, out=np.full(self.latency.shape, inf), where=self.stable)
        return np.asarray(each[:, self.owner] * self.tables.replicas + waiting)

    def courses(self, table: Floats, prices: Floats) -> tuple[float, Ints32]:
        """Each operator's cheapest course; their total cost, and the columns of each period, shape (periods, operators).

        Prices of changes, of the same shape, are infinite where no change is allowed. `_values`, shape (periods, columns), are
        then the least costs of the courses that end there.
        """
        spend(self.units)
        course = np.empty(prices.shape, np.int32)
        return float(_native.operator_courses(self.tables, table, prices, self._values, course)), course

    @property
    def constant(self) -> float:
        """Parts of the bound besides the operators' courses: constant costs, less what limits are worth under the prices."""
        return float(self.costs.constant.sum() - (self.limit_prices * self.limits).sum())

    def bound(self) -> tuple[float, Ints32]:
        """The lower bound by the prices, and the operators' courses."""
        total, course = self.courses(self.table(), self.prices)
        total += self.constant
        self.mean_cost = abs(total) / self.periods
        return total, course

    def step(self, course: Ints32, missing: float, length: float) -> None:
        """Change prices towards a higher bound.

        Parameters
        ----------
        course
            Of the operators under the prices.
        missing
            What is missing from the bound to the cost of the best course.
        length
            Of the step, relative to that of Polyak.
        """
        shared = np.where(np.isfinite(self.change), self.change, 0.0)[:, None]
        times = self.latencies(course) @ self.costs.paths.T
        changed, paths = self._new_slopes(course, shared, times)
        excess, scale = self._excess(course, times)
        spread = paths - paths.mean(axis=1, keepdims=True)
        norm = float((changed**2).sum() + (spread**2).sum() + ((excess * scale) ** 2).sum())
        if norm == 0:
            return
        stride = length * missing / norm
        _native.raise_prices(self.prices, self.change, shared * changed, stride)
        _native.raise_prices(self.path_share, np.ones(self.periods), paths, stride)
        self.limit_prices = np.maximum(self.limit_prices + stride * scale**2 * excess, 0.0)

    def _new_slopes(self, course: Ints32, shared: Floats, times: Floats) -> tuple[Floats, Floats]:
        """By what the bound rises with shares of the price of any change, and with the shares of paths."""
        changed = self.changes_of_operators(course).astype(float)
        slope = np.where(changed.any(axis=1, keepdims=True), changed - changed.mean(axis=1, keepdims=True), 0.0) * shared
        paths = self._response_weight * times
        old_slope, old_paths = self._slopes
        self._slopes = MOMENTUM * old_slope + (1 - MOMENTUM) * slope, MOMENTUM * old_paths + (1 - MOMENTUM) * paths
        return self._slopes

    def latencies(self, course: Ints32) -> Floats:
        """Seconds of each operator in a course, shape (periods, operators)."""
        return np.take_along_axis(self.latency, course.astype(np.int64), axis=1)

    def _excess(self, course: Ints32, times: Floats) -> tuple[Floats, Floats]:
        """What exceeds the limits, 0 where it is negative and has no price; the scale of its prices, so that all move alike."""
        costs, replicas = self.costs, self.tables.replicas[course]
        response = (self.path_share * times).sum(axis=1)
        used = np.hstack([replicas @ costs.need, (replicas @ costs.money)[:, None], response[:, None]])
        excess = np.where(self.limited & ((used > self.limits) | (self.limit_prices > 0)), used - self.limits, 0.0)
        mean = self.limits.sum(axis=0) / np.maximum(self.limited.sum(axis=0), 1)
        return excess, np.divide(self.mean_cost, mean, out=np.zeros_like(mean), where=mean > 0)

    def changes_of_operators(self, course: Ints32) -> Bools:
        """In which periods each operator changes, shape (periods, operators)."""
        changed: Bools = np.zeros(course.shape, bool)
        changed[1:] = course[1:] != course[:-1]
        changed[0] = self.tables.enters[course[0]] > 0
        return changed

    def reduced(self, gap: float, table: Floats) -> list[Bools]:
        """Which numbers of replicas of each operator may be in a course that costs no more than the table's bound plus `gap`."""
        spend(self.units)
        after = np.empty_like(table)
        self.courses(table, self.prices)
        _native.following_costs(self.tables, table, self.prices, after)
        through = (self._values + after).min(axis=0)
        parts = [through[self.owner == i] for i in range(self.operators)]
        return [part <= part.min() + gap for part in parts]


Tree = list[tuple[int, tuple[int, ...]]]

LEVELS = 2048
"""Ticks into which the time of a tree of branches is divided."""

LONGEST = 2.0
"""Longest time of a tree that is told apart, relative to that of the best known course."""

TAIL = 0.9
"""Share of the mean of paths in what a longer time counts as, where nodes follow one another; the rest is `LONGEST`."""

CELL_UNITS = 2e-9
"""Units of work of a sweep per period, node, number of replicas and level."""


class Branches(NamedTuple):
    """Trees of branches; the root of each is before its nodes, and a node before those that follow it.

    Arrays of `sweep_branches` (edrp/native/mdp/placement/branches.cpp), with latencies in ticks, rounded down. The last level of
    ticks stands for all longer times, and there each latency has a price.

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


class BranchRelaxation:
    """Prices of all numbers of replicas, from the prices of a relaxation that shares out paths.

    Each period keeps the limit on response time by itself, so that the price of that limit is taken out of the relaxation; what
    it adds to latencies is where the new prices begin.

    Parameters
    ----------
    trees
        As `trees_of_branches` gives them, at least one.
    course
        Columns of the best known course, shape (periods, operators), after which ticks are chosen.
    """

    def __init__(self, relaxation: CourseRelaxation, trees: list[Tree], course: Ints32) -> None:
        self.relaxation, costs, tables = relaxation, relaxation.costs, relaxation.tables
        nodes, sizes = [node for tree in trees for node in tree], np.diff(tables.first)
        owner = np.array([i for i, _ in nodes], np.int64)
        begin = np.append(0, np.cumsum([len(tree) for tree in trees])).astype(np.int64)
        first = np.append(0, np.cumsum(sizes[owner])).astype(np.int64)
        parent, tree_of = _parents(trees), np.zeros(relaxation.operators, np.int64)
        tree_of[owner] = np.repeat(np.arange(len(trees)), np.diff(begin))
        tick = self._ticks(parent, owner, begin, course)
        own_tick = tick[:, tree_of[relaxation.owner]]
        ticks = np.full(relaxation.latency.shape, LEVELS, np.int32)
        np.minimum(relaxation.latency / own_tick, LEVELS, out=ticks, where=relaxation.stable, casting="unsafe")
        fastest = np.minimum.reduceat(relaxation.latency, tables.first[:-1], axis=1)
        elsewhere = costs.paths.all(axis=0) & ~np.isin(np.arange(relaxation.operators), owner)
        rest = costs.response_limit * (1 + LIMIT_SLACK) - fastest[:, elsewhere].sum(axis=1)
        allowed = np.clip(rest[:, None] / tick, -1, LEVELS).astype(np.int64)
        copies = np.bincount(owner, minlength=relaxation.operators).astype(np.int64)
        price = np.ascontiguousarray(costs.response_weight[:, None] * tick)
        shares = np.column_stack([relaxation.path_share[:, list(paths)].sum(axis=1) for _, paths in nodes])
        latency = np.where(relaxation.stable, relaxation.latency, 0.0)
        tail = TAIL if (parent >= 0).any() else 0.0
        if not tail:  # what a node takes beyond the longest time, the path takes, too: that price stays with the operator
            latency = np.minimum(latency, own_tick * LEVELS)
        columns = np.concatenate([np.arange(tables.first[i], tables.first[i + 1]) for i in owner])
        means = np.repeat(shares, sizes[owner], axis=1) * latency[:, columns]
        waiting, limiting = costs.response_weight[:, None] * means, relaxation.limit_prices[:, -1:] * means
        last, self.shared = (1 - tail) * LEVELS * price, waiting + limiting
        self.branches = Branches(parent, owner, copies, first, begin, ticks, price, tail * waiting, last, allowed)
        relaxation.limit_prices = np.column_stack([relaxation.limit_prices[:, :-1], np.zeros(relaxation.periods)])
        self.costs = relaxation.table()
        for column, price_of_limit in zip(columns, limiting.T, strict=True):
            self.costs[:, column] += price_of_limit
        self.values, self.after = np.empty_like(self.costs), np.empty_like(self.costs)

    def _ticks(self, parent: Ints, owner: Ints, begin: Ints, course: Ints32) -> Floats:
        """Seconds of a tick, shape (periods, trees)."""
        finish = self.relaxation.latencies(course)[:, owner]
        for c, before in enumerate(parent.tolist()):
            if before >= 0:
                finish[:, c] += finish[:, before]
        longest = np.maximum.reduceat(finish, begin[:-1], axis=1)
        return np.maximum(longest * LONGEST / LEVELS, np.finfo(float).tiny)

    def raised(self) -> float:
        """The bound after another sweep."""
        relaxation = self.relaxation
        spend(CELL_UNITS * relaxation.periods * self.shared.shape[1] * LEVELS)
        tables = self.costs, relaxation.prices, self.shared, self.values, self.after
        total = _native.sweep_branches(self.branches, relaxation.tables, relaxation.change, *tables)
        return float(total) + relaxation.constant


def trees_of_branches(paths: Floats, whole: bool = False) -> list[Tree]:
    """Nodes of each tree in the order of depth first, as operator and numbers of the paths through it.

    Parameters
    ----------
    paths
        Shape (paths, operators), as in `VectorCosts`; operators in topological order.
    whole
        Whether operators on all paths belong to the one tree, as a limit on all of the response time demands.

    Examples
    --------
    >>> trees_of_branches(np.array([[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]))
    [[(1, (0,)), (2, (1,))]]
    """
    everywhere: Bools = np.asarray(paths.all(axis=0) & (not whole))
    number, trees = np.cumsum(everywhere), list[Tree]()
    for part in range(number[-1] + 1):
        inside = [[i for i in np.flatnonzero(path).tolist() if not everywhere[i] and number[i] == part] for path in paths]
        trees.append(_tree(list(enumerate(inside))))
    return [tree for tree in trees if tree]


def _tree(paths: list[tuple[int, list[int]]]) -> Tree:
    result: Tree = []
    for i in sorted({path[0] for _, path in paths if path}):
        through = [(p, path[1:]) for p, path in paths if path and path[0] == i]
        result += [(i, tuple(p for p, _ in through)), *_tree(through)]
    return result


def _parents(trees: list[Tree]) -> Ints:
    """Number of the node before each, or −1: the nearest before it on all of its paths."""
    result, base = [], 0
    for tree in trees:
        for c, (_, through) in enumerate(tree):
            before = [b for b in range(c) if set(through) <= set(tree[b][1])]
            result.append(base + before[-1] if before else -1)
        base += len(tree)
    return np.array(result, np.int64)
