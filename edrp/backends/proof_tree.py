"""Branch and bound that leaves a proof: HiGHS solves the linear programs, every leaf is closed by multipliers of rows.

The optimum is known beforehand, so that the tree is only as large as its proof needs. Branching is by columns, and by groups
of columns of which at most one is 1; reliability branching (Achterberg et al., 2005) on both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

import highspy
import numpy as np

from edrp.backends.exact_rows import exceeded_covers
from edrp.backends.highs import ITERATION_WORK, hand_over, new_solver
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.program import Arrays
from edrp.core.tolerances import FEASIBILITY_TOLERANCE, INTEGRALITY

PLACES = 40
"""Multipliers are multiples of 2^-PLACES."""

CLOSED_LEAF_SHARE = 0.5
"""Share of the tolerance within which a leaf counts as closed; the rest is for rounding."""

RELIABLE = 4
"""Strong-branching results of a candidate after which its mean gain is relied on."""

TRIED = 10
"""Candidates that are tried by strong branching at one node."""

FULL_SIZE, LARGE_SHARE = 10_000, 0.075
"""Size of a linear program up to which, about, an iteration takes the work of all of it, and the share of larger ones more."""

Box = tuple[Floats, Floats]
"""Lower and upper bounds of the columns."""


class BetterPointError(Exception):
    """A point of the program is better than what was said to be the optimum."""

    def __init__(self, value: float, point: Floats) -> None:
        self.value = value
        self.point = point
        super().__init__(f"the program has a point of value {value!r}, better than the claimed optimum")


class NotClosedError(Exception):
    """A leaf that the solver calls closed cannot be closed by rounded multipliers."""


class Branch(NamedTuple):
    """Two boxes that cover their parent: of a column at a floor, or of a row's columns, some of which are then 0."""

    kind: Literal["S", "G"]
    key: int
    """The column, or the row."""
    detail: Any
    """The floor, or the columns that are 0 in the first box; in the second all others of the row are."""


@dataclass(slots=True)
class NodeRelaxation:
    """The linear program in a box once solved; `value` is infinite where it is infeasible, with a ray as multipliers."""

    value: float
    multipliers: Floats
    point: Floats
    basis: Any = None


Waiting = tuple[Box, NodeRelaxation | None, NodeRelaxation | None]
"""A box, its relaxation if that is known, and that of its parent."""


@dataclass(slots=True)
class PseudoCosts:
    """Mean gains of a candidate in both directions, per unit of distance."""

    total: Floats = field(default_factory=lambda: np.zeros(2))
    count: Ints = field(default_factory=lambda: np.zeros(2, np.int64))


