"""Instances of a batch and their sources: folders, tables, problems. A broken entry costs its own row, later."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import weakref
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from edrp.batch.tasks import SEPARATOR, Instance, text_hash
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError, encodable
from edrp.core.files import decode_text, opened, read_regular, refuse_missing
from edrp.core.instances import Scan
from edrp.core.problem import Problem


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a set of instances, which does not depend on their order.

    Attributes
    ----------
    digest : sum of their hashes, modulo 2⁶⁴.
    """

    count: int = 0
    digest: int = 0

    def including(self, instance: Instance) -> Fingerprint:
        """The fingerprint of one instance more."""
        named = f"{instance.id}{SEPARATOR}{text_hash(instance.text)}"
        digest = int.from_bytes(sha256(named.encode()).digest()[:8], "big")
        return Fingerprint(self.count + 1, (self.digest + digest) % 2**64)


class Instances:
    """Instances of a source, read again whenever they are needed: none is kept.

    Parameters
    ----------
    read
        Begins at the first instance each time that it is called.

    Attributes
    ----------
    fingerprint : of all instances, as they were when the source was opened.

    Raises
    ------
    InvalidInstanceError
        When an id names several instances that can be read. Broken ones that have the name of another one, as names
        that we give them may be, are numbered.

    Examples
    --------
    >>> list(Instances(lambda: iter([Instance("line 2", "{}"), Instance("line 2", "", "is not JSON")])))[1].id
    'line 2 (2)'
    """

    def __init__(self, read: Callable[[], Iterator[Instance]]) -> None:
        self._read = read
        total, names = Fingerprint(), array("q")
        for instance in read():
            total = total.including(instance)
            names.append(hash(instance.id))
        self.fingerprint = total
        self._names: NDArray[np.int64] = np.frombuffer(names, np.int64) if names else np.empty(0, np.int64)
        self._names.sort()
        repeated = set(self._names[1:][self._names[1:] == self._names[:-1]].tolist())
        alike = [instance[::2] for instance in read() if hash(instance.id) in repeated] if repeated else []
        self._occurrences = Counter(name for name, _ in alike)
        faults = [
            Fault("id", repr(name), "names several instances; ids must be unique")
            for name, count in Counter(name for name, fault in alike if not fault).items()
            if count > 1
        ]
        if faults:
            raise InvalidInstanceError(faults)
        if repeated:
            self.fingerprint = fingerprint(self._named())

    def __len__(self) -> int:
        return self.fingerprint.count

    def __iter__(self) -> Iterator[Instance]:
        """Yield the instances.

        Raises
        ------
        EdrpError
            At the end, when they are not those that the source held when it was opened.
        """
        total = Fingerprint()
        for instance in self._named():
            total = total.including(instance)
            yield instance
        if total != self.fingerprint:
            raise EdrpError("the instances have changed since the batch began; rows of those that were solved are kept")

    def _named(self) -> Iterator[Instance]:
        """Yield the instances under names of their own."""
        left, taken = Counter(self._occurrences), set[str]()
        numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(2))
        for instance in self._read():
            name = instance.id
            if instance.fault and left[name] > 1:
                left[name] -= 1
                own_names = (f"{name} ({number})" for number in numbers[name])
                own_name = next(own for own in own_names if own not in taken and not self._names_one(own))
                taken.add(own_name)
                yield instance._replace(id=own_name)
            else:
                yield instance

    def _names_one(self, name: str) -> bool:
        sought = hash(name)
        place = int(np.searchsorted(self._names, sought))
        return place < len(self._names) and int(self._names[place]) == sought


def fingerprint(instances: Iterable[Instance]) -> Fingerprint:
    """Fingerprint of a set of instances, which does not depend on their order.

    >>> a, b = Instance("a", "{}"), Instance("b", "{}")
    >>> fingerprint([a, b]) == fingerprint([b, a]) != fingerprint([a])
    True
    """
    return reduce(Fingerprint.including, instances, Fingerprint())


COLUMNS = ("id", "instance")
"""Columns that a table of instances must have; others do not matter."""

