"""HiGHS through highspy: arrays handed over at once, start, progress, and Ctrl-C that keeps the incumbent."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from edrp.backends import base
from edrp.backends.integer_equations import contradict_integers
from edrp.core.arrays import Floats
from edrp.core.budget import now, spend
from edrp.core.errors import BackendUnavailableError, OutOfTimeError
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause
from edrp.core.tolerances import EXACT_FEASIBILITY

try:
    import highspy
except ImportError as error:  # OR-Tools brings a HiGHS of its own (findings/ortools_and_highspy.sh)
    why = f"highspy cannot be imported: {error}"
    raise BackendUnavailableError(f"{why}; use a process that imports no other HiGHS before, such as OR-Tools's") from error

_Status: Any = highspy.HighsModelStatus  # whose stub lacks a member

STOPPED: Final[dict[Any, StoppedBecause]] = {
    _Status.kOptimal: "finished",
    _Status.kInfeasible: "finished",
    _Status.kUnbounded: "finished",
    _Status.kUnboundedOrInfeasible: "finished",
    _Status.kModelEmpty: "finished",
    _Status.kTimeLimit: "time_limit",
    _Status.kIterationLimit: "iteration_limit",
    _Status.kSolutionLimit: "iteration_limit",
    _Status.kObjectiveBound: "iteration_limit",
    _Status.kObjectiveTarget: "iteration_limit",
    _Status.kInterrupt: "interrupted",
    _Status.kHighsInterrupt: "interrupted",
    _Status.kMemoryLimit: "error",
    _Status.kNotset: "error",
    _Status.kLoadError: "error",
    _Status.kModelError: "error",
    _Status.kPresolveError: "error",
    _Status.kSolveError: "error",
    _Status.kPostsolveError: "error",
    _Status.kUnknown: "error",
}
"""Reason for which HiGHS stopped, by its model status."""

LEFT = "HiGHS was in a phase that cannot be interrupted when the time limit passed, and was left to itself"

MAX_AT_ONCE = 10_000
"""Nonzeros up to which a linear program is solved in milliseconds: less than what starting a thread and its pool may take."""

PASSED_WORK, CHECK_WORK, ITERATION_WORK = 3e-7, 3.5e-9, 2e-8
"""Units of work per column, row and nonzero: of a program that is handed over and presolved, of a mixed-integer search between
two looks for interrupts (per `hardness`), and of an iteration of the simplex method.
"""

ENDED_WORK, ENDED_CHECK_WORK = 5e-4, 4e-7
"""Units of work of a search that has ended, which tells its iterations, and of a look in it per column, row and nonzero."""

ROOT_CHECKS = 2
"""Looks for interrupts of a mixed-integer search after presolve and before the root is solved; the next one knows its bound."""


class HighsBackend(base.Backend):
    """Backend that solves programs by HiGHS, the default."""

    name = "highs"
    summary = "mixed-integer program solved by HiGHS"
    undivided = "a linear program inside its search"
    features = frozenset({"work_limit", "gap", "threads", "start", "interrupt", "seed", "progress", "tolerances"})
    packages = ("highspy",)

    def solve(self, arrays: Arrays, options: base.SolverOptions) -> base.ProgramResult:
        """Solve a program; after Ctrl-C the incumbent is returned."""
        return solve_arrays(arrays, options)


class _SilentHighs(highspy.Highs):  # type: ignore[misc]
    """HiGHS without output from the start: since 1.16 the first solver of a process prints a banner while it is made."""

    def enableCallbacks(self) -> None:  # noqa: N802
        """Keep the banner, which is written when callbacks are enabled, from the console; it then counts as written."""
        self.setOptionValue("log_to_console", False)
        super().enableCallbacks()


def keep_silent() -> None:
    """Have no solver of this process print HiGHS's banner, whichever package makes it."""
    _SilentHighs()


def new_solver(**settings: Any) -> Any:
    """HiGHS on one thread, without output, with these settings besides."""
    solver = _SilentHighs()
    for name, value in {"output_flag": False, "threads": 1, **settings}.items():
        solver.setOptionValue(name, value)
    return solver


MAX_REPEATED, REPEATED_WORK = 2_000, 0.2
"""Nonzeros up to which a search after presolve is repeated without it, and units of work that this may take.

Presolve has lost an optimum that a search then called another point optimal of: 1 of some thousands of tiny programs.
"""


MAX_WITHOUT_JUMP = 2_000
"""Nonzeros up to which feasibility jump takes more than half of a search after presolve; it pays without, and without costs."""


