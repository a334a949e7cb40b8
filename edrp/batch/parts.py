"""Parquet files of rows: each carries the checksum of its bytes in its name, and the instances that it belongs to inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from edrp.batch.rows import RESULT_SCHEMA
from edrp.core.errors import InvalidInstanceError
from edrp.core.files import DamagedFileError, content_digest, read_regular, set_aside, warn_user, write_whole

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
    path = folder / PART.format(f"{name}-{content_digest(content)}")
    write_whole(path, content)
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
        content = read_regular(path)
        if content_digest(content) != path.stem.rpartition("-")[2]:
            raise DamagedFileError(str(path), "is damaged: its checksum is another")
        source = memory_of_arrow(content)
        table = pq.read_table(pa.BufferReader(source), columns=columns and list(columns), schema=RESULT_SCHEMA)
        stamp = pq.read_metadata(pa.BufferReader(source)).metadata or {}
    except DamagedFileError:
        raise
    except InvalidInstanceError as error:
        raise DamagedFileError(str(path), error.faults[0].why) from None
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DamagedFileError(str(path), f"holds no rows of results: {str(error).splitlines()[0]}") from None
    if batch is not None and stamp.get(BATCH) != batch.encode():
        raise DamagedFileError(str(path), "belongs to other instances")
    return table


def memory_of_arrow(content: bytes) -> pa.Buffer:
    """A copy of bytes that Python does not know of.

    Threads of Arrow may let go of what they have read after `read_table` has returned. Where that is memory of Python, and
    Python is about to end, they abort the process (apache/arrow, issues 33975 and 34314).
    """
    sink = pa.BufferOutputStream()
    sink.write(content)
    return sink.getvalue()


def sound_parts(folder: Path, columns: Sequence[str], batch: str) -> Iterator[tuple[Path, pa.Table]]:
    """Yield some columns of each part with its path; those that are damaged are set aside with a warning."""
    for path in part_paths(folder):
        try:
            table = read_part(path, columns, batch)
        except DamagedFileError as error:
            warn_user(f"{error}; it is set aside as {set_aside(path)}, and its rows are solved again")
        else:
            yield path, table
