"""Where the instances of a batch come from: folders, tables, problems."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from edrp.batch.folder import Fingerprint
from edrp.batch.tasks import SEPARATOR, Instance, text_hash
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole, refuse_missing
from edrp.core.problem import Problem

COLUMNS = ("id", "instance")
"""That a table of instances must have; others do not matter."""


def read_instances(source: Any) -> list[Instance]:
    """All instances of a source, unread: a broken one costs its own row, later.

    Parameters
    ----------
    source
        Path of an instance file, of a folder of them (their stems are the ids), of a Parquet file or of JSON lines
        with `id` and `instance`; any Arrow table or pandas frame with these columns; a mapping of ids to problems; an
        iterable of problems, or of pairs (id, problem). A problem may also be its JSON text.

    Raises
    ------
    InvalidInstanceError
        When the source does not exist, cannot be read, lacks a column or holds an id twice.

    Examples
    --------
    >>> read_instances({"a": '{"kind": "edrp"}'})
    [Instance(id='a', text='{"kind": "edrp"}')]
    """
    if isinstance(source, (str, Path)):
        instances = _from_path(Path(source))
    elif hasattr(source, "__arrow_c_stream__"):
        instances = _from_table(pa.table(source), "the table")
    else:
        pairs = source.items() if isinstance(source, Mapping) else source
        instances = [_from_value(index, each) for index, each in enumerate(pairs)]
    _refuse_repeated(instances)
    if not instances:
        raise InvalidInstanceError([Fault("source", _named(source), "holds no instance")])
    return instances


def fingerprint(instances: Iterable[Instance]) -> Fingerprint:
    """Fingerprint of a set of instances, which does not depend on their order.

    >>> a, b = Instance("a", "{}"), Instance("b", "{}")
    >>> fingerprint([a, b]) == fingerprint([b, a]) != fingerprint([a])
    True
    """
    hashes = [_short_hash(instance) for instance in instances]
    return Fingerprint(len(hashes), sum(hashes) % 2**64)


def _short_hash(instance: Instance) -> int:
    named = f"{instance.id}{SEPARATOR}{text_hash(instance.text)}"
    return int.from_bytes(sha256(named.encode()).digest()[:8], "big")


def _from_path(path: Path) -> list[Instance]:
    refuse_missing(path)
    if path.is_dir():
        return [_from_file(file) for file in sorted(path.glob("*.json"))]
    if path.suffix == ".json":
        return [_from_file(path)]
    if path.suffix in (".jsonl", ".ndjson"):
        return _from_lines(path)
    if path.suffix == ".parquet":
        try:
            return _from_table(pq.read_table(path), str(path))
        except (OSError, pa.ArrowInvalid) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInstanceError([Fault("source", str(path), f"cannot be read as Parquet: {reason}")]) from None
    why = "must be a folder of instance files, or a file that ends with .json, .parquet or .jsonl"
    raise InvalidInstanceError([Fault("source", str(path), why)])


def _from_file(file: Path) -> Instance:
    return Instance(file.stem, file.read_text(encoding="utf-8", errors="backslashreplace"))


def _from_lines(path: Path) -> list[Instance]:
    instances, faults = [], []
    for number, line in enumerate(read_whole(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            instances.append(Instance(str(entry["id"]), _text(entry["instance"])))
        except json.JSONDecodeError as error:
            faults.append(Fault(f"line {number}", line[:40], f"is not JSON: {error.msg}"))
        except (KeyError, TypeError):
            faults.append(Fault(f"line {number}", line[:40], "must be an object with the fields id and instance"))
    if faults:
        raise InvalidInstanceError(faults, str(path))
    return instances


def _from_table(table: pa.Table, source: str) -> list[Instance]:
    refuse_missing_columns(table.column_names, source)
    ids, texts = (table[name].cast(pa.string()).to_pylist() for name in COLUMNS)
    without = [Fault(f"row {index}, column id", "null", "needs a name") for index, name in enumerate(ids) if name is None]
    if without:
        raise InvalidInstanceError(without, source)
    return [Instance(name, text or "") for name, text in zip(ids, texts, strict=True)]


def refuse_missing_columns(names: Iterable[str], source: str) -> None:
    """Refuse a table that lacks `id` or `instance`.

    Raises
    ------
    InvalidInstanceError
        Naming what is missing and what there is.
    """
    there = list(names)
    missing = [Fault(f"column {name}", "", f"is missing; there are {', '.join(there)}") for name in COLUMNS if name not in there]
    if missing:
        raise InvalidInstanceError(missing, source)


def _from_value(index: int, value: Any) -> Instance:
    if isinstance(value, Instance):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return Instance(str(value[0]), _text(value[1]))
    if isinstance(value, (Problem, str)):
        return Instance(f"{index:06d}", _text(value))
    why = "must be a problem, its JSON text, or a pair of an id and one of these"
    raise InvalidInstanceError([Fault(f"instances[{index}]", type(value).__name__, why)])


def _text(value: Any) -> str:
    if isinstance(value, Problem):
        return value.model_dump_json()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _refuse_repeated(instances: list[Instance]) -> None:
    repeated = [name for name, count in Counter(instance.id for instance in instances).items() if count > 1]
    if repeated:
        raise InvalidInstanceError([Fault("id", repr(name), "names several instances; ids must be unique") for name in repeated])


def _named(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else type(source).__name__
