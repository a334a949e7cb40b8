"""A folder of results: what it belongs to, what it holds already, and its rows as one table."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edrp.batch.journal import JOURNAL, PART, settle, write_part
from edrp.batch.rows import RESULT_SCHEMA, SCHEMA_VERSION
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.files import write_whole

MANIFEST = "_batch.json"
LOCK = ".lock"
SORTED_BY = ("id", "method", "run_seed", "key")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a set of instances, which does not depend on their order.

    Attributes
    ----------
    count
        Number of instances.
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
    instances
        What the results are of.

    Raises
    ------
    InvalidInstanceError
        When the folder holds results of other instances or of another schema, or something else altogether.
    """

    def __init__(self, path: str | Path, instances: Fingerprint) -> None:
        self.path = Path(path).absolute()
        self._claim(instances)

    def _claim(self, instances: Fingerprint) -> None:
        place, manifest = str(self.path), self.path / MANIFEST
        mine = {"results": SCHEMA_VERSION, "instances": instances.count, "digest": f"{instances.digest:016x}"}
        if manifest.exists():
            found = read_manifest(self.path)
            if found["results"] != SCHEMA_VERSION:
                why = f"holds results of schema version {found['results']}, this is {SCHEMA_VERSION}; choose another folder"
                raise InvalidInstanceError([Fault("out", place, why)])
            if found != mine:
                why = f"holds results of {found['instances']} other instances; choose another folder for these {instances.count}"
                raise InvalidInstanceError([Fault("out", place, why)])
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                why = f"holds other files and no {MANIFEST}; choose a new or an empty folder"
                raise InvalidInstanceError([Fault("out", place, why)])
            write_whole(manifest, json.dumps(mine) + "\n")
        except OSError as error:
            raise InvalidInstanceError([Fault("out", place, f"cannot be written: {error.strerror}")]) from None

    @contextmanager
    def ours_alone(self) -> Iterator[None]:
        """Keep other batches out for as long as the block lasts; a batch that was killed keeps nobody out.

        Raises
        ------
        EdrpError
            When another batch writes here now.
        """
        with (self.path / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EdrpError(f"another batch is writing to {self.path}; wait for it, or choose another folder") from None
            yield

    def recover(self) -> set[str]:
        """Turn what a killed batch left behind into whole files without a row twice.

        Returns
        -------
        set
            Keys of all rows that need no second try.
        """
        for leftover in self.path.glob(".*.partial"):
            leftover.unlink()
        for journal in sorted(self.path.glob(JOURNAL.format("*"))):
            name = journal.stem.removeprefix("_journal-")
            settle(journal, self._free_part(name), set(self._columns("key")["key"].to_pylist()))
        self.drop_repeated()
        columns = self._columns("key", "outcome")
        return set(columns.filter(pc.not_equal(columns["outcome"], "failed"))["key"].to_pylist())

    def failed(self) -> set[str]:
        """Keys of the rows that a second run tries again."""
        columns = self._columns("key", "outcome")
        return set(columns.filter(pc.equal(columns["outcome"], "failed"))["key"].to_pylist())

    def forget(self, keys: Iterable[str]) -> None:
        """Drop rows that are about to be solved again; killed meanwhile, they are missing rather than there twice."""
        unwanted = pa.array(sorted(self.failed() & set(keys)), pa.string())
        if not len(unwanted):
            return
        for part in self._parts():
            here = pq.read_table(part, columns=["key"])["key"]
            if pc.any(pc.is_in(here, unwanted)).as_py():
                table = pq.read_table(part, schema=RESULT_SCHEMA)
                _rewrite(part, table.filter(pc.invert(pc.is_in(table["key"], unwanted))))

    def rows(self) -> pa.Table:
        """All rows, by id, method and seed."""
        return read_rows(self.path)

    def _columns(self, *names: str) -> pa.Table:
        schema = pa.schema([RESULT_SCHEMA.field(name) for name in names])
        parts = (pq.read_table(part, columns=list(names)).cast(schema) for part in self._parts())
        return pa.concat_tables([schema.empty_table(), *parts])

    def _parts(self) -> list[Path]:
        return sorted(self.path.glob(PART.format("*")))

    def _free_part(self, name: str) -> Path:
        """A name that no finished part has: where a writer died between its part and its journal, both are there."""
        part, number = self.path / PART.format(name), 1
        while part.exists():
            part, number = self.path / PART.format(f"{name}-{number}"), number + 1
        return part

    def drop_repeated(self) -> None:
        """A task that a cluster ran twice at once may have left a row in two parts: the first stays."""
        seen: set[str] = set()
        for part in self._parts():
            keys = pq.read_table(part, columns=["key"])["key"].to_pylist()
            fresh = [key not in seen and not seen.add(key) for key in keys]  # type: ignore[func-returns-value]
            if not all(fresh):
                _rewrite(part, pq.read_table(part, schema=RESULT_SCHEMA).filter(pa.array(fresh)))


def read_manifest(path: str | Path) -> dict[str, object]:
    """The description in a folder of what its results belong to.

    Raises
    ------
    InvalidInstanceError
        When it is no folder of results.
    """
    try:
        manifest = json.loads((Path(path) / MANIFEST).read_text(encoding="utf-8"))
        return {name: manifest[name] for name in ("results", "instances", "digest")}
    except (OSError, ValueError, KeyError, TypeError):
        why = f"is no folder of results: it has no readable {MANIFEST}"
        raise InvalidInstanceError([Fault("folder", str(path), why)]) from None


def read_rows(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a folder of results, by id, method and seed; of a batch that runs, those in finished files.

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
    read_manifest(path)
    parts = sorted(Path(path).glob(PART.format("*")))
    wanted = [name for name in RESULT_SCHEMA.names if columns is None or name in columns or name in SORTED_BY]
    schema = pa.schema([RESULT_SCHEMA.field(name) for name in wanted], RESULT_SCHEMA.metadata)
    tables = (pq.read_table(part, columns=wanted, schema=RESULT_SCHEMA) for part in parts)
    return sorted_rows(pa.concat_tables([schema.empty_table(), *tables]))


def sorted_rows(table: pa.Table) -> pa.Table:
    """Rows by id, method and seed."""
    return table.sort_by([(name, "ascending") for name in SORTED_BY])


def _rewrite(part: Path, table: pa.Table) -> None:
    if table.num_rows:
        write_part(part, table)
    else:
        part.unlink()
