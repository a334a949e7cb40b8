"""Types of arrays, by what their elements are; a docstring or comment says of each array what its axes are."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Quantities in SI units, shares, probabilities, objectives, coefficients."""

Ints = NDArray[np.int64]
"""Counts, and indices into other arrays."""

Ints32 = NDArray[np.int32]
"""Counts and indices in tables so large that half the memory matters; -1 where there is none."""

UInts = NDArray[np.uint64]
"""Sets as bits, hashes, states of random number generators."""

Bools = NDArray[np.bool_]
"""Masks."""

AnyInts = NDArray[np.integer]
"""Indices of any width, in functions that take them as they come."""


def entries(table: NDArray[Any]) -> tuple[Ints, Ints]:
    """Rows and columns of what is not zero, row by row, each an array of its own, as kernels read them.

    NumPy returns views of one array instead.

    >>> [array.flags.c_contiguous for array in entries(np.eye(2))]
    [True, True]
    """
    rows, columns = np.nonzero(table)
    return np.ascontiguousarray(rows), np.ascontiguousarray(columns)


def places_within(sizes: AnyInts) -> Ints:
    """0, 1, … within each of several groups of given sizes, one after the other.

    >>> places_within(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def flattened(table: NDArray[Any], axes: int = 1) -> NDArray[Any]:
    """The table with one axis in place of all after the first `axes`; `reshape` does not know its length where a table is empty.

    >>> flattened(np.zeros((0, 2, 3))).shape
    (0, 6)
    """
    return table.reshape(*table.shape[:axes], prod(table.shape[axes:]))