class ProofTree:
    """The search for a proof that no point of a program is better than `target` − `tolerance`.

    Parameters
    ----------
    arrays
        The program; integer columns that are in no group need finite bounds.
    target
        The optimum, or None to prove that the program has no point.
    tolerance
        By how much a leaf may miss the target.
    """

    def __init__(self, arrays: Arrays, target: float | None, tolerance: float = 1e-6) -> None:
        self.arrays = arrays
        self.aim_at(math.inf if target is None else target, tolerance)
        self.feasibility = target is None
        self.lines: list[list[Any]] = []
        self.leaves = 0
        self._gains: dict[tuple[str, int], PseudoCosts] = {}
        self._tries = TRIED
        self._solver = _solver(arrays, objective=not self.feasibility)
        self._columns = np.arange(arrays.lower.size, dtype=np.int32)
        self._transposed = arrays.matrix.T.tocsr()
        self._groups = _groups(arrays)

    def aim_at(self, target: float, tolerance: float) -> None:
        """Prove that nothing is better than a target; leaves that are closed already are so for a lower one, too."""
        self.cutoff, self.better = target - CLOSED_LEAF_SHARE * tolerance, target - tolerance

    def run(self) -> list[list[Any]]:
        """The tree in pre-order: lines S and G for branches, B and F for leaves.

        Raises
        ------
        OutOfTimeError
            When the deadline has passed.
        BetterPointError
            When the claim is wrong.
        NotClosedError
            When a leaf does not hold in exact arithmetic.
        """
        waiting: list[Waiting] = [((self.arrays.lower, self.arrays.upper), None, None)]
        while waiting:
            look("the certificate")
            box, solved, parent = waiting.pop(self._next(waiting))
            if parent is not None and parent.value >= self.cutoff and self._closes(box, parent):
                continue  # the target has changed since
            solved = self._solve(box, None if parent is None else parent.basis) if solved is None else solved
            if solved.value >= self.cutoff and self._closes(box, solved):
                continue
            branch, children = self._choose(box, solved)
            if branch is None:
                branch, children = self._found(box, solved), [None, None]
            if branch is None:
                continue
            self.lines.append([branch.kind, branch.key, branch.detail])
            boxes = self._boxes(box, branch)
            waiting += [(boxes[side], children[side], solved) for side in (1, 0)]
        return self.lines

    def _next(self, waiting: list[Waiting]) -> int:
        """Return the place of the box that comes next: the last one, for a pre-order."""
        return len(waiting) - 1

    def _solve(self, box: Box, basis: Any) -> NodeRelaxation:
        solver = self._solver
        if (box[0] > box[1]).any():
            return NodeRelaxation(math.inf, np.zeros(self.arrays.row_lower.size), box[0])
        if not self._columns.size:
            # The relaxation where there is nothing to decide, which HiGHS calls neither optimal nor infeasible.
            arrays = self.arrays
            broken = (arrays.row_lower > 0).astype(float) - (arrays.row_upper < 0)
            constant = 0.0 if self.feasibility else float(arrays.constant)
            return NodeRelaxation(math.inf if broken.any() else constant, broken, np.zeros(0))
        solver.changeColsBounds(self._columns.size, self._columns, *box)
        if basis is not None:
            solver.setBasis(basis)
        status = self._run()
        if status not in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kOptimal):
            solver.clearSolver()  # the basis of the parent misleads the simplex method now and then
            status = self._run()
        if status == highspy.HighsModelStatus.kInfeasible:
            _, known, ray = solver.getDualRay()
            if not known:
                raise NotClosedError("HiGHS gives no ray of an infeasible linear program")
            return NodeRelaxation(math.inf, np.array(ray, float), box[0])
        if status != highspy.HighsModelStatus.kOptimal:
            raise NotClosedError(f"HiGHS ends a linear program with {solver.modelStatusToString(status)}")
        solution = solver.getSolution()
        value = 0.0 if self.feasibility else float(solver.getObjectiveValue())
        return NodeRelaxation(value, np.array(solution.row_dual, float), np.array(solution.col_value, float), solver.getBasis())

    def _run(self) -> Any:
        """Solve the linear program, count its work, and say how it ended."""
        self._solver.run()
        size = min(self.arrays.size, FULL_SIZE + LARGE_SHARE * self.arrays.size)
        spend(ITERATION_WORK * size * (1 + max(0, self._solver.getInfo().simplex_iteration_count)))
        return self._solver.getModelStatus()

    def _found(self, box: Box, solved: NodeRelaxation) -> Branch | None:
        """Handle a point that is better than the target; where it exceeds a row by less than HiGHS sees, go on to close it.

        Raises
        ------
        BetterPointError
            When the point holds all rows of integer columns.
        """
        covers = exceeded_covers(self.arrays, solved.point)
        if not covers:
            raise BetterPointError(solved.value, solved.point)
        cover = covers[0]
        least = np.where(cover.sign > 0, box[0][cover.columns], -box[1][cover.columns])
        held = cover.sign * np.round(solved.point[cover.columns])
        below = (np.bincount(cover.group, least, cover.level.size) < cover.level)[cover.group] & (held > least)
        if below.any():
            first = int(np.argmax(below))
            floor = cover.sign[first] * held[first] - (cover.sign[first] > 0)
            return Branch("S", int(cover.columns[first]), int(floor))
        ray = np.zeros(self.arrays.row_lower.size)
        ray[cover.row] = -cover.side
        if not self._closes(box, NodeRelaxation(math.inf, ray, solved.point)):
            raise NotClosedError("a row that is exceeded by rounding proves nothing")
        return None

    def _closes(self, box: Box, solved: NodeRelaxation) -> bool:
        """Add a leaf and return true; a box without points by a ray, scaled until rounding of its multipliers does not matter."""
        self.leaves += 1
        if (box[0] > box[1]).any():
            self.lines.append(["F", []])
            return True
        if solved.value < math.inf:
            multipliers = np.round(solved.multipliers * 2.0**PLACES)
            if self._bound(multipliers, box, costs=True) < self.better:
                raise NotClosedError("rounded multipliers do not reach the bound")
            self.lines.append(["B", _listed(multipliers)])
            return True
        size = float(np.abs(solved.multipliers).max(initial=0.0)) or 1.0
        for sign in (1.0, -1.0):
            multipliers = np.round(sign * solved.multipliers / size * 2.0**PLACES)
            if self._bound(multipliers, box, costs=False) > 0:
                self.lines.append(["F", _listed(multipliers)])
                return True
        raise NotClosedError("the rounded ray of an infeasible linear program proves nothing")

    def _bound(self, multipliers: Floats, box: Box, costs: bool) -> float:
        """The bound that multipliers prove, as the checker computes it, up to rounding."""
        arrays, y = self.arrays, multipliers * 2.0**-PLACES
        side = np.where(y > 0, arrays.row_lower, arrays.row_upper)
        y = np.where(np.isfinite(side), y, 0.0)
        reduced = (arrays.objective if costs else 0.0) - self._transposed @ y
        ends = np.where(reduced > 0, box[0], box[1])
        total = y @ np.where(np.isfinite(side), side, 0.0) + (reduced[reduced != 0] @ ends[reduced != 0])
        return float(total + (arrays.constant if costs else 0.0))

    def _boxes(self, box: Box, branch: Branch) -> tuple[Box, Box]:
        """Return the boxes of the two children of a branch."""
        if branch.kind == "S":
            upper, lower = box[1].copy(), box[0].copy()
            upper[branch.key] = min(upper[branch.key], branch.detail)
            lower[branch.key] = max(lower[branch.key], branch.detail + 1)
            return (box[0], upper), (lower, box[1])
        some = np.array(branch.detail, np.int64)
        others = np.setdiff1d(self._groups[branch.key], some)
        uppers = []
        for zero in (some, others):
            upper = box[1].copy()
            upper[zero] = 0.0
            uppers.append(upper)
        return (box[0], uppers[0]), (box[0], uppers[1])

    def _choose(self, box: Box, solved: NodeRelaxation) -> tuple[Branch | None, list[NodeRelaxation | None]]:
        """The branch whose children gain most, and what is known of them."""
        candidates = self._candidates(solved.point)
        best: tuple[float, Branch | None, list[NodeRelaxation | None]] = (-1.0, None, [None, None])
        scored = sorted(candidates, key=lambda candidate: -self._expected(candidate[0], candidate[1]))
        tried = 0
        for branch, distances in scored:
            gains = self._gains.setdefault((branch.kind, branch.key), PseudoCosts())
            children: list[NodeRelaxation | None] = [None, None]
            if gains.count.min() < RELIABLE and tried < self._tries:
                tried += 1
                for side, child in enumerate(self._boxes(box, branch)):
                    children[side] = result = self._solve(child, solved.basis)
                    gain = min(result.value, self._cap(solved)) - solved.value
                    gains.total[side] += gain / max(distances[side], 1e-6)
                    gains.count[side] += 1
                gained = [min(child.value, self._cap(solved)) - solved.value for child in children if child is not None]
                score = max(gained[0], 1e-9) * max(gained[1], 1e-9)
            else:
                score = self._expected(branch, distances)
            if score > best[0]:
                best = score, branch, children
            if children[0] is not None and children[1] is not None and min(c.value for c in children if c) >= self.cutoff:
                break  # both children are leaves: no branch does better
        return best[1], best[2]

    def _cap(self, solved: NodeRelaxation) -> float:
        """The gain at most that a child counts for, so that infeasible ones do not count for ever."""
        return self.cutoff if self.cutoff < math.inf else solved.value + 1.0

    def _expected(self, branch: Branch, distances: tuple[float, float]) -> float:
        gains = self._gains.get((branch.kind, branch.key))
        if gains is None or not gains.count.min():
            return min(distances)
        mean = gains.total / gains.count
        return float(max(mean[0] * distances[0], 1e-9) * max(mean[1] * distances[1], 1e-9))

    def _candidates(self, point: Floats) -> list[tuple[Branch, tuple[float, float]]]:
        """Fractional integer columns, and groups with several of them, with their distances to both sides."""
        fraction = np.abs(point - np.round(point))
        fractional = self.arrays.integer & (fraction > INTEGRALITY)
        candidates: list[tuple[Branch, tuple[float, float]]] = []
        for column in np.flatnonzero(fractional).tolist():
            floor = math.floor(point[column])
            candidates.append((Branch("S", column, floor), (point[column] - floor, floor + 1 - point[column])))
        for row, columns in self._groups.items():
            if np.count_nonzero(fractional[columns]) > 2:
                weight = np.cumsum(point[columns])
                cut = int(np.searchsorted(weight, weight[-1] / 2)) + 1
                cut = min(max(cut, 1), columns.size - 1)
                share = float(weight[cut - 1])
                candidates.append((Branch("G", row, columns[:cut].tolist()), (share, max(float(weight[-1]) - share, 0.0))))
        return candidates


