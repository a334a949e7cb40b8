"""Files of a policy: values of all partitions as Parquet, and checkpoints from which another process can continue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

from edrp.core.errors import InvalidInstanceError
from edrp.core.files import DamagedFileError, naming_errors, read_sealed, sealed, set_aside, warn_user, write_whole, writing
from edrp.mdp.policy.pmc import Iteration
from edrp.mdp.policy.process import PolicyModel, fingerprint, model_parameters


def to_lists(rows: NDArray[Any]) -> pyarrow.Array:
    """Convert an array of shape (rows, width) into one list per row.

    >>> to_lists(np.array([[0, 1, 4], [0, 2, 4]], dtype=np.int16)).to_pylist()
    [[0, 1, 4], [0, 2, 4]]
    """
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), pyarrow.array(rows.ravel()))


def to_rows(lists: pyarrow.ChunkedArray, width: int) -> NDArray[Any]:
    """Convert lists of equal length into an array, the inverse of `to_lists`.

    Raises
    ------
    ValueError
        When the lists are not all of that width.
    """
    flat = pyarrow.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type).to_numpy()
    if flat.size != len(lists) * width:
        raise ValueError(f"holds {flat.size} entries for {len(lists)} rows of {width}")
    return np.asarray(flat.reshape(len(lists), width))


def write_classes(path: Path, classes: Iterable[dict[str, Any]]) -> str:
    """Write columns by node count to a file, which appears whole or not at all; return its SHA-256.

    Parameters
    ----------
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


def refuse_changed(path: Path, digest: str) -> None:
    """Refuse a file that is missing or differs from the one that was written.

    Raises
    ------
    DamagedFileError
        Naming the file.
    """
    if not path.is_file():
        raise DamagedFileError(str(path), "is missing")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise DamagedFileError(str(path), "is damaged: its checksum is another")


ACTIONS_COLUMN = "replies"
"""Column of the actions; checkpoints of earlier versions have it under this name."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoints of an iteration in a folder: `sweep-0003.parquet` and, written last, `sweep-0003.json`.

    The table holds C and the actions of every state, so that the iteration continues with exactly the same numbers.
    """

    folder: Path
    model: PolicyModel

    def save(self, iteration: Iteration) -> None:
        """Write a checkpoint, then remove the previous one.

        Raises
        ------
        UnwritableError
            When the folder cannot be written to; the checkpoint before stays.
        """
        with naming_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        table = self.folder / f"sweep-{iteration.sweeps:04d}.parquet"
        digest = write_classes(table, (self._columns(iteration, index) for index in range(len(self.model.counts))))
        head = {
            "fingerprint": fingerprint(model_parameters(self.model)),
            "sweeps": iteration.sweeps,
            "error_bound": iteration.error_bound,
            "seconds": iteration.seconds,
            "sha256": digest,
        }
        write_whole(table.with_suffix(".json"), sealed(head) + "\n")
        for other in self.folder.glob("sweep-*"):
            if other.stem != table.stem:
                other.unlink()

    def latest(self) -> Iteration | None:
        """Read the last checkpoint that is whole and of this model, or None; a damaged one is set aside with a warning."""
        for head in sorted(self.folder.glob("sweep-*.json"), reverse=True):
            try:
                return self._read(head)
            except (InvalidInstanceError, ValueError, KeyError, OSError, pyarrow.ArrowException) as error:
                aside = ", ".join(str(set_aside(file)) for file in sorted(self.folder.glob(f"{head.stem}.*")))
                warn_user(f"checkpoint {head}: {error}; it is set aside as {aside}, and its sweeps are computed again")
        return None

    def remove(self) -> None:
        """Remove all checkpoints, and their folder if nothing else is in it."""
        for file in self.folder.glob("sweep-*"):
            file.unlink()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _columns(self, iteration: Iteration, index: int) -> dict[str, Any]:
        assert iteration.actions is not None, "a checkpoint is written after a sweep"
        nodes = np.full(self.model.size.states[index], self.model.counts[index], np.int32)
        return {
            "nodes": nodes,
            "cost": iteration.values[index],
            ACTIONS_COLUMN: to_lists(iteration.actions[index].astype(np.int32)),
        }

    def _read(self, path: Path) -> Iteration:
        head = read_sealed(path)
        if head["fingerprint"] != fingerprint(model_parameters(self.model)):
            raise ValueError("it is of other parameters")
        refuse_changed(path.with_suffix(".parquet"), head["sha256"])
        file = parquet.ParquetFile(path.with_suffix(".parquet"))
        groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
        widths = [self.model.successors(source).size for source in range(len(self.model.counts))]
        values = [group.column("cost").to_numpy() for group in groups]
        actions = [to_rows(group.column(ACTIONS_COLUMN), width) for group, width in zip(groups, widths, strict=True)]
        if tuple(costs.size for costs in values) != self.model.size.states:
            raise ValueError("it has another number of states")
        return Iteration(
            [np.array(costs) for costs in values],
            [rows.astype(np.int64) for rows in actions],
            int(head["sweeps"]),
            float(head["error_bound"]),
            [float(seconds) for seconds in head["seconds"]],
        )