@dataclass(slots=True)
class ReportedPoint:
    """The best point that HiGHS has reported, for the case that it has to be left to itself."""

    values: Floats | None = None
    objective: float | None = None
    bound: float | None = None

    def keep(self, event: Any) -> None:
        """Take over what an improving solution brings."""
        data = event.data_out
        self.values = np.array(data.mip_solution, float)
        self.objective, self.bound = base.finite_or_none(data.objective_function_value), base.finite_or_none(data.mip_dual_bound)

    def result(self) -> base.ProgramResult:
        """The result that is held."""
        status: Status = "none" if self.values is None else "feasible"
        return base.ProgramResult(status, "time_limit", self.values, self.objective, self.bound, (LEFT,))


def solve_arrays(arrays: Arrays, options: base.SolverOptions | None = None, until: float | None = None) -> base.ProgramResult:
    """Solve a program given as arrays; with no integer column as a linear program, to a vertex.

    Its work is limited by the options and by the run that this is a part of, or, where it is given, by `until` alone.

    Raises
    ------
    OutOfTimeError
        When nothing is left, or presolve and the root, which nothing stops, would take more.
    """
    options = options or base.SolverOptions()
    until = base.end_for_solver(options) if until is None else until
    return second_look(arrays, options, until, _solved(arrays, options, until))


def second_look(arrays: Arrays, options: base.SolverOptions, until: float, first: base.ProgramResult) -> base.ProgramResult:
    """A result of HiGHS where it is proven by more than presolve, else that of a search without presolve and start.

    Presolve has called points optimal that are not, with a start and without (docs/explanation/wrong_optima.md). Small programs
    are searched once more without it even where a search has ended. Otherwise the bounds of the columns are looked at first, or
    equations in integers, then the linear relaxation. If the limit `until`, on the clock of `now`, passes before the search has
    ended, a point that was called optimal is an incumbent.
    """
    if first.objective is not None and base.bounds_prove(arrays, first.objective):
        return first
    if first.searched:
        small = arrays.matrix.nnz <= MAX_REPEATED and not _relaxation_confirms(arrays, options, until, first)
        return _repeated(arrays, options, until, first) if small else first
    if first.status == "infeasible" and contradict_integers(arrays):
        return first
    without_values: Status = "none" if first.values is None else "feasible"
    unproven = replace(first, status=without_values, stopped_because="time_limit", bound=None, searched=True)
    try:
        if _relaxation_proves(arrays, options, until, first):
            return first
        again = _solved(arrays, replace(options, start=None, presolve=False), until)
        if _loses(again, first):
            again = _solved(arrays, replace(options, start=first.values, presolve=False), until)
    except OutOfTimeError:
        return unproven
    return _of_two(arrays, first, again, unproven)


def _repeated(arrays: Arrays, options: base.SolverOptions, until: float, first: base.ProgramResult) -> base.ProgramResult:
    """A result of a search after presolve, or that of one without, which ends within a share of a unit and finds it wrong."""
    presolved = options.presolve and not options.tiny and bool(arrays.integer.any())
    if not presolved or first.status not in ("optimal", "infeasible"):
        return first
    with suppress(OutOfTimeError):
        again = _solved(arrays, replace(options, start=None, presolve=False), min(until, now() + REPEATED_WORK))
        if first.objective is None:
            return again if again.values is not None and _refutes(arrays, again.values) else first
        if again.status == "optimal" and again.objective is not None and base.above(again.objective) < first.objective:
            return again
    return first


def _loses(again: base.ProgramResult, first: base.ProgramResult) -> bool:
    """Whether a second search ended without anything as good as the point that is known.

    A row that holds with equality at the optimum, such as the limit that an earlier stage has set, may let a point through in
    one search and not in the other.
    """
    if first.objective is None or again.status not in ("optimal", "infeasible"):
        return False
    return again.objective is None or again.objective > base.above(first.objective)


def _of_two(
    arrays: Arrays, first: base.ProgramResult, again: base.ProgramResult, unproven: base.ProgramResult
) -> base.ProgramResult:
    """The first result after a second search: confirmed, replaced, or, also where it loses the point, without proof."""
    if first.objective is None:
        allowed = again.values is None or _refutes(arrays, again.values)
        return again if allowed else first
    if _loses(again, first):
        return replace(unproven, stopped_because="iteration_limit")
    ended = again.searched and again.status == "optimal"
    if ended or (again.objective is not None and again.objective < first.objective):
        return again
    bound = None if again.bound is None else min(again.bound, first.objective)
    return replace(unproven, stopped_because=again.stopped_because, bound=bound)


