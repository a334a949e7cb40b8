"""Rows of a folder of results in Parquet files: each carries the checksum of its bytes in its name, and its instances inside."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from edrp.batch.rows import RESULT_SCHEMA, SCHEMA_VERSION
from edrp.batch.tasks import Keys
from edrp.core import files
from edrp.core.errors import Fault, InvalidInstanceError

PART = "part-{}.parquet"
FAILED, BATCH = b"edrp.failed", b"edrp.batch"
"""Metadata of a part: how many of its rows failed, and the fingerprint of the instances."""


def write_part(folder: Path, name: str, table: pa.Table, batch: str) -> Path:
    """Write rows as a Parquet file, which appears whole or not at all, and return its path.

    Raises
    ------
    UnwritableError
        When the folder cannot be written to or the disk is full.
    """
    failed = table["outcome"].to_pylist().count("failed")
    stamp = {**(RESULT_SCHEMA.metadata or {}), FAILED: str(failed).encode(), BATCH: batch.encode()}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(stamp), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    path = folder / PART.format(f"{name}-{files.content_digest(content)}")
    files.write_whole(path, content)
    return path


def part_paths(folder: Path, name: str = "*") -> list[Path]:
    """Paths of the parts of a folder, or of those of one name."""
    return sorted(folder.glob(PART.format("*" if name == "*" else f"{name}-*")))


def part_name(path: Path) -> str:
    """The name under which a part was written."""
    return path.stem.removeprefix("part-").rpartition("-")[0]


def read_part(path: Path, columns: Sequence[str] | None = None, batch: str | None = None) -> pa.Table:
    """Rows of a part, with all or some of the columns.

    Raises
    ------
    DamagedFileError
        When the file is not the one that was written, or belongs to other instances than `batch` says (None: any).
    """
    try:
        content = files.read_regular(path)
        if files.content_digest(content) != path.stem.rpartition("-")[2]:
            raise files.DamagedFileError(str(path), "is damaged: its checksum is another")
        # A copy of bytes that Python does not know of. Threads of Arrow may let go of what they have read after `read_table`
        # has returned. Where that is memory of Python, and Python is about to end, they abort the process (apache/arrow, issues
        # 33975 and 34314).
        sink = pa.BufferOutputStream()
        sink.write(content)
        source = sink.getvalue()
        table = pq.read_table(pa.BufferReader(source), columns=columns and list(columns), schema=RESULT_SCHEMA)
        stamp = pq.read_metadata(pa.BufferReader(source)).metadata or {}
    except files.DamagedFileError:
        raise
    except InvalidInstanceError as error:
        raise files.DamagedFileError(str(path), error.faults[0].why) from None
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise files.DamagedFileError(str(path), f"holds no rows of results: {str(error).splitlines()[0]}") from None
    if batch is not None and stamp.get(BATCH) != batch.encode():
        raise files.DamagedFileError(str(path), "belongs to other instances")
    return table


def sound_parts(folder: Path, columns: Sequence[str], batch: str) -> Iterator[tuple[Path, pa.Table]]:
    """Yield some columns of each part with its path; those that are damaged are set aside with a warning."""
    for path in part_paths(folder):
        try:
            table = read_part(path, columns, batch)
        except files.DamagedFileError as error:
            files.warn_user(f"{error}; it is set aside as {files.set_aside(path)}, and its rows are solved again")
        else:
            yield path, table


MANIFEST = "_batch.json"
SORTED_BY = ("id", "method", "run_seed", "key")


class StoredRows:
    """Rows of a folder, which stay there until they are used.

    `rows["objective"]` and `select` read these columns only, `parts` one file after the other. Everything else that a
    `pyarrow.Table` has reads all rows; `table()` is that table.

    Parameters
    ----------
    path
        Path of the folder.
    """

    schema = RESULT_SCHEMA
    column_names = RESULT_SCHEMA.names

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def table(self) -> pa.Table:
        """All rows by id, method and seed, in memory."""
        return read_rows(self.path)

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of one file after the other, with all columns or some of them."""
        for table in _sound_tables(self.path, columns):
            yield table if columns is None else table.select(list(columns))

    def select(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all rows."""
        return read_rows(self.path, columns).select(list(columns))

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(table.num_rows for table in self.parts(("key",)))

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, name: Any) -> Any:
        return self.select([name]).column(0) if isinstance(name, str) else self.table()[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pa.Table, name):
            raise AttributeError(f"neither stored rows nor tables have {name!r}")
        return getattr(self.table(), name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"StoredRows({str(self.path)!r})"


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
        return files.read_sealed(manifest)
    except files.DamagedFileError:
        version = (files.read_unsealed(manifest) or {}).get("results", SCHEMA_VERSION)
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
    wanted = None if columns is None else {*columns, *SORTED_BY}
    tables = list(_sound_tables(path, wanted))
    fields = [field for field in RESULT_SCHEMA if wanted is None or field.name in wanted]
    empty = pa.schema(fields, RESULT_SCHEMA.metadata).empty_table()
    return pa.concat_tables([empty, *tables]).sort_by([(name, "ascending") for name in SORTED_BY])


def _sound_tables(path: str | Path, columns: Any) -> Iterator[pa.Table]:
    """Yield the rows of each sound part that no earlier one has, with some of the columns and the key."""
    batch = None
    try:
        manifest = read_manifest(path)
        batch = f"{manifest['instances']}-{manifest['digest']}"
    except files.DamagedFileError as error:
        files.warn_user(f"{error}; the same batch again mends it")
    names = [name for name in RESULT_SCHEMA.names if columns is None or name in columns or name == "key"]
    seen, repeated = Keys(), 0
    for part in part_paths(Path(path)):
        try:
            table = read_part(part, names, batch).replace_schema_metadata(RESULT_SCHEMA.metadata)
        except files.DamagedFileError as error:
            files.warn_user(f"{error}; its rows are left out, and the same batch again solves them")
            continue
        fresh = seen.add(table["key"].to_pylist())
        repeated += fresh.count(False)
        yield table if all(fresh) else table.filter(pa.array(fresh))
    if repeated:
        files.warn_user(f"{path}: {repeated} rows are there twice and left out once; the same batch again mends it")
