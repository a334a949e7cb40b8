"""Pricing: the patterns of a class that are worth most at given prices of instances (a quadratic knapsack).

The order in which operators are decided, and what has to be remembered of those decided before.

Compiled: bounds on what a pattern can be worth, and the search for patterns under them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import spend
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import EQUAL_AMOUNTS, GRID_CELL_SLACK
from edrp.formulations.placement.column_generation.model import ScoreModel, SupervisorClass


class PatternSteps(NamedTuple):
    """The operators of one class of supervisors, step by step in the order of decision.

    Attributes
    ----------
    states, first, saving, following : as in `Order`.
    counts : counts per row of `saving`, shape (steps,).
    max_instances : instances that one supervisor may hold, shape (steps,).
    demand : resources of one instance, shape (steps, resources).
    capacity : shape (resources,).
    correction : shape (steps, steps, 3): score per product of counts of a stream let go, and the factors of both squares that the
        bounds hold instead; empty where no stream is let go.
    """

    states: np.ndarray
    first: np.ndarray
    saving: np.ndarray
    following: np.ndarray
    counts: np.ndarray
    max_instances: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    correction: np.ndarray


class BoundTable(NamedTuple):
    """Bounds by step, state and the room left on a grid of two resources.

    Attributes
    ----------
    axis, unit : resource of each of the two axes (-1 for none), and the size of a cell.
    rows, columns : cells of both axes.
    need : cells that an instance needs, rounded down, shape (steps, 2).
    start : where the table of each step begins, shape (steps + 1,).
    values : flat, by step, state, room of the first and of the second resource.
    """

    axis: np.ndarray
    unit: np.ndarray
    rows: int
    columns: int
    need: np.ndarray
    start: np.ndarray
    values: np.ndarray


class PatternList(NamedTuple):
    """Patterns by step, shape (patterns, steps), and what they are worth, shape (patterns,); written by a search."""

    patterns: np.ndarray
    values: np.ndarray


class _Path(NamedTuple):
    """Decisions of a search: worth and room before each step, state of the frontier, and the count chosen (-1 for none).

    The worth includes the bounds on the streams let go.
    """

    total: np.ndarray
    room: np.ndarray
    state: np.ndarray
    chosen: np.ndarray


@kernel
def fill_bounds(steps: PatternSteps, table: BoundTable, worth: np.ndarray) -> None:
    """Fill a table with upper bounds on what the operators from each step on can be worth.

    Parameters
    ----------
    worth
        Worth of an instance, shape (steps,).
    """
    rows, columns, values, need = table.rows, table.columns, table.values, table.need
    cells = rows * columns
    last = steps.counts.size
    values[table.start[last] : table.start[last] + cells] = 0.0
    for k in range(last - 1, -1, -1):
        for s in range(steps.states[k]):
            begin = table.start[k] + s * cells
            own = values[begin : begin + cells].reshape(rows, columns)
            for n in range(steps.max_instances[k] + 1):
                row = steps.first[k] + s * steps.counts[k] + n
                after = table.start[k + 1] + steps.following[row] * cells
                behind = values[after : after + cells].reshape(rows, columns)
                gain = steps.saving[row] + worth[k] * n
                down, right = n * need[k, 0], n * need[k, 1]
                if n == 0:
                    for r in range(rows):
                        for c in range(columns):
                            own[r, c] = behind[r, c] + gain
                    continue
                if down >= rows or right >= columns:
                    break
                for r in range(down, rows):
                    for c in range(right, columns):
                        own[r, c] = max(own[r, c], behind[r - down, c - right] + gain)


@kernel
def search_patterns(
    steps: PatternSteps, table: BoundTable, worth: np.ndarray, threshold: float, improve: bool, max_nodes: int, found: PatternList
) -> tuple[int, int, float]:
    """Search depth-first over the counts of each operator, best bound first, with exact resources.

    Parameters
    ----------
    worth
        Worth of an instance, shape (steps,).
    threshold
        Patterns worth no more than this are not wanted.
    improve
        Raise the threshold to each pattern met: the last one is the best. Otherwise list all.
    found
        Written: the patterns met, as far as there is room.

    Returns
    -------
    tuple
        Patterns met (more than there is room for: the list is not complete), nodes searched (more for those with many counts),
        final threshold; nodes beyond `max_nodes` say that the search was given up.
    """
    counts = steps.counts
    size, resources = steps.demand.shape
    bound = np.empty((size, counts.max()))
    room = np.empty((size + 1, resources))
    room[0] = steps.capacity
    path = _Path(np.zeros(size + 1), room, np.zeros(size + 1, np.int64), np.full(size, -1, np.int64))
    met, nodes, k, opened = 0, 0, 0, False
    while k >= 0:
        if not opened:
            nodes += 1 + counts[k] // 8
            if nodes > max_nodes:
                break
            for n in range(counts[k]):
                bound[k, n] = _bound_after(k, n, steps, table, worth, path)
        opened = True
        n = _largest(bound[k], counts[k])
        if not bound[k, n] > threshold:
            path.chosen[k] = -1
            k -= 1
            continue
        bound[k, n] = -np.inf
        _decide(k, n, steps, worth, path)
        if k + 1 < size:
            k += 1
            opened = False
        elif path.total[size] > threshold and path.chosen.sum() > 0:
            if improve or met < found.values.size:
                last = min(met, found.values.size - 1)
                found.patterns[last] = path.chosen
                found.values[last] = path.total[size]
            met += 1
            if improve:
                threshold = float(path.total[size])
            elif met > found.values.size:
                break
    return met, nodes, threshold


@inlined
def _largest(values: np.ndarray, count: int) -> int:
    """Position of the largest of the first values; of equal ones the first."""
    largest = 0
    for i in range(1, count):
        if values[i] > values[largest]:
            largest = i
    return largest


@inlined
def _decide(k: int, n: int, steps: PatternSteps, worth: np.ndarray, path: _Path) -> None:
    """Choose n instances at step k."""
    row = steps.first[k] + path.state[k] * steps.counts[k] + n
    correction = _corrected(k, n, steps.correction, path.chosen)
    path.total[k + 1] = path.total[k] + steps.saving[row] + worth[k] * n + correction
    path.state[k + 1] = steps.following[row]
    for m in range(steps.demand.shape[1]):
        path.room[k + 1, m] = path.room[k, m] - n * steps.demand[k, m]
    path.chosen[k] = n


@inlined
def _corrected(k: int, n: int, correction: np.ndarray, chosen: np.ndarray) -> float:
    """Worth of the streams let go between step k and those before, less what the bounds held for them."""
    value = 0.0
    for j in range(min(k, correction.shape[0])):
        if correction[k, j, 0] != 0.0:
            m = chosen[j]
            value += correction[k, j, 0] * n * m - correction[k, j, 1] * n * n - correction[k, j, 2] * m * m
    return value


@inlined
def _bound_after(k: int, n: int, steps: PatternSteps, table: BoundTable, worth: np.ndarray, path: _Path) -> float:
    """Upper bound on any pattern that continues with n instances at step k; minus infinity where they do not fit."""
    if n > steps.max_instances[k]:
        return -np.inf
    cell = 0
    for m in range(steps.demand.shape[1]):
        left = path.room[k, m] - n * steps.demand[k, m]
        if left < 0.0:
            return -np.inf
        for side in range(2):
            if table.axis[side] == m:
                last = (table.rows if side == 0 else table.columns) - 1
                position = min(last, int(left / table.unit[side] + GRID_CELL_SLACK))
                cell += position * table.columns if side == 0 else position
    row = steps.first[k] + path.state[k] * steps.counts[k] + n
    value = path.total[k] + steps.saving[row] + worth[k] * n + _corrected(k, n, steps.correction, path.chosen)
    return value + table.values[table.start[k + 1] + steps.following[row] * table.rows * table.columns + cell]


MAX_REMEMBERED_COUNTS = 4096
"""Combinations of counts that are remembered at once; streams beyond that are bounded instead."""

STARTS = 12
"""Operators that the order is tried to begin with."""


@dataclass(frozen=True, slots=True)
class Order:
    """Operators in the order of decision, with tables over the counts of the *frontier*: decided operators with open streams.

    Attributes
    ----------
    operators : shape (operators,)
    states : shape (operators + 1,), combinations of counts of the frontier before each step, and 1 after the last.
    first : shape (operators + 1,), where the rows (state, count) of each step begin in `saving` and `following`.
    saving : flat, score that a count saves with the frontier, itself included, and its share of the bounds on streams let go.
    following : flat, state after the count.
    let_go : shape (operators, operators), by operators: score per product of counts where a stream is bounded instead of
        remembered, else 0.
    """

    operators: Ints
    states: Ints
    first: Ints
    saving: Floats
    following: Ints
    let_go: Floats


def decision_order(together: Floats, instances: Ints) -> Order:
    """The best of a few greedy orders, each by least frontier, as tables.

    Where the frontier would exceed `MAX_REMEMBERED_COUNTS`, the operator with the weakest open streams is let go: a product of
    counts is at most the weighted mean of their squares, `n·m ≤ (n²·y/x + m²·x/y)/2` for x and y instances, with equality
    where all or no instances are there.
    """
    joined = (together > 0) & ~np.eye(instances.size, dtype=bool)
    starts = np.argsort(joined.sum(axis=1), kind="stable")[:STARTS]
    tried = [_greedy(joined, together, instances, int(start)) for start in starts]
    sequence, frontiers, let_go = min(tried, key=lambda trial: _work(trial[1], instances))
    return _tables(sequence, frontiers, let_go, together, instances)


def _work(frontiers: list[list[int]], instances: Ints) -> float:
    return sum(float(np.prod(instances[list(frontier)] + 1.0)) for frontier in frontiers)


def _greedy(joined: Bools, together: Floats, instances: Ints, start: int) -> tuple[list[int], list[list[int]], Floats]:
    """Sequence, frontier before each step and after the last, and streams let go."""
    open_streams, let_go = joined.copy(), np.zeros_like(together)
    sequence: list[int] = []
    frontier: list[int] = []
    frontiers: list[list[int]] = [[]]
    unordered = set(range(instances.size))
    weight = np.log(instances + 1.0)
    while unordered:
        step = (
            start if not sequence else min(sorted(unordered), key=lambda a: _width(a, frontier, open_streams, weight, unordered))
        )
        unordered.remove(step)
        sequence.append(step)
        waiting = sorted(unordered)
        frontier = [a for a in [*frontier, step] if open_streams[a, waiting].any()]
        while np.prod(instances[frontier] + 1.0) > MAX_REMEMBERED_COUNTS:
            strain = np.outer(instances, instances) * together * open_streams
            weakest = min(frontier, key=lambda a: strain[a, waiting].sum())
            for b in waiting:
                if open_streams[weakest, b]:
                    let_go[weakest, b] = let_go[b, weakest] = together[weakest, b]
                    open_streams[weakest, b] = open_streams[b, weakest] = False
            frontier.remove(weakest)
        frontiers.append(list(frontier))
    return sequence, frontiers, let_go


def _width(a: int, frontier: list[int], open_streams: Bools, weight: Floats, unordered: set[int]) -> tuple[float, int]:
    """Logarithm of the states when a is decided next; closing more streams breaks ties."""
    waiting = [b for b in unordered if b != a]
    stays = [b for b in [*frontier, a] if open_streams[b, waiting].any()]
    return round(float(weight[stays].sum()), 9), -int(open_streams[a, frontier].sum())


def _tables(sequence: list[int], frontiers: list[list[int]], let_go: Floats, together: Floats, instances: Ints) -> Order:
    size = instances.size
    stride = np.zeros((size + 1, size), np.int64)
    for k, frontier in enumerate(frontiers):
        stride[k, frontier] = np.cumprod([1, *(instances[frontier] + 1)])[:-1]
    saving, following = [], []
    # Per operator, the factor of its squared count in the bounds on the streams let go.
    bounded = 0.5 * (let_go * (instances[None, :] / instances[:, None])).sum(axis=1)
    for k, (before, _) in enumerate(pairwise(frontiers)):
        a = sequence[k]
        counts = np.arange(instances[a] + 1)
        digits = _digits(before, instances)
        saved = together[a, before] - let_go[a, before]
        saving.append(np.outer(digits @ saved, counts) + (together[a, a] + bounded[a]) * counts**2)
        after = digits @ stride[k + 1, before]
        following.append(after[:, None] + counts * stride[k + 1, a])
    rows = [table.size for table in saving]
    return Order(
        operators=np.array(sequence, np.int64),
        states=np.array([np.prod(instances[frontier] + 1) for frontier in frontiers], np.int64),
        first=np.cumsum([0, *rows]).astype(np.int64),
        saving=np.concatenate([table.ravel() for table in saving]),
        following=np.concatenate([table.ravel() for table in following]).astype(np.int64),
        let_go=let_go,
    )


def _digits(frontier: list[int], instances: Ints) -> Ints:
    """Counts of the frontier's operators in each state, shape (states, frontier)."""
    if not frontier:
        return np.zeros((1, 0), np.int64)
    shape = tuple(instances[frontier][::-1] + 1)
    return np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)[:, ::-1]


