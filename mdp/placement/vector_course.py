"""Exact dynamic program over vectors of replicas: the cheapest course where only their numbers count.

The least cost of a course that ends in a vector x in period t is

    V_t(x) = f_t(x) + min(V_{t−1}(x), F_t + min_y [V_{t−1}(y) + Σ_i (s_i (x_i − y_i)⁺ + c_i [x_i ≠ y_i])]),

with the cost f of a period, the price F of any change, and the prices s of a started replica and c of a changed operator. The
inner minimum is separable: a distance transform along each axis (Felzenszwalb & Huttenlocher, "Distance Transforms of Sampled
Functions", 2012, section 2) finds it for all x in O(vectors × operators).

Memory: one bit per period and vector, which says whether the best course changes there, and the values of about 2 √periods
periods. On the way back, the values of a block of periods are computed again only where the course changes within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.budget import look, refuse_beyond_memory, spend
from edrp.mdp.placement.vector_kernels import Axes, advance, last_change, walk_back

AXIS_UNITS, PERIOD_UNITS = 2e-9, 2e-6
"""Units of work per period, vector and axis, and per period."""

Stages = Callable[[int, int], Floats]
"""Costs of the periods from one up to before another, shape (periods, vectors), infinite where not allowed; a new array."""


@dataclass(frozen=True)
class VectorCourse:
    """A cheapest course.

    Attributes
    ----------
    value : its cost, infinite where there is none.
    vectors : shape (periods, operators), numbers of replicas; no rows where there is no course.
    """

    value: float
    vectors: Ints


@dataclass(frozen=True)
class VectorProgram:
    """A grid of vectors with the cost of each in each period, and the prices of changes.

    Attributes
    ----------
    replicas : numbers of replicas that each operator may have, ascending.
    stages : see `Stages`; vectors are numbered row by row, the last operator fastest.
    change : shape (periods,), price of any change into the period, infinite where none is allowed.
    started, operator : shape (operators,), price of one started replica, and of any change of the operator.
    initial : shape (operators,), numbers before the first period, perhaps outside of the grid; None for no price of the first.
    """

    replicas: tuple[Ints, ...]
    stages: Stages
    change: Floats
    started: Floats
    operator: Floats
    initial: Ints | None = None

    @cached_property
    def vectors(self) -> int:
        """Number of vectors of the grid."""
        return prod(numbers.size for numbers in self.replicas)

    @property
    def _block(self) -> int:
        """Periods whose values are held at once; as many blocks leave a row each."""
        return max(1, isqrt(self.change.size))

    @property
    def memory(self) -> float:
        """Bytes that `best_course` takes."""
        periods = self.change.size
        return (2.0 * self._block + 4 + periods / self._block) * 8 * self.vectors + periods * (self.vectors / 8 + 1)

    @property
    def units(self) -> float:
        """Units of work of one pass over all periods."""
        return self.change.size * (PERIOD_UNITS + AXIS_UNITS * self.vectors * (2 + len(self.replicas)))

    def best_course(self) -> VectorCourse:
        """Find the cheapest course.

        Raises
        ------
        OutOfTimeError
            When the limit of the run passes.
        ProblemTooLargeError
            When values do not fit into memory.
        """
        periods, block = self.change.size, self._block
        if not self.vectors:
            return self._nothing
        what = f"values of {self.vectors:,} vectors of replicas in {periods:,} periods"
        refuse_beyond_memory(self.memory, what, "allow fewer numbers of replicas, or longer periods")
        axes, work = self._axes, np.empty((2, self.vectors))
        changed = np.zeros((periods, (self.vectors + 7) // 8), np.uint8)
        values = [self.stages(0, 1)[0] + self._entry]
        begins = range(1, periods, block)
        for begin in begins:
            values.append(self._forward(axes, values[-1], begin, min(begin + block, periods), work, changed)[-1].copy())
        course = np.empty(periods, np.int64)
        course[-1] = int(values[-1].argmin())
        value = float(values.pop()[course[-1]])
        if value == inf:
            return self._nothing
        self._walk_back(begins, values, changed, work, course)
        return VectorCourse(value, self._numbers(course))

    def _walk_back(self, begins: range, values: list[Floats], changed: np.ndarray, work: Floats, course: Ints) -> None:
        """Fill in the vectors of all periods from that of the last, block by block from the end."""
        periods, block, axes = self.change.size, self._block, self._axes
        for begin, before in zip(begins[::-1], values[::-1], strict=True):
            end = min(begin + block, periods)
            last = last_change(changed, begin, end - 1, int(course[end - 1]))
            course[max(last, begin - 1) : end] = course[end - 1]
            if last >= begin:
                stages = self._forward(axes, before, begin, last, work, changed)
                walk_back(axes, before, stages, changed[begin : last + 1], work[0], course[begin - 1 : last + 1])

    def _forward(self, axes: Axes, before: Floats, begin: int, end: int, work: Floats, changed: np.ndarray) -> Floats:
        """Values of the periods from one up to before another."""
        look("the cheapest course of replicas")
        if begin == end:
            return np.empty((0, self.vectors))
        spend(self.units * (end - begin) / self.change.size)
        stages = self.stages(begin, end)
        advance(axes, before, stages, self.change[begin:end], work, changed[begin:end])
        return stages

    @property
    def _nothing(self) -> VectorCourse:
        return VectorCourse(inf, np.empty((0, len(self.replicas)), np.int64))

    @property
    def _entry(self) -> Floats:
        """Price of the change from `initial` to each vector, or 0."""
        if self.initial is None:
            return np.zeros(1)
        prices = [
            started * np.maximum(numbers - before, 0) + price * (numbers != before)
            for numbers, before, started, price in zip(self.replicas, self.initial, self.started, self.operator, strict=True)
        ]
        moved = outer_sum([numbers != before for numbers, before in zip(self.replicas, self.initial, strict=True)]) > 0
        return outer_sum(prices) + np.where(moved, self.change[0], 0.0)

    @property
    def _axes(self) -> Axes:
        size = np.array([numbers.size for numbers in self.replicas], np.int64)
        stride = np.append(np.cumprod(size[::-1])[-2::-1], 1).astype(np.int64)
        steps = [
            started * np.diff(numbers, prepend=numbers[0]) for numbers, started in zip(self.replicas, self.started, strict=True)
        ]
        first = (np.cumsum(size) - size).astype(np.int64)
        replicas = np.concatenate(self.replicas).astype(np.int64)
        return Axes(size, stride, first, replicas, np.concatenate(steps).astype(float), self.started, self.operator)

    def _numbers(self, course: Ints) -> Ints:
        digits = np.unravel_index(course, [numbers.size for numbers in self.replicas])
        return np.column_stack([numbers[digit] for numbers, digit in zip(self.replicas, digits, strict=True)]).astype(np.int64)


def outer_sum(parts: Sequence[NDArray[Any]]) -> Floats:
    """Sums of one entry of each part, over all choices: from shapes (…, n_i) to (…, product of all n_i).

    >>> outer_sum([np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0])]).tolist()
    [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]
    """
    if len(parts) == 1:
        return np.array(parts[0], float, order="C")  # sums keep the order of memory
    half = len(parts) // 2
    front, back = outer_sum(parts[:half]), outer_sum(parts[half:])  # halves, because NumPy is slow where the last axis is short
    return flattened(front[..., :, None] + back[..., None, :], front.ndim - 1)


def best_course(
    costs: Sequence[Sequence[Floats]] | Floats,
    started: Floats,
    change: float | Floats,
    initial: Ints | None = None,
    slots: int | None = None,
    change_of_operator: Floats | None = None,
) -> VectorCourse:
    """Find the cheapest course of numbers of replicas.

    Parameters
    ----------
    costs
        `costs[t][i][n - 1]` is the cost of operator i with n replicas in period t, infinite where it is not allowed; of an
        operator, all periods list equally many numbers.
    started
        Shape (operators,), price of one started replica.
    change
        Price of any change from one vector to the next: one number, or shape (periods,), into each period.
    initial
        Shape (operators,), numbers before the first period, which need not be allowed; None for no price of the first period.
    slots
        Maximum number of replicas of all operators; None for no limit.
    change_of_operator
        Shape (operators,), price of any change of the operator; None for 0.

    Returns
    -------
    VectorCourse
        Of courses that cost the same, one that changes late and only where that pays.

    Raises
    ------
    OutOfTimeError
        When the limit of the run passes.
    ProblemTooLargeError
        When there are too many vectors for the memory.
    ValueError
        Where shapes do not fit together, a cost is no number or −∞, or a price is negative.

    Examples
    --------
    >>> costs = [[np.array([1.0, 2.0])], [np.array([inf, 2.0])], [np.array([1.0, 2.0])]]
    >>> best_course(costs, started=np.zeros(1), change=0.6)
    VectorCourse(value=5.2, vectors=array([[1],
           [2],
           [1]]))
    """
    tables = _tables(costs)
    periods, operators = len(tables[0]), len(tables)
    prices = _checked_prices(started, change, change_of_operator, (periods, operators))
    if initial is not None and np.shape(initial) != (operators,):
        raise ValueError(f"initial has shape {np.shape(initial)}; there are {operators} operators")
    allowed = [np.flatnonzero((table < inf).any(axis=0)) for table in tables]
    tables = [table[:, columns] for table, columns in zip(tables, allowed, strict=True)]
    replicas = tuple(columns + 1 for columns in allowed)
    too_many = None if slots is None else np.flatnonzero(outer_sum(replicas) > slots)

    def stages(begin: int, end: int) -> Floats:
        total = outer_sum([table[begin:end] for table in tables])
        if too_many is not None:
            total[:, too_many] = inf
        return total

    program = VectorProgram(
        replicas,
        stages,
        np.ascontiguousarray(prices["change"]),
        prices["started"],
        prices["change_of_operator"],
        None if initial is None else np.asarray(initial, np.int64),
    )
    return program.best_course()


def _checked_prices(
    started: Floats, change: float | Floats, change_of_operator: Floats | None, shape: tuple[int, int]
) -> dict[str, Floats]:
    """Prices as arrays by name, for so many periods and operators; `ValueError` for one that does not fit or is negative."""
    periods, operators = shape
    prices = {
        "started": np.asarray(started, float),
        "change": np.broadcast_to(np.asarray(change, float), (periods,)),
        "change_of_operator": np.zeros(operators) if change_of_operator is None else np.asarray(change_of_operator, float),
    }
    for name, values in prices.items():
        if name != "change" and values.shape != (operators,):
            raise ValueError(f"{name} has shape {values.shape}; there are {operators} operators")
        if not (values >= 0).all() or not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite and not negative, got {values[~((values >= 0) & (values < inf))][0]}")
    return prices


def _tables(costs: Sequence[Sequence[Floats]] | Floats) -> list[Floats]:
    """Costs by operator, each of shape (periods, numbers of replicas)."""
    if not len(costs) or not len(costs[0]):
        raise ValueError("costs are empty; give at least one period and one operator")
    counts = {len(period) for period in costs}
    if len(counts) > 1:
        raise ValueError(f"costs of some periods are of {min(counts)} operators, of others of {max(counts)}")
    tables = []
    for i in range(len(costs[0])):
        rows = [period[i] for period in costs]
        if len({len(row) for row in rows}) > 1:
            raise ValueError(f"the lists of costs of operator {i} are not equally long in all periods")
        table = np.array(rows, float)
        if np.isnan(table).any() or (table == -inf).any():
            raise ValueError(f"costs of operator {i} must be numbers above -inf")
        tables.append(table)
    return tables
