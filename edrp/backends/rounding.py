"""Solvers return 0.9999999 for 1: round the integer columns and recompute the others exactly."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edrp.backends.base import PATIENCE, ProgramResult, SolverOptions
from edrp.backends.highs import solve_arrays
from edrp.core.budget import seconds_left
from edrp.core.program import Arrays


def rounded(arrays: Arrays, result: ProgramResult) -> ProgramResult:
    """The same decision with integer columns rounded, the continuous ones optimal for them, the objective recomputed.

    Where the rounded decision is not feasible to the last digit, or finding out takes longer than the time limit allows, the
    solver's own point is kept.
    """
    if result.values is None:
        return result
    integral = np.round(result.values[arrays.integer])
    point = result.values.copy()
    point[arrays.integer] = integral
    if not arrays.integer.all():
        lower, upper = arrays.lower.copy(), arrays.upper.copy()
        lower[arrays.integer] = upper[arrays.integer] = integral
        fixed = replace(arrays, lower=lower, upper=upper, integer=np.zeros_like(arrays.integer))
        left = seconds_left()
        limit = None if left == math.inf else max(0.0, left) + PATIENCE
        best = solve_arrays(fixed, SolverOptions(time_limit=limit)).values
        if best is None:
            return replace(result, objective=_objective(arrays, result))
        point = best
    return replace(result, values=point, objective=float(arrays.objective @ point + arrays.constant))


def _objective(arrays: Arrays, result: ProgramResult) -> float:
    assert result.values is not None
    return float(arrays.objective @ result.values + arrays.constant)
