"""The pattern that gains most at given prices of tasks: labels over operators, bounded along a tree of streams.

Minimised is Σ price·tasks + Σ weight·load over patterns within room and limits. With the scarcest row counted in whole units,
multipliers on all others, and streams that close a cycle left out (they only ever add), the minimum is found by dynamic
programming along the tree: a bound for every partial pattern, by which labels are chosen and left out.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.tolerances import EQUAL_AMOUNTS, LIMIT_SLACK, WHOLE_NUMBER_SLACK
from edrp.formulations.placement.fixed_tasks.pricing_kernel import MULTIPLIER_STEPS, empty_costs, set_multipliers
from edrp.formulations.placement.fixed_tasks.pricing_labels import TaskPrices, cheapest_patterns, extend_labels, first_labels
from edrp.formulations.placement.fixed_tasks.pricing_tree import OperatorTree, PatternRows
from edrp.placement.fixed_tasks import FixedTasks, LoadArrays

LABEL_WORK, STEP_WORK = 1e-7, 2e-9
"""Units of work for a label of an operator, and for a step of the dynamic program."""

MAX_UNITS, MAX_PROGRAM_STEPS = 64, 1_000_000
"""Units that are counted of the scarcest row where its amounts have no common measure; fewer where nodes have so many tasks
that the dynamic program would take more steps."""

LABELS_PER_CALL = 20_000
"""Labels that are made between two looks at the clock."""

FOUND = 32
"""Patterns that one search returns at most."""


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
            alone = np.where(arrays.use > 0, np.floor(limits * (1 + LIMIT_SLACK) / arrays.use), np.inf).min(
                axis=1, initial=np.inf
            )
        max_tasks = np.minimum(tasks.max_tasks, alone).astype(np.int64)[order]
        ordered, upper = arrays.in_order(order), np.concatenate([tasks.room, limits]) * (1 + LIMIT_SLACK)
        units = _count_units(ordered, tree, upper, max_tasks, tasks.nodes)
        self.rows = PatternRows(ordered, tree, max_tasks, upper, _counted(ordered, tree, upper), *units)
        self.multipliers = np.zeros(upper.size)
        above = np.where(tree.parent >= 0, max_tasks[tree.parent] + 1, 1)
        self.work = STEP_WORK * MULTIPLIER_STEPS * float((max_tasks + 1) @ above) * (self.rows.units + 1)

    @property
    def places_all(self) -> bool:
        """Whether the nodes have enough tasks of each operator if each has as many of it as fit there alone."""
        return bool((self.rows.most * self.nodes >= self.rows.arrays.totals).all())

    def best(self, prices: Floats, weights: Floats, cutoff: float, width: int) -> tuple[Ints, float]:
        """Patterns below a cost, the best last, shape (patterns, operators), and a bound on the cost of every pattern.

        Parameters
        ----------
        prices : shape (operators,)
            Price of a task; negative where it gains.
        weights : shape (shared,)
            Price of a node's load.
        cutoff
            Patterns that cost as much are not looked for.
        width
            Labels that go on from one operator to the next.

        Raises
        ------
        OutOfTimeError
            When the deadline has passed.
        """
        priced, costs = TaskPrices(prices[self.order], weights), empty_costs(self.rows)
        spend(self.work + LABEL_WORK * width * self.order.size)
        root, constant = set_multipliers(self.rows, priced, self.multipliers, costs)
        search = first_labels(self.rows, cutoff, width)
        while not extend_labels(self.rows, priced, costs, constant, width, search, LABELS_PER_CALL):
            look("a bound")
        best_patterns, bound = cheapest_patterns(search, cutoff, FOUND)
        patterns = np.empty_like(best_patterns)
        patterns[:, self.order] = best_patterns
        return patterns, max(float(root), bound)


def _count_units(arrays: LoadArrays, tree: OperatorTree, upper: Floats, most: Ints, nodes: int) -> tuple[Ints, int]:
    """Units that numbers of tasks take of the scarcest row, streams left out, and those of a node."""
    counts = np.arange(most.max(initial=0) + 1)
    amounts = np.hstack([arrays.demand, arrays.use])
    with np.errstate(divide="ignore", invalid="ignore"):
        scarcity = np.where(upper > 0, arrays.totals @ amounts / (nodes * upper), 0.0)
    pairs = (most + 1) @ np.where(tree.parent >= 0, most[tree.parent] + 1, 1)
    units = min(MAX_UNITS, MAX_PROGRAM_STEPS // int(pairs))
    if not units or scarcity.max(initial=0.0) <= 0:
        return np.zeros((most.size, counts.size), np.int64), 0
    row = int(scarcity.argmax())
    own, unit = amounts[:, row], upper[row] / units
    least_amount = float(own[own > 0].min())
    if least_amount > unit and np.allclose(own / least_amount, np.rint(own / least_amount), rtol=EQUAL_AMOUNTS, atol=0):
        unit, units = least_amount, int(upper[row] / least_amount)
    return np.floor(np.outer(own, counts) / unit + WHOLE_NUMBER_SLACK).astype(np.int64), units


def _counted(arrays: LoadArrays, tree: OperatorTree, upper: Floats) -> Bools:
    """Whether operators after each one add to rows that are limited, shape (operators, rows)."""
    adds = np.hstack([arrays.demand, arrays.use]) > 0
    for i, (link, closing) in enumerate(zip(tree.link, tree.closing, strict=True)):
        for e in (link, *closing):
            if e >= 0:
                adds[i, arrays.demand.shape[1] :] |= arrays.sent[e] > 0
    later = np.zeros_like(adds)
    for i in range(len(adds) - 2, -1, -1):
        later[i] = later[i + 1] | adds[i + 1]
    return np.asarray(later & np.isfinite(upper))


def _build_tree(tasks: FixedTasks) -> tuple[Ints, OperatorTree]:
    """Order of operators by depth-first search along streams, and the tree in that order."""
    arrays, count = tasks.arrays, tasks.operators
    streams: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for e, (i, j) in enumerate(zip(arrays.source.tolist(), arrays.target.tolist(), strict=True)):
        streams[i].append((j, e))
        streams[j].append((i, e))
    order: list[int] = []
    parent, link, visited, used = [-1] * count, [-1] * count, [False] * count, set()
    for root in range(count):
        stack = [(root, -1, -1)]
        while stack:
            i, above, e = stack.pop()
            if visited[i]:
                continue
            visited[i], parent[i], link[i] = True, above, e
            used.add(e)
            order.append(i)
            stack.extend((j, i, f) for j, f in streams[i] if not visited[j])
    place = np.argsort(order)
    closing: list[list[int]] = [[] for _ in range(count)]
    for e in range(arrays.source.size):
        if e not in used:
            closing[max(place[arrays.source[e]], place[arrays.target[e]])].append(e)
    padded = np.full((count, max([1, *map(len, closing)])), -1, np.int64)
    for i, one in enumerate(closing):
        padded[i, : len(one)] = one
    parents = np.array([place[parent[i]] if parent[i] >= 0 else -1 for i in order], np.int64)
    links, ordered = np.array([link[i] for i in order], np.int64), np.array(order, np.int64)
    matter = _open(parents, padded, place[arrays.source], place[arrays.target])
    return ordered, OperatorTree(parents, links, _ends(parents), padded, matter)


def _ends(parents: Ints) -> Ints:
    """The first operator that is not under each one."""
    ends = np.arange(1, parents.size + 1)
    for i in range(parents.size - 1, -1, -1):
        if parents[i] >= 0:
            ends[parents[i]] = max(ends[parents[i]], ends[i])
    return ends


def _open(parents: Ints, closing: Ints, source: Ints, target: Ints) -> Bools:
    """Whether tasks of the second operator matter after the first one is decided, shape (operators, operators)."""
    last = np.full(parents.size, -1)
    for i, streams in enumerate(closing):
        ends = [parents[i], *(a for e in streams if e >= 0 for a in (source[e], target[e]))]
        for a in ends:
            if 0 <= a < i:
                last[a] = i
    return np.asarray(last > np.arange(parents.size)[:, None])
