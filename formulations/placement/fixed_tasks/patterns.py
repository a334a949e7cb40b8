"""All patterns whose loads lie within bounds, one after the other."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import PATTERN_LOAD_SLACK, WHOLE_NUMBER_SLACK
from edrp.placement.fixed_tasks import FixedTasks, LoadArrays, leaving

PATTERN_WORK = 1e-7
"""Units of work for a pattern that is listed, per operator."""


def list_patterns(tasks: FixedTasks, limits: Floats, count: int) -> Ints | None:
    """Patterns that a node can have if no node exceeds the limits, shape (patterns, operators); None if more than `count`.

    A node has at least what the other nodes cannot take: that bounds from below what it has in room and in shared resources
    whose total does not depend on the placement.

    Parameters
    ----------
    limits : shape (shared,)
        Largest load of a node; infinite for none.
    """
    arrays = tasks.arrays
    order = np.argsort(arrays.totals, kind="stable")
    upper = np.concatenate([tasks.room, limits]) * (1 + PATTERN_LOAD_SLACK)
    coefficients = np.hstack([arrays.demand, arrays.use])
    total = arrays.totals @ coefficients
    others = (tasks.nodes - 1) * np.where(np.isfinite(upper), upper, 0.0)
    lower = np.where(np.isfinite(upper), total - others - PATTERN_LOAD_SLACK * np.abs(total), -np.inf)
    lower[tasks.room.size :][tasks.streamed] = -np.inf
    listed = np.zeros((count, tasks.operators), np.int64)
    number = _list(arrays.in_order(order), coefficients[order], upper, lower, listed)
    spend(PATTERN_WORK * number * tasks.operators)
    if number > count:
        return None
    patterns = np.empty((number, tasks.operators), np.int64)
    patterns[:, order] = listed[:number]
    return patterns


@inlined
def _range(
    i: int, totals: np.ndarray, coefficients: np.ndarray, upper: np.ndarray, lower: np.ndarray, used: np.ndarray, rest: np.ndarray
) -> tuple[int, int]:
    """Fewest and most tasks of operator i with which the bounds can still be kept, given what those before it use."""
    least, most = 0, totals[i]
    for r in range(upper.size):
        amount = coefficients[i, r]
        if amount > 0:
            most = int(min(float(most), np.floor((upper[r] - used[i, r]) / amount + WHOLE_NUMBER_SLACK)))
            needed = lower[r] - used[i, r] - rest[i + 1, r]
            if needed > 0.0:
                least = int(max(float(least), min(totals[i] + 1.0, np.ceil(needed / amount - WHOLE_NUMBER_SLACK))))
        elif used[i, r] > upper[r] or used[i, r] + rest[i + 1, r] < lower[r]:
            most = -1
    return least, most


@kernel
def _list(arrays: LoadArrays, coefficients: np.ndarray, upper: np.ndarray, lower: np.ndarray, patterns: np.ndarray) -> int:
    """Depth first; returns how many there are, or one more than there is space for."""
    operators, rows = coefficients.shape
    shared = arrays.use.shape[1]
    first = rows - shared
    rest = np.zeros((operators + 1, rows))
    for i in range(operators - 1, -1, -1):
        for r in range(rows):
            rest[i, r] = rest[i + 1, r] + arrays.totals[i] * coefficients[i, r]
    used = np.zeros((operators + 1, rows))
    pattern, most = np.zeros(operators, np.int64), np.zeros(operators, np.int64)
    number, i = 0, 0
    pattern[0], most[0] = _range(0, arrays.totals, coefficients, upper, lower, used, rest)
    pattern[0] -= 1
    while i >= 0:
        pattern[i] += 1
        if pattern[i] > most[i]:
            i -= 1
            continue
        for r in range(rows):
            used[i + 1, r] = used[i, r] + pattern[i] * coefficients[i, r]
        for e in range(arrays.source.size):
            a, b = arrays.source[e], arrays.target[e]
            if max(a, b) == i:
                share = leaving(pattern[a], pattern[b], arrays.totals[a], arrays.totals[b], arrays.one_to_one[e])
                for k in range(shared):
                    used[i + 1, first + k] += share * arrays.sent[e, k]
        fits = True
        for r in range(rows):
            if used[i + 1, r] > upper[r]:
                fits = False
        if not fits:
            continue
        if i == operators - 1:
            if number == patterns.shape[0]:
                return number + 1
            patterns[number] = pattern
            number += 1
        else:
            i += 1
            pattern[i], most[i] = _range(i, arrays.totals, coefficients, upper, lower, used, rest)
            pattern[i] -= 1
    return number
