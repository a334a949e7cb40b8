"""Values of all partitions as Parquet: one row per state, one row group per node count."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

from edrp.core.damage import DamagedFileError
from edrp.core.files import writing


def to_lists(rows: NDArray[Any]) -> pyarrow.Array:
    """An array of shape (rows, width) as one list per row.

    >>> to_lists(np.array([[0, 1, 4], [0, 2, 4]], dtype=np.int16)).to_pylist()
    [[0, 1, 4], [0, 2, 4]]
    """
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), pyarrow.array(rows.ravel()))


def to_rows(lists: pyarrow.ChunkedArray, width: int) -> NDArray[Any]:
    """The inverse of `to_lists`.

    Raises
    ------
    ValueError
        When the lists are not all of that width.
    """
    flat = pyarrow.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type).to_numpy()
    if flat.size != len(lists) * width:
        raise ValueError(f"holds {flat.size} entries for {len(lists)} rows of {width}")
    return np.asarray(flat.reshape(-1, width))


def write_classes(path: Path, classes: Iterable[dict[str, Any]]) -> str:
    """Write columns by node count as a file, which appears whole or not at all; returns its SHA-256.

    Parameters
    ----------
    path
        Path of the file.
    classes
        Columns for each node count; from a generator, so that only one table is in memory twice.

    Raises
    ------
    UnwritableError
        When the folder cannot be written to; what was at `path` stays.
    """
    with writing(path) as file:
        tables = (pyarrow.table(columns) for columns in classes)
        first = next(tables)
        with parquet.ParquetWriter(file, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table, row_group_size=max(1, table.num_rows))
        file.flush()
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_changed(path: Path, digest: str) -> None:
    """Refuse a file that is missing or is not the one that was written.

    Raises
    ------
    DamagedFileError
        Naming the file.
    """
    if not path.is_file():
        raise DamagedFileError(str(path), "is missing")
    if file_sha256(path) != digest:
        raise DamagedFileError(str(path), "is damaged: its checksum is another")
