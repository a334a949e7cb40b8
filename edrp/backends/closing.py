"""The last word on what a solver leaves open or calls infeasible: our own branch and bound, whose leaves hold for certain.

A solver prunes by absolute tolerances, and its bound may lie below the optimum by more than the resolution of objectives
(`edrp.core.solution.resolution`). The tree of certificates (`edrp.backends.proof_tree`) closes that gap: it excludes everything
that is better than the incumbent by more than the resolution, and goes on from a better point where it finds one. Bounds of
leaves are computed with an estimate of their rounding error, and with fractions where that is too large.

A ray of the relaxation proves nothing without a point: with integer columns there may be none, however far the ray goes. Both
together are a proof that a program is unbounded, since some multiple of a rational ray is integral (Meyer, 1974).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import highspy
import numpy as np

from edrp.backends.base import LEFT_OPEN, LET_THROUGH, UNCONFIRMED, ProgramResult, SolverOptions
from edrp.backends.exact_rows import exceeded_covers
from edrp.backends.highs import solve_arrays
from edrp.backends.integer_equations import contradict_integers
from edrp.backends.points import bounded, polished, rounding_of
from edrp.backends.proof_tree import TRIED, BetterPointError, Box, Branch, NodeRelaxation, NotClosedError, ProofTree, Waiting
from edrp.core import tolerances
from edrp.core.arrays import Bools, Floats
from edrp.core.budget import deadline, now
from edrp.core.errors import OutOfTimeError
from edrp.core.late_imports import sparse
from edrp.core.program import Arrays
from edrp.core.solution import resolution, within_gap

EPS = float(np.finfo(float).eps)

REFINEMENT_STEPS = 4
"""Steps of iterative refinement: each adds about ten digits to multipliers, of which twenty are enough."""

MAX_DENSE = 10**6
"""Entries of the system of equations by which multipliers are refined, at most."""

IMPLICATION_ROUNDS = 10
"""Rounds in which rows imply bounds of columns."""

AIM = 2.0**-10
"""Size that the tolerance gets by the scale of the objective, unless its largest cost becomes more than `MAX_COST`."""

MAX_COST = 2.0**24

MAX_SIZE = 10_000
"""Columns, rows and nonzeros of a program up to which it is given to the tree, whose linear programs nothing interrupts."""

TINY_SIZE = 30
"""Number of columns up to which every optimum is proven by the tree."""

CLOSING_WORK = 20.0
"""Units of work at most for a proof that nothing is better than what a solver leaves open."""

DOUBTED_WORK = 0.5
"""Units of work for the proof of an optimum from a solver that is known to lose optima."""

PROOF_SHARE, MIN_PROOF_WORK = 0.25, 0.01
"""Work of a proof of infeasibility: a share of what the solver did, and at least `MIN_PROOF_WORK`."""

FINISHED = ("finished", "iteration_limit")
"""Reasons for which a solver stops by itself, before any limit of the run is reached."""

POINT_WORK = 0.2
"""Units of work at most for each try to find a point of a program that a solver calls unbounded."""

UNDECIDED = "the solver calls this infeasible; neither a proof of our own nor another run with other tolerances confirms it"
"""Note of an answer "infeasible" without evidence."""

ENDLESS = "the solver calls this unbounded, which takes a feasible point and a ray on which the objective falls; no {} was found"
"""Note of an answer "unbounded" without evidence."""


Rows = Sequence[tuple[Sequence[int], Sequence[float], float]]
"""Columns, coefficients and upper bound of each row."""

Cuts = Callable[[Floats], Rows]


class Closing(ProofTree):
    """A tree that proves an optimum or infeasibility for certain, and takes a better point for the new incumbent.

    Parameters
    ----------
    arrays
        The program.
    target
        Value of the incumbent, None to prove that there is no point; a point that is found is raised as `BetterPointError`.
    tolerance
        By how much an optimum may be better than an incumbent of this value.
    cuts
        Rows that every point of the program keeps and a point of its relaxation breaks: for each its columns, coefficients and
        upper bound. Where it is given, branches are chosen by fractions alone, which is quickest where cuts close most boxes.

    Attributes
    ----------
    point : the best one that was found, None while that is the incumbent.
    target : its value, or that of the incumbent.
    """

    def __init__(
        self, arrays: Arrays, target: float | None, tolerance: Callable[[float], float], cuts: Cuts | None = None
    ) -> None:
        wide = widened(arrays, tolerances.FEASIBILITY_TOLERANCE if target is None else tolerances.SUM_ROUNDING)
        super().__init__(with_implied_bounds(wide, target), target, 1.0 if target is None else tolerance(target))
        self.target = target
        self.point: Floats | None = None
        self._program, self._tolerance, self._cuts = arrays, tolerance, cuts
        self._tries = TRIED if cuts is None else 0
        self._count_entries()

    def _count_entries(self) -> None:
        """Number and sizes of the entries of each column, for the rounding of its reduced cost."""
        self._sizes = abs(self._transposed)
        self._entries = np.diff(self._transposed.indptr) + 2

    def _next(self, waiting: list[Waiting]) -> int:
        """Return the place of the box with the least bound where cuts keep the tree small."""
        if self._cuts is None:
            return super()._next(waiting)
        bounds = [-math.inf if parent is None else parent.value for _, _, parent in waiting]
        return len(bounds) - 1 - bounds[::-1].index(min(bounds))

    def _solve(self, box: Box, basis: Any) -> NodeRelaxation:
        """Solve the relaxation, again while its point breaks cuts."""
        missing = 0 if basis is None else self.arrays.row_lower.size - len(basis.row_status)
        if missing:  # cuts came since
            basis.row_status = [*basis.row_status, *[highspy.HighsBasisStatus.kBasic] * missing]
        solved = super()._solve(box, basis)
        while self._cuts is not None and solved.value < self.cutoff and (rows := self._cuts(solved.point)):
            self._add(rows)
            solved = super()._solve(box, None)
        return solved

    def _add(self, rows: Rows) -> None:
        """Add rows to the program and to the solver's."""
        columns, values, most = (list(part) for part in zip(*rows, strict=True))
        starts = np.cumsum([0, *map(len, columns)], dtype=np.int32)
        entries = np.concatenate(columns, dtype=np.int32), np.concatenate(values, dtype=float)
        lower, upper = np.full(len(rows), -np.inf), np.array(most, float)
        self._solver.addRows(len(rows), lower, upper, int(starts[-1]), starts[:-1], *entries)
        matrix = self.arrays.matrix
        parts = np.append(matrix.data, entries[1]), np.append(matrix.indices, entries[0])
        starts = np.append(matrix.indptr[:-1], matrix.nnz + starts)
        self.arrays = replace(
            self.arrays,
            matrix=sparse.csr_array((*parts, starts), shape=(starts.size - 1, matrix.shape[1])),
            row_lower=np.append(self.arrays.row_lower, lower),
            row_upper=np.append(self.arrays.row_upper, upper),
        )
        self._transposed = self.arrays.matrix.T.tocsr()
        self._count_entries()

    def _found(self, box: Box, solved: NodeRelaxation) -> Branch | None:
        """Take over what is better than the incumbent; None where that closes the box, else a branch on any column left.

        Raises
        ------
        NotClosedError
            When all integer columns are fixed.
        """
        result = ProgramResult("feasible", "finished", solved.point, solved.value)
        better = polished(self._program, result)
        if better is not None and better.values is not None and better.objective is not None:
            if self.target is not None and exceeded_covers(self.arrays, better.values):
                return super()._found(box, replace(solved, point=better.values))
            if self.target is None:
                raise BetterPointError(better.objective, better.values)
            if better.objective < self.target:
                self.aim_at(better.objective, self._tolerance(better.objective))
                self.target, self.point = better.objective, better.values
            if solved.value >= self.cutoff and self._closes(box, solved):
                return None
        # A branch on a column that is not fixed, the most fractional one.
        free = np.flatnonzero(self.arrays.integer & (box[0] < box[1]))
        if not free.size:
            raise NotClosedError("a leaf cannot be closed for certain")
        value = np.clip(solved.point[free], box[0][free], box[1][free])
        column = int(np.argmax(np.abs(value - np.round(value))))
        floor = min(math.floor(value[column]), box[1][free[column]] - 1.0)
        return Branch("S", int(free[column]), int(floor))

    def _closes(self, box: Box, solved: NodeRelaxation) -> bool:
        """Whether the multipliers of a leaf hold for certain."""
        if (box[0] > box[1]).any():
            return True
        y = np.append(solved.multipliers, np.zeros(self.arrays.row_lower.size - solved.multipliers.size))  # cuts came since
        if solved.value < math.inf:
            return self._reaches(y, box, self.better, costs=True)
        size = float(np.abs(y).max(initial=0.0)) or 1.0
        return any(self._reaches(sign / size * y, box, 0.0, costs=False) for sign in (1.0, -1.0))

    def _reaches(self, y: Floats, box: Box, bound: float, *, costs: bool) -> bool:
        """Whether multipliers prove a bound above a value, with fractions if floats are too coarse."""
        return self._certain(y, box, costs=costs) > bound or self._exact(y, box, costs=costs) > bound

    def _certain(self, y: Floats, box: Box, *, costs: bool) -> float:
        """A bound that multipliers prove, lower than it by all that rounding can have made of it."""
        arrays = self.arrays
        cost = arrays.objective if costs else np.zeros_like(arrays.objective)
        side = np.where(y > 0, arrays.row_lower, arrays.row_upper)
        y, side = np.where(np.isfinite(side), y, 0.0), np.where(np.isfinite(side), side, 0.0)
        reduced = cost - self._transposed @ y
        error = EPS * self._entries * (np.abs(cost) + self._sizes @ np.abs(y))
        with np.errstate(invalid="ignore"):
            products = [worth * end for worth in (reduced - error, reduced + error) for end in box]
        terms = np.min([np.where(np.isnan(product), 0.0, product) for product in products], axis=0, initial=math.inf)
        if not np.isfinite(terms).all():
            return -math.inf
        parts = np.concatenate([y * side, terms, [arrays.constant if costs else 0.0]])
        return float(parts.sum() - 2 * EPS * parts.size * np.abs(parts).sum())

    def _exact(self, y: Floats, box: Box, *, costs: bool) -> float:
        """The bound of multipliers refined until reduced costs that are next to nothing are nothing, computed with fractions."""
        arrays = self.arrays
        cost = arrays.objective if costs else np.zeros_like(arrays.objective)
        side = np.where(y > 0, arrays.row_lower, arrays.row_upper)
        y = np.where(np.isfinite(side) & (np.abs(y) > tolerances.SMALL_REDUCED_COST * np.abs(y).max(initial=0.0)), y, 0.0)
        rows = np.flatnonzero(y)
        small = np.abs(cost - self._transposed @ y) <= tolerances.SMALL_REDUCED_COST * (np.abs(cost) + self._sizes @ np.abs(y))
        columns = np.flatnonzero(small)
        if rows.size * columns.size > MAX_DENSE:
            return -math.inf
        exact = [Fraction(value) for value in y.tolist()]
        reduced = self._reduced(cost, exact)
        system = arrays.matrix[rows][:, columns].toarray().T
        for _ in range(REFINEMENT_STEPS if system.size else 0):
            reduced_costs = np.array([float(reduced[column]) for column in columns])
            for row, step in zip(rows, np.linalg.lstsq(system, reduced_costs)[0].tolist(), strict=True):
                exact[row] += Fraction(step)
            reduced = self._reduced(cost, exact)
        total = Fraction(arrays.constant) if costs else Fraction(0)
        ends = [(exact[row], arrays.row_lower[row], arrays.row_upper[row]) for row in rows]
        settled = [
            Fraction(0) if near and abs(worth) < tolerances.REFINED_REDUCED_COST else worth
            for near, worth in zip(small, reduced, strict=True)
        ]
        ends += zip(settled, *box, strict=True)
        for worth, low, high in ends:
            end = float(low if worth > 0 else high)
            if worth and not math.isfinite(end):
                return -math.inf
            total += worth * Fraction(end) if worth else 0
        return float(total)

    def _reduced(self, cost: Floats, y: list[Fraction]) -> list[Fraction]:
        """Return the exact reduced costs of all columns."""
        matrix = self._transposed
        starts, rows, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
        return [
            Fraction(column_cost)
            - sum((Fraction(values[k]) * y[rows[k]] for k in range(*starts[j : j + 2]) if y[rows[k]]), Fraction(0))
            for j, column_cost in enumerate(cost.tolist())
        ]


