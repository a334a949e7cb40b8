"""Kernels of the dynamic program over vectors of replicas: one period forward, and the way back.

Vectors are numbered row by row, the last operator fastest. What a change costs is a sum over operators, so that the best
predecessors of all vectors are found by one pass down and one pass up along each axis (a distance transform), and no pair of
vectors is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop


class Axes(NamedTuple):
    """The grid of vectors, and the prices of steps along its axes.

    Attributes
    ----------
    size, stride : shape (operators,), numbers of replicas to choose from, and distance of neighbours.
    first : shape (operators,), where the operator's rows of the next two begin.
    replicas : shape (sum of sizes,), the numbers of replicas of each operator, ascending.
    rise : shape (sum of sizes,), price of the replicas started from one number to the next.
    started : shape (operators,), price of one started replica.
    operator : shape (operators,), price of any change of the operator.
    """

    size: Ints
    stride: Ints
    first: Ints
    replicas: Ints
    rise: Floats
    started: Floats
    operator: Floats


@inlined
def _transform(axes: Axes, i: int, moved: Floats) -> None:
    """Replace each entry by the least of its line along an axis, plus the replicas that must be started from there."""
    n, stride = axes.size[i], axes.stride[i]
    for line in range(0, moved.size, n * stride):
        for k in range(n - 2, -1, -1):  # stopping replicas is free
            low = line + k * stride
            for p in range(low, low + stride):
                moved[p] = min(moved[p], moved[p + stride])
        for k in range(1, n):
            rise = axes.rise[axes.first[i] + k]
            low = line + k * stride
            for p in range(low, low + stride):
                moved[p] = min(moved[p], moved[p - stride] + rise)


@inner_loop
def advance(axes: Axes, values: Floats, stages: Floats, change: Floats, work: Floats, changed: np.ndarray) -> None:
    """Turn the costs of some periods into the least costs of all courses that end there.

    Parameters
    ----------
    values
        Shape (vectors,), least costs of the courses that end in the period before.
    stages
        Shape (periods, vectors), cost of each period; replaced by the results.
    change
        Shape (periods,), price of any change into the period.
    work
        Shape (2, vectors), overwritten.
    changed
        Shape (periods, vectors / 8, rounded up) of unsigned bytes: a bit for each vector, set where the best course changes
        into it, and must be zero before.
    """
    moved, kept = work[0], work[1]
    for t in range(len(stages)):
        before, after = (stages[t - 1] if t > 0 else values), stages[t]
        for p in range(before.size):
            moved[p] = before[p]
        for i in range(axes.size.size):
            price = axes.operator[i]
            if price > 0:
                for p in range(moved.size):
                    kept[p] = moved[p]
            _transform(axes, i, moved)
            if price > 0:
                for p in range(moved.size):
                    moved[p] = min(kept[p], moved[p] + price)
        price = change[t]
        for p in range(before.size):
            moved[p] += price
        for p in range(before.size):
            after[p] += min(moved[p], before[p])
        for byte in range(changed.shape[1]):
            bits = 0
            for p in range(8 * byte, min(8 * byte + 8, before.size)):
                bits |= (1 if moved[p] < before[p] else 0) << (p & 7)
            changed[t, byte] = bits


@inner_loop
def last_change(changed: np.ndarray, first: int, last: int, vector: int) -> int:
    """Return the last period, `first` to `last`, into which the best course that ends in a vector changes; else `first` − 1."""
    t = last
    while t >= first and not changed[t, vector >> 3] >> (vector & 7) & 1:
        t -= 1
    return t


@inlined
def _predecessor(axes: Axes, values: Floats, vector: int, prices: Floats) -> int:
    """The vector from which a change to a vector is best, the first of several; `prices` is overwritten."""
    prices[0] = 0.0
    length = 1
    for i in range(axes.size.size):
        n, first = axes.size[i], axes.first[i]
        own = axes.replicas[first + vector // axes.stride[i] % n]
        for p in range(length - 1, -1, -1):  # from behind, because each sum is spread over the places after it
            base = prices[p]
            for k in range(n):
                difference = own - axes.replicas[first + k]
                price = axes.started[i] * difference if difference > 0 else 0.0
                prices[p * n + k] = base + (price + axes.operator[i] if difference != 0 else 0.0)
        length *= n
    best, least = vector, np.inf
    for p in range(values.size):
        total = values[p] + prices[p]
        if total < least:
            best, least = p, total
    return best


@inner_loop
def walk_back(axes: Axes, values: Floats, stages: Floats, changed: np.ndarray, prices: Floats, course: Ints) -> None:
    """Follow the best course back from its last vector.

    Parameters
    ----------
    values, stages, changed
        Of `advance`, after it; of the last period in `course`, only `changed` is read.
    prices
        Shape (vectors,), overwritten.
    course
        Shape (periods + 1,), from the period of `values` on; the last entry is given, the others are filled in.
    """
    for t in range(course.size - 2, -1, -1):
        vector = course[t + 1]
        course[t] = vector
        if changed[t, vector >> 3] >> (vector & 7) & 1:
            course[t] = _predecessor(axes, stages[t - 1] if t > 0 else values, vector, prices)
