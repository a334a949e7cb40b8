"""Base class, options and results of solver backends."""

from __future__ import annotations

import atexit
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import clock, look, now, spend, units_left
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Progress
from edrp.core.program import Arrays
from edrp.core.solution import Status, StoppedBecause
from edrp.core.tolerances import FEASIBILITY_TOLERANCE, OPTIMALITY_GAP

HIGHS_TOLERANCES = {
    "mip_feasibility_tolerance": FEASIBILITY_TOLERANCE,
    "primal_feasibility_tolerance": FEASIBILITY_TOLERANCE,
    "dual_feasibility_tolerance": FEASIBILITY_TOLERANCE,
    "small_matrix_value": 1e-3 * FEASIBILITY_TOLERANCE,
    "mip_allow_restart": False,
}
"""Options of HiGHS, in every backend that calls it.

Restarts at the root, where it presolves again, have cost optima (docs/explanation/wrong_optima.md).
The option for small matrix values is also its epsilon, the rounding error that it reckons with. By default that is a thousandth
of the tolerances; as large as these, it lets HiGHS cut optima off (docs/explanation/wrong_optima.md).
"""

HIGHS_WITH_TINY = {
    "presolve": "off",
    "primal_feasibility_tolerance": FEASIBILITY_TOLERANCE,
    "dual_feasibility_tolerance": FEASIBILITY_TOLERANCE,
    "mip_allow_restart": False,
}
"""HiGHS's settings for programs with tiny coefficients: branch and bound has HiGHS's own tolerance, and no presolve."""


HIGHS_AGAIN = {"presolve": "off", "mip_allow_restart": False}
"""HiGHS's settings for a second run on a program that a solver calls infeasible: default tolerances, and nothing presolved."""

ROOT_WORK, ROOT_ITERATION_WORK, NODE_WORK = 1e-6, 3.5e-9, 8e-9
"""Units of work of HiGHS per column, row and nonzero: for the root of its search, for each of its iterations there, which are
about as many as there are rows, and fewer where these are few; and for a node per `hardness`."""

COUNTERS = "mip_node_count", "simplex_iteration_count"
"""What HiGHS counts of a search."""

SEARCH_WORK, ITERATION_WORK = 1e-5, 6e-9
"""Units of work of a whole search per column, row and nonzero, and for each of its iterations of the simplex method."""

MAX_LIMIT = 2**31 - 2
"""The largest number that HiGHS takes as a limit."""

SOLVER_PATIENCE = 0.4
"""Seconds after its time limit for which a solver is waited for."""

INFINITE = 1e20
"""Number from which on HiGHS, SCIP and Gurobi take one for infinite."""

PROGRESS_INTERVAL = 0.25
"""Seconds between two calls of a progress callback."""

FAILED: tuple[Status, StoppedBecause] = ("feasible", "error")
"""Status and the reason for stopping where a solver ends in no way that it should; without a point "feasible" becomes "none"."""

LEFT_OPEN = "the solver ends with a gap, which its own tolerances allow"
"""Note of an answer that the solver calls optimal, with a bound that does not say so."""

UNCONFIRMED = "where coefficients are tiny an optimum has to be found twice; the second run did not"
"""Note of an answer that the first run alone calls optimal."""

LET_THROUGH = "the solver's decision breaks a row by more than rounding, and there was no time or way to ask it for a better one"
"""Note of an answer whose decision cannot be had as it should be."""


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """Settings of one run of a backend: units of work (None for no limit), relative gap, threads, seed, and a starting point.

    Seconds are limited by the run that a solver is a part of (`edrp.core.budget.running`).

    `start` has shape (columns,); NaN where a column is left to the solver. `tiny` says that the program
    has tiny coefficients (`edrp.backends.conditioning`). Without `presolve` HiGHS takes the program as it is. With
    `own_tolerances` it keeps to tolerances of its own, and does not presolve. `allowed` judges points that meet all rows as far
    as solvers see; the integers of one that it refuses are cut off.
    """

    work_limit: float | None = None
    gap: float = OPTIMALITY_GAP
    threads: int = 1
    seed: int = 0
    start: Floats | None = None
    progress: Progress | None = None
    tiny: bool = False
    presolve: bool = True
    own_tolerances: bool = False
    allowed: Callable[[Floats], bool] | None = None


def highs_settings(options: SolverOptions) -> dict[str, Any]:
    """Options of HiGHS that all backends share which call it."""
    if options.own_tolerances:
        return HIGHS_AGAIN
    settings = HIGHS_WITH_TINY if options.tiny else HIGHS_TOLERANCES
    return settings if options.presolve else settings | {"presolve": "off"}


