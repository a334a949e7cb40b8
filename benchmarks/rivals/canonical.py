"""One form for the programs of all libraries, to see whether they are the same program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Canonical:
    """`min objective·x`, `row_lower ≤ matrix·x ≤ row_upper`, bounds; columns x_{i,U}, y_{e,(U,V)}, r, t_D in this order."""

    objective: Values
    lower: Values
    upper: Values
    integer: NDArray[np.bool_]
    matrix: sparse.csr_array
    row_lower: Values
    row_upper: Values


def difference(one: Canonical, other: Canonical, seed: int = 0) -> float:
    """Largest difference of two programs relative to 1 or to the larger entry; infinite where they differ in kind.

    Order, sign and scale of rows do not count, and a row of one column is a bound.
    """
    one, other = _bounds_apart(one), _bounds_apart(other)
    if one.matrix.shape != other.matrix.shape or one.matrix.nnz != other.matrix.nnz or (one.integer != other.integer).any():
        return np.inf
    pairs = [(one.objective, other.objective), (one.lower, other.lower), (one.upper, other.upper)]
    pairs += zip(_fingerprints(one, seed), _fingerprints(other, seed), strict=True)
    return max(_apart(a, b) for a, b in pairs)


def _apart(a: Values, b: Values) -> float:
    different = a != b  # infinite ends of ranges may be equal
    a, b = a[different], b[different]
    if not (np.isfinite(a) & np.isfinite(b)).all():
        return np.inf
    return float((np.abs(a - b) / np.maximum(1.0, np.abs(a))).max(initial=0.0))


def _bounds_apart(program: Canonical) -> Canonical:
    """Rows of one column as bounds of that column; rows of none dropped."""
    entries = np.diff(program.matrix.indptr)
    single = np.flatnonzero(entries == 1)
    column, factor = program.matrix.indices[program.matrix.indptr[single]], program.matrix.data[program.matrix.indptr[single]]
    ends = np.sort([program.row_lower[single] / factor, program.row_upper[single] / factor], axis=0)
    lower, upper = program.lower.copy(), program.upper.copy()
    np.maximum.at(lower, column, ends[0])
    np.minimum.at(upper, column, ends[1])
    kept = entries > 1
    return Canonical(
        program.objective, lower, upper, program.integer, program.matrix[kept], program.row_lower[kept], program.row_upper[kept]
    )


def _fingerprints(program: Canonical, seed: int) -> list[Values]:
    """Value of every row at a random point, and its range, in ascending order: rows scaled to largest entry 1, value positive."""
    point = np.random.default_rng(seed).uniform(0.5, 1.5, program.matrix.shape[1])
    largest = abs(program.matrix).max(axis=1).toarray().ravel()
    value = program.matrix @ point
    scale = np.sign(value) / largest
    ends = np.sort([program.row_lower * scale, program.row_upper * scale], axis=0)
    order = np.argsort(value * scale)
    return [(value * scale)[order], ends[0][order], ends[1][order]]
