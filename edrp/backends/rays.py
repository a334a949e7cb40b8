"""The ray and the feasible point that it takes to call a program unbounded.

A ray of the relaxation proves nothing without a point: with integer columns there may be none, however far the ray goes. Both
together are a proof, since some multiple of a rational ray is integral (Meyer, 1974).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.backends.base import ProgramResult, SolverOptions
from edrp.backends.highs import solve_arrays
from edrp.core.program import Arrays
from edrp.core.tolerances import FEASIBILITY_TOLERANCE, SUM_ROUNDING

POINT_BOX = 1000.0
"""Width of the domain of columns without bounds in which a point is looked for first."""


def has_improving_ray(arrays: Arrays) -> bool:
    """Whether the objective falls without end along a direction that no row and no bound of the relaxation stops.

    Examples
    --------
    >>> from edrp.core.program import Linear, Program
    >>> program = Program()
    >>> x = program.add_columns("x", 2)
    >>> program.add_row("difference", Linear.of(x, [1, -1]), upper=1)
    >>> program.minimise(Linear.of(x, -1.0))
    >>> has_improving_ray(program.arrays())
    True
    """
    ends = (arrays.row_lower, arrays.row_upper, arrays.lower, arrays.upper)
    row_lower, row_upper, lower, upper = (np.where(np.isfinite(end), 0.0, end) for end in ends)
    directions = replace(
        arrays,
        constant=0.0,
        integer=np.zeros_like(arrays.integer),
        lower=np.maximum(lower, -1.0),
        upper=np.minimum(upper, 1.0),
        row_lower=row_lower,
        row_upper=row_upper,
    )
    ray = solve_arrays(directions, SolverOptions()).values
    if ray is None:
        return False
    ray = np.where(np.abs(ray) <= FEASIBILITY_TOLERANCE, 0.0, ray)
    gain, moved = arrays.objective @ ray, arrays.matrix @ ray
    rounding = SUM_ROUNDING * (abs(arrays.matrix) @ np.abs(ray))
    kept = (moved >= row_lower - rounding) & (moved <= row_upper + rounding)
    return bool(kept.all() and gain < -SUM_ROUNDING * (np.abs(arrays.objective) @ np.abs(ray)))


def point_in_box(arrays: Arrays, options: SolverOptions) -> ProgramResult:
    """A point with columns near 0 or their bounds, if there is one."""
    lower, upper = np.isfinite(arrays.lower), np.isfinite(arrays.upper)
    low = np.where(lower, arrays.lower, np.where(upper, arrays.upper, 0.0) - POINT_BOX)
    box = replace(arrays, lower=low, upper=np.where(upper, arrays.upper, np.where(lower, low, 0.0) + POINT_BOX))
    return solve_arrays(box, options)
