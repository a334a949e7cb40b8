"""Checkpoints of policy iteration: its state after each sweep, as Parquet, from which another process continues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from edrp.core.damage import read_sealed, sealed, set_aside, warn_of
from edrp.core.errors import InvalidInstanceError
from edrp.core.files import naming_errors, write_whole
from edrp.mdp.policy.parquet_tables import refuse_changed, to_lists, to_rows, write_classes
from edrp.mdp.policy.pmc import Iteration
from edrp.mdp.policy.process import PolicyModel, fingerprint, model_parameters

ACTIONS = "replies"
"""Column of the actions; checkpoints of earlier versions have it under this name."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The last sweep of an iteration, in a folder of its own: `sweep-0003.parquet` and, written last, `sweep-0003.json`.

    The table holds C and the actions of every state, so that the iteration continues with exactly the same numbers.

    Attributes
    ----------
    folder
        Folder of the checkpoints.
    model
        The process that is solved.
    """

    folder: Path
    model: PolicyModel

    def save(self, now: Iteration) -> None:
        """Write a checkpoint, then remove the one before.

        Raises
        ------
        UnwritableError
            When the folder cannot be written to; the checkpoint before stays.
        """
        with naming_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        table = self.folder / f"sweep-{now.sweeps:04d}.parquet"
        digest = write_classes(table, (self._columns(now, index) for index in range(len(self.model.counts))))
        head = {
            "fingerprint": fingerprint(model_parameters(self.model)),
            "sweeps": now.sweeps,
            "error_bound": now.error_bound,
            "seconds": now.seconds,
            "sha256": digest,
        }
        write_whole(table.with_suffix(".json"), sealed(head) + "\n")
        for other in self.folder.glob("sweep-*"):
            if other.stem != table.stem:
                other.unlink()

    def latest(self) -> Iteration | None:
        """The last checkpoint that is whole and of this model, or None; one that is not is set aside, which is said."""
        for head in sorted(self.folder.glob("sweep-*.json"), reverse=True):
            try:
                return self._read(head)
            except (InvalidInstanceError, ValueError, KeyError, OSError, pyarrow.ArrowException) as error:
                aside = ", ".join(str(set_aside(file)) for file in sorted(self.folder.glob(f"{head.stem}.*")))
                warn_of(f"checkpoint {head}: {error}; it is set aside as {aside}, and its sweeps are computed again")
        return None

    def remove(self) -> None:
        """Remove all checkpoints, and their folder if nothing else is in it."""
        for file in self.folder.glob("sweep-*"):
            file.unlink()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _columns(self, now: Iteration, index: int) -> dict[str, Any]:
        assert now.actions is not None, "a checkpoint is written after a sweep"
        nodes = np.full(self.model.size.states[index], self.model.counts[index], np.int32)
        return {"nodes": nodes, "cost": now.values[index], ACTIONS: to_lists(now.actions[index].astype(np.int32))}

    def _read(self, path: Path) -> Iteration:
        head = read_sealed(path)
        if head["fingerprint"] != fingerprint(model_parameters(self.model)):
            raise ValueError("it is of other parameters")
        refuse_changed(path.with_suffix(".parquet"), head["sha256"])
        file = parquet.ParquetFile(path.with_suffix(".parquet"))
        groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
        widths = [self.model.successors(source).size for source in range(len(self.model.counts))]
        values = [group.column("cost").to_numpy() for group in groups]
        actions = [to_rows(group.column(ACTIONS), width) for group, width in zip(groups, widths, strict=True)]
        if tuple(costs.size for costs in values) != self.model.size.states:
            raise ValueError("it has another number of states")
        return Iteration(
            [np.array(costs) for costs in values],
            [rows.astype(np.int64) for rows in actions],
            int(head["sweeps"]),
            float(head["error_bound"]),
            [float(seconds) for seconds in head["seconds"]],
        )