MAX_ENTRIES = 6_000_000
"""Entries of all tables of a class."""

MAX_UPDATES = 60_000_000
"""Updates of entries when all tables of a class are filled once: some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Two axes of cells; needs are rounded down to cells, so that what fits the resources fits the grid.

    Attributes
    ----------
    axis : shape (2,), resource of each axis, -1 for none.
    unit : shape (2,), amount per cell.
    cells : shape (2,), one more than fit.
    need : shape (operators, 2), cells that an instance needs.
    exact : bool, whether needs are whole numbers of cells on both axes, so that a finer grid would say the same.
    """

    axis: Ints
    unit: Floats
    cells: Ints
    need: Ints
    exact: bool


def resource_grid(demand: Floats, capacity: Floats, max_instances: Ints, fineness: tuple[int, int]) -> Grid:
    """A grid over the (at most two) resources that are shortest, the shortest first.

    Parameters
    ----------
    demand
        Demand of one instance, shape (operators, resources).
    capacity
        Shape (resources,).
    max_instances
        Upper limit on the instances of each operator, shape (operators,).
    fineness
        Cells of each axis; up to twice as many where all needs are then whole numbers of cells.
    """
    usable = max_instances > 0
    total_demand = (max_instances[:, None] * demand).sum(axis=0)
    short = [m for m in np.argsort(-total_demand / np.maximum(capacity, 1e-300), kind="stable") if total_demand[m] > capacity[m]]
    axis, unit, cells = np.full(2, -1, np.int64), np.ones(2), np.ones(2, np.int64)
    need = np.zeros((max_instances.size, 2), np.int64)
    exact = len(short) <= 2
    for side, m in enumerate(short[:2]):
        axis[side] = m
        divisor = common_divisor(demand[usable & (demand[:, m] > 0), m])
        is_exact = capacity[m] / divisor <= 2 * fineness[side]
        exact &= is_exact
        unit[side] = divisor if is_exact else capacity[m] / fineness[side]
        cells[side] = int(capacity[m] / unit[side] + (0.0 if is_exact else GRID_CELL_SLACK)) + 1
        # The margin is far below what `kernels._bound_after` adds to the room that is left.
        need[:, side] = np.where(usable, np.floor(demand[:, m] / unit[side] + 1e-7 / max_instances.sum()), 0)
    return Grid(axis, unit, cells, need, exact)