def _refutes(arrays: Arrays, point: Floats) -> bool:
    """Whether a point is feasible by more than a solver's tolerance, so that a program is not infeasible."""
    used = arrays.matrix @ point
    rows = np.maximum(arrays.row_lower - used, used - arrays.row_upper)
    columns = np.maximum(arrays.lower - point, point - arrays.upper)
    broken = max(rows.max(initial=0.0), columns.max(initial=0.0))
    return bool(broken <= EXACT_FEASIBILITY * max(1.0, np.abs(used).max(initial=0.0)))


def _relaxation_confirms(arrays: Arrays, options: base.SolverOptions, until: float, first: base.ProgramResult) -> bool:
    """Whether the linear relaxation proves an optimum, for which a search without presolve would take longer."""
    with suppress(OutOfTimeError):
        return first.objective is not None and _relaxation_proves(arrays, options, until, first)
    return False


def _relaxation_proves(arrays: Arrays, options: base.SolverOptions, until: float, first: base.ProgramResult) -> bool:
    """Whether the linear relaxation confirms infeasibility, or has no better value than the objective."""
    relaxation = replace(arrays, integer=np.zeros_like(arrays.integer))
    relaxed = _solved(relaxation, replace(options, start=None), until)
    if first.objective is None or relaxed.objective is None:
        return relaxed.status == first.status == "infeasible"
    return relaxed.status == "optimal" and first.objective <= base.above(relaxed.objective)


def _solved(arrays: Arrays, options: base.SolverOptions, until: float) -> base.ProgramResult:
    """Solve a program with HiGHS once, and return its result."""
    incumbent, brake = ReportedPoint(), Brake(arrays, until)
    at_once = arrays.matrix.nnz <= MAX_AT_ONCE and options.threads == 1 and not arrays.integer.any()
    if at_once:
        # Done before presolve would be, and a vertex to the last digit: postsolve may leave rests of the size of a tolerance.
        options = replace(options, presolve=False)
    solver = _SilentHighs()
    jump = not options.presolve or arrays.matrix.nnz > MAX_WITHOUT_JUMP or not arrays.objective.any()
    _configure(solver, options, jump=jump)
    if not hand_over(solver, arrays):
        return base.ProgramResult("none", "error", notes=("HiGHS refuses the numbers of the program",))
    if options.start is not None:
        # Hand over a starting point; HiGHS completes a partial one itself and drops one that is not feasible.
        with_value = np.flatnonzero(np.isfinite(options.start))
        values = np.where(arrays.integer, np.round(options.start), options.start)[with_value]
        solver.setSolution(with_value.size, with_value.astype(np.int32), values)
    solver.HandleUserInterrupt = True
    tell = base.paced(options.progress)
    if tell is not None:
        solver.cbMipInterrupt += lambda event: tell(event.data_out.mip_primal_bound, event.data_out.mip_dual_bound)
    if base.seconds_for_solver() is not None:
        solver.cbMipImprovingSolution += incumbent.keep
    try:
        outcome = brake.run(solver, at_once)
        if solver.getModelStatus() == _Status.kUnboundedOrInfeasible:
            # Presolve does not say which of the two; without it HiGHS does.
            solver.setOptionValue("presolve", "off")
            outcome = brake.run(solver, at_once)
    except OutOfTimeError:
        return incumbent.result()
    result = _result(solver, arrays, outcome)
    if result.status == "none" and result.stopped_because == "error" and options.start is not None:
        return _solved(arrays, replace(options, start=None), until)  # completing a partial start is where it gives up at times
    return replace(result, stopped_because="time_limit") if brake.pulled else result


