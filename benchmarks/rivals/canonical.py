"""One form for the programs of all libraries, to see whether they are the same program."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from edrp.core.arrays import Bools, Floats


@dataclass(frozen=True, slots=True)
class Canonical:
    """`min objective·x`, `row_lower ≤ matrix·x ≤ row_upper`, bounds; columns x_{i,U}, y_{e,(U,V)}, r, t_D in this order."""

    objective: Floats
    lower: Floats
    upper: Floats
    integer: Bools
    matrix: sparse.csr_array
    row_lower: Floats
    row_upper: Floats


def difference(one: Canonical, other: Canonical) -> float:
    """Largest relative difference between two entries of the programs; infinite where they differ in shape or kind.

    Order, sign and scale of rows do not count, and a row of one column is a bound.
    """
    one, other = _ordered(_bounds_apart(one)), _ordered(_bounds_apart(other))
    if one.matrix.shape != other.matrix.shape or (one.integer != other.integer).any():
        return np.inf
    for name in ("indptr", "indices"):
        if not np.array_equal(getattr(one.matrix, name), getattr(other.matrix, name)):
            return np.inf
    numbers = ("objective", "lower", "upper", "row_lower", "row_upper")
    apart = [_apart(getattr(one, name), getattr(other, name)) for name in numbers]
    return max(*apart, _apart(one.matrix.data, other.matrix.data))


def _apart(a: Floats, b: Floats) -> float:
    """Largest relative difference between two arrays; infinite where an infinite entry differs."""
    different = a != b  # infinite ends of ranges may be equal
    a, b = a[different], b[different]
    if not (np.isfinite(a) & np.isfinite(b)).all():
        return np.inf
    return float((np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))).max(initial=0.0))


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
    matrix, ends = program.matrix[kept], (program.row_lower[kept], program.row_upper[kept])
    return replace(program, lower=lower, upper=upper, matrix=matrix, row_lower=ends[0], row_upper=ends[1])


def _ordered(program: Canonical) -> Canonical:
    """Rows scaled to a largest entry of 1 and a positive value at a random point, in ascending order of that value."""
    matrix = program.matrix
    point = np.random.default_rng(0).uniform(0.5, 1.5, matrix.shape[1])
    value = matrix @ point
    scale = np.sign(value) / abs(matrix).max(axis=1).toarray().ravel()
    order = np.argsort(value * scale)
    ends = np.sort([program.row_lower * scale, program.row_upper * scale], axis=0)[:, order]
    rows = sparse.csr_array(matrix[order])
    rows.data *= np.repeat(scale[order], np.diff(rows.indptr))
    rows.sort_indices()
    return replace(program, matrix=rows, row_lower=ends[0], row_upper=ends[1])
