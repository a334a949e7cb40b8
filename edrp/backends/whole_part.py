"""A bound by parts: where some costs are whole numbers, what solvers give up of them by their tolerances is rounded away."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edrp.backends.base import ProgramResult, SolverOptions
from edrp.backends.highs import solve_arrays
from edrp.core.arrays import Bools, Floats
from edrp.core.budget import deadline, now
from edrp.core.errors import OutOfTimeError
from edrp.core.program import Arrays

LOST_BY_TOLERANCES = 1e-5
"""Difference of objective and bound up to which a solver's absolute tolerances, 1e-6 of HiGHS, may be all that is left open."""


def raised_by_whole_part(
    arrays: Arrays, result: ProgramResult, settings: SolverOptions, scale: float, units: float
) -> ProgramResult:
    """The result with a bound of two parts, where that is higher: the least of whole costs, rounded up, and of all others.

    The others' is that of their linear relaxation. Rounding up regains what a solver cuts off by an absolute tolerance, and
    small costs beside large ones, such as seconds beside numbers of moves, are no longer lost in it.
    """
    costs = arrays.objective * scale
    whole = np.where(_whole_columns(arrays) & (costs == np.round(costs)), costs, 0.0)
    if result.objective is None or result.bound is None or scale * (result.objective - result.bound) > LOST_BY_TOLERANCES:
        return result
    if not whole.any() or not (costs != whole).any():
        return result
    try:
        with deadline(now() + units):
            options = replace(settings, start=result.values, progress=None)
            first = solve_arrays(replace(arrays, objective=whole, constant=0.0), options)
            relaxed = replace(arrays, objective=costs - whole, constant=0.0, integer=np.zeros_like(arrays.integer))
            second = solve_arrays(relaxed, replace(options, start=None))
    except OutOfTimeError:
        return result
    if first.bound is None or second.status != "optimal" or second.objective is None:
        return result
    bound = (math.ceil(first.bound - LOST_BY_TOLERANCES) + second.objective) / scale + arrays.constant
    return replace(result, bound=min(result.objective, max(bound, result.bound)))


def _whole_columns(arrays: Arrays) -> Bools:
    """Columns that are whole at an optimum: the integer ones, and those that are alone with integer ones in whole rows."""
    matrix, sides = arrays.matrix, np.array([arrays.row_lower, arrays.row_upper])
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    broken = ~_whole_or_infinite(sides).all(axis=0)
    broken |= np.bincount(row, matrix.data != np.round(matrix.data), matrix.shape[0]) > 0
    broken |= np.bincount(row, ~arrays.integer[matrix.indices], matrix.shape[0]) > 1
    kept = ~broken[row] & (np.abs(matrix.data) == 1.0)
    whole = _whole_or_infinite(np.array([arrays.lower, arrays.upper])).all(axis=0)
    return arrays.integer | (whole & (np.bincount(matrix.indices, ~kept, arrays.objective.size) == 0))


def _whole_or_infinite(values: Floats) -> Bools:
    return np.isinf(values) | (values == np.round(values))
