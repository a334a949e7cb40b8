"""`solve_program` runs a backend on any program and settles what its claims are worth."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from edrp.backends.base import LET_THROUGH, UNCONFIRMED, Backend, ProgramResult, SolverOptions, bound_of_columns
from edrp.backends.closing import verify_unproven
from edrp.backends.conditioning import at_scale, has_tiny, times
from edrp.backends.exact_rows import MAX_ROUNDS, eased, exceeded_covers, point_cover, without_covers
from edrp.backends.points import bounded, keeps_rows, largest_term, own_point, polished, rounding_of
from edrp.backends.registry import backends, get_backend
from edrp.core.arrays import Bools, Floats
from edrp.core.budget import deadline, look, now, running
from edrp.core.errors import OutOfTimeError
from edrp.core.program import Arrays, Program
from edrp.core.solution import StoppedBecause
from edrp.core.tolerances import CONTRADICTION, FEASIBILITY_TOLERANCE

MAX_ENTRY = 1e15
"""Coefficient that HiGHS takes for infinite."""


def solve_program(
    program: Program,
    backend: str | Backend = "highs",
    *,
    time_limit: float | None = None,
    work_limit: float | None = None,
    **options: Any,
) -> ProgramResult:
    """Solve a program and return a result whose integer columns are integers exactly.

    Parameters
    ----------
    program
        Program to be minimised.
    backend
        Name of a registered backend, such as "highs", or a backend itself.
    time_limit, work_limit
        Seconds, and units of work (docs/explanation/work.md); None for no limit.
    **options
        Further fields of `SolverOptions`: relative `gap`, `threads`, `seed`, `start`, `progress`.
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
    settings = SolverOptions(work_limit, **options)
    chosen = get_backend(backend)
    started = perf_counter()
    end = now() + (math.inf if work_limit is None else work_limit)
    with deadline(end), nullcontext() if time_limit is None else running(time_limit):
        result = _solved(program, chosen, settings)
    return replace(result, seconds=perf_counter() - started, notes=result.notes + _ignored(chosen, settings))


def _solved(program: Program, backend: Backend, settings: SolverOptions) -> ProgramResult:
    """Hand a program over; without time for that nothing is found."""
    try:
        arrays = program.arrays()
    except OutOfTimeError as error:
        return ProgramResult("none", "time_limit", notes=(str(error),))
    check_numbers(program, arrays)
    too_large = _too_large(program, arrays)
    if too_large:
        return ProgramResult("none", "error", notes=(too_large,))
    if settings.start is not None and settings.start.shape != (program.columns,):
        raise ValueError(f"the starting point has shape {settings.start.shape}, the program has {program.columns} columns")
    if not program.columns:
        # Decide a program that leaves nothing to be decided, which solvers call neither optimal nor infeasible.
        if (arrays.row_lower > FEASIBILITY_TOLERANCE).any() or (arrays.row_upper < -FEASIBILITY_TOLERANCE).any():
            return ProgramResult("infeasible", "finished")
        return ProgramResult("optimal", "finished", np.zeros(0), arrays.constant, arrays.constant)
    try:
        look("the program")
        scaled, settings, scale = at_scale(arrays, replace(settings, tiny=has_tiny(arrays)))
        result = solved_exactly(scaled, backend, settings, scale)
        return replace(result, objective=times(result.objective, scale), bound=times(result.bound, scale))
    except OutOfTimeError as error:
        return ProgramResult("none", "time_limit", notes=(str(error),))


