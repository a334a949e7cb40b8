"""Bounds by a linear program over patterns: how often a node has each, such that all tasks are placed (column generation).

The pattern that gains most at given prices of tasks: labels over operators, bounded along a tree of streams.

Minimised is Σ price·tasks + Σ weight·load over patterns within room and limits. With the scarcest row counted in whole units,
multipliers on all others, and streams that close a cycle left out (they only ever add), the minimum is found by dynamic
programming along the tree: a bound for every partial pattern, by which labels are chosen and left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edrp import _native
from edrp.backends.base import NodeBrake, seconds_for_solver
from edrp.backends.growing import GrowingProgram
from edrp.backends.scipy_milp import run_milp
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, now, passed, spend
from edrp.core.program import Program
from edrp.core.tolerances import EQUAL_AMOUNTS, LIMIT_SLACK, PATTERN_VALUE_GAP, WHOLE_NUMBER_SLACK
from edrp.formulations.placement.fixed_tasks.pricing_kernel import (
    MULTIPLIER_STEPS,
    OperatorTree,
    PatternRows,
    TaskPrices,
    cheapest_patterns,
    empty_costs,
    first_labels,
)
from edrp.placement.fixed_tasks import FixedTasks, LoadArrays

LABEL_WORK, STEP_WORK = 1e-7, 2e-9
"""Units of work for a label of an operator, and for a step of the dynamic program."""

MAX_UNITS, MAX_PROGRAM_STEPS = 64, 1_000_000
"""Units that are counted of the scarcest row where its amounts have no common measure; fewer where nodes have too many tasks
for the dynamic program to take at most this number of steps."""

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
        root, constant = _native.set_multipliers(self.rows, priced, self.multipliers, costs)
        search = first_labels(self.rows, cutoff, width)
        while not _native.extend_pattern_labels(self.rows, priced, costs, constant, width, search, LABELS_PER_CALL):
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


NARROW, MAX_PRICING_LABELS = 300, 200_000
"""Labels that go on from each operator in a search for patterns; of all operators together where such a search finds nothing
new: a second or two at most, between which nothing looks at the clock."""


@dataclass
class PatternPool:
    """Patterns found so far with their loads."""

    tasks: FixedTasks
    patterns: list[Ints] = field(default_factory=list)
    loads: list[Floats] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)

    def add(self, patterns: Ints) -> int:
        """Add patterns, shape (patterns, operators), but for those already there; returns how many are new."""
        before = len(self.patterns)
        for pattern, loads in zip(patterns, self.tasks.loads(patterns), strict=True):
            if (key := pattern.tobytes()) not in self._known:
                self._known.add(key)
                self.patterns.append(pattern)
                self.loads.append(loads)
        return len(self.patterns) - before

    def within(self, limits: Floats) -> Ints:
        """Places of the patterns that keep the limits."""
        if not self.loads:
            return np.zeros(0, np.int64)
        return np.flatnonzero((np.array(self.loads) <= limits * (1 + LIMIT_SLACK)).all(axis=1))

    def select(self, limits: Floats) -> Ints:
        """The patterns that keep the limits, shape (patterns, operators)."""
        patterns = [self.patterns[p] for p in self.within(limits)]
        return np.array(patterns, np.int64).reshape(len(patterns), self.tasks.operators)


def bound_on_mean(tasks: FixedTasks, pool: PatternPool, limits: Floats, shared: int, units: float = np.inf) -> float:
    """A bound on the mean load of one shared resource over placements that keep all limits; infinite if there is none.

    The mean is at most the largest load, so that a bound above the limit proves the limit too small. After `units` of work
    the bound is what was reached.
    """
    end = now() + units
    program = _Program(tasks, pool, limits, shared)
    return program.minimise(end) if program.pricing.places_all else np.inf


class _Program:
    """The linear program at given limits; the pool grows by its columns.

    Artificial columns of a high price add and take away tasks. The bound holds whatever their price is.
    """

    def __init__(self, tasks: FixedTasks, pool: PatternPool, limits: Floats, shared: int) -> None:
        self.tasks, self.pool, self.limits, self.shared = tasks, pool, limits, shared
        self.pricing = Pricing(tasks, limits)
        self.program = GrowingProgram(presolve="off")
        arrays = tasks.arrays
        loads = arrays.use[:, shared] * arrays.totals + np.bincount(arrays.source, arrays.sent[:, shared], tasks.operators)
        self.scale = float(loads.sum()) / tasks.nodes or 1.0
        self.threshold = float(limits[shared]) if np.isfinite(limits[shared]) else np.inf
        self.needed = np.append(arrays.totals, tasks.nodes).astype(float)
        rows = self.needed.size
        self.program.add_rows(self.needed, self.needed, [((), ())] * rows)
        self.artificial = 2 * rows
        self.program.add_columns(np.ones(2 * rows), [([row], [sign]) for sign in (1.0, -1.0) for row in range(rows)])
        self.stalled = False
        self._take(pool.within(limits).tolist())

    def minimise(self, end: float) -> float:
        """The least mean load, or the bound on it that was reached by then; infinite if no placement keeps the limits."""
        penalty, best = self.scale, 0.0
        for _ in range(4):
            self.program.price(np.arange(self.artificial), penalty)
            while True:
                look("a bound")
                value, columns, duals, _ = self.program.solve()
                best = max(best, self._bound(duals, PATTERN_VALUE_GAP * value))
                if best > self.tasks.nodes * self.threshold:
                    return np.inf
                if value - best <= 2 * PATTERN_VALUE_GAP * value or self.stalled or passed(end):
                    break
            if self.stalled or passed(end) or columns[: self.artificial].sum() < 1e-9:
                break
            penalty *= 10
        return best / self.tasks.nodes

    def _bound(self, duals: Floats, tolerance: float) -> float:
        """The Lagrangian bound at these duals, loose by the tolerance; columns that price out are added."""
        weights = np.zeros(self.tasks.shared)
        weights[self.shared] = 1.0
        cutoff, size = float(duals[-1]) - tolerance / self.tasks.nodes, len(self.pool.patterns)
        for width in (NARROW, max(NARROW, MAX_PRICING_LABELS // self.tasks.operators)):
            look("a bound")
            patterns, least_reduced_cost = self.pricing.best(-duals[:-1], weights, cutoff, width)
            if self.pool.add(patterns):
                break
        new = [p for p in range(size, len(self.pool.patterns)) if (self.pool.loads[p] <= self.limits * (1 + LIMIT_SLACK)).all()]
        self._take(new)
        self.stalled = not new
        return float(duals[:-1] @ self.needed[:-1] + self.needed[-1] * least_reduced_cost)

    def _take(self, places: list[int]) -> None:
        rows = np.arange(self.needed.size)
        entries = [(rows, np.append(self.pool.patterns[p], 1)) for p in places]
        self.program.add_columns([self.pool.loads[p][self.shared] for p in places], entries)


def compose(tasks: FixedTasks, patterns: Ints, units: float) -> tuple[Ints | None, bool]:
    """A placement by some patterns, shape (nodes, operators), or None, and whether it is proven that there is none.

    Parameters
    ----------
    patterns : shape (patterns, operators)
    units
        Units of work after which the integer program is given up.
    """
    if not len(patterns):
        return None, True
    from scipy.optimize import Bounds, LinearConstraint

    program = Program()
    uses = program.add_columns("uses", len(patterns), upper=tasks.nodes, integer=True)
    needed = np.append(tasks.arrays.totals, tasks.nodes)
    rows = np.vstack([patterns.T, np.ones(len(patterns))])
    program.add_rows("needed", needed.size, [(np.arange(needed.size)[:, None], uses, rows)], lower=needed, upper=needed)
    arrays = program.arrays()
    brake, seconds = NodeBrake(arrays, units), seconds_for_solver()
    result = run_milp(
        arrays.objective,
        {"node_limit": brake.nodes} | ({} if seconds is None else {"time_limit": seconds}),
        integrality=arrays.integer.astype(int),
        bounds=Bounds(arrays.lower, arrays.upper),
        constraints=LinearConstraint(arrays.matrix, arrays.row_lower, arrays.row_upper),
    )
    brake.release(getattr(result, "mip_node_count", None))
    if result.x is None:
        return None, result.status == 2
    counts = np.repeat(patterns, np.rint(result.x).astype(np.int64), axis=0)
    complete = len(counts) == tasks.nodes and np.array_equal(counts.sum(axis=0), tasks.arrays.totals)
    return (counts if complete else None), False
