"""Sets of instances in files: a table with the columns `id` and `instance`, or a folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pyarrow
from pyarrow import parquet

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.instances import save
from edrp.core.problem import Problem

SCHEMA = pyarrow.schema([("id", pyarrow.string()), ("instance", pyarrow.string())])
"""Identifier and JSON text, which is what `edrp.loads` reads."""

TABLES = (".parquet", ".jsonl")
NO_FOLDERS = (".json", ".csv", ".gz", ".zip", ".ndjson")
"""What nobody calls a folder."""

ROWS_PER_GROUP = 256


def save_instances(instances: Iterable[tuple[str, Problem]], path: str | Path) -> int:
    """Write identifiers and problems; they appear whole or not at all, and few of them are held in memory.

    Parameters
    ----------
    instances
        As `generate` gives them.
    path
        Ends in `.parquet` or `.jsonl` for a table with the columns `id` and `instance` (JSON text on one line);
        otherwise a folder that does not exist or is empty, for one file `<id>.json` each.

    Returns
    -------
    int
        How many were written.

    Raises
    ------
    InvalidInstanceError
        When the place cannot be written to, before the first instance is made.

    Examples
    --------
    >>> from edrp.datasets.families.registry import generate
    >>> save_instances(generate("migration", 3, families=["uniform", "zipf"]), "set.jsonl")  # doctest: +SKIP
    3
    """
    target = Path(path)
    refuse_place(target)
    try:
        with _appearing(target) as partial:
            if target.suffix == ".parquet":
                return _write_parquet(instances, partial)
            if target.suffix == ".jsonl":
                return _write_lines(instances, partial)
            return _write_folder(instances, partial)
    except OSError as error:
        raise InvalidInstanceError([Fault("out", str(target), f"cannot be written: {error.strerror}")]) from None


def refuse_place(target: Path) -> None:
    """Refuse a place that instances cannot be written to.

    Raises
    ------
    InvalidInstanceError
        Naming what is in the way.
    """
    parent = target.absolute().parent
    why = ""
    if target.suffix in NO_FOLDERS:
        why = f"must end in {' or '.join(TABLES)}, or name a folder"
    elif not parent.is_dir():
        why = f"there is no folder {parent}; create it first"
    elif not os.access(parent, os.W_OK):
        why = f"cannot be written: no permission to write to {parent}"
    elif target.suffix in TABLES and target.is_dir():
        why = "is a folder; name a file"
    elif target.suffix not in TABLES and target.exists() and (not target.is_dir() or any(target.iterdir())):
        why = f"exists already; name a new or empty folder, or a file that ends in {' or '.join(TABLES)}"
    if why:
        raise InvalidInstanceError([Fault("out", str(target), why)])


def _write_parquet(instances: Iterable[tuple[str, Problem]], path: Path) -> int:
    rows, count = iter(instances), 0
    with parquet.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        while group := [{"id": identifier, "instance": _text(problem)} for identifier, problem in islice(rows, ROWS_PER_GROUP)]:
            writer.write_table(pyarrow.Table.from_pylist(group, SCHEMA))
            count += len(group)
    return count


def _write_lines(instances: Iterable[tuple[str, Problem]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for identifier, problem in instances:
            lines.write(json.dumps({"id": identifier, "instance": _text(problem)}, ensure_ascii=False) + "\n")
            count += 1
    return count


def _write_folder(instances: Iterable[tuple[str, Problem]], path: Path) -> int:
    path.mkdir()
    count = 0
    for identifier, problem in instances:
        save(problem, path / f"{identifier}.json")
        count += 1
    return count


def _text(problem: Problem) -> str:
    return problem.model_dump_json()


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """A place beside `target` to write to, moved there when the block ends well and removed when it does not."""
    partial = target.with_name(target.name + ".partial")
    _remove(partial)
    try:
        yield partial
        partial.replace(target)
    except BaseException:
        _remove(partial)
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
