"""Whole numbers minimised one after the other: linear programs, bounds by prices in whole numbers, and the faces that they leave.

For whole prices y of rows and d = c − Aᵀy, every point has c·x = L + Σ |d_j| · |x_j − its end| + Σ |y_i| · |(Ax)_i − its end|.
The signs of d and y say which ends, and L is the value at these: a bound that rests on no tolerance. What would add more than is
allowed keeps to its end, and what is left has small costs, however large c is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import highspy
import numpy as np

from edrp.backends.highs import Brake, hand_over, new_solver
from edrp.core.arrays import Floats, Ints
from edrp.core.late_imports import sparse
from edrp.core.program import Arrays
from edrp.formulations.placement.ordered_flow.integer_program import MAX_EXACT, UNBOUNDED, Goal, IntegerProgram

_Status: Any = highspy.HighsModelStatus

SCALES = (1, 2, 3, 4, 6, 12)
"""Denominators of prices: those of flows are whole, side rows make fractions of them."""

TOO_LARGE = "the numbers of a program are too large for the solver"

MAX_TOLD = 10**7
"""Coefficients of rows up to which the solver is believed without prices; what is whole or equal to 10⁻⁶ misses steps above."""

SEARCHED_SHARES = (0.02, 0.2, 1.0)
"""Shares of what would raise the value that successive searches may use."""


@dataclass(frozen=True)
class Face:
    """Whole points between `low` and `high` whose rows `matrix · x` are between `lower` and `upper`; all are int64."""

    matrix: sparse.csr_array
    lower: Ints
    upper: Ints
    low: Ints
    high: Ints

    def holds(self, point: Ints) -> bool:
        """Whether a point is one of these, exactly."""
        rows = self.matrix @ point
        within = ((rows >= self.lower) & (rows <= self.upper)).all()
        return bool(within and ((point >= self.low) & (point <= self.high)).all())


@dataclass(frozen=True)
class Prices:
    """Whole prices of rows for `scale` × a cost, what they leave of it (reduced costs), and the bound on `scale` × its value."""

    scale: int
    cost: Ints
    rows: Ints
    reduced: Ints
    total: int

    @property
    def bound(self) -> int:
        """The least whole number that the value may be."""
        return -(-self.total // self.scale)

    def room(self, value: int) -> int:
        """What a point of some value adds to the bound, times `scale`."""
        return self.scale * value - self.total

    def face(self, face: Face, room: int) -> Face:
        """Points that add at most `room` by any single column or row: others keep to their ends."""
        low, high, lower, upper = face.low.copy(), face.high.copy(), face.lower.copy(), face.upper.copy()
        high[self.reduced > room] = low[self.reduced > room]
        low[self.reduced < -room] = high[self.reduced < -room]
        upper[self.rows > room] = lower[self.rows > room]
        lower[self.rows < -room] = upper[self.rows < -room]
        return replace(face, lower=lower, upper=upper, low=low, high=high)

    def remaining(self, face: Face, room: int) -> tuple[Ints, int]:
        """Cost of the points of that face, on which priced rows are constants, and its value at the ends that they keep to."""
        tight = np.where(np.abs(self.rows) > room, self.rows, 0)
        return self.scale * self.cost - face.matrix.T @ tight, _dot(tight, _ends(tight, face.lower, face.upper))

    def within(self, face: Face, value: int) -> Face:
        """Points of at most some value."""
        room = self.room(value)
        part = self.face(face, room)
        cost, constant = self.remaining(face, room)
        if room == 0:
            return part  # all of whose points have the value
        common = int(np.gcd.reduce(cost)) or 1
        row, most = sparse.csr_array(cost[None, :] // common), (self.scale * value - constant) // common
        if abs(most) >= UNBOUNDED:
            raise StoppedError(TOO_LARGE)
        lower, upper = np.append(part.lower, -UNBOUNDED), np.append(part.upper, most)
        return replace(part, matrix=sparse.vstack([part.matrix, row], format="csr"), lower=lower, upper=upper)


def _ends(signs: Ints, lower: Ints, upper: Ints) -> Ints:
    """Lower ends where a sign is above 0, upper ones where it is below, and 0."""
    return np.where(signs > 0, lower, np.where(signs < 0, upper, 0))


def _dot(left: Ints, right: Ints) -> int:
    """Sum of products of whole numbers of any size."""
    if np.abs(left.astype(float)) @ np.abs(right.astype(float)) < UNBOUNDED:
        return int(left @ right)
    return sum(int(a) * int(b) for a, b in zip(left, right, strict=True) if a and b)


def best_prices(face: Face, cost: Ints, duals: Floats) -> Prices:
    """The prices near duals whose bound is the best; any prices give one.

    Examples
    --------
    >>> whole = lambda *numbers: np.array(numbers, np.int64)
    >>> face = Face(sparse.csr_array([[2, 2]]), whole(3), whole(UNBOUNDED), whole(0, 0), whole(5, 5))
    >>> best_prices(face, whole(1, 1), np.array([0.5])).bound
    2
    """
    found = []
    for scale in SCALES:
        rows = np.rint(scale * duals).astype(np.int64)
        rows[np.abs(_ends(rows, face.lower, face.upper)) >= UNBOUNDED] = 0
        if (abs(face.matrix).T.astype(float) @ np.abs(rows.astype(float))).max(initial=0.0) >= UNBOUNDED:
            rows[:] = 0
        reduced = scale * cost - face.matrix.T @ rows
        total = _dot(rows, _ends(rows, face.lower, face.upper)) + _dot(reduced, _ends(reduced, face.low, face.high))
        found.append(Prices(scale, cost, rows, reduced, total))
    return max(found, key=lambda prices: prices.bound)


@dataclass(frozen=True)
class Group:
    """Goals that are minimised at once: each weighs more than those after it ever add up to, `cost` is the sum."""

    goals: tuple[Goal, ...]
    cost: Ints

    def split(self, value: int) -> list[int]:
        """Steps of each goal in a value of the cost; in a bound, what goals are at least where those before are no more."""
        weights = _weights(self.goals)
        left = value - sum(weight * goal.least for weight, goal in zip(weights, self.goals, strict=True))
        found = []
        for goal, weight in zip(self.goals, weights, strict=True):
            above = min(max(left, 0) // weight, goal.span)
            found.append(goal.least + above + goal.constant)
            left -= above * weight
        return found


def _weights(goals: Sequence[Goal]) -> list[int]:
    """One more than the largest sum of the goals after each goal."""
    return [math.prod(later.span + 1 for later in goals[position + 1 :]) for position in range(len(goals))]


def grouped(goals: Sequence[Goal], replicas: int) -> list[Group]:
    """Goals in a row whose weights stay below 2⁵³; those over the first columns, replicas, apart from those over the others."""
    parts: list[list[Goal]] = []
    for goal in goals:
        alike = parts and goal.cost[:replicas].any() == parts[-1][0].cost[:replicas].any()
        if alike and math.prod(other.span + 1 for other in (*parts[-1], goal)) < MAX_EXACT:
            parts[-1].append(goal)
        else:
            parts.append([goal])
    return [
        Group(tuple(part), np.sum([weight * goal.cost for weight, goal in zip(_weights(part), part, strict=True)], axis=0))
        for part in parts
    ]


class StoppedError(Exception):
    """A limit has passed, or the solver took for feasible what is not exactly so."""


def _refuse_large(matrix: sparse.csr_array) -> None:
    """Stop where rows have coefficients with which the solver's word is worth nothing."""
    if np.abs(matrix.data).max(initial=0) > MAX_TOLD:
        raise StoppedError("coefficients of rows are too large for the solver to be believed")


