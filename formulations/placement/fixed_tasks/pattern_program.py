"""Bounds by a linear program over patterns: how often a node has each, such that all tasks are placed (column generation)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edrp.backends.base import NodeBrake, seconds_for_solver
from edrp.backends.growing import GrowingProgram
from edrp.backends.scipy_milp import run_milp
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, now, passed
from edrp.core.tolerances import LIMIT_SLACK, PATTERN_VALUE_GAP
from edrp.formulations.placement.fixed_tasks.pricing import Pricing
from edrp.placement.fixed_tasks import FixedTasks

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

    The mean is at most the largest load, so that a bound above the limit proves the limit too small. After so many units of work
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

    rows = np.vstack([patterns.T, np.ones(len(patterns))])
    needed = np.append(tasks.arrays.totals, tasks.nodes)
    brake, seconds = NodeBrake(int(np.count_nonzero(rows)) + sum(rows.shape), units), seconds_for_solver()
    limits = {"node_limit": brake.nodes, "time_limit": seconds}
    result = run_milp(
        np.zeros(len(patterns)),
        {name: limit for name, limit in limits.items() if limit is not None},
        integrality=np.ones(len(patterns), np.int64),
        bounds=Bounds(0, tasks.nodes),
        constraints=LinearConstraint(rows, needed, needed),
    )
    brake.release(getattr(result, "mip_node_count", None))
    if result.x is None:
        return None, result.status == 2
    counts = np.repeat(patterns, np.rint(result.x).astype(np.int64), axis=0)
    complete = len(counts) == tasks.nodes and np.array_equal(counts.sum(axis=0), tasks.arrays.totals)
    return (counts if complete else None), False
