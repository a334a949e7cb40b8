"""Rows on disk as they come: a line of a journal each, which becomes a Parquet file; and progress counted from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from edrp.batch.rows import RESULT_SCHEMA, Row
from edrp.batch.stored import FAILED, part_name, part_paths, read_part, write_part
from edrp.core import files
from edrp.core.errors import EdrpError, InvalidInstanceError

JOURNAL = "_journal-{}.jsonl"
ROWS_PER_PART = 1000
"""Rows of each Parquet file that a batch on one machine writes."""
# What begins with "_" or "." is none of a reader's business: Spark, Arrow and DuckDB read the folder as one table.


class Journal:
    """One writer's rows in a folder. Rows that are written survive the death of the writer.

    A journal of the same name goes on where it ended: a task that a cluster runs again finds what it has done.

    Parameters
    ----------
    folder
        Folder of results; all writers see it under this path.
    name
        Name of the journal and of the Parquet file that it becomes; no two writers share one.

    Attributes
    ----------
    keys : keys of the rows that it holds, or that it held when it became a Parquet file.
    """

    def __init__(self, folder: Path, name: str, batch: str) -> None:
        self._folder, self._name, self._batch = folder, name, batch
        self._path = folder / JOURNAL.format(name)
        # See what a writer of the same name has left.
        self.keys: set[str] = set()
        for part in part_paths(self._folder, self._name):
            try:
                self.keys |= set(read_part(part, ["key"], self._batch)["key"].to_pylist())
            except files.DamagedFileError:  # said when the folder is recovered
                continue
        if os.path.lexists(self._path):
            content = _read(self._path, self._batch)
            self.keys |= set(content.rows)
            if content.damage:
                _report(self._path, content)
                files.write_whole(self._path, b"".join(_line(row, self._batch) for row in content.rows.values()))
        self._file = files.open_own(self._path, os.O_WRONLY | os.O_APPEND)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
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
        line = _line(row, self._batch)
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
        settle(self._path, self._name, self._batch, set())


class RollingJournal:
    """A journal that becomes a Parquet file every `ROWS_PER_PART` rows.

    Parameters
    ----------
    run
        Name of the writer, with which the names of its journals begin; a new one by default.
    """

    def __init__(self, folder: Path, batch: str, run: str = "") -> None:
        self._folder, self._batch = folder, batch
        self._run = run or new_run()
        self._number = 0
        self._journal: Journal | None = None

    def __enter__(self) -> RollingJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, row: Row) -> None:
        """Append a row to the journal."""
        if self._journal is None:
            self._journal = Journal(self._folder, f"{self._run}-{self._number:06d}", self._batch)
        self._journal.write(row)
        if len(self._journal) >= ROWS_PER_PART:
            self.close()

    def close(self) -> None:
        """Turn the rows since the last file into one."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self._number += 1


def new_run() -> str:
    """A name for a writer that no other has."""
    return uuid4().hex[:8]


def settle_run(folder: Path, batch: str, run: str) -> dict[str, str]:
    """Turn what a rolling journal of this name was writing when its writer died into a Parquet file.

    Returns
    -------
    dict
        Outcome of each row that it held, by key.
    """
    outcomes: dict[str, str] = {}
    for journal in sorted(folder.glob(JOURNAL.format(f"{run}-*"))):
        name = journal.stem.removeprefix("_journal-")
        for part in part_paths(folder, name):  # killed before it could remove the journal
            table = read_part(part, ["key", "outcome"], batch)
            outcomes |= dict(zip(table["key"].to_pylist(), table["outcome"].to_pylist(), strict=True))
        outcomes |= settle(journal, name, batch, outcomes)
    return outcomes


def settle(journal: Path, name: str, batch: str, already: Container[str]) -> dict[str, str]:
    """Turn a journal into a Parquet file, without rows that exist `already` or twice; the journal goes last.

    Returns
    -------
    dict
        Outcome of each row that is in the file, by key.
    """
    if not os.path.lexists(journal):
        return {}
    content = _read(journal, batch)
    rows = [row for key, row in content.rows.items() if key not in already]
    if rows:
        write_part(journal.parent, name, result_table(rows), batch)
    if content.damage:
        _report(journal, content)
    else:
        journal.unlink(missing_ok=True)
    return {row["key"]: row["outcome"] for row in rows}


