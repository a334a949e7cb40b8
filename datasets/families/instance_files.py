"""Sets of instances in files: a table with the columns `id` and `instance`, or a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import pyarrow
from pyarrow import parquet

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import refuse_target, writing
from edrp.core.folders import new_folder, refuse_used
from edrp.core.instances import save
from edrp.core.problem import Problem

SCHEMA = pyarrow.schema([("id", pyarrow.string()), ("instance", pyarrow.string())])
"""Identifier and JSON text, which is what `edrp.loads` reads."""

TABLES = (".parquet", ".jsonl")
NO_FOLDERS = (".json", ".csv", ".gz", ".zip", ".ndjson")
"""Endings of file names that are not accepted as names of folders."""

ROWS_PER_GROUP = 256


def save_instances(instances: Iterable[tuple[str, Problem]], path: str | Path, *, replace: bool = True) -> int:
    """Write identifiers and problems; they appear whole or not at all, and few of them are held in memory.

    Parameters
    ----------
    instances
        As `generate` gives them.
    path
        Ends in `.parquet` or `.jsonl` for a table with the columns `id` and `instance` (JSON text on one line);
        otherwise a folder that does not exist or is empty, for one file `<id>.json` each.
    replace
        Whether a table that is there may be replaced.

    Returns
    -------
    int
        How many were written.

    Raises
    ------
    InvalidInstanceError, UnwritableError
        When the place cannot be written to, before the first instance is made.

    Examples
    --------
    >>> from edrp.datasets.families.registry import generate
    >>> save_instances(generate("migration", 3, families=["uniform", "zipf"]), "set.jsonl")  # doctest: +SKIP
    3
    """
    target = Path(path)
    refuse_place(target, replace=replace)
    if target.suffix not in TABLES:
        with new_folder(target) as folder:
            count = 0
            for name, problem in instances:
                save(problem, folder / f"{name}.json")
                count += 1
            return count
    with writing(target, replace=replace) as file:
        return (_write_parquet if target.suffix == ".parquet" else _write_lines)(instances, file)


def refuse_place(target: Path, *, replace: bool = True) -> None:
    """Refuse a path that instances cannot be written to.

    Raises
    ------
    InvalidInstanceError, UnwritableError
        Naming what is in the way.
    """
    if target.suffix in NO_FOLDERS:
        raise InvalidInstanceError([Fault("out", str(target), f"must end in {' or '.join(TABLES)}, or name a folder")])
    if target.suffix in TABLES:
        refuse_target(target, replace=replace)
    else:
        refuse_used(target)


def _write_parquet(instances: Iterable[tuple[str, Problem]], file: BinaryIO) -> int:
    rows, count = iter(instances), 0
    with parquet.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        while group := [{"id": name, "instance": problem.model_dump_json()} for name, problem in islice(rows, ROWS_PER_GROUP)]:
            writer.write_table(pyarrow.Table.from_pylist(group, SCHEMA))
            count += len(group)
    return count


def _write_lines(instances: Iterable[tuple[str, Problem]], file: BinaryIO) -> int:
    count = 0
    for name, problem in instances:
        row = {"id": name, "instance": problem.model_dump_json()}
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        count += 1
    return count