def only_presolved(info: Any) -> bool:
    """Whether HiGHS's information about a run says that nothing but presolve is behind its answer: it counts no node.

    A few iterations of the simplex method may be counted all the same; they began from what presolve left.
    """
    return bool(info.mip_node_count <= 0)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The result of a backend and why it stopped; `values` has shape (columns,) or is None.

    `bound` is a proven lower bound on the objective, None where the backend knows none. `notes` are
    sentences for the user, such as options that the backend could not use. `searched` is false where nothing but presolve is
    behind an optimum or infeasibility. `settled` is false where the continuous columns may be worse than those of the integer
    ones must be, so that `objective` may be above the value of what the integer ones decide.
    `seconds` is set by `solve_program`.
    """

    status: Status
    stopped_because: StoppedBecause
    values: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()
    searched: bool = True
    settled: bool = True
    seconds: float = 0.0

    @classmethod
    def of(
        cls, arrays: Arrays, status: Status, stopped: StoppedBecause, values: Floats | None, bound: float | None = None
    ) -> ProgramResult:
        """The result by what a solver says: without a point only claims remain that need none, and with these no bound."""
        if values is None or status not in ("optimal", "feasible"):
            certain: Status = status if status in ("infeasible", "unbounded") else "none"
            return cls(certain, stopped, bound=bound if certain == "none" else None)
        return cls(status, stopped, values, float(arrays.objective @ values + arrays.constant), bound)


def paced(progress: Progress | None) -> Callable[[float | None, float | None], None] | None:
    """A progress callback that takes incumbent and bound, adds the seconds from now on, and calls at most once an interval."""
    if progress is None:
        return None
    started, last = perf_counter(), 0.0

    def tell(incumbent: float | None, bound: float | None) -> None:
        nonlocal last
        seconds = perf_counter() - started
        if seconds - last >= PROGRESS_INTERVAL:
            last = seconds
            progress(seconds, finite_or_none(incumbent), finite_or_none(bound))

    return tell


FEATURES = frozenset({"work_limit", "gap", "threads", "start", "interrupt", "seed", "progress", "tolerances"})
"""Everything of `SolverOptions` and of a run that a backend may be able to use."""


class Backend(ABC):
    """One solver. A subclass says all that there is to know about it; the method of the same name is made from that.

    Attributes
    ----------
    name : in the registry, and of the method.
    summary : one line for `edrp methods`.
    features : those of `FEATURES` that it can use; the others are ignored aloud.
    packages : modules that must be installed.
    extra : extra of `edrp` that brings them, "" for none.
    undivided : the largest step that a work limit does not stop, in words.
    """

    name: str
    summary: str
    features: frozenset[str] = frozenset()
    packages: tuple[str, ...] = ()
    extra: str = ""
    undivided: str = "the root of its search"

    @abstractmethod
    def solve(self, arrays: Arrays, options: SolverOptions) -> ProgramResult:
        """Solve a program; "unbounded" says no more than that there is a ray, or no point (see `edrp.backends.closing`)."""


def finite_or_none(value: float | None) -> float | None:
    """The value as a float; None for NaN, missing, or what solvers take for infinite.

    >>> finite_or_none(float("-inf")), finite_or_none(1e100), finite_or_none(2)
    (None, None, 2.0)
    """
    return float(value) if value is not None and abs(value) < INFINITE else None


def end_for_solver(options: SolverOptions) -> float:
    """End of the work that a solver may do which is about to start, on the clock of `now`; infinite for no limit.

    Raises
    ------
    OutOfTimeError
        When nothing is left.
    """
    if options.work_limit is None and units_left() == math.inf:
        return math.inf
    look("the solver")
    return now() + min(math.inf if options.work_limit is None else options.work_limit, units_left())


def seconds_for_solver() -> float | None:
    """Seconds until the time limit of the run, for what knows no other limit; None for none."""
    seconds = clock().seconds_left()
    return None if seconds == math.inf else max(0.0, seconds)


def hardness(size: int) -> float:
    """Factor by which nodes of a larger program need more work; measured on programs of 26 to 110,000 entries.

    >>> round(hardness(1_000) / hardness(100), 1), round(hardness(100_000) / hardness(10_000))
    (11.2, 14)
    """
    return 9e3 + size * min(max(size**0.7, 30.0), 900.0)


def root_work(arrays: Arrays) -> float:
    """Units of work of HiGHS for the root of a search, up to a factor of two or three, by size and shape of the matrix.

    That of what presolve leaves at least: no fixed columns, and no rows with fewer than two others.

    >>> from edrp.core.program import Program
    >>> program = Program()
    >>> choices = program.add_columns("chosen", (1000, 3), upper=1.0, integer=True)
    >>> program.add_rows("one", 1000, [(np.arange(1000)[:, None], choices, 1.0)], lower=1.0)
    >>> before = root_work(program.arrays())
    >>> program.add_rows("not", 3000, [(np.arange(3000), choices.ravel(), 1.0)], upper=1.0)
    >>> round(before, 3), root_work(program.arrays()) == before
    (0.021, True)
    """
    free, starts = arrays.lower < arrays.upper, arrays.matrix.indptr
    entries = np.diff(np.append(0, np.cumsum(free[arrays.matrix.indices]))[starts])
    kept = entries > 1
    rows, columns = int(kept.sum()), int(free.sum())
    size = int(entries[kept].sum()) + rows + columns
    return size * (ROOT_WORK + ROOT_ITERATION_WORK * rows * min(1.0, rows / max(1, columns)) ** 0.5)


class NodeBrake:
    """Stops a solver that tells no more of its work than the number of its nodes.

    Parameters
    ----------
    units
        Units of work that are left.
    node_work
        Units of work for a node per `hardness`.

    Attributes
    ----------
    nodes : that the solver may look at, the root among them. It is never 0, with which HiGHS leaves out the root, too.

    Raises
    ------
    OutOfTimeError
        When the root alone, which nothing stops, would take more than twice of that.
    """

    def __init__(self, arrays: Arrays, units: float, node_work: float = NODE_WORK) -> None:
        self._size, self._root, self._node = arrays.size, root_work(arrays), node_work * hardness(arrays.size)
        need_root(self._root / 2, units)
        self.nodes = int(min(MAX_LIMIT, 1.0 + max(0.0, units - self._root) / self._node))

    def release(self, nodes: int | None, iterations: int | None = None) -> bool:
        """Count the work of a run by its nodes, and by its iterations where they are known, of which most may belong to the root.

        Returns whether the run ended because it looked at as many nodes as it may.
        """
        by_iterations = self._size * (SEARCH_WORK + ITERATION_WORK * max(0, iterations or 0))
        spend(max(self._root + self._node * max(0, (nodes or 0) - 1), 0.0 if iterations is None else by_iterations))
        return (nodes or 0) >= self.nodes


def need_root(work: float, units: float) -> None:
    """Refuse to start a solver whose root alone, which nothing stops, would take more units of work than are left.

    Every backend solves the root of a program that it has started with.
    """
    if work > units:
        raise OutOfTimeError("the root of the search, which nothing stops, would take more than is left")


def in_fresh_thread(
    function: Callable[[], Any], cancel: Callable[[], None] | None = None, patience: float = SOLVER_PATIENCE
) -> Any:
    """Call a function in a thread of its own and return its result, or raise its exception.

    HiGHS keeps one thread pool per calling thread, which refuses to change its size: a fresh thread may ask
    for any number of threads. And Ctrl-C reaches us while the solver works: with `cancel` it is called and
    the function's result awaited; without it, or the second time (HiGHS is deaf inside a long linear program),
    the interrupt goes on to the caller.

    A solver is deaf to its time limit in some of its phases: one that has not ended `patience` seconds after the time limit of
    the run is cancelled and left to itself. When the interpreter ends first it would end a solver in the midst of C++, which
    aborts the process: it is awaited then.

    Raises
    ------
    OutOfTimeError
        When the function was left to itself.
    """
    outcome: dict[str, Any] = {}
    finished = threading.Event()
    context = copy_context()

    def work() -> None:
        try:
            outcome["value"] = context.run(function)
        except BaseException as error:  # handed to the calling thread below
            outcome["error"] = error
        finally:
            finished.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    # An event, because a thread whose join is interrupted counts as dead in Python 3.11 and 3.12.
    cancelled = False
    while not finished.is_set():
        try:
            seconds_left = clock().seconds_left() + patience
            finished.wait(min(0.2, max(0.0, seconds_left)))
            if clock().interrupted and cancel is None and not finished.is_set():
                raise OutOfTimeError("the solver was interrupted, which loses what it had found")
            cancelled = cancelled or clock().interrupted
            if cancelled and cancel is not None:
                cancel()  # a solver that had not begun when it was first cancelled has forgotten it
            if seconds_left <= 0 and not finished.is_set():
                if cancel is not None:
                    cancel()
                atexit.register(thread.join)
                raise OutOfTimeError("the time limit passed while the solver was in a phase that cannot be interrupted")
        except KeyboardInterrupt:
            if cancel is None or cancelled:
                raise
            cancel()
            cancelled = True
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def bounds_prove(arrays: Arrays, objective: float) -> bool:
    """Whether the bounds of the columns alone prove that nothing is better than an objective, up to rounding.

    Examples
    --------
    >>> from edrp.core.program import Linear, Program
    >>> program = Program()
    >>> program.minimise(Linear.of(program.add_columns("take", 2, lower=1), [3, 4]))
    >>> bounds_prove(program.arrays(), 7.0), bounds_prove(program.arrays(), 7.5)
    (True, False)
    """
    return objective <= above(bound_of_columns(arrays))


def bound_of_columns(arrays: Arrays) -> float:
    """Least value of the objective by the bounds of the columns alone."""
    cost = arrays.objective
    used = cost != 0
    return float(cost[used] @ np.where(cost > 0, arrays.lower, arrays.upper)[used]) + arrays.constant


def above(bound: float) -> float:
    """The largest value that a bound proves optimal, up to rounding."""
    return bound + FEASIBILITY_TOLERANCE * max(1.0, abs(bound))