def common_divisor(amounts: Floats) -> float:
    """Largest amount of which all are multiples, up to rounding.

    >>> round(common_divisor(np.array([0.15, 0.35, 0.1])), 9)
    0.05
    """
    tolerance = EQUAL_AMOUNTS * float(amounts.max())

    def euclid(a: float, b: float) -> float:
        while b > tolerance:
            remainder = a - b * np.floor(a / b)
            a, b = b, 0.0 if b - remainder <= tolerance else remainder
        return a

    return float(reduce(euclid, amounts.tolist()))


COARSEST, FINEST = 32, 1024
"""Cells per axis of the first grid and of the last."""

KEPT = 24
"""Patterns that one pricing returns at most."""

NODE_PATIENCE, MAX_NODE_PATIENCE = 30_000, 1_500_000
"""Nodes of a search that may find nothing before the grid is refined, and before the search is given up."""

NODE_WORK, CELL_WORK = 1e-6, 2e-8
"""Units of work for a node of a search, and for a cell of the grid that bounds it."""


@dataclass(frozen=True, slots=True)
class Priced:
    """Patterns worth more than the threshold, best last, and an upper bound on the worth of any pattern.

    `patterns` has shape (patterns, operators), `worth` shape (patterns,).
    """

    patterns: Ints
    worth: Floats
    at_most: float