def _solver(arrays: Arrays, *, objective: bool) -> Any:
    """HiGHS with the program without integrality, ready for changes of bounds."""
    solver = new_solver(**SETTINGS)
    relaxed = replace(arrays, integer=np.zeros_like(arrays.integer))
    if not hand_over(solver, relaxed if objective else replace(relaxed, objective=np.zeros_like(arrays.objective))):
        raise NotClosedError("HiGHS refuses the numbers of the program")
    return solver


SETTINGS: Final[dict[str, Any]] = {
    "presolve": "off",  # so that a basis fits, and infeasible programs have a ray
    "solver": "simplex",
    "primal_feasibility_tolerance": FEASIBILITY_TOLERANCE,
    "dual_feasibility_tolerance": FEASIBILITY_TOLERANCE,
}


def _groups(arrays: Arrays) -> dict[int, Ints]:
    """Columns of rows of which at most one can be other than 0, by row: a sum of at most 1 of integer columns from 0 on."""
    matrix = arrays.matrix
    binary: Bools = arrays.integer & (arrays.lower >= 0)
    groups: dict[int, Ints] = {}
    for row in np.flatnonzero(arrays.row_upper <= 1.0).tolist():
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        columns = matrix.indices[span].astype(np.int64)
        if columns.size > 2 and binary[columns].all() and (matrix.data[span] >= 1).all():
            groups[row] = np.sort(columns)
    return groups


def _listed(multipliers: Floats) -> list[int]:
    """Row and multiplier, one after the other, without zeros."""
    rows = np.flatnonzero(multipliers).tolist()
    return [part for row in rows for part in (row, int(multipliers[row]))]