class Search:
    """Minimises groups of goals, one after the other, over the whole points of a program.

    Bounds are taken for minima until the rest turns out to be infeasible: a point that reaches all of them proves them at once.

    Attributes
    ----------
    bounds : lower bounds on the groups that were reached, each on the face that those before it have left.
    points : whole points that were found on the way.
    searched : whether a bound is that of the solver's search for whole points, whose word it rests on.
    """

    def __init__(self, program: IntegerProgram, groups: Sequence[Group], until: float, seed: int) -> None:
        self.program, self.groups, self._until, self._seed = program, groups, until, seed
        self.bounds: list[int] = []
        self.points: list[Ints] = []
        self.searched = False

    def solve(self) -> Ints | None:
        """A point that has the minima of all groups; None where there is none.

        Raises
        ------
        StoppedError
            Before that is known.
        """
        program, low = self.program, np.zeros_like(self.program.most)
        face = Face(program.matrix, program.lower, program.upper, low, program.most)
        point = self._minimise(face, 0, low)
        if point is None:
            _refuse_large(face.matrix)
        return point

    def _minimise(self, face: Face, position: int, hint: Ints) -> Ints | None:
        """The groups from a position on; the hint is tried before whole points are searched for."""
        del self.bounds[position:]
        if position == len(self.groups):
            return hint if face.holds(hint) else self._whole(face, np.zeros_like(hint))
        cost = self.groups[position].cost
        if not cost[: self.program.compiled.candidate.size].any():
            prices = best_prices(face, cost, self._duals_of_totals(face, cost))
            point = self._at_most(face, prices, prices.bound, position, hint)
            if point is not None:
                return point
        relaxed = self._run(face, cost, integer=False)
        if relaxed is None:
            return None
        prices, hint = best_prices(face, cost, relaxed[1]), self._completed(relaxed[0])
        point = self._at_most(face, prices, prices.bound, position, hint)
        return self._searched(face, prices, position) if point is None else point

    def _at_most(self, face: Face, prices: Prices, value: int, position: int, hint: Ints) -> Ints | None:
        self.bounds[position:] = [value]
        return self._minimise(prices.within(face, value), position + 1, hint)

    def _searched(self, face: Face, prices: Prices, position: int) -> Ints | None:
        """The minimum of a group that does not reach the bound of its prices, by search among what adds little to that first."""
        _refuse_large(face.matrix[self.program.lower.size - self.program.largest.size : self.program.lower.size])
        adding = np.sort(np.abs(np.concatenate([prices.reduced[face.low < face.high], prices.rows])))
        for share in SEARCHED_SHARES:
            room = int(adding[math.ceil(share * adding.size) - 1]) if adding.size else 0
            point = self._whole(prices.face(face, room), prices.remaining(face, room)[0])
            if point is None:
                continue
            self.searched, value = True, int(prices.cost @ point)
            beyond = prices.room(value) - 1
            if beyond > room:  # a better point may use more than this search did
                better = self._whole(prices.face(face, beyond), prices.remaining(face, beyond)[0])
                point, value = (point, value) if better is None else (better, int(prices.cost @ better))
            return self._at_most(face, prices, value, position, point)
        return None

    def _whole(self, face: Face, cost: Ints) -> Ints | None:
        """A whole point of a face of least cost; None where there is none."""
        found = self._run(face, cost, integer=True)
        if found is None:
            return None
        point = self._completed(found[0])
        if face.holds(point):
            self.points.append(point)
            if int(np.where(face.low < face.high, cost, 0) @ point) < found[1] + 0.5:
                return point
        raise StoppedError("the solver's tolerances admit a point that is not feasible in whole numbers, or costs more")

    def _completed(self, columns: Floats) -> Ints:
        """The whole point next to some columns; the largest of cells follow from replicas."""
        return self.program.point(self.program.counts(np.rint(columns).astype(np.int64)))

    def _duals_of_totals(self, face: Face, cost: Ints) -> Floats:
        """Prices of rows where operators with equal parts in the goals are one: what totals alone say, at little work."""
        program, (operators, nodes) = self.program, self.program.compiled.candidate.shape
        size, meant = operators * nodes, np.flatnonzero(cost[program.largest])
        cells = program.lower.size - program.largest.size + meant
        parts = sparse.csr_array(face.matrix[cells, :size].T.reshape((operators, nodes * cells.size)))
        keys = [(parts.indices[a:b].tobytes(), parts.data[a:b].tobytes()) for a, b in pairwise(parts.indptr)]
        number = {key: kind for kind, key in enumerate(dict.fromkeys(keys))}
        kinds = np.array([number[key] for key in keys])
        first, members = np.unique(kinds, return_index=True)[1], (np.arange(len(number))[:, None] == kinds).astype(np.int64)
        kept = np.concatenate([(first[:, None] * nodes + np.arange(nodes)).ravel(), np.arange(size, program.most.size)])
        low, high = (
            np.concatenate([(members @ end[:size].reshape(operators, nodes)).ravel(), end[size:]])
            for end in (face.low, face.high)
        )
        rows = sparse.vstack([face.matrix[first], face.matrix[cells]], format="csr")[:, kept]
        lower, upper = (np.concatenate([members @ end[:operators], end[cells]]) for end in (face.lower, face.upper))
        small = self._run(Face(rows, lower, upper, low, high), cost[kept], integer=False)
        duals = np.zeros(face.lower.size)
        if small is not None:
            duals[:operators], duals[cells] = small[1][kinds], small[1][len(number) :]
        return duals

    def _run(self, face: Face, cost: Ints, *, integer: bool) -> tuple[Floats, Any] | None:
        """Columns of an optimum, and duals of rows, or if columns are whole what free ones cost; None where a face is empty."""
        free = np.flatnonzero(face.low < face.high)
        values = np.where(face.low < face.high, 0, face.low)
        if not free.size and not face.holds(values):
            return None
        used, matrix = face.matrix @ values, sparse.csr_array(face.matrix[:, free]).astype(float)
        ends = [np.where(np.abs(end) < UNBOUNDED, end - used, np.copysign(np.inf, end)) for end in (face.lower, face.upper)]
        bounds = face.low[free].astype(float), face.high[free].astype(float)
        arrays = Arrays(cost[free].astype(float), 0.0, *bounds, np.full(free.size, integer), matrix, *ends)
        solver = new_solver(random_seed=self._seed, mip_rel_gap=0.0, mip_abs_gap=0.0)
        if not hand_over(solver, arrays):
            raise StoppedError(TOO_LARGE)
        Brake(arrays, self._until).run(solver, at_once=False)
        status = solver.getModelStatus()
        if status in (_Status.kInfeasible, _Status.kUnboundedOrInfeasible):  # columns have bounds
            return None
        if status not in (_Status.kOptimal, _Status.kModelEmpty):
            raise StoppedError
        values = values.astype(float)
        values[free] = solver.getSolution().col_value
        if integer:
            return values, solver.getInfo().mip_dual_bound if free.size else 0.0
        return values, np.array(solver.getSolution().row_dual)
