"""Kernels of the relaxation over operators: each operator's own course under a price of its changes.

Tables of all operators stand side by side: those of operator i in the columns `first[i]` to `first[i + 1]`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.kernels import inlined, inner_loop


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


@inner_loop
def following_costs(tables: OperatorTables, costs: Floats, prices: Floats, after: Floats, best: Floats, work: Floats) -> None:
    """Compute the least cost of each operator after each period, from each number of replicas in it.

    Parameters
    ----------
    after
        Shape (periods, columns), filled in; 0 in the last period.
    best, work
        Shape (columns,), overwritten.
    """
    periods = len(costs)
    for i in range(tables.started.size):
        low, high = tables.first[i], tables.first[i + 1]
        for k in range(low, high):
            after[periods - 1, k] = 0.0
        for t in range(periods - 2, -1, -1):
            for k in range(low, high):
                work[k] = costs[t + 1, k] + after[t + 1, k]
                best[k] = work[k]
            for k in range(low + 1, high):  # to fewer replicas, for nothing
                best[k] = min(best[k], best[k - 1])
            for k in range(high - 2, low - 1, -1):
                rise = tables.started[i] * (tables.replicas[k + 1] - tables.replicas[k])
                best[k] = min(best[k], best[k + 1] + rise)
            for k in range(low, high):
                after[t, k] = min(work[k], best[k] + prices[t + 1, i])


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