def solved_exactly(arrays: Arrays, backend: Backend, settings: SolverOptions, scale: float = 1.0) -> ProgramResult:
    """The result of a backend whose point holds all rows of integer columns as written; others are cut off and solved again."""
    program, start, result = eased(arrays), settings.start, None
    try:
        for _ in range(MAX_ROUNDS):
            result = _claimed(program, backend, settings, scale)
            if result.values is None:
                return result
            point = result.values[: arrays.objective.size]
            covers = exceeded_covers(arrays, point)
            if not covers and settings.allowed is not None and not settings.allowed(point):
                covers = exceeded_covers(arrays, point, implied=True) or point_cover(arrays, point)
                if not covers:
                    break
            if not covers:
                return replace(result, values=point)
            look("the program without what exceeds a limit by less than solvers see")
            program = without_covers(program, covers)
            if start is not None:
                left_open = np.full(program.objective.size - start.size, np.nan)
                settings = replace(settings, start=np.concatenate([start, left_open]))
    except OutOfTimeError:
        if result is None:
            raise
    assert result is not None
    stopped: StoppedBecause = "time_limit" if result.stopped_because == "finished" else result.stopped_because
    return _from_start(arrays, start, replace(result, stopped_because=stopped))


def _claimed(arrays: Arrays, backend: Backend, settings: SolverOptions, scale: float) -> ProgramResult:
    """The result of a backend once its claims have been settled."""
    settle = _settled if settings.tiny else _solved_once
    began = now()
    result = _within_rounding(arrays, settle(arrays, backend, settings, scale))
    return verify_unproven(arrays, result, settings, scale, now() - began, doubted="tolerances" not in backend.features)


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


def _too_large(program: Program, arrays: Arrays) -> str:
    """Return the reason why solvers would refuse a program, or an empty string."""
    entries = np.abs(arrays.matrix.data)
    if not entries.size or entries.max() < MAX_ENTRY:
        return ""
    row = int(np.searchsorted(arrays.matrix.indptr, int(np.argmax(entries)), side="right")) - 1
    return (
        f"the numbers of {program.row_name(row)} lie too far apart for solvers: "
        f"a coefficient of {entries.max():.2g} where they take less than {MAX_ENTRY:.0e}"
    )


def _refuse(program: Program, what: str, broken: Bools, rows: bool) -> None:
    if broken.any():
        index = int(np.argmax(broken))
        kind = "row" if rows else "column"
        name = program.row_name(index) if rows else program.column_name(index)
        raise ValueError(f"{what} of {kind} {name}: not a finite number or an empty range; refused before any solver sees it")


def _solved_once(arrays: Arrays, backend: Backend, settings: SolverOptions, scale: float) -> ProgramResult:
    """The result of a backend with integer columns rounded.

    Where they cannot be, a backend that takes no tolerances may have let its point through by a thousand times ours.
    """
    result = _run(arrays, backend, settings, scale)
    point = polished(arrays, result)
    breaks_rows = result.values is not None and not keeps_rows(arrays, result.values)
    if point is None and "tolerances" not in backend.features and breaks_rows:
        return _from_start(arrays, settings.start, result)
    return bounded(point or own_point(arrays, result), settings.gap, scale)


def _run(arrays: Arrays, backend: Backend, settings: SolverOptions, scale: float) -> ProgramResult:
    """The result of a backend with a bound that is certain; where it calls its point optimal without one, from its objective.

    Solvers prune by an absolute tolerance, which the scale makes larger.
    """
    result = backend.solve(arrays, settings)
    bound = result.objective if result.status == "optimal" and result.bound is None else result.bound
    if bound is not None and scale > 1.0:
        bound = max(bound - FEASIBILITY_TOLERANCE * max(1.0, abs(bound)), min(bound, bound_of_columns(arrays)))
    return replace(result, bound=bound)


