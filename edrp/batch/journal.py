"""Rows on disk as they come: a line of a journal each, which becomes a Parquet file once it is long enough or done."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from edrp.batch.rows import RESULT_SCHEMA
from edrp.batch.solving import Row
from edrp.core.errors import EdrpError

JOURNAL = "_journal-{}.jsonl"
PART = "part-{}.parquet"
ROWS_PER_PART = 1000
"""Rows of each Parquet file that a batch on one machine writes."""
# What begins with "_" or "." is none of a reader's business: Spark, Arrow and DuckDB read the folder as one table.


class Journal:
    """One writer's rows in a folder. What is written survives the death of the writer.

    A journal of the same name goes on where it ended: a task that a cluster runs again finds what it has done.

    Parameters
    ----------
    folder
        Folder of results; all writers see it under this path.
    name
        Name of the journal and of the Parquet file that it becomes; no two writers share one.

    Attributes
    ----------
    keys
        Keys of the rows that it holds.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / JOURNAL.format(name)
        self._part = folder / PART.format(name)
        self.keys = {row["key"] for row in _lines(self._path)}
        _drop_torn_end(self._path)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.keys)

    def write(self, row: Row) -> None:
        """Keep a row, in one write that is whole or, after a crash, is dropped as torn.

        Raises
        ------
        EdrpError
            When the disk is full; rows written before are kept.
        """
        line = json.dumps(row, default=_written).encode() + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise EdrpError(f"{self._path} cannot be written: {error.strerror}; rows solved before are kept") from None
        if written < len(line):
            raise EdrpError(f"{self._path} cannot be written: the disk is full; rows solved before are kept")
        self.keys.add(row["key"])

    def close(self) -> None:
        """Turn the rows into a Parquet file."""
        os.close(self._file)
        settle(self._path, self._part, set())


class RollingJournal:
    """A journal that becomes a Parquet file every so many rows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run = uuid4().hex[:8]
        self._number = 0
        self._journal: Journal | None = None

    def __enter__(self) -> RollingJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self._roll()

    def write(self, row: Row) -> None:
        """Keep a row."""
        if self._journal is None:
            self._journal = Journal(self._folder, f"{self._run}-{self._number:06d}")
        self._journal.write(row)
        if len(self._journal) >= ROWS_PER_PART:
            self._roll()

    def _roll(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self._number += 1


def settle(journal: Path, part: Path, already: set[str]) -> None:
    """Turn a journal into a Parquet file, without rows that exist `already` or twice; the journal goes last."""
    rows = {row["key"]: row for row in _lines(journal) if row["key"] not in already}
    if rows:
        write_part(part, result_table(list(rows.values())))
    journal.unlink(missing_ok=True)


def write_part(path: Path, table: pa.Table) -> None:
    """Write a Parquet file; it appears whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    failed = table["outcome"].to_pylist().count("failed")
    stamped = table.replace_schema_metadata({**(RESULT_SCHEMA.metadata or {}), b"edrp.failed": str(failed).encode()})
    pq.write_table(stamped, partial, compression="zstd")
    partial.replace(path)


def result_table(rows: list[Row]) -> pa.Table:
    """Rows as an Arrow table of `RESULT_SCHEMA`; columns that a row does not have are null."""
    return pa.Table.from_pylist(rows, schema=RESULT_SCHEMA)


def _lines(path: Path) -> list[Row]:
    """Rows of a journal; a last line that was torn by a crash does not count."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [_row(line) for line in lines]


def _row(line: bytes) -> Row:
    row: Row = json.loads(line)
    return {**row, "finished_at": datetime.fromisoformat(row["finished_at"])}


def _drop_torn_end(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        os.truncate(path, content.rfind(b"\n") + 1)


def _written(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} has no place in a row of results")
