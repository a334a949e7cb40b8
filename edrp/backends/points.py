"""Points of programs: integer columns rounded, continuous ones made optimal for them, rows looked at."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edrp.backends.base import LEFT_OPEN, ProgramResult
from edrp.backends.highs import solve_arrays
from edrp.core.arrays import Floats
from edrp.core.program import Arrays
from edrp.core.solution import within_gap
from edrp.core.tolerances import FEASIBILITY_TOLERANCE

ROUNDING_STEPS = 64
"""Relative rounding errors of the largest term of the objective that a bound may have gathered."""


def rounded(arrays: Arrays, result: ProgramResult) -> ProgramResult:
    """The decision with integer columns rounded, continuous columns optimal for them, and the objective recomputed.

    Where the rounded decision is not feasible to the last digit, or finding out takes longer than the time limit allows, the
    solver's own point is kept.
    """
    return polished(arrays, result) or own_point(arrays, result)


def polished(arrays: Arrays, result: ProgramResult) -> ProgramResult | None:
    """The decision with integer columns rounded; None where it is not feasible then, or time is over."""
    if result.values is None:
        return result
    integral = np.round(result.values[arrays.integer]) + 0.0  # no minus zero
    point = result.values.copy()
    point[arrays.integer] = integral
    if arrays.integer.all():
        if not keeps_rows(arrays, point):
            return None
    else:
        lower, upper = arrays.lower.copy(), arrays.upper.copy()
        lower[arrays.integer] = upper[arrays.integer] = integral
        fixed = replace(arrays, lower=lower, upper=upper, integer=np.zeros_like(arrays.integer))
        best = solve_arrays(fixed, until=math.inf).values  # an answer that was found in time is finished
        if best is None:
            return None
        point = best
    return replace(result, values=point, objective=float(arrays.objective @ point + arrays.constant))


def keeps_rows(arrays: Arrays, point: Floats) -> bool:
    """Whether a point satisfies all rows within the solvers' tolerance."""
    value = arrays.matrix @ point
    slack = FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(value))
    return bool(((value >= arrays.row_lower - slack) & (value <= arrays.row_upper + slack)).all())


def own_point(arrays: Arrays, result: ProgramResult) -> ProgramResult:
    """The solver's own decision, with its objective, which only an optimum must have brought down to the decision's value."""
    if result.values is None:
        return result
    settled = result.status == "optimal" or bool(arrays.integer.all())
    assert result.values is not None
    return replace(result, objective=float(arrays.objective @ result.values + arrays.constant), settled=settled)


def bounded(result: ProgramResult, gap: float, scale: float) -> ProgramResult:
    """The result, called optimal only where its bound confirms it.

    The optimum of a continuous program, for which some solvers tell no bound, is its own.
    """
    if result.status != "optimal" or result.objective is None:
        return result
    if result.bound is None:
        return replace(result, bound=result.objective)
    if within_gap(scale * result.objective, scale * result.bound, gap):
        return result
    return replace(result, status="feasible", notes=(*result.notes, LEFT_OPEN))


def rounding_of(arrays: Arrays) -> float:
    """Error of the objective that rounding of its largest term allows, even where terms cancel."""
    return ROUNDING_STEPS * float(np.finfo(float).eps) * largest_term(arrays)


def largest_term(arrays: Arrays) -> float:
    """Size of the largest term that the objective may have: presolve adds such terms up even if all are 0 in the end."""
    ends = np.abs([arrays.lower, arrays.upper])
    size = np.where(np.isfinite(ends), ends, 1.0).max(axis=0, initial=1.0)
    return float((np.abs(arrays.objective) * size).max(initial=0.0))