class Brake:
    """Counts the work of HiGHS by counters of its own, and stops it where the limit is reached.

    A mixed-integer search looks for interrupts at places that depend on the program alone, a simplex method counts iterations.
    A linear program inside the search is not stopped, nor is what comes before the bound of the root is known: HiGHS does not
    start where that would take more than twice of what is left (`OutOfTimeError`).

    Attributes
    ----------
    pulled : whether it has stopped HiGHS.
    """

    def __init__(self, arrays: Arrays, until: float) -> None:
        self.mixed, self.size, self.pulled = bool(arrays.integer.any()), arrays.size, False
        root = base.root_work(arrays) if self.mixed else 0.0
        base.need_root(PASSED_WORK * self.size + root / 2, until - now())
        self._root = max(0.0, root - ROOT_CHECKS * CHECK_WORK * base.hardness(self.size))
        self._until, self._checks, self._most = until, 0, math.inf

    def run(self, solver: Any, at_once: bool) -> Any:
        """Let HiGHS work, in a thread unless it is done `at_once`; its own clock begins now."""
        if (seconds := base.seconds_for_solver()) is not None:  # values of an answer that was found in time are still computed
            solver.setOptionValue("time_limit", solver.getRunTime() + seconds + (0.0 if self.mixed else base.SOLVER_PATIENCE))
        spend(PASSED_WORK * self.size)
        remaining, step = self._until - now(), CHECK_WORK * base.hardness(self.size) if self.mixed else ITERATION_WORK * self.size
        if self.mixed:
            self._checks, self._most = 0, 1.0 + (remaining - self._root) / step  # the first one comes before the search
            solver.cbMipInterrupt += self._check
        elif remaining < math.inf:
            solver.setOptionValue("simplex_iteration_limit", int(min(base.MAX_LIMIT, max(1.0, remaining / step))))
        outcome = solver.run() if at_once else base.in_fresh_thread(solver.run, solver.cancelSolve)
        if self.mixed:
            solver.cbMipInterrupt -= self._check
        else:
            self.pulled = solver.getModelStatus() == _Status.kIterationLimit
        iterations = max(0, solver.getInfo().simplex_iteration_count)
        work = step * max(0, self._checks - 1 if self.mixed else iterations) + self._root * (self._checks > ROOT_CHECKS)
        if self.mixed and not self.pulled:
            work = min(work, ENDED_WORK + self.size * (ENDED_CHECK_WORK * self._checks + ITERATION_WORK * iterations))
        spend(work)
        return outcome

    def _check(self, event: Any) -> None:
        self._checks += 1
        if self._checks >= self._most and base.finite_or_none(event.data_out.mip_dual_bound) is not None:
            self.pulled = True
            event.interrupt()


def _configure(solver: Any, options: base.SolverOptions, *, jump: bool) -> None:
    settings: dict[str, Any] = {
        "output_flag": False,
        "threads": options.threads,
        "random_seed": options.seed,
        "mip_rel_gap": options.gap,
        "mip_abs_gap": 0.0,
        # Costs more than half of the time on placement programs and finds nothing that the other heuristics miss.
        "mip_heuristic_run_root_reduced_cost": False,
        "mip_heuristic_run_feasibility_jump": jump,
        **base.highs_settings(options),
    }
    for name, value in settings.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refuses {name} = {value!r}")


def hand_over(solver: Any, arrays: Arrays) -> bool:
    """Give HiGHS a program, all arrays at once; false where a number is too large for it."""
    matrix = arrays.matrix
    rows, columns = matrix.shape
    form = int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize)
    costs = arrays.constant, arrays.objective, arrays.lower, arrays.upper, arrays.row_lower, arrays.row_upper
    entries = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
    status = solver.passModel(columns, rows, matrix.nnz, *form, *costs, *entries, arrays.integer.astype(np.int32))
    return bool(status != highspy.HighsStatus.kError)


def _result(solver: Any, arrays: Arrays, outcome: Any) -> base.ProgramResult:
    native = solver.getModelStatus()
    stopped: StoppedBecause = "error" if outcome == highspy.HighsStatus.kError else STOPPED[native]
    info, mixed = solver.getInfo(), bool(arrays.integer.any())
    searched = not mixed or solver.getOptionValue("presolve")[1] == "off" or not base.only_presolved(info)
    if native == _Status.kInfeasible:
        return base.ProgramResult("infeasible", stopped, searched=searched)
    if native in (_Status.kUnbounded, _Status.kUnboundedOrInfeasible):
        return base.ProgramResult("unbounded", stopped)
    bound = base.finite_or_none(info.mip_dual_bound) if mixed else None
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return base.ProgramResult("none", stopped, bound=bound)
    values = np.array(solver.getSolution().col_value, float)
    objective = float(arrays.objective @ values + arrays.constant)
    searched = searched and objective <= base.above(float(solver.getObjectiveValue()))  # the value of another point is no proof
    if native in (_Status.kOptimal, _Status.kModelEmpty):
        return base.ProgramResult("optimal", stopped, values, objective, bound if mixed else objective, searched=searched)
    return base.ProgramResult("feasible", stopped, values, objective, bound)
