"""The Thrift structs in which Storm keeps a topology, read such that a fault names its field.

Apache Thrift's own library reads the bytes. The structs that its compiler generates pass over fields of a wrong type, and
do not tell where bytes end; so the structs are tables here (of the fields that are used), and a reader walks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError

BOOL, I32, STRING, STRUCT, MAP, LIST = 2, 8, 11, 12, 13, 15
"""Numbers of types in Thrift's binary protocol."""

TYPES = {BOOL: "a bool", 3: "a byte", 4: "a double", 6: "an i16", I32: "an i32", 10: "an i64", STRING: "a string"}
TYPES |= {STRUCT: "a struct", MAP: "a map", 14: "a set", LIST: "a list"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value: a number of Thrift's types; texts and bytes have the same."""

    code: int
    text: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    member: Shape
    code: int = LIST


@dataclass(frozen=True, slots=True)
class PairMap:
    """A map; it becomes pairs, because structs are keys, too."""

    key: Shape
    member: Shape
    code: int = MAP


@dataclass(frozen=True, slots=True)
class Record:
    """A struct: fields by number, each with name and shape; fields that are not listed are passed over.

    A union has exactly one field.
    """

    fields: dict[int, tuple[str, Shape]]
    required: tuple[str, ...] = ()
    union: bool = False
    code: int = STRUCT


Shape = Scalar | Many | PairMap | Record

FLAG, NUMBER, TEXT, BYTES = Scalar(BOOL), Scalar(I32), Scalar(STRING, text=True), Scalar(STRING)
ANY = Record({})

STREAM_ID = Record({1: ("componentId", TEXT), 2: ("streamId", TEXT)}, ("componentId", "streamId"))
GROUPING = Record(
    {
        1: ("fields", Many(TEXT)),
        2: ("shuffle", ANY),
        3: ("all", ANY),
        4: ("none", ANY),
        5: ("direct", ANY),
        6: ("custom_object", ANY),
        7: ("custom_serialized", BYTES),
        8: ("local_or_shuffle", ANY),
    },
    union=True,
)
STREAM_INFO = Record({1: ("output_fields", Many(TEXT)), 2: ("direct", FLAG)}, ("output_fields", "direct"))
COMMON = Record(
    {
        1: ("inputs", PairMap(STREAM_ID, GROUPING)),
        2: ("streams", PairMap(TEXT, STREAM_INFO)),
        3: ("parallelism_hint", NUMBER),
        4: ("json_conf", TEXT),
    },
    ("inputs", "streams"),
)
SPOUT = Record({1: ("spout_object", ANY), 2: ("common", COMMON)}, ("common",))
BOLT = Record({1: ("bolt_object", ANY), 2: ("common", COMMON)}, ("common",))
STORM_TOPOLOGY = Record({1: ("spouts", PairMap(TEXT, SPOUT)), 2: ("bolts", PairMap(TEXT, BOLT))}, ("spouts", "bolts"))


def read_struct(data: bytes, record: Record) -> dict[str, Any]:
    """Read the one struct that the bytes are, in Thrift's binary protocol.

    Returns
    -------
    dict
        Values of the listed fields that are there, by name; maps as lists of pairs.

    Raises
    ------
    InvalidInstanceError
        Naming the first field that is cut off, of another type, or missing.
    BackendUnavailableError
        When the package `thrift` is not installed.

    Examples
    --------
    >>> read_struct(bytes([11, 0, 1, 0, 0, 0, 1, 97, 11, 0, 2, 0, 0, 0, 1, 98, 0]), STREAM_ID)
    {'componentId': 'a', 'streamId': 'b'}
    """
    try:
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.transport.TTransport import TMemoryBuffer
    except ImportError as error:
        raise BackendUnavailableError('serialized topologies need the package thrift: pip install "edrp[data]"') from error
    buffer = TMemoryBuffer(data)
    # Every member of a container takes a byte at least: no honest length is greater than the whole.
    protocol = TBinaryProtocol(buffer, string_length_limit=len(data), container_length_limit=len(data))
    protocol.readString = protocol.readBinary  # strings that are passed over may be bytes and no text
    values = _Walk(protocol).value(record, "")
    left = len(data) - buffer.cstringio_buf.tell()
    if left:
        raise InvalidInstanceError([Fault("end", f"{left} bytes", "more follows after the struct; it must be the whole file")])
    return values


class _Walk:
    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol

    def value(self, shape: Shape, place: str) -> Any:
        with _named(place):
            if isinstance(shape, Record):
                return self._record(shape, place)
            if isinstance(shape, PairMap):
                return self._pairs(shape, place)
            if isinstance(shape, Many):
                code, size = self._protocol.readListBegin()
                self._expect(size == 0 or code == shape.member.code, code, shape.member, f"{place}[0]")
                return [self.value(shape.member, f"{place}[{index}]") for index in range(size)]
            if shape.code == STRING:
                content = self._protocol.readBinary()
                return content.decode() if shape.text else content
            return self._protocol.readBool() if shape.code == BOOL else self._protocol.readI32()

    def _record(self, shape: Record, place: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while True:
            _, code, number = self._protocol.readFieldBegin()
            if code == 0:
                break
            name, expected = shape.fields.get(number, (f"field {number}", None))
            inner = f"{place}.{name}" if place else name
            if code not in TYPES:
                why = "is of no type that Thrift has; is this a serialized topology?"
                raise InvalidInstanceError([Fault(inner, f"type {code}", why)])
            if expected is None:
                with _named(inner):
                    self._protocol.skip(code)
                continue
            self._expect(code == expected.code, code, expected, inner)
            values[name] = self.value(expected, inner)
        missing = [name for name in shape.required if name not in values]
        faults = [Fault(f"{place}.{name}" if place else name, "", "missing; Storm always writes it") for name in missing]
        if shape.union and len(values) != 1:
            faults.append(
                Fault(place, ", ".join(values), "must be exactly one of " + ", ".join(n for n, _ in shape.fields.values()))
            )
        if faults:
            raise InvalidInstanceError(faults)
        return values

    def _pairs(self, shape: PairMap, place: str) -> list[tuple[Any, Any]]:
        key_code, code, size = self._protocol.readMapBegin()
        self._expect(size == 0 or key_code == shape.key.code, key_code, shape.key, f"key of {place}[0]")
        self._expect(size == 0 or code == shape.member.code, code, shape.member, f"{place}[0]")
        pairs = []
        for index in range(size):
            key = self.value(shape.key, f"key of {place}[{index}]")
            inner = f"{place}[{key!r}]" if isinstance(key, str) else f"{place}[{index}]"
            pairs.append((key, self.value(shape.member, inner)))
        return pairs

    @staticmethod
    def _expect(holds: bool, code: int, shape: Shape, place: str) -> None:
        if not holds:
            raise InvalidInstanceError([Fault(place, TYPES.get(code, f"type {code}"), f"must be {TYPES[shape.code]}")])


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Turn errors of the library into faults of a field."""
    from thrift.Thrift import TException

    try:
        yield
    except EOFError:
        raise InvalidInstanceError([Fault(place or "file", "", "is cut off: the bytes end within it")]) from None
    except UnicodeDecodeError:
        raise InvalidInstanceError([Fault(place or "file", "", "is not UTF-8 text")]) from None
    except TException as error:
        raise InvalidInstanceError([Fault(place or "file", "", f"cannot be read as Thrift: {error}")]) from None
