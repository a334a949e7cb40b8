"""The pattern that gains most at given prices of tasks: branch and bound over operators, bounded along a tree of streams.

Minimised is Σ price·tasks + Σ weight·load over patterns within room and limits. Without these rows, and with streams that close a
cycle left out (they only ever add), the minimum is found by dynamic programming along the tree; with multipliers on the rows it
is a bound for every partial pattern, and orders what is tried.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.formulations.placement.fixed_tasks.pricing_kernel import PatternRows, Tree, price_patterns
from edrp.placement.fixed_tasks import SAME, FixedTasks


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
        order, tree = _build_tree(tasks)
        self.nodes, self.order = tasks.nodes, order
        arrays = tasks.arrays
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(arrays.use > 0, np.floor(limits * (1 + SAME) / arrays.use + SAME), np.inf).min(
                axis=1, initial=np.inf
            )
        most = np.minimum(tasks.max_tasks, alone).astype(np.int64)[order]
        self.rows = PatternRows(arrays.in_order(order), tree, most, np.concatenate([tasks.room, limits]) * (1 + SAME))
        self.multipliers = np.zeros(self.rows.upper.size)

    @property
    def places_all(self) -> bool:
        """Whether the nodes have enough tasks of each operator if each has as many of it as fit there alone."""
        return bool((self.rows.most * self.nodes >= self.rows.arrays.totals).all())

    def best(self, prices: Floats, weights: Floats, tolerance: float) -> tuple[Ints, float]:
        """Patterns of small cost, the best last, shape (patterns, operators), and a bound on the cost of every pattern.

        Parameters
        ----------
        prices : shape (operators,)
            Price of a task; negative where it gains.
        weights : shape (shared,)
            Price of a node's load.
        tolerance
            Patterns that are better by less are not looked for; the bound counts them.
        """
        found = np.zeros((32, self.order.size), np.int64)
        number, bound = price_patterns(self.rows, prices[self.order], weights, self.multipliers, tolerance, found)
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
