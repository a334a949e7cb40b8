"""Solver backends by name, and `solve_program`, which runs one of them on any program."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from edrp.backends.base import PATIENCE, Backend, ProgramResult, SolverOptions
from edrp.backends.cvxpy_bridge import CvxpyBackend
from edrp.backends.highs import HighsBackend, solve_arrays
from edrp.backends.pyomo_bridge import PyomoBackend
from edrp.backends.scipy_milp import ScipyBackend
from edrp.core.arrays import Bools
from edrp.core.budget import deadline, now, seconds_left
from edrp.core.errors import BackendUnavailableError, EdrpError, OutOfTimeError
from edrp.core.program import Arrays, Program
from edrp.core.solution import relative_gap, within_gap
from edrp.core.wording import suggestion

BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (HighsBackend(), ScipyBackend(), CvxpyBackend(), PyomoBackend())
}
"""Every backend by name, installed or not."""

USUAL = (1e-3, 1e9)
"""Range of the largest coefficient of an objective that solvers get as it is."""

__all__ = ["BACKENDS", "Backend", "ProgramResult", "SolverOptions", "available_backends", "get_backend", "solve_program"]


def available_backends() -> tuple[str, ...]:
    """Names of the backends whose package is installed; nothing is imported to find out.

    >>> "highs" in available_backends()
    True
    """
    return tuple(name for name, backend in BACKENDS.items() if find_spec(backend.package) is not None)


def get_backend(name: str) -> Backend:
    """The backend of that name, ready to use.

    Raises
    ------
    EdrpError
        When there is none of that name.
    BackendUnavailableError
        When its package is not installed; the message names the extra.
    """
    if name not in BACKENDS:
        raise EdrpError(f"no backend {name!r}{suggestion(name, BACKENDS)}")
    backend = BACKENDS[name]
    if find_spec(backend.package) is None:
        extra = f'"edrp[{backend.extra}]"' if backend.extra else backend.package
        raise BackendUnavailableError(f"backend {name!r} needs the package {backend.package}; run: pip install {extra}")
    return backend


def solve_program(program: Program, backend: str = "highs", **options: Any) -> ProgramResult:
    """Solve a program and return a result whose integer columns are integers exactly.

    Parameters
    ----------
    program
        Program to be minimised.
    backend
        "highs", "scipy", "cvxpy" or "pyomo".
    **options
        Fields of `SolverOptions`: `time_limit` in seconds, relative `gap`, `threads`, `seed`, `start`, `progress`.
        Those that a backend cannot use are ignored, and its result's `notes` say so.

    Raises
    ------
    BackendUnavailableError
        When the backend's package is not installed.
    ValueError
        NaN or infinite numbers in the program, or a starting point of another length.

    Examples
    --------
    >>> from edrp.core.program import Linear
    >>> program = Program()
    >>> take = program.add_columns("take", 2, upper=1, integer=True)
    >>> program.add_row("bag", Linear.of(take, [3, 4]), upper=5)
    >>> program.minimise(Linear.of(take, [-2, -3]))
    >>> result = solve_program(program)
    >>> result.status, result.objective, result.values.tolist()
    ('optimal', -3.0, [0.0, 1.0])
    """
    settings = SolverOptions(**options)
    chosen = get_backend(backend)
    started = now()
    with deadline(math.inf if settings.time_limit is None else started + settings.time_limit):
        result = _solved(program, chosen, settings)
    return replace(result, seconds=now() - started, notes=result.notes + _ignored(chosen, settings))


def _solved(program: Program, backend: Backend, settings: SolverOptions) -> ProgramResult:
    """Hand a program over; without time for that nothing is found."""
    try:
        arrays = program.arrays()
    except OutOfTimeError as error:
        return ProgramResult("none", "time_limit", None, None, None, 0.0, (str(error),))
    check_numbers(program, arrays)
    if settings.start is not None and settings.start.shape != (program.columns,):
        raise ValueError(f"the starting point has shape {settings.start.shape}, the program has {program.columns} columns")
    try:
        scaled, settings, scale = _at_scale(arrays, settings)
        result = _bounded(rounded(scaled, backend.solve(scaled, settings)), settings.gap)
        return replace(result, objective=_times(result.objective, scale), bound=_times(result.bound, scale))
    except OutOfTimeError as error:
        return ProgramResult("none", "time_limit", None, None, None, 0.0, (str(error),))


def check_numbers(program: Program, arrays: Arrays) -> None:
    """Refuse numbers that solvers choke on or silently misread, naming the block they stand in.

    Raises
    ------
    ValueError
        NaN or infinity in the objective or the matrix, NaN in a bound, or a lower bound above its upper one.
    """
    _refuse(program, "objective", ~np.isfinite(arrays.objective), rows=False)
    _refuse(program, "bounds", np.isnan(arrays.lower) | np.isnan(arrays.upper) | (arrays.lower > arrays.upper), rows=False)
    _refuse(
        program,
        "range",
        np.isnan(arrays.row_lower) | np.isnan(arrays.row_upper) | (arrays.row_lower > arrays.row_upper),
        rows=True,
    )
    broken = np.zeros(program.rows, bool)
    broken[np.searchsorted(arrays.matrix.indptr, np.flatnonzero(~np.isfinite(arrays.matrix.data)), side="right") - 1] = True
    _refuse(program, "coefficients", broken, rows=True)


def _refuse(program: Program, what: str, broken: Bools, rows: bool) -> None:
    if broken.any():
        index = int(np.argmax(broken))
        kind = "row" if rows else "column"
        name = program.row_name(index) if rows else program.column_name(index)
        raise ValueError(f"{what} of {kind} {name}: not a finite number or an empty range; refused before any solver sees it")


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


def _bounded(result: ProgramResult, gap: float) -> ProgramResult:
    """The same result, optimal only where its bound says so, too.

    The optimum of a continuous program, for which some solvers tell no bound, is its own.
    """
    if result.status != "optimal" or result.objective is None:
        return result
    if result.bound is None:
        return replace(result, bound=result.objective)
    if within_gap(result.objective, result.bound, gap):
        return result
    note = f"the solver ends with a gap of {relative_gap(result.objective, result.bound):.2g}, which its own tolerances allow"
    return replace(result, status="feasible", notes=(*result.notes, note))


def _at_scale(arrays: Arrays, settings: SolverOptions) -> tuple[Arrays, SolverOptions, float]:
    """The program with an objective whose largest coefficient is about 1, as solvers' tolerances are absolute; and the scale.

    Where that is so already, within `USUAL`, nothing is changed, and otherwise no more than exponents.
    """
    largest = float(np.abs(arrays.objective).max(initial=0.0))
    if largest == 0 or USUAL[0] <= largest <= USUAL[1]:
        return arrays, settings, 1.0
    scale = 2.0 ** math.floor(math.log2(largest))
    told = settings.progress
    if told is not None:
        settings = replace(settings, progress=lambda seconds, *found: told(seconds, *(_times(value, scale) for value in found)))
    return replace(arrays, objective=arrays.objective / scale, constant=arrays.constant / scale), settings, scale


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _ignored(backend: Backend, options: SolverOptions) -> tuple[str, ...]:
    asked = {
        "threads": options.threads != 1,
        "start": options.start is not None,
        "seed": options.seed != 0,
        "progress": options.progress is not None,
    }
    able = {name: ", ".join(other.name for other in BACKENDS.values() if name in other.features) for name in asked}
    return tuple(
        f"backend {backend.name} cannot use {name!r} and ignored it; {able[name]} can"
        for name in asked
        if asked[name] and name not in backend.features
    )