class Pricer:
    """Searches the patterns of one class.

    A dynamic program over the operators, in an order with a small frontier, bounds what the operators to come can still
    be worth with the room that is left on a grid of resources. A depth-first search with exact resources follows these
    bounds; where it takes long, the grid is refined. Patterns found are exact on any grid; so is the best one, once the
    search has ended by itself.
    """

    def __init__(self, model: ScoreModel, order: Order, supervisors: SupervisorClass) -> None:
        self.order = order
        operators = order.operators
        self.steps = PatternSteps(
            order.states, order.first, order.saving, order.following,
            counts=model.instances[operators] + 1,
            max_instances=supervisors.max_instances[operators],
            demand=np.ascontiguousarray(model.demand[operators]),
            capacity=np.ascontiguousarray(supervisors.capacity),
            correction=_correction(model, order),
        )  # fmt: skip
        self.fineness = (2 * COARSEST, 2 * COARSEST)
        while not self._grid((self.fineness[0] // 2, self.fineness[1] // 2)):
            self.fineness = (max(2, self.fineness[0] // 2), max(2, self.fineness[1] // 2))

    def _grid(self, fineness: tuple[int, int]) -> bool:
        """Take a grid of that fineness, unless its tables were too large."""
        steps = self.steps
        grid = resource_grid(steps.demand, steps.capacity, steps.max_instances, fineness)
        cells = int(grid.cells.prod())
        entries = int(steps.states.sum()) * cells
        updates = int((steps.states[:-1] * steps.counts).sum()) * cells
        if (entries > MAX_ENTRIES or updates > MAX_UPDATES) and max(fineness) > 1:
            return False
        self.fineness, self.grid = fineness, grid
        start = np.cumsum([0, *(steps.states * cells)])
        rows, columns = int(grid.cells[0]), int(grid.cells[1])
        self.table = BoundTable(grid.axis, grid.unit, rows, columns, grid.need, start, np.empty(entries))
        self.filled: bytes | None = None
        return True

    def refine(self) -> bool:
        """Tell apart twice as many amounts of both resources, or of one, if that helps and memory allows."""
        first, second = self.fineness
        if self.grid.exact or max(first, second) >= FINEST:
            return False
        return self._grid((2 * first, 2 * second)) or self._grid((2 * first, second)) or self._grid((first, 2 * second))

    def bound(self, worth: Floats) -> float:
        """Upper bound on the worth of any pattern, from the grid alone; `worth` of an instance, shape (operators,)."""
        self._fill(worth)
        return float(self.table.values[int(self.grid.cells.prod()) - 1])

    def best(self, worth: Floats, threshold: float, units: float) -> Priced:
        """Some patterns worth more than the threshold, with the best one if the search is not given up."""
        patience = NODE_PATIENCE
        while True:
            at_most = self.bound(worth)
            max_nodes = int(min(patience, 1000 + units / NODE_WORK))
            patterns, values, complete, last = self._search(worth, threshold, True, max_nodes, KEPT)
            if complete:
                return Priced(patterns, values, min(at_most, last))
            if values.size or max_nodes < patience or patience > MAX_NODE_PATIENCE:
                return Priced(patterns, values, at_most)
            if not self.refine():
                patience *= 8

    def all_above(self, worth: Floats, threshold: float, max_patterns: int, max_nodes: int) -> Priced | None:
        """Every pattern worth more than the threshold; None where there are too many, or the search takes too long."""
        while True:
            at_most = self.bound(worth)
            patterns, values, complete, _ = self._search(worth, threshold, False, max_nodes, max_patterns)
            if complete and values.size <= max_patterns:
                return Priced(patterns, values, at_most)
            if values.size >= max_patterns or not self.refine():
                return None

    def _fill(self, worth: Floats) -> None:
        key = worth.tobytes()
        if self.filled != key:
            spend(CELL_WORK * self.table.values.size)
            self.table.values.fill(-np.inf)
            fill_bounds(self.steps, self.table, worth[self.order.operators])
            self.filled = key

    def _search(
        self, worth: Floats, threshold: float, improve: bool, max_nodes: int, max_patterns: int
    ) -> tuple[Ints, Floats, bool, float]:
        operators = self.order.operators
        by_step = np.zeros((max_patterns, operators.size), np.int64)
        values = np.zeros(max_patterns)
        pattern_list = PatternList(by_step, values)
        met, nodes, last = search_patterns(self.steps, self.table, worth[operators], threshold, improve, max_nodes, pattern_list)
        spend(NODE_WORK * nodes)
        stored = min(met, max_patterns)
        patterns = np.empty((stored, operators.size), np.int64)
        patterns[:, operators] = by_step[:stored]
        return patterns, values[:stored], nodes <= max_nodes and (improve or met <= max_patterns), last


def _correction(model: ScoreModel, order: Order) -> Floats:
    """Score of the streams that each step relaxes, and the bounds that replace it; empty without such streams."""
    if not order.let_go.any():
        return np.zeros((0, 0, 3))
    steps = order.operators
    let_go = order.let_go[np.ix_(steps, steps)]
    ratio = model.instances[steps][None, :] / model.instances[steps][:, None]
    return np.stack([let_go, 0.5 * let_go * ratio, 0.5 * let_go * ratio.T], axis=2)
