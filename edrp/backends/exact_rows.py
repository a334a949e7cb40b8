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
    """Groups of columns that exceed a row when all of them reach their levels: those of a row with the same coefficient together.

    Attributes
    ----------
    row, side : the row, -1 for none, and 1 where it is its upper limit that they exceed, -1 for the lower one.
    columns, sign, group : shape (columns,); 1 where more of a column exceeds the row and -1 where less does, and its group.
    level, most : shape (groups,); sum of sign·x from which on a group is in the cover, and the largest that a row allows.
    """

    row: int
    side: float
    columns: Ints
    sign: Floats
    group: Ints
    level: Floats
    most: Floats


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
    own = np.concatenate([columns[above], columns[below]])
    level, most = (np.concatenate([side[above], -other[below]]) for side, other in ((value, value), (upper, lower)))
    return [Cover(-1, 1.0, own, np.repeat([1.0, -1.0], [above.sum(), below.sum()]), np.arange(own.size), level, most)]


def _covers(arrays: Arrays, point: Floats, row: int, sign: float, limit: float, size: float) -> Iterator[Cover]:
    """The minimal cover of a row that a point exceeds, in this row and in all rows like it."""
    columns, weights = _row(arrays, row)
    whole = arrays.integer[columns]
    whole &= weights != 0
    columns, weights = columns[whole], sign * weights[whole]
    up = np.sign(weights)
    first = up * np.where(weights > 0, arrays.lower[columns], arrays.upper[columns])
    last = up * np.where(weights > 0, arrays.upper[columns], arrays.lower[columns])
    weights = np.abs(weights)
    room = limit - math.fsum((weights * first).tolist()) + LIMIT_SLACK * size
    if not math.isfinite(room):
        return
    used = up * np.round(point[columns]) - first
    total = math.fsum((weights * used).tolist())
    sizes, group = np.unique(weights, return_inverse=True)
    amounts, begins, ends = (np.bincount(group, part).astype(np.float64) for part in (used, first, last))
    for g, unit in enumerate(sizes.tolist()):  # a minimal cover: of the smallest, as many as it can do without
        spared = min(amounts[g], max(0.0, math.ceil((total - room) / unit)))
        while spared and total - spared * unit <= room:
            spared -= 1.0
        amounts[g], total = amounts[g] - spared, total - spared * unit
    kept = amounts > 0
    most = np.minimum(ends, begins + np.floor(room / sizes))
    member, number = kept[group], np.cumsum(kept) - 1
    for other, alike in _rows_alike(arrays, row):
        own = alike[whole][member]
        yield Cover(other, sign, own, up[member], number[group[member]], (begins + amounts)[kept], most[kept])


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
    """The program with rows by which not all groups of a cover reach their levels.

    For single binary columns that is Σ x ≤ |C| − 1, the cover inequality. Any other group gets a binary column b that is 1 where
    it is at its level or above: Σ x ≤ level − 1 + (most − level + 1) b; a group that is alone stays below.
    """
    columns, limits = len(arrays.objective), list[float]()
    entries: list[tuple[int, int, float]] = []
    for cover in covers:
        reached, zeros = list[tuple[int, float]](), 0.0
        for g, (level, most) in enumerate(zip(cover.level.tolist(), cover.most.tolist(), strict=True)):
            of = np.flatnonzero(cover.group == g)
            members = list(zip(cover.columns[of].tolist(), cover.sign[of].tolist(), strict=True))
            if of.size == 1 and arrays.upper[members[0][0]] - arrays.lower[members[0][0]] == 1.0:
                reached, zeros = [*reached, *members], zeros + level - 1.0
                continue
            entries += [(len(limits), *member) for member in members]
            limits.append(level - 1.0)
            if cover.level.size > 1:
                entries.append((len(limits) - 1, columns, level - most - 1.0))
                reached.append((columns, 1.0))
                columns += 1
        if reached or not cover.level.size:  # nothing holds a row that no values of its columns keep
            entries += [(len(limits), *member) for member in reached]
            limits.append(len(reached) - 1.0 + zeros)
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
