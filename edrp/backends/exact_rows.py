"""Rows of integer columns hold as written, though solvers let points pass that exceed a limit by a billionth.

A point that exceeds such a row by more than the rounding of a sum is cut off by a minimal cover: a part of what it takes that is
too much by itself. The program is then solved again. Everything that is cut off breaks the row, so no decision is lost and bounds
remain bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Arrays
from edrp.core.tolerances import LIMIT_SLACK, SOLVER_GRID

IMPLICATION_ROUNDS = 3
"""Number of times that bounds of columns are passed on from row to row."""

MAX_ROUNDS = 1000
"""Maximum number of times that a program is solved again; each cuts off another cover of a row."""


def eased(arrays: Arrays) -> Arrays:
    """The program with rows of integer columns in numbers that solvers tell apart, a little wider so that no point is lost.

    Coefficients that differ by a trillionth, and sums that exceed a limit by one, have led presolve of HiGHS 1.15.1 to an optimum
    that was none. Rows whose coefficients are whole or have few digits stay as they are, and so do equations.
    """
    matrix = arrays.matrix
    ends = np.maximum(np.abs(arrays.lower), np.abs(arrays.upper))
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    open_ones = ~(arrays.integer & np.isfinite(ends))[matrix.indices]
    fractions = (matrix.data != np.round(matrix.data)) | (np.abs(matrix.data) * SOLVER_GRID > 1.0)
    side = np.where(np.isfinite(arrays.row_upper), np.abs(arrays.row_upper), 0.0)
    side = np.maximum(side, np.where(np.isfinite(arrays.row_lower), np.abs(arrays.row_lower), 0.0))
    chosen = np.zeros(matrix.shape[0], bool)
    chosen[row[fractions]] = True
    chosen[row[open_ones]] = False
    chosen &= (side > 0) & (arrays.row_lower < arrays.row_upper)
    unit = SOLVER_GRID * side[row]
    rounded = np.where(chosen[row], np.round(matrix.data / np.where(unit > 0, unit, 1.0)) * unit, matrix.data)
    rounded = np.where(np.abs(rounded - matrix.data) > LIMIT_SLACK * side[row], rounded, matrix.data)
    room = np.bincount(row, np.abs(rounded - matrix.data) * np.where(open_ones, 0.0, ends[matrix.indices]), matrix.shape[0])
    if not room.any():
        return arrays
    eased_matrix = matrix.copy()
    eased_matrix.data = rounded
    return replace(arrays, matrix=eased_matrix, row_lower=arrays.row_lower - room, row_upper=arrays.row_upper + room)


@dataclass(frozen=True, slots=True)
class Cover:
    """Columns that exceed a row when all of them are at their value or beyond, as far as their end.

    `side` is 1 where it is the upper limit of the row that they exceed, and -1 for the lower one; `row` is -1 for no row. `sign`
    is 1 where beyond means above and -1 where it means below.
    """

    row: int
    side: float
    columns: Ints
    sign: Floats
    value: Floats
    end: Floats


def exceeded_covers(arrays: Arrays, point: Floats, *, implied: bool = False) -> list[Cover]:
    """Minimal covers of all rows that the integer columns of a point exceed, and of all rows that are alike, as of equal nodes.

    Columns that may be fractions are taken at the bound that leaves most; `implied`: also at bounds that short rows imply.

    Examples
    --------
    >>> from edrp.core.program import Linear, Program
    >>> program = Program()
    >>> take = program.add_columns("take", 3, upper=1, integer=True)
    >>> program.add_row("room", Linear.of(take, [6e9, 5e9 + 10, 5e9]), upper=16e9)
    >>> [cover.columns.tolist() for cover in exceeded_covers(program.arrays(), np.ones(3))]
    [[0, 1, 2]]
    """
    matrix = arrays.matrix
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if not arrays.integer.any() or not filled.size:
        return []
    starts, covers = matrix.indptr[filled], list[Cover]()
    lower, upper = _implied_bounds(arrays) if implied else (arrays.lower, arrays.upper)
    for sign, limits in ((1.0, arrays.row_upper[filled]), (-1.0, -arrays.row_lower[filled])):
        bound = np.where(sign * matrix.data > 0, lower[matrix.indices], upper[matrix.indices])
        whole = arrays.integer[matrix.indices]
        terms = sign * matrix.data * np.where(whole, np.round(point[matrix.indices]), bound)
        total, largest = np.add.reduceat(terms, starts), np.maximum.reduceat(np.abs(terms), starts)
        size = np.where(np.isfinite(limits), np.maximum(np.abs(limits), largest), 0.0)
        with np.errstate(invalid="ignore"):
            exceeded = np.logical_or.reduceat(whole, starts) & (total - limits > LIMIT_SLACK * size)
        for k in np.flatnonzero(exceeded & np.isfinite(largest)):
            part = slice(starts[k], matrix.indptr[filled[k] + 1])
            rest = float(limits[k] - terms[part][~whole[part]].sum())
            covers += _covers(arrays, point, int(filled[k]), sign, rest, float(size[k]))
    return covers


def _implied_bounds(arrays: Arrays) -> tuple[Floats, Floats]:
    """Bounds of columns, and those of continuous ones that rows of at most two of them imply, as limits on metrics do."""
    matrix, lower, upper = arrays.matrix, arrays.lower.copy(), arrays.upper.copy()
    parts = [slice(*matrix.indptr[row : row + 2]) for row in range(matrix.shape[0])]
    for _ in range(IMPLICATION_ROUNDS):
        for row in np.flatnonzero((np.diff(matrix.indptr) > 0) & (np.diff(matrix.indptr) <= 2)).tolist():
            columns, weights = matrix.indices[parts[row]], matrix.data[parts[row]]
            if not arrays.integer[columns].any():
                least, most = np.sort(weights * [lower[columns], upper[columns]], axis=0)
                others = (least[::-1], most[::-1]) if columns.size == 2 else (0.0, 0.0)
                ends = (arrays.row_lower[row] - others[1]) / weights, (arrays.row_upper[row] - others[0]) / weights
                lower[columns] = np.maximum(lower[columns], np.minimum(*ends))
                upper[columns] = np.minimum(upper[columns], np.maximum(*ends))
    return lower, upper


def point_cover(arrays: Arrays, point: Floats) -> list[Cover]:
    """The cover of all integer columns at their values, which cuts off nothing else; none without any, or with an open range."""
    columns = np.flatnonzero(arrays.integer & (arrays.lower < arrays.upper))
    value, lower, upper = np.round(point[columns]), arrays.lower[columns], arrays.upper[columns]
    if not columns.size or not (np.isfinite(lower) & np.isfinite(upper)).all():
        return []
    above, below = value > lower, value < upper
    return [
        Cover(
            row=-1,
            side=1.0,
            columns=np.concatenate([columns[above], columns[below]]),
            sign=np.concatenate([np.ones(above.sum()), -np.ones(below.sum())]),
            value=np.concatenate([value[above], value[below]]),
            end=np.concatenate([upper[above], lower[below]]),
        )
    ]


def _covers(arrays: Arrays, point: Floats, row: int, sign: float, limit: float, size: float) -> Iterator[Cover]:
    """The minimal cover of a row that a point exceeds, in this row and in all rows like it."""
    columns, weights = _row(arrays, row)
    whole = arrays.integer[columns]
    columns, weights = columns[whole], sign * weights[whole]
    point = np.round(point)
    first = np.where(weights > 0, arrays.lower[columns], arrays.upper[columns])
    last = np.where(weights > 0, arrays.upper[columns], arrays.lower[columns])
    room = limit - math.fsum((weights * first).tolist()) + LIMIT_SLACK * size
    if not math.isfinite(room):
        return
    taken = weights * (point[columns] - first)
    keep, total = taken > 0, math.fsum(taken.tolist())
    for place in np.argsort(taken, kind="stable"):
        if keep[place] and total - taken[place] > room:
            keep[place], total = False, total - taken[place]
    reach = first + np.sign(weights) * np.floor(room / np.abs(weights))
    end = np.where(np.isfinite(last), last, reach)
    for other, alike in _rows_alike(arrays, row):
        yield Cover(other, sign, alike[whole][keep], np.sign(weights[keep]), point[columns[keep]], end[keep])


def _row(arrays: Arrays, row: int) -> tuple[Ints, Floats]:
    part = slice(*arrays.matrix.indptr[row : row + 2])
    return arrays.matrix.indices[part].astype(np.int64), np.asarray(arrays.matrix.data[part], np.float64)


def _rows_alike(arrays: Arrays, row: int) -> Iterator[tuple[int, Ints]]:
    """All rows, with their columns, that have the same limits, coefficients and ranges of columns."""
    columns, weights = _row(arrays, row)
    same = np.diff(arrays.matrix.indptr) == columns.size
    same &= (arrays.row_lower == arrays.row_lower[row]) & (arrays.row_upper == arrays.row_upper[row])
    for other in np.flatnonzero(same):
        others, values = _row(arrays, int(other))
        ranges = ((side[others] == side[columns]).all() for side in (arrays.lower, arrays.upper))
        if (values == weights).all() and all(ranges):
            yield int(other), others


def without_covers(arrays: Arrays, covers: Sequence[Cover]) -> Arrays:
    """The program with rows by which not all columns of a cover are at their value or beyond.

    For binary columns that is Σ x ≤ |C| − 1, the cover inequality. Any other column x gets a binary column b that is 1
    where x is at its value v or above: x ≤ v − 1 + (end − v + 1) b.
    """
    columns, limits = len(arrays.objective), list[float]()
    entries: list[tuple[int, int, float]] = []
    for cover in covers:
        members, reached = list[tuple[int, float]](), list[tuple[int, float]]()
        ranges = (part.tolist() for part in (cover.columns, cover.sign, cover.value, cover.end))
        for column, sign, value, end in zip(*ranges, strict=True):
            if arrays.upper[column] - arrays.lower[column] == 1.0:
                members.append((column, sign))
                continue
            entries += [(len(limits), column, sign), (len(limits), columns, sign * (value - end) - 1.0)]
            limits.append(sign * value - 1.0)
            reached.append((columns, 1.0))
            columns += 1
        entries += [(len(limits), *member) for member in members + reached]
        zeros = sum(arrays.lower[column] if sign > 0 else -arrays.upper[column] for column, sign in members)
        limits.append(len(cover.columns) - 1.0 + float(zeros))
    added = columns - len(arrays.objective)
    at, of, weight = np.array(entries).reshape(len(entries), 3).T
    new = sparse.csr_array((weight, (at.astype(np.int64), of.astype(np.int64))), shape=(len(limits), columns))
    matrix = arrays.matrix
    old = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))
    return replace(
        arrays,
        objective=np.append(arrays.objective, np.zeros(added)),
        lower=np.append(arrays.lower, np.zeros(added)),
        upper=np.append(arrays.upper, np.ones(added)),
        integer=np.append(arrays.integer, np.ones(added, bool)),
        matrix=sparse.csr_array(sparse.vstack([old, new])),
        row_lower=np.append(arrays.row_lower, np.full(len(limits), -np.inf)),
        row_upper=np.append(arrays.row_upper, limits),
    )
