"""A folder of results: what it belongs to, what it holds already, and its rows as one table."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from edrp.batch.journal import JOURNAL, settle
from edrp.batch.rows import SCHEMA_VERSION
from edrp.batch.source import Fingerprint
from edrp.batch.stored import MANIFEST, StoredRows, part_name, read_manifest, read_part, sound_parts, write_part
from edrp.batch.tasks import Keys, Tasks
from edrp.core import files
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.folders import refuse_folder

LOCK = ".lock"
TASKS = "_tasks-{}"
"""Folder of tasks for Spark's workers."""


@dataclass(frozen=True, slots=True)
class Held:
    """Keys of the rows that a folder holds."""

    done: Keys
    failed: Keys

    def __contains__(self, key: object) -> bool:
        return key in self.done or key in self.failed

    def add(self, keys: Sequence[str], outcomes: Sequence[str]) -> list[bool]:
        """Add rows, and say of each whether it is new."""
        known = [any(found) for found in zip(self.done.contains(keys), self.failed.contains(keys), strict=True)]
        fresh = [not is_known for is_known in known]
        for group, is_failed in ((self.done, False), (self.failed, True)):
            places = [at for at, outcome in enumerate(outcomes) if fresh[at] and (outcome == "failed") == is_failed]
            for at, is_fresh in zip(places, group.add([keys[at] for at in places]), strict=True):
                fresh[at] = is_fresh
        return fresh


class ResultFolder:
    """Results of one set of instances, under any methods and parameters.

    Parameters
    ----------
    path
        Path of the folder; created where it is missing.

    Attributes
    ----------
    batch : fingerprint of the instances as text, which journals and parts carry.

    Raises
    ------
    InvalidInstanceError
        When the folder holds results of other instances or of another schema, or something else altogether.
    UnwritableError
        When it cannot be written to.
    """

    def __init__(self, path: str | Path, instances: Fingerprint) -> None:
        self.path = Path(path).absolute()
        self.batch = f"{instances.count}-{instances.digest:016x}"
        refuse_folder(self.path)
        with files.naming_errors(self.path):
            self._claim(instances)

    def _claim(self, instances: Fingerprint) -> None:
        place, manifest = str(self.path), self.path / MANIFEST
        mine = {"results": SCHEMA_VERSION, "instances": instances.count, "digest": f"{instances.digest:016x}"}
        if os.path.lexists(manifest):
            try:
                manifest_found = read_manifest(self.path)
            except files.DamagedFileError as error:
                files.warn_user(f"{error}; it is set aside as {files.set_aside(manifest)}")
            else:
                if manifest_found != mine:
                    other = f"holds results of {manifest_found['instances']} other instances"
                    why = f"{other}; choose another folder for these {instances.count}"
                    raise InvalidInstanceError([Fault("out", place, why)])
                return
        else:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                why = f"holds other files and no {MANIFEST}; choose a new or an empty folder"
                raise InvalidInstanceError([Fault("out", place, why)])
        files.write_whole(manifest, files.sealed(mine) + "\n")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other batches out for as long as the block lasts; a batch that was killed keeps nobody out.

        Raises
        ------
        EdrpError
            When another batch writes here now.
        """
        lock = files.open_own(self.path / LOCK, os.O_RDWR)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EdrpError(f"another batch is writing to {self.path}; wait for it, or choose another folder") from None
            for leftover in self.path.glob(TASKS.format("*")):  # of a batch that was killed
                shutil.rmtree(leftover, ignore_errors=True)
            yield
        finally:
            os.close(lock)

    def recover(self) -> Held:
        """Turn what a killed batch left behind into whole files without a row twice; set aside what is damaged.

        Returns
        -------
        Held
            Keys of all rows; those that failed are worth a second try.
        """
        with files.naming_errors(self.path):
            for leftover in self.path.glob(".*.partial"):
                leftover.unlink()
        held = Held(Keys(), Keys())
        for path, table in self._parts("key", "outcome"):
            fresh = held.add(table["key"].to_pylist(), table["outcome"].to_pylist())
            if not all(fresh):  # a cluster, running a task twice at once, left it in two parts: the first stays
                self._keep(path, pa.array(fresh))
        for journal in sorted(self.path.glob(JOURNAL.format("*"))):
            outcomes = settle(journal, journal.stem.removeprefix("_journal-"), self.batch, held)
            held.add(list(outcomes), list(outcomes.values()))
        return held

    def make_room(self, tasks: Tasks) -> tuple[Keys, int]:
        """Recover the folder and drop failed rows of the tasks; returns the keys of the others, and how many tasks are left."""
        held = self.recover()
        if not len(held.failed):
            return held.done, len(tasks) if not len(held.done) else sum(1 for _ in tasks.without(held.done))
        retried, count = Keys(), 0
        for task in tasks.without(held.done):
            count += 1
            if task.key in held.failed:
                retried.add([task.key])
        self.forget(retried)
        return held.done, count

    def forget(self, keys: Keys) -> None:
        """Drop failed rows that are about to be solved again; killed meanwhile, they are missing rather than there twice."""
        if not len(keys):
            return
        for path, table in self._parts("key", "outcome"):
            unwanted = pc.and_(pa.array(keys.contains(table["key"].to_pylist())), pc.equal(table["outcome"], "failed"))
            if pc.any(unwanted).as_py():
                self._keep(path, pc.invert(unwanted))

    def rows(self) -> StoredRows:
        """All rows, which are read when they are used."""
        return StoredRows(self.path)

    def _parts(self, *columns: str) -> Iterator[tuple[Path, pa.Table]]:
        return sound_parts(self.path, columns, self.batch)

    def _keep(self, path: Path, row_filter: Any) -> None:
        """Write a part again with some of its rows only."""
        table = read_part(path, None, self.batch).filter(row_filter)
        kept_part = write_part(self.path, part_name(path), table, self.batch) if table.num_rows else None
        if path != kept_part:
            path.unlink()
