"""A program as solvers take it well: the size of its objective, and coefficients that are as small as their tolerances."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edrp.backends.base import SolverOptions
from edrp.core.arrays import Floats
from edrp.core.program import Arrays
from edrp.core.tolerances import COST_NOISE, FEASIBILITY_TOLERANCE

USUAL = (1e-3, 1e9)
"""Range of the largest coefficient of an objective that solvers get as it is."""

MAX_COEFFICIENT = 2.0**10
"""Largest coefficient where branch and bound looks for incumbents in steps of a millionth, up to a factor of two."""

MIN_COST = 1e3 * FEASIBILITY_TOLERANCE
"""Cost from which no solver takes it for 0: a reduced cost below the tolerance ends a search before the optimum."""

MAX_COST = 2.0**24
"""Largest coefficient of an objective for the sake of smaller costs than that, up to a factor of two."""

TINY, TINY_WHOLE = 1e-5, 1e-4
"""Shares of a row's largest coefficient below which one is tiny, in any row and in one of integer columns alone."""


def at_scale(arrays: Arrays, settings: SolverOptions) -> tuple[Arrays, SolverOptions, float]:
    """The program with an objective of a size for which solvers' absolute tolerances are made; and the scale.

    The largest coefficient becomes about 1 unless it is within `USUAL`, and `MAX_COEFFICIENT` where the matrix has tiny ones. It
    becomes larger, up to `MAX_COST`, where the objective has costs that tolerances would take for 0. Nothing is changed but
    exponents.
    """
    costs = np.abs(arrays.objective[arrays.objective != 0])
    if not costs.size:
        return arrays, settings, 1.0
    largest = float(costs.max())
    usual = USUAL[0] <= largest <= USUAL[1]
    aim = largest if usual else 1.0
    if settings.tiny:
        aim = MAX_COEFFICIENT
    elif (enough := raised(costs, aim, MIN_COST)) > aim:
        aim = enough
    elif usual:
        return arrays, settings, 1.0
    scale = 2.0 ** math.floor(math.log2(largest / aim))
    report = settings.progress
    if report is not None:
        settings = replace(settings, progress=lambda seconds, *found: report(seconds, *(times(value, scale) for value in found)))
    return replace(arrays, objective=arrays.objective / scale, constant=arrays.constant / scale), settings, scale


def raised(costs: Floats, aim: float, minimum: float) -> float:
    """Target of the largest cost: at least `aim`, so that the smallest cost becomes `minimum`, and at most `MAX_COST`.

    Costs that are no more than rounding of the largest one do not count.

    >>> raised(np.array([4.0, 1e-3, 1e-30]), 1.0, 1e-2)
    40.0
    """
    largest = float(costs.max())
    smallest = float(costs[costs >= COST_NOISE * largest].min())
    return max(aim, min(MAX_COST, minimum * (largest / smallest)))


def times(value: float | None, scale: float) -> float | None:
    """A value that may be missing at another scale."""
    return None if value is None else value * scale


def has_tiny(arrays: Arrays) -> bool:
    """Whether a row of a program with integer columns has coefficients that are tiny next to its largest one.

    Presolve divides by them, and what tolerances let through becomes larger than an integer: limits of columns are rounded to
    the wrong side, and optima are lost.

    Examples
    --------
    >>> from edrp.core.program import Linear, Program
    >>> program = Program()
    >>> take = program.add_columns("take", 2, upper=3, integer=True)
    >>> program.add_row("bag", Linear.of(take, [2, 1e-6]), lower=4, upper=5)
    >>> has_tiny(program.arrays())
    True
    """
    if not arrays.integer.any():
        return False
    matrix = arrays.matrix
    first = matrix.indptr[:-1][np.diff(matrix.indptr) > 0]
    if not first.size:
        return False
    size = np.abs(matrix.data)
    largest = np.maximum.reduceat(size, first)
    smallest = np.minimum.reduceat(np.where(size > 0, size, np.inf), first)
    mixed = np.logical_or.reduceat(~arrays.integer[matrix.indices], first)
    return bool((smallest < np.where(mixed, TINY, TINY_WHOLE) * largest).any())