def result_table(rows: list[Row]) -> pa.Table:
    """Rows as an Arrow table of `RESULT_SCHEMA`; columns that a row does not have are null."""
    return pa.Table.from_pylist(rows, schema=RESULT_SCHEMA)


class _Held(NamedTuple):
    """Content of a journal: its sound rows by key, and what is wrong with the rest."""

    rows: dict[str, Row]
    damage: str


def _read(path: Path, batch: str) -> _Held:
    try:
        *lines, end = files.read_regular(path).split(b"\n")
    except InvalidInstanceError as error:
        return _Held({}, error.faults[0].why)
    rows, damaged = {}, 0
    for line in lines:
        try:
            row = files.read_sealed_line(line, batch)
            row["finished_at"] = datetime.fromisoformat(row["finished_at"])
        except (ValueError, KeyError, TypeError, RecursionError):
            damaged += 1
        else:
            rows[row["key"]] = row
    faults = [f"{damaged} of its {len(lines)} lines are damaged"] if damaged else []
    faults += ["its last line was cut off"] if end else []
    return _Held(rows, ", ".join(faults))


def _report(path: Path, content: _Held) -> None:
    """Set a damaged journal aside and say so."""
    kept_text = f"; {len(content.rows)} sound rows of it are kept, the others are solved again"
    files.warn_user(f"{path}: {content.damage}; it is set aside as {files.set_aside(path)}{kept_text}")


def _line(row: Row, batch: str) -> bytes:
    """A row as a line, which ends in a checksum of the rest and of the batch that it belongs to."""
    return files.sealed_line(row, batch, _written)


def _written(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} has no place in a row of results")


FAILED_ROW = b'"outcome": "failed"'


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Progress of a batch.

    Attributes
    ----------
    total
        Rows that this run has to solve.
    done
        Rows solved, the failed ones among them.
    failed
        Rows whose instance, method or worker failed.
    running
        Tasks (on Spark: partitions) at work now.
    seconds
        Since the start.
    """

    total: int
    done: int
    failed: int
    running: int
    seconds: float

    @property
    def remaining_seconds(self) -> float | None:
        """Estimated from the pace so far; None before the first row.

        >>> BatchProgress(total=10, done=4, failed=0, running=2, seconds=8.0).remaining_seconds
        12.0
        """
        return self.seconds / self.done * (self.total - self.done) if self.done else None

    @property
    def note(self) -> str:
        """Remarks to print after the counts.

        >>> BatchProgress(total=40, done=12, failed=1, running=2, seconds=3.0).note
        '1 failed, 2 running'
        >>> BatchProgress(total=40, done=0, failed=0, running=2, seconds=3.0).note
        '2 running'
        """
        failed = f"{self.failed} failed, " if self.done else ""
        return f"{failed}{self.running} running"


Report = Callable[[BatchProgress], None]


@dataclass(slots=True)
class FolderWatch:
    """Counts rows that writers elsewhere put into a folder, reading each byte once.

    `known` are the files that were there before.
    """

    folder: Path
    known: frozenset[str]
    _read: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> FolderWatch:
        """Watch a folder for files that are written from now on."""
        return cls(folder, frozenset(path.name for path in part_paths(folder)))

    def look(self) -> tuple[int, int, int]:
        """Count the rows done, the rows failed and the open journals."""
        journals = list(self.folder.glob(JOURNAL.format("*")))
        for journal in journals:
            self._follow(journal)
        for part in part_paths(self.folder):
            if part.name not in self.known:
                self._finish(part)
        counts = self._read.values()
        return sum(rows for rows, _, _ in counts), sum(failed for _, failed, _ in counts), len(journals)

    def _follow(self, journal: Path) -> None:
        name = journal.stem.removeprefix("_journal-")
        rows, failed, offset = self._read.get(name, (0, 0, 0))
        try:
            with journal.open("rb") as file:
                file.seek(offset)
                fresh = file.read()
        except FileNotFoundError:  # it has just become a part
            return
        whole_lines = fresh[: fresh.rfind(b"\n") + 1]
        self._read[name] = (rows + whole_lines.count(b"\n"), failed + whole_lines.count(FAILED_ROW), offset + len(whole_lines))

    def _finish(self, part: Path) -> None:
        name = part_name(part)
        if self._read.get(name, (0, 0, 0))[2] == -1:
            return
        metadata = pq.read_metadata(part)
        self._read[name] = (metadata.num_rows, int(metadata.metadata[FAILED]), -1)
