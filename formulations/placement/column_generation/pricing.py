"""Pricing: the patterns of a class that are worth most at given prices of instances (a quadratic knapsack).

The order in which operators are decided, and what has to be remembered of those decided before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import spend
from edrp.core.tolerances import EQUAL_AMOUNTS, GRID_CELL_SLACK
from edrp.formulations.placement.column_generation.model import ScoreModel, SupervisorClass

MAX_REMEMBERED_COUNTS = 4096
"""Combinations of counts that are remembered at once; streams beyond that are bounded instead."""

STARTS = 12
"""Operators that the order is tried to begin with."""


class Order(NamedTuple):
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
    states = [sum(float(np.prod(instances[frontier] + 1.0)) for frontier in frontiers) for _, frontiers, _ in tried]
    sequence, frontiers, let_go = tried[int(np.argmin(states))]
    return _tables(sequence, frontiers, let_go, together, instances)


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


class Grid(NamedTuple):
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
        # The margin is far below what `search_patterns` adds to the room that is left.
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

NODE_WORK, CELL_WORK = 1e-7, 1e-9
"""Units of work for a node of a search, and for a cell of the grid that bounds it."""


class PatternSteps(NamedTuple):
    """The operators of one class of supervisors, step by step in the order of decision.

    Arrays of `fill_pattern_bounds` and `search_patterns` (edrp/native/formulations/placement/pricing.cpp).

    Attributes
    ----------
    counts : counts per row of `order.saving`, shape (steps,).
    max_instances : instances that one supervisor may hold, shape (steps,).
    demand : resources of one instance, shape (steps, resources).
    capacity : shape (resources,).
    correction : shape (steps, steps, 3): score per product of counts of a stream let go, and the factors of both squares that the
        bounds hold instead; empty where no stream is let go.
    """

    order: Order
    counts: Ints
    max_instances: Ints
    demand: Floats
    capacity: Floats
    correction: Floats


class BoundTable(NamedTuple):
    """Bounds by step, state and the room left on a grid; those of each step begin at `start`, shape (steps + 1,)."""

    grid: Grid
    start: Ints
    values: Floats


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
            order,
            counts=model.instances[operators] + 1,
            max_instances=supervisors.max_instances[operators],
            demand=np.ascontiguousarray(model.demand[operators]),
            capacity=np.ascontiguousarray(supervisors.capacity),
            correction=_correction(model, order),
        )
        self.fineness = (2 * COARSEST, 2 * COARSEST)
        while not self._grid((self.fineness[0] // 2, self.fineness[1] // 2)):
            self.fineness = (max(2, self.fineness[0] // 2), max(2, self.fineness[1] // 2))

    def _grid(self, fineness: tuple[int, int]) -> bool:
        """Take a grid of that fineness, unless its tables were too large."""
        steps, states = self.steps, self.order.states
        grid = resource_grid(steps.demand, steps.capacity, steps.max_instances, fineness)
        cells = int(grid.cells.prod())
        entries = int(states.sum()) * cells
        updates = int((states[:-1] * steps.counts).sum()) * cells
        if (entries > MAX_ENTRIES or updates > MAX_UPDATES) and max(fineness) > 1:
            return False
        self.fineness, self.grid = fineness, grid
        self.table = BoundTable(grid, np.cumsum([0, *(states * cells)]), np.empty(entries))
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
        key = worth.tobytes()
        if self.filled != key:
            spend(CELL_WORK * self.table.values.size)
            self.table.values.fill(-np.inf)
            _native.fill_pattern_bounds(self.steps, self.table, worth[self.order.operators])
            self.filled = key
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

    def _search(
        self, worth: Floats, threshold: float, improve: bool, max_nodes: int, max_patterns: int
    ) -> tuple[Ints, Floats, bool, float]:
        operators = self.order.operators
        by_step = np.zeros((max_patterns, operators.size), np.int64)
        values = np.zeros(max_patterns)
        limits = threshold, improve, max_nodes
        met, nodes, last = _native.search_patterns(self.steps, self.table, worth[operators], *limits, by_step, values)
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
