"""Kernels of the dynamic program over vectors of replicas: one period forward, and the way back.

Vectors are numbered row by row, the last operator fastest. What a change costs is a sum over operators, so that the best
predecessors of all vectors are found by one pass down and one pass up along each axis (a distance transform), and no pair of
vectors is looked at.

Kernels of the relaxation over operators: each operator's own course under a price of its changes.

Tables of all operators stand side by side: those of operator i in the columns `first[i]` to `first[i + 1]`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
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
    price : shape (operators,), price of any change of the operator.
    """

    size: Ints
    stride: Ints
    first: Ints
    replicas: Ints
    rise: Floats
    started: Floats
    price: Floats


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
            price = axes.price[i]
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
                prices[p * n + k] = base + (price + axes.price[i] if difference != 0 else 0.0)
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


class OperatorTables(NamedTuple):
    """Costs of each operator by itself.

    Attributes
    ----------
    first : shape (operators + 1,), columns of each operator.
    replicas : shape (columns,), numbers of replicas, ascending for each operator.
    started : shape (operators,), price of one started replica.
    entry : shape (columns,), price of the replicas that are started in the first period.
    enters : shape (columns,), 1 where the first period begins with a change of the operator, else 0.
    """

    first: Ints
    replicas: Ints
    started: Floats
    entry: Floats
    enters: Floats


@inlined
def reached(tables: OperatorTables, i: int, values: Floats, best: Floats, source: np.ndarray) -> None:
    """For each number of replicas the least value from which a change leads there, with what is started, and its column."""
    low, high = tables.first[i], tables.first[i + 1]
    for k in range(low, high):
        best[k], source[k] = values[k], k
    for k in range(high - 2, low - 1, -1):
        if best[k + 1] < best[k]:
            best[k], source[k] = best[k + 1], source[k + 1]
    for k in range(low + 1, high):
        value = best[k - 1] + tables.started[i] * (tables.replicas[k] - tables.replicas[k - 1])
        if value < best[k]:
            best[k], source[k] = value, source[k - 1]


@inner_loop
def operator_courses(
    tables: OperatorTables, costs: Floats, prices: Floats, values: Floats, sources: Ints32, best: Floats, course: Ints32
) -> float:
    """Find each operator's cheapest course under prices of its changes, and return what they cost together.

    Parameters
    ----------
    costs
        Shape (periods, columns).
    prices
        Shape (periods, operators), of a change of the operator into the period, infinite where none is allowed.
    values, sources
        Shape (periods, columns), filled in: least cost of the courses that end there, and the column before.
    best
        Shape (columns,), overwritten.
    course
        Shape (periods, operators), filled in: columns.
    """
    periods, total = len(costs), 0.0
    for i in range(tables.started.size):
        low, high = tables.first[i], tables.first[i + 1]
        for k in range(low, high):
            values[0, k] = costs[0, k] + tables.entry[k] + (prices[0, i] if tables.enters[k] > 0 else 0.0)
        for t in range(1, periods):
            reached(tables, i, values[t - 1], best, sources[t])
            price = prices[t, i]
            for k in range(low, high):
                changed = best[k] + price
                if changed < values[t - 1, k]:
                    values[t, k] = changed + costs[t, k]
                else:
                    values[t, k], sources[t, k] = values[t - 1, k] + costs[t, k], k
        end = low
        for k in range(low + 1, high):
            if values[periods - 1, k] < values[periods - 1, end]:
                end = k
        total += values[periods - 1, end]
        for t in range(periods - 1, -1, -1):
            course[t, i] = end
            if t > 0:
                end = sources[t, end]
    return total


@inlined
def cost_before(tables: OperatorTables, t: int, costs: Floats, prices: Floats, after: Floats, best: Floats) -> None:
    """Fill in the least cost of each operator after the period before t, from each number of replicas; overwrite `best`."""
    for i in range(tables.started.size):
        low, high = tables.first[i], tables.first[i + 1]
        for k in range(low, high):
            best[k] = costs[t, k] + after[t, k]
        for k in range(low + 1, high):  # to fewer replicas, for nothing
            best[k] = min(best[k], best[k - 1])
        for k in range(high - 2, low - 1, -1):
            rise = tables.started[i] * (tables.replicas[k + 1] - tables.replicas[k])
            best[k] = min(best[k], best[k + 1] + rise)
        for k in range(low, high):
            after[t - 1, k] = min(costs[t, k] + after[t, k], best[k] + prices[t, i])


@inner_loop
def following_costs(tables: OperatorTables, costs: Floats, prices: Floats, after: Floats, best: Floats) -> None:
    """Compute the least cost of each operator after each period, from each number of replicas in it.

    Parameters
    ----------
    after
        Shape (periods, columns), filled in; 0 in the last period.
    best
        Shape (columns,), overwritten.
    """
    after[-1] = 0.0
    for t in range(len(costs) - 1, 0, -1):
        cost_before(tables, t, costs, prices, after, best)


@inner_loop
def raise_prices(prices: Floats, change: Floats, slope: Floats, step: float, order: Floats) -> None:
    """Move the prices of each period along a slope, and back onto those that sum up to at most the price of any change.

    Parameters
    ----------
    prices, slope
        Shape (periods, operators).
    change
        Shape (periods,).
    order
        Shape (operators,), overwritten.
    """
    periods, operators = prices.shape
    for t in range(periods):
        total = 0.0
        for i in range(operators):
            prices[t, i] = max(0.0, prices[t, i] + step * slope[t, i])
            total += prices[t, i]
            order[i] = prices[t, i]
        if total <= change[t]:
            continue
        for i in range(1, operators):  # descending, by insertion
            value, k = order[i], i
            while k > 0 and order[k - 1] < value:
                order[k] = order[k - 1]
                k -= 1
            order[k] = value
        running, level = 0.0, 0.0
        for i in range(operators):
            running += order[i]
            candidate = (running - change[t]) / (i + 1)
            if candidate < order[i]:
                level = candidate
        for i in range(operators):
            prices[t, i] = max(0.0, prices[t, i] - level)