def _settled(arrays: Arrays, backend: Backend, settings: SolverOptions, scale: float) -> ProgramResult:
    """Solve a program with tiny coefficients twice, with different settings, since one proof alone is not trusted.

    With a solver's usual tolerances the bound holds for all that is feasible, but an incumbent may miss a row by a millionth.
    Without presolve, solvers have called such programs infeasible that were not, and points optimal that cost thrice as much.
    """
    result = _run(arrays, backend, settings, scale)
    able = "tolerances" in backend.features
    if result.status == "infeasible" and able:
        unconfirmed = replace(result, status="none", stopped_because="time_limit")
        return _again(arrays, backend, settings, settings.start, scale) or unconfirmed
    point = polished(arrays, result)
    first = bounded(point or own_point(arrays, result), settings.gap, scale)
    if result.values is None or result.stopped_because == "interrupted":
        return first
    if point is not None:
        if result.status != "optimal":
            return first
        return _agreed(first, _second_opinion(arrays, backend, settings, scale), settings.gap, scale)
    second = _again(arrays, backend, settings, settings.start, scale) if able else None
    if second is None or (second.values is None and second.status != "infeasible"):
        return _from_start(arrays, settings.start, first)
    return second


def _again(arrays: Arrays, backend: Backend, settings: SolverOptions, start: Floats | None, scale: float) -> ProgramResult | None:
    """The result with the tolerances of other programs; None where no time is left for it."""
    try:
        return _solved_once(arrays, backend, replace(settings, start=start, tiny=False), scale)
    except OutOfTimeError:
        return None


def _second_opinion(arrays: Arrays, backend: Backend, settings: SolverOptions, scale: float) -> ProgramResult | None:
    """Solve again with the settings of ordinary programs; drop a decision that breaks a row; None where no time remains."""
    try:
        result = _run(arrays, backend, replace(settings, tiny=False), scale)
        return polished(arrays, result) or replace(result, status="none", values=None, objective=None)
    except OutOfTimeError:
        return None


def _agreed(first: ProgramResult, second: ProgramResult | None, gap: float, scale: float) -> ProgramResult:
    """The better decision of two runs with the lower bound of both: a point that one of them finds refutes the other's bound."""
    if second is None or second.bound is None or first.bound is None:
        stopped: StoppedBecause = "time_limit" if second is None else second.stopped_because
        return replace(first, status="feasible", stopped_because=stopped, bound=None, notes=(*first.notes, UNCONFIRMED))
    best = second if second.objective is not None and second.objective < float(first.objective or 0.0) else first
    both = replace(best, status="optimal", stopped_because="finished", bound=min(first.bound, second.bound))
    proven = bounded(both, gap, scale)
    return proven if proven.status == "optimal" else replace(proven, stopped_because=second.stopped_because)


def _from_start(arrays: Arrays, start: Floats | None, first: ProgramResult) -> ProgramResult:
    """The start with the bound of the first run, or no decision: that of the first run is not feasible."""
    stopped: StoppedBecause = "iteration_limit" if first.stopped_because == "finished" else first.stopped_because
    start_answer = replace(first, stopped_because=stopped, notes=(*first.notes, LET_THROUGH))
    if start is None or not np.isfinite(start).all():
        return replace(start_answer, status="none", values=None, objective=None)
    return replace(start_answer, status="feasible", values=start, objective=float(arrays.objective @ start + arrays.constant))


def _within_rounding(arrays: Arrays, result: ProgramResult) -> ProgramResult:
    """The result with its bound lowered to the objective where a tolerance on the largest term explains the difference."""
    if result.objective is None or result.bound is None or result.bound <= result.objective:
        return result
    unknown = max(rounding_of(arrays), min(FEASIBILITY_TOLERANCE * largest_term(arrays), CONTRADICTION))
    return replace(result, bound=result.objective) if result.bound - result.objective <= unknown else result


def _ignored(backend: Backend, options: SolverOptions) -> tuple[str, ...]:
    requested = {
        "threads": options.threads != 1,
        "start": options.start is not None,
        "seed": options.seed != 0,
        "progress": options.progress is not None,
    }
    able = {name: ", ".join(other.name for other in backends().values() if name in other.features) for name in requested}
    return tuple(
        f"backend {backend.name} cannot use {name!r} and ignored it; {able[name]} can"
        for name in requested
        if requested[name] and name not in backend.features
    )