def widened(arrays: Arrays, share: float) -> Arrays:
    """The program with rows that are wider by a share of what they add up, so that no point is lost that tolerances allow."""
    matrix = arrays.matrix
    ends = np.abs([arrays.lower, arrays.upper])
    size = np.where(arrays.integer & np.isfinite(ends).all(axis=0), ends.max(axis=0, initial=1.0), 1.0)
    terms = sparse.csr_array((np.abs(matrix.data) * size[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)
    largest = terms.max(axis=1).toarray().ravel() if matrix.nnz else np.zeros(matrix.shape[0])
    if share >= tolerances.FEASIBILITY_TOLERANCE:
        largest = np.ones(matrix.shape[0])
    lower, upper = ((side, np.where(np.isfinite(side), np.abs(side), 0.0)) for side in (arrays.row_lower, arrays.row_upper))
    return replace(
        arrays,
        row_lower=lower[0] - share * np.maximum(largest, lower[1]),
        row_upper=upper[0] + share * np.maximum(largest, upper[1]),
    )


def with_implied_bounds(arrays: Arrays, cutoff: float | None) -> Arrays:
    """The program with finite bounds where rows imply them, or the cutoff: worse points do not matter."""
    if np.isfinite(arrays.lower).all() and np.isfinite(arrays.upper).all():
        return arrays
    matrix, low, high = arrays.matrix, arrays.row_lower, arrays.row_upper
    if cutoff is not None:
        matrix = sparse.csr_array(sparse.vstack([matrix, sparse.csr_array(arrays.objective[None, :])]))
        low, high = np.append(low, -np.inf), np.append(high, cutoff - arrays.constant)
    lower, upper = arrays.lower.copy(), arrays.upper.copy()
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    column, value = matrix.indices, matrix.data
    for _ in range(IMPLICATION_ROUNDS):
        opened = np.isinf(lower).sum() + np.isinf(upper).sum()
        if not opened:
            break
        for sign, side in ((1.0, high), (-1.0, low)):
            ends = np.where(sign * value > 0, lower[column], upper[column])
            parts = np.where(np.isfinite(ends), sign * value * ends, 0.0)
            free = np.bincount(row, np.isinf(ends), matrix.shape[0])
            total = np.bincount(row, parts, matrix.shape[0])
            usable = (free[row] - np.isinf(ends) == 0) & np.isfinite(side[row]) & (value != 0)
            limit = (sign * side[row] - (total[row] - parts))[usable] / (sign * value[usable])
            at, up = column[usable], sign * value[usable] > 0
            room = tolerances.IMPLIED_BOUND_ROOM * np.maximum(1.0, np.abs(limit))
            for bounds, chosen, way in ((upper, up, 1.0), (lower, ~up, -1.0)):
                best = np.full(bounds.size, way * np.inf)
                pick = np.minimum if way > 0 else np.maximum
                pick.at(best, at[chosen], limit[chosen] + way * room[chosen])
                bounds[np.isinf(bounds)] = best[np.isinf(bounds)]
        if np.isinf(lower).sum() + np.isinf(upper).sum() == opened:
            break
    return replace(arrays, lower=lower, upper=upper)


def verify_unproven(
    arrays: Arrays, result: ProgramResult, settings: SolverOptions, scale: float, work: float, *, doubted: bool = False
) -> ProgramResult:
    """The result of a solver, its claim settled: optimal where the incumbent is, infeasible and unbounded only with evidence.

    Optima of programs of up to `TINY_SIZE` are proven once more, as far as that is cheap.

    Parameters
    ----------
    arrays
        The program as the solver got it, its objective divided by `scale`.
    result
        Of the solver; one that a limit has stopped is returned as it is.
    work
        Units of work that went into it.
    doubted
        Whether optima of all programs are to be proven: SciPy cannot forbid restarts, which lose some.
    """
    if result.stopped_because not in FINISHED:
        return result
    if result.status in ("infeasible", "none"):
        result = _with_evidence(arrays, result, settings, scale, max(MIN_PROOF_WORK, PROOF_SHARE * work))
    if result.status == "unbounded":
        return _with_point_and_ray(arrays, result, settings, scale)
    if result.status == "feasible":
        result = raised_by_whole_part(arrays, result, settings, scale, max(DOUBTED_WORK, work))
        assert result.objective is not None
        if result.bound is not None and within_gap(scale * result.objective, scale * result.bound, settings.gap):
            return _settled(result)
        return _proven(arrays, result, settings, scale, CLOSING_WORK)
    if result.status == "optimal" and doubted and arrays.integer.any():
        return _proven(arrays, result, settings, scale, DOUBTED_WORK)
    if result.status == "optimal" and arrays.size <= TINY_SIZE and arrays.integer.any():
        return _proven(arrays, result, settings, scale, max(MIN_PROOF_WORK, PROOF_SHARE * work))
    return result


def _with_evidence(arrays: Arrays, result: ProgramResult, settings: SolverOptions, scale: float, units: float) -> ProgramResult:
    """Infeasible where equations or our tree prove it or HiGHS, asked again in another way, agrees; else what it has found."""
    if contradict_integers(arrays):
        return ProgramResult("infeasible", "finished")
    start = None
    try:
        if arrays.size <= MAX_SIZE:
            with deadline(now() + units):
                start = point_of(arrays)
            if start is None:
                return ProgramResult("infeasible", "finished")
    except (NotClosedError, OutOfTimeError):
        pass
    try:
        second = solve_arrays(arrays, replace(settings, start=start, own_tolerances=True))
    except OutOfTimeError:
        second = replace(result, status="none", stopped_because="time_limit")
    if second.status == "unbounded":
        return second
    if second.status == "infeasible" and start is None:
        return result if result.status == "infeasible" else second
    better = polished(arrays, second)
    if better is not None and better.values is not None:
        return bounded(better, settings.gap, scale)
    if start is not None:
        return point_result(arrays, start, second)
    return replace(result, status="none", stopped_because=second.stopped_because, notes=(*result.notes, UNDECIDED))


def _with_point_and_ray(arrays: Arrays, result: ProgramResult, settings: SolverOptions, scale: float) -> ProgramResult:
    """Unbounded where there are a point and a ray; infeasible where that is proven; else what is known, in words.

    Solvers call unbounded what has a ray, whether it has a point or not.
    """
    costless = replace(arrays, objective=np.zeros_like(arrays.objective), constant=0.0)
    options = replace(settings, start=None, progress=None, work_limit=POINT_WORK)
    try:
        if contradict_integers(arrays):
            return ProgramResult("infeasible", "finished")
        # A point with columns near 0 or their bounds, if there is one.
        lower, upper = np.isfinite(costless.lower), np.isfinite(costless.upper)
        low = np.where(lower, costless.lower, np.where(upper, costless.upper, 0.0) - POINT_BOX)
        box = replace(costless, lower=low, upper=np.where(upper, costless.upper, np.where(lower, low, 0.0) + POINT_BOX))
        any_point = polished(arrays, solve_arrays(box, options))
        if any_point is None or any_point.values is None:
            any_point = _with_evidence(costless, replace(result, status="none"), options, scale, MIN_PROOF_WORK)
    except OutOfTimeError:
        any_point = ProgramResult("none", "time_limit")
    if any_point.status == "infeasible":
        return any_point
    if any_point.values is not None and has_improving_ray(arrays):
        return result
    missing = "point" if any_point.values is None else "ray"
    known = any_point if any_point.values is None else point_result(arrays, any_point.values, any_point)
    return replace(known, stopped_because=any_point.stopped_because, notes=(ENDLESS.format(missing),))


def point_result(arrays: Arrays, point: Floats, result: ProgramResult) -> ProgramResult:
    """A result with a point of a program as its incumbent, and without a bound."""
    objective = float(arrays.objective @ point + arrays.constant)
    return replace(result, status="feasible", values=point, objective=objective, bound=None)


def _proven(arrays: Arrays, result: ProgramResult, settings: SolverOptions, scale: float, units: float) -> ProgramResult:
    """The result, made optimal or given a better point where the tree proves or finds it."""
    assert result.values is not None
    assert result.objective is not None

    def tolerance(objective: float) -> float:
        value = scale * objective
        return max(settings.gap * abs(value), resolution(value)) / scale

    if arrays.size > MAX_SIZE:
        return result
    try:
        with deadline(now() + units):
            rounding = rounding_of(arrays)
            best, objective = closed(arrays, result.values, lambda objective: max(tolerance(objective), rounding))
    except (NotClosedError, OutOfTimeError):
        return result
    least = objective - tolerance(objective)
    bound = least if result.bound is None else min(objective, max(result.bound, least))
    return _settled(replace(result, values=best, objective=objective, bound=bound))


def _settled(result: ProgramResult) -> ProgramResult:
    """The result of an incumbent that is proven to be optimal."""
    notes = tuple(note for note in result.notes if note not in (LEFT_OPEN, UNCONFIRMED, LET_THROUGH))
    return replace(result, status="optimal", stopped_because="finished", notes=notes)


def closed(arrays: Arrays, point: Floats, tolerance: Callable[[float], float]) -> tuple[Floats, float]:
    """The best point of a program, from an incumbent on, and its value: nothing is better by more than the tolerance at it.

    Raises
    ------
    NotClosedError
        When a leaf cannot be closed.
    OutOfTimeError
        When the deadline has passed.
    """
    value = float(arrays.objective @ point + arrays.constant)
    # A power of two that makes the tolerance on an objective large next to those of linear programs.
    largest = float(np.abs(arrays.objective).max(initial=0.0))
    factor = AIM / tolerance(value)
    if largest > 0:
        factor = min(factor, MAX_COST / largest)
    scale = 2.0 ** math.floor(math.log2(factor))
    scaled = replace(arrays, objective=arrays.objective * scale, constant=arrays.constant * scale)
    tree = Closing(scaled, value * scale, lambda target: tolerance(target / scale) * scale)
    tree.run()
    best = point if tree.point is None else tree.point
    return best, float(arrays.objective @ best + arrays.constant)


def point_of(arrays: Arrays) -> Floats | None:
    """A point of a program, or None: it is certain that there is none, even where rows may be missed by a tolerance.

    Raises
    ------
    NotClosedError, OutOfTimeError
        As of `closed`.
    """
    try:
        Closing(arrays, None, lambda _: 1.0).run()
    except BetterPointError as error:
        return error.point
    return None


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
    ray = np.where(np.abs(ray) <= tolerances.FEASIBILITY_TOLERANCE, 0.0, ray)
    gain, moved = arrays.objective @ ray, arrays.matrix @ ray
    rounding = tolerances.SUM_ROUNDING * (abs(arrays.matrix) @ np.abs(ray))
    kept = (moved >= row_lower - rounding) & (moved <= row_upper + rounding)
    return bool(kept.all() and gain < -tolerances.SUM_ROUNDING * (np.abs(arrays.objective) @ np.abs(ray)))


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
