"""A folder of results: what it belongs to, what it holds already, and its rows as one table."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from edrp.batch.journal import JOURNAL, settle
from edrp.batch.parts import part_name, part_paths, read_part, sound_parts, write_part
from edrp.batch.rows import RESULT_SCHEMA, SCHEMA_VERSION
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.files import (
    DamagedFileError,
    naming_errors,
    open_own,
    read_sealed,
    read_unsealed,
    sealed,
    set_aside,
    warn_user,
    write_whole,
)
from edrp.core.folders import refuse_folder

MANIFEST = "_batch.json"
LOCK = ".lock"
SORTED_BY = ("id", "method", "run_seed", "key")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a set of instances, which does not depend on their order.

    Attributes
    ----------
    digest
        Sum of their hashes, modulo 2⁶⁴.
    """

    count: int
    digest: int


class ResultFolder:
    """Results of one set of instances, under any methods and parameters.

    Parameters
    ----------
    path
        Path of the folder; created where it is missing.

    Attributes
    ----------
    batch
        Fingerprint of the instances as text, which journals and parts carry.

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
        with naming_errors(self.path):
            self._claim(instances)

    def _claim(self, instances: Fingerprint) -> None:
        place, manifest = str(self.path), self.path / MANIFEST
        mine = {"results": SCHEMA_VERSION, "instances": instances.count, "digest": f"{instances.digest:016x}"}
        if os.path.lexists(manifest):
            try:
                manifest_found = read_manifest(self.path)
            except DamagedFileError as error:
                warn_user(f"{error}; it is set aside as {set_aside(manifest)}")
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
        write_whole(manifest, sealed(mine) + "\n")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other batches out for as long as the block lasts; a batch that was killed keeps nobody out.

        Raises
        ------
        EdrpError
            When another batch writes here now.
        """
        lock = open_own(self.path / LOCK, os.O_RDWR)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EdrpError(f"another batch is writing to {self.path}; wait for it, or choose another folder") from None
            yield
        finally:
            os.close(lock)

    def recover(self) -> set[str]:
        """Turn what a killed batch left behind into whole files without a row twice; set aside what is damaged.

        Returns
        -------
        set
            Keys of all rows that need no second try.
        """
        with naming_errors(self.path):
            for leftover in self.path.glob(".*.partial"):
                leftover.unlink()
        outcomes = self._drop_repeated()
        for journal in sorted(self.path.glob(JOURNAL.format("*"))):
            outcomes |= settle(journal, journal.stem.removeprefix("_journal-"), self.batch, set(outcomes))
        return {key for key, outcome in outcomes.items() if outcome != "failed"}

    def failed(self) -> set[str]:
        """Keys of the rows that a second run tries again."""
        return {key for table in self._parts("key", "outcome").values() for key, outcome in _pairs(table) if outcome == "failed"}

    def keys(self) -> set[str]:
        """Keys of all rows."""
        return {key for table in self._parts("key").values() for key in table["key"].to_pylist()}

    def forget(self, keys: Iterable[str]) -> None:
        """Drop rows that are about to be solved again; killed meanwhile, they are missing rather than there twice."""
        unwanted = pa.array(sorted(self.failed() & set(keys)), pa.string())
        if not len(unwanted):
            return
        for path, table in self._parts("key").items():
            if pc.any(pc.is_in(table["key"], unwanted)).as_py():
                self._keep(path, pc.invert(pc.is_in(table["key"], unwanted)))

    def rows(self) -> pa.Table:
        """All rows, by id, method and seed."""
        return read_rows(self.path)

    def _parts(self, *columns: str) -> dict[Path, pa.Table]:
        return sound_parts(self.path, columns, self.batch)

    def _drop_repeated(self) -> dict[str, str]:
        """Outcomes by key; of a row that a cluster, running a task twice at once, left in two parts, the first stays."""
        outcomes: dict[str, str] = {}
        for path, table in self._parts("key", "outcome").items():
            fresh = []
            for key, outcome in _pairs(table):
                fresh.append(key not in outcomes)
                outcomes.setdefault(key, outcome)
            if not all(fresh):
                self._keep(path, pa.array(fresh))
        return outcomes

    def _keep(self, path: Path, row_filter: Any) -> None:
        """Write a part again with some of its rows only."""
        table = read_part(path, None, self.batch).filter(row_filter)
        kept_part = write_part(self.path, part_name(path), table, self.batch) if table.num_rows else None
        if path != kept_part:
            path.unlink()


def _pairs(table: pa.Table) -> Iterable[tuple[str, str]]:
    return zip(table["key"].to_pylist(), table["outcome"].to_pylist(), strict=True)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The description in a folder of what its results belong to.

    Raises
    ------
    InvalidInstanceError
        When it is no folder of results, or one of another version.
    DamagedFileError
        When the description is damaged.
    """
    manifest = Path(path) / MANIFEST
    if not os.path.lexists(manifest):
        raise InvalidInstanceError([Fault("folder", str(path), f"is no folder of results: it has no readable {MANIFEST}")])
    try:
        return read_sealed(manifest)
    except DamagedFileError:
        version = (read_unsealed(manifest) or {}).get("results", SCHEMA_VERSION)
        if version == SCHEMA_VERSION:
            raise
    why = f"holds results of schema version {version}, this is {SCHEMA_VERSION}; choose another folder"
    raise InvalidInstanceError([Fault("out", str(path), why)])


def read_rows(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a folder of results, by id, method and seed; of a batch that runs, those in finished files.

    A file that is damaged or belongs to other instances is left out, and so is a row that two files hold, as one that somebody
    copied does; a `RecoveryWarning` says so.

    Parameters
    ----------
    path
        Path of the folder.
    columns
        Those wanted; None for all. Those by which rows are sorted always come along.

    Raises
    ------
    InvalidInstanceError
        When it is no folder of results.
    """
    batch = None
    try:
        manifest = read_manifest(path)
        batch = f"{manifest['instances']}-{manifest['digest']}"
    except DamagedFileError as error:
        warn_user(f"{error}; the same batch again mends it")
    names = [name for name in RESULT_SCHEMA.names if columns is None or name in columns or name in SORTED_BY]
    schema = pa.schema([RESULT_SCHEMA.field(name) for name in names], RESULT_SCHEMA.metadata)
    tables = [schema.empty_table()]
    for part in part_paths(Path(path)):
        try:
            tables.append(read_part(part, names, batch).replace_schema_metadata(schema.metadata))
        except DamagedFileError as error:
            warn_user(f"{error}; its rows are left out, and the same batch again solves them")
    return sorted_rows(_once(pa.concat_tables(tables), path))


def _once(rows: pa.Table, path: str | Path) -> pa.Table:
    """The rows without those whose key an earlier one has."""
    repeated = rows.num_rows - pc.count_distinct(rows["key"]).as_py()
    if not repeated:
        return rows
    warn_user(f"{path}: {repeated} rows are there twice and left out once; the same batch again mends it")
    first = {key: index for index, key in reversed(list(enumerate(rows["key"].to_pylist())))}
    return rows.take(pa.array(sorted(first.values())))


def sorted_rows(table: pa.Table) -> pa.Table:
    """Rows by id, method and seed."""
    return table.sort_by([(name, "ascending") for name in SORTED_BY])
