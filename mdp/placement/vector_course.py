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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp import _native
from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.budget import look, refuse_beyond_memory, spend

AXIS_UNITS, PERIOD_UNITS = 2e-9, 2e-6
"""Units of work per period, vector and axis, and per period."""

Stages = Callable[[int, int], Floats]
"""Costs of the periods from one up to before another, shape (periods, vectors), infinite where not allowed; a new array."""


class Axes(NamedTuple):
    """The grid of vectors, and the prices of steps along its axes (edrp/native/mdp/placement/vector_course.cpp).

    Attributes
    ----------
    size, stride : shape (operators,), numbers of replicas to choose from, and distance of neighbours.
    first : shape (operators,), where the operator's rows of the next two begin.
    replicas : shape (sum of sizes,), the numbers of replicas of each operator, ascending.
    rise : shape (sum of sizes,), price of the replicas started from one number to the next.
    started : shape (operators,), price of one started replica.
    price : shape (operators,), price of any change of the operator.
    """

    size: Ints
    stride: Ints
    first: Ints
    replicas: Ints
    rise: Floats
    started: Floats
    price: Floats


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
            last = _native.last_vector_change(changed, begin, end - 1, int(course[end - 1]))
            course[max(last, begin - 1) : end] = course[end - 1]
            if last >= begin:
                stages = self._forward(axes, before, begin, last, work, changed)
                _native.walk_back_courses(axes, before, stages, changed[begin : last + 1], work[0], course[begin - 1 : last + 1])

    def _forward(self, axes: Axes, before: Floats, begin: int, end: int, work: Floats, changed: np.ndarray) -> Floats:
        """Values of the periods from one up to before another."""
        look("the cheapest course of replicas")
        if begin == end:
            return np.empty((0, self.vectors))
        spend(self.units * (end - begin) / self.change.size)
        stages = self.stages(begin, end)
        _native.advance_courses(axes, before, stages, self.change[begin:end], work, changed[begin:end])
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
