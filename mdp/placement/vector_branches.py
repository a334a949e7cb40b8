"""A bound over branches that is exact in each period: operators' courses and the longest path agree on prices.

A mean of paths is less than the longest one. Here each operator has a price for each of its numbers of replicas in each period;
the response time of a period is minimised under these prices over all vectors, and each operator's course is, too. The sum
bounds every course from below, whatever the prices. They are raised period by period such that the bound never falls, by sharing
out what both sides cost at least with each number ("min-marginals": Kolmogorov, "Convergent Tree-Reweighted Message Passing for
Energy Minimization", 2006).

Operators on all paths add to the response time whatever the others do, and divide the rest into trees of branches in a row.
Where branches join again within a tree, operators have several nodes, which need not agree: that only lowers the bound.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.placement.branch_kernels import Branches, Work, sweep
from edrp.mdp.placement.vector_relaxation import CourseRelaxation

Tree = list[tuple[int, tuple[int, ...]]]

LEVELS = 2048
"""Ticks into which the time of a tree of branches is divided."""

LONGEST = 2.0
"""Longest time of a tree that is told apart, relative to that of the best known course."""

TAIL = 0.9
"""Share of the mean of paths in what a longer time counts as, where nodes follow one another; the rest is `LONGEST`."""

CELL_UNITS = 2e-9
"""Units of work of a sweep per period, node, number of replicas and level."""


class BranchRelaxation:
    """Prices of all numbers of replicas, from the prices of a relaxation that shares out paths.

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
        self.shared = np.repeat(shares * costs.response_weight[:, None], sizes[owner], axis=1) * latency[:, columns]
        last = (1 - tail) * LEVELS * price
        self.branches = Branches(parent, owner, copies, first, begin, ticks, price, tail * self.shared, last, allowed)
        self.costs = relaxation.table()
        self.values, self.after = np.empty_like(self.costs), np.empty_like(self.costs)
        inner, below, outer = (np.empty((len(nodes) + more, LEVELS + 1)) for more in (0, len(trees), 0))
        own, least, through = (np.empty(first[-1]) for _ in range(3))
        best, source, need = np.empty(self.costs.shape[1]), np.empty(self.costs.shape[1], np.int32), np.empty(copies.size)
        self.work = Work(inner, below, outer, own, least, through, best, source, need)

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
        total = sweep(
            self.branches,
            relaxation.tables,
            relaxation.change,
            self.costs,
            relaxation.prices,
            self.shared,
            self.values,
            self.after,
            self.work,
        )
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
