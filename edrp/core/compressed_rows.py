"""Blocks of rows of a sparse matrix, made by NumPy: a program has dozens, mostly small, and SciPy checks each at length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints32
from edrp.core.late_imports import sparse

FEW_ENTRIES = 2_000
"""Entries of a block up to which NumPy sorts them sooner than SciPy counts them."""


class CompressedRows(NamedTuple):
    """Rows of a matrix one behind the other, without zeros: where each one starts, and its columns, ascending, with values."""

    starts: Ints32
    columns: Ints32
    values: Floats

    @classmethod
    def of(cls, rows: Ints32, columns: Ints32, values: Floats, shape: tuple[int, int]) -> CompressedRows:
        """Compress entries in any order; those of one cell are added up by SciPy, which takes longer to begin than most blocks.

        Raises
        ------
        ValueError
            For a row that is not there.
        """
        cells = rows * np.int64(shape[1]) + columns
        if not (cells[1:] > cells[:-1]).all():
            order = np.argsort(cells, kind="stable") if cells.size <= FEW_ENTRIES else slice(None)
            if (cells[order][1:] > cells[order][:-1]).all():
                rows, columns, values = rows[order], columns[order], values[order]
            else:
                matrix = sparse.csr_array((values, (rows, columns)), shape=shape)
                matrix.sum_duplicates()
                rows = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(matrix.indptr))
                columns, values = matrix.indices, matrix.data
        if not (there := values != 0.0).all():
            rows, columns, values = rows[there], columns[there], values[there]
        starts = np.searchsorted(rows, np.arange(shape[0] + 1, dtype=np.int32)).astype(np.int32)
        if starts[0] or starts[-1] < values.size:
            raise ValueError(f"rows {rows.min()} to {rows.max()} of a block of {shape[0]}")
        return cls(starts, columns, values)


def common_shape(parts: Sequence[Any]) -> tuple[int, ...]:
    """The shape to which parts are broadcast; mostly all that are arrays have the same."""
    shapes = {np.shape(part) for part in parts} - {()}
    return np.broadcast_shapes(*shapes) if len(shapes) > 1 else next(iter(shapes), ())


def stacked(parts: Sequence[Any], kind: type, shapes: Sequence[tuple[int, ...]] | None = None) -> NDArray[Any]:
    """One flat array of all parts, each broadcast to its shape and converted as it is copied."""
    shapes = [np.shape(part) for part in parts] if shapes is None else shapes
    ends = list(accumulate(map(prod, shapes), initial=0))
    result: NDArray[Any] = np.empty(ends[-1], kind)
    for part, shape, (start, end) in zip(parts, shapes, pairwise(ends), strict=True):
        result[start:end].reshape(shape)[...] = part
    return result