READ_ROWS, READ_BYTES = 64, 2**20
"""Rows and bytes of a table that are read at once: few, as an instance may be of 40 MB."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def open_instances(source: Any) -> Instances:
    """The instances of a source, unread: a broken one costs its own row, later.

    Parameters
    ----------
    source
        Path of an instance file, of a folder of them (their stems are the ids), of a Parquet file or of JSON lines
        with `id` and `instance`; any Arrow table or pandas frame with these columns; a mapping of ids to problems; an
        iterable of problems, or of pairs (id, problem). A problem may also be its JSON text.

    Raises
    ------
    InvalidInstanceError
        When the source does not exist, cannot be read, lacks a column, holds an id twice or nothing that has an id.

    Examples
    --------
    >>> list(open_instances({"a": '{"kind": "edrp"}'}))
    [Instance(id='a', text='{"kind": "edrp"}', fault='')]
    """
    if isinstance(source, Instances):
        return source
    if isinstance(source, (str, Path)):
        instances = Instances(_reader(Path(source)))
    elif hasattr(source, "__arrow_c_stream__"):
        table = _arrow(source)
        refuse_missing_columns(table.column_names, "the table")
        instances = Instances(lambda: _from_batches(table.to_batches(max_chunksize=READ_ROWS)))
    elif isinstance(source, Mapping):
        instances = Instances(lambda: (_from_value(index, pair) for index, pair in enumerate(source.items())))
    elif isinstance(source, Iterator):  # can be gone through once only
        instances = Instances(_copied(_from_value(index, value) for index, value in enumerate(source)))
    else:
        instances = Instances(lambda: (_from_value(index, value) for index, value in enumerate(source)))
    if not len(instances):
        name = str(source) if isinstance(source, (str, Path)) else type(source).__name__
        raise InvalidInstanceError([Fault("source", name, "holds no instance")])
    return instances


def read_instances(source: Any) -> list[Instance]:
    """All instances that `open_instances` finds, as a list."""
    return list(open_instances(source))


def _copied(instances: Iterable[Instance]) -> Callable[[], Iterator[Instance]]:
    """Copy instances, which can be read only once or at great cost, to a temporary file; returns the function that reads them."""
    file = TemporaryFile()  # noqa: SIM115 - closed when nobody can read it any more
    try:
        for instance in instances:
            pickle.dump(tuple(instance), file)
    except BaseException:
        file.close()
        raise

    def read() -> Iterator[Instance]:
        end = file.seek(0, os.SEEK_END)
        place = file.seek(0)
        while place < end:
            file.seek(place)
            instance = Instance(*pickle.load(file))
            place = file.tell()
            yield instance

    weakref.finalize(read, file.close)
    return read


def _reader(path: Path) -> Callable[[], Iterator[Instance]]:
    """The function that reads the instances of a file or folder, from the first one each time."""
    refuse_missing(path)
    if path.is_dir():
        return lambda: _from_folder(path)
    if path.suffix == ".json":
        return lambda: iter([_from_file(path)])
    if path.suffix in (".jsonl", ".ndjson"):
        return _copied(_from_lines(path))
    if path.suffix == ".parquet":
        return lambda: _from_parquet(path)
    why = "must be a folder of instance files, or a file that ends with .json, .parquet or .jsonl"
    raise InvalidInstanceError([Fault("source", str(path), why)])


def _from_parquet(path: Path) -> Iterator[Instance]:
    try:
        with pq.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False) as file:
            refuse_missing_columns(file.schema_arrow.names, str(path))
            yield from _from_batches(file.iter_batches(READ_ROWS, columns=list(COLUMNS), use_threads=False))
    except (OSError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInstanceError([Fault("source", str(path), f"cannot be read as Parquet: {reason}")]) from None


def _from_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[Instance]:
    first = 0
    for batch in batches:
        yield from instances_of_columns(batch["id"], batch["instance"], first=first)
        first += batch.num_rows


def _from_folder(path: Path) -> Iterator[Instance]:
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(".json"))
    for name in names:
        yield _from_file(path / name)


def _from_file(file: Path) -> Instance:
    name, content = os.fsencode(file.stem).decode("utf-8", "backslashreplace"), b""
    try:
        content = read_regular(file)
        return Instance(name, decode_text(content, str(file)))
    except InvalidInstanceError as error:
        fault = error.faults[0]
        why = f"{file} {fault.why}" if fault.place == "file" else f"{file}: {fault}"
        return Instance(name, content.decode("utf-8", "backslashreplace"), encodable(why))


def _from_lines(path: Path) -> Iterator[Instance]:
    """One instance a line; only where no line is one, as in a file of another format, is the file refused."""
    faults: list[Fault] | None = []
    with opened(path) as file:
        # Bytes, not text: in JSON text other characters that end a line somewhere, such as U+2028, stand for themselves.
        for number, line in enumerate(file, 1):
            content = line.removesuffix(b"\n").removeprefix(BYTE_ORDER_MARK if number == 1 else b"")
            if not content.strip():
                continue
            instance = _from_line(number, content)
            if not instance.fault:
                faults = None
            elif faults is not None:
                place, _, why = instance.fault.partition(": ")
                faults.append(Fault(place, "", why))
            yield instance
    if faults is not None:
        empty = [Fault("file", "", "is empty; it must hold one JSON document per line")]
        raise InvalidInstanceError(faults or empty, str(path))


def _from_line(number: int, line: bytes) -> Instance:
    """The instance of a line; where it has no id, the number of the line is its name."""
    name, text = f"line {number}", line.decode("utf-8", "backslashreplace")
    try:
        text = line.decode("utf-8")
        entry = json.loads(text)
        name = name if entry["id"] is None else encodable(str(entry["id"]))
        instance = _instance(name, entry["instance"])
        twice = "; ".join(f"{fault.place} {fault.why}" for fault in Scan(text).faults)  # Python would silently keep the last
        fault = instance.fault or twice or ("needs a name in the field id" if entry["id"] is None else "")
        return instance._replace(fault=f"line {number}: {fault}") if fault else instance
    except json.JSONDecodeError as error:
        why = f"is not JSON: {error.msg}"
    except UnicodeDecodeError as error:
        why = f"byte {error.start + 1} of the line is not UTF-8 text"
    except RecursionError:
        why = "is nested too deeply"
    except (KeyError, TypeError):
        why = "must be an object with the fields id and instance"
    except ValueError as error:
        why = str(error)
    return Instance(name, text, f"line {number}: {why} (got {text[:40]})")


def _arrow(table: Any) -> pa.Table:
    """The table, such as one of pandas, as an Arrow table; columns of Python objects are refused."""
    try:
        return pa.table(table)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        meant = "the column instance holds JSON text (problem.model_dump_json()); a dict of id and problem is taken too"
        raise InvalidInstanceError([Fault("table", "", f"cannot be read: {error.args[-1]}; {meant}")]) from None


def instances_of_columns(ids: Any, texts: Any, nameless: str = "row {}", first: int = 0) -> Iterator[Instance]:
    """Instances of a column of ids and one of JSON texts, Arrow arrays of any type.

    `nameless` names rows without an id, with their numbers from `first` on.
    """
    for index, (name, value) in enumerate(zip(_as_bytes(ids), _as_bytes(texts), strict=True), first):
        named = nameless.format(index) if name is None else name.decode("utf-8", "backslashreplace")
        if name is None:
            yield Instance(named, "", f"needs a name in the column id, whose type is {ids.type}")
        elif value is None:
            yield Instance(named, "", "" if _is_text(texts.type) else f"must be JSON text, not {texts.type}")
        else:
            text = value.decode("utf-8", "backslashreplace")
            try:
                value.decode("utf-8")
            except UnicodeDecodeError as error:
                yield Instance(named, text, f"byte {error.start} is not UTF-8 text")
            else:
                yield Instance(named, text)


def _as_bytes(column: Any) -> list[bytes | None]:
    """Texts and simple values, such as numbers, as bytes; null for values that have no text, such as structs."""
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not _is_text(column.type):
            column = column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return [None] * len(column)
    values: list[bytes | None] = column.cast(pa.large_binary()).to_pylist()
    return values


def _is_text(kind: pa.DataType) -> bool:
    is_a = pa.types
    return any(check(kind) for check in (is_a.is_string, is_a.is_large_string, is_a.is_binary, is_a.is_large_binary))


def refuse_missing_columns(names: Iterable[str], source: str) -> None:
    """Refuse a table that lacks `id` or `instance`.

    Raises
    ------
    InvalidInstanceError
        Naming what is missing and what there is.
    """
    present = list(names)
    missing = [
        Fault(f"column {name}", "", f"is missing; there are {', '.join(present)}") for name in COLUMNS if name not in present
    ]
    if missing:
        raise InvalidInstanceError(missing, source)


def _from_value(index: int, value: Any) -> Instance:
    if isinstance(value, Instance):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return _instance(encodable(str(value[0])), value[1])
    if isinstance(value, (Problem, str)):
        return _instance(f"{index:06d}", value)
    why = "must be a problem, its JSON text, or a pair of an id and one of these"
    raise InvalidInstanceError([Fault(f"instances[{index}]", type(value).__name__, why)])


def _instance(name: str, value: Any) -> Instance:
    """An instance of a problem, of its JSON text or of what such a text stands for."""
    try:
        text = _text(value)
        text.encode()
    except UnicodeEncodeError as error:
        why = f"character {error.start} is half of a character (a lone surrogate), which is no Unicode text"
        return Instance(name, encodable(text), why)
    except (TypeError, ValueError, RecursionError) as error:
        return Instance(name, "", f"is no problem that can be written as JSON: {error}")
    return Instance(name, text)


def _text(value: Any) -> str:
    if isinstance(value, Problem):
        return value.model_dump_json()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
