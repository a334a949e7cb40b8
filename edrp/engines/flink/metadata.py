"""Bytes of keyed state by key group, from the `_metadata` file of a checkpoint (formats 3 to 6: Flink 1.11 to 2.3).

The file lists operators, each with its subtasks and what these stored. Keyed state that was written as one file per subtask
holds the offset of each key group in it; differences of offsets are sizes. Incremental checkpoints of RocksDB hold no offsets.
Flink's own classes read the same from the same files (`tests/edrp/engines/key_groups/`).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from edrp.core.files import read_regular
from edrp.engines.errors import EngineError
from edrp.engines.observation import Observation

MAGIC = 0x4960672D
VERSIONS = range(3, 7)

NO_HANDLE, BYTES, FILE, KEY_GROUPS_HANDLE, PARTITIONABLE, RELATIVE_FILE, SAVEPOINT_KEY_GROUPS, NAMED_KEY_GROUPS = (
    0,
    1,
    2,
    3,
    4,
    6,
    7,
    12,
)
"""Handles of state that are read."""

MAX_PARALLELISM = 1 << 15
"""Most key groups that Flink allows; more are a sign of damage."""

NAMES_FROM = 5
"""Version from which operators have names."""


@dataclass(frozen=True, slots=True)
class StoredOperatorState:
    """The keyed state of one operator.

    Attributes
    ----------
    key : the identifier of the operator.
    name : of the operator; empty in formats before 5.
    parallelism, max_parallelism : of the operator when the checkpoint was made.
    sizes : bytes by key group; empty where there is no keyed state.
    """

    key: str
    name: str
    parallelism: int
    max_parallelism: int
    sizes: tuple[int, ...]


def read_key_groups(path: str | Path) -> dict[str, StoredOperatorState]:
    """State of each operator by its identifier.

    Raises
    ------
    EngineError
        In one line: the file is no metadata, of another version, cut off, or of a kind that holds no sizes of key groups.
    """
    content = read_regular(Path(path))
    reader = _MetadataReader(content, str(path))
    try:
        if reader.integer() != MAGIC:
            raise EngineError(str(path), "is no metadata of a checkpoint; name a file called _metadata")
        version = reader.integer()
        if version not in VERSIONS:
            raise EngineError(str(path), f"is of metadata version {version}; versions {VERSIONS[0]} to {VERSIONS[-1]} are read")
        return {state.key: state for state in reader.operators(version)}
    except (struct.error, IndexError, UnicodeDecodeError, MemoryError):
        raise EngineError(str(path), "is cut off or damaged; copy it again") from None


def job_key_groups(path: str | Path, observation: Observation) -> dict[str, tuple[int, ...]]:
    """Bytes of each key group by operator of a job, of the operators that have keyed state.

    Raises
    ------
    EngineError
        In one line: as for `read_key_groups`, or the file is of another job or of other key groups.
    """
    states = states_by_operator(read_key_groups(path), observation)
    for operator in observation.operators:
        state = states.get(operator.name)
        if state is not None and len(state) != operator.max_parallelism:
            why = f"has {len(state)} key groups of {operator.name}, which has {operator.max_parallelism} now"
            raise EngineError(str(path), f"{why}; give the metadata of a checkpoint made since")
    if not states:
        why = f"holds no keyed state of an operator of job {observation.job}; give the metadata of one of its checkpoints"
        raise EngineError(str(path), why)
    return states


def states_by_operator(states: Mapping[str, StoredOperatorState], observation: Observation) -> dict[str, tuple[int, ...]]:
    """Bytes of each key group by operator of a job; of those chained in it that have the same key groups, together.

    State belongs to the operator of its identifier. State whose identifier none has, since it is not the first of its chain,
    belongs to the only operator in which one of its whole name is chained; a part of a name tells nothing.
    """
    keys = {operator.key for operator in observation.operators}
    by_operator: dict[str, list[StoredOperatorState]] = {}
    keyed = [state for state in states.values() if state.sizes]
    for state in keyed:
        named = [observed.name for observed in observation.operators if state.name and state.name in observed.names]
        same = [other for other in keyed if other.name == state.name and other.key not in keys]
        owners = [observed.name for observed in observation.operators if observed.key == state.key]
        if not owners and len(named) == len(same) == 1:
            owners = named
        if owners:
            by_operator.setdefault(owners[0], []).append(state)
    alike = {name: [p.sizes for p in parts if len(p.sizes) == len(parts[0].sizes)] for name, parts in by_operator.items()}
    return {name: tuple(map(sum, zip(*sizes, strict=True))) for name, sizes in alike.items()}


class _MetadataReader:
    """Reads big-endian values one after the other."""

    def __init__(self, content: bytes, source: str) -> None:
        self._content = content
        self._source = source
        self._at = 0

    def operators(self, version: int) -> Iterator[StoredOperatorState]:
        """All operators, as a file of this version lists them; what follows them is not read."""
        self._integers(">q")  # number of the checkpoint
        if self.integer():
            raise EngineError(self._source, "holds states of the master, which are not read")
        for _ in range(self.integer()):
            yield self._operator(version)

    def integer(self) -> int:
        """A whole number of four bytes."""
        return self._integers(">i")[0]

    def _operator(self, version: int) -> StoredOperatorState:
        name = self._text() if version >= NAMES_FROM else ""
        if version >= NAMES_FROM:
            self._text()  # its uid
        key = self._take(16).hex()
        parallelism, max_parallelism = self.integer(), self.integer()
        if not 0 <= max_parallelism <= MAX_PARALLELISM:
            raise IndexError(max_parallelism)
        self._stream()  # state of the coordinator
        sizes = [0] * max_parallelism
        for _ in range(self.integer()):  # below 0 where the whole operator has finished
            if self.integer() >= 0:  # below 0 where the subtask has finished
                for _managed_and_raw in range(2):
                    if self.integer():
                        self._operator_state()
                for _managed_and_raw in range(2):
                    self._keyed_state(sizes)
                for _inputs_and_outputs in range(2):
                    if self.integer():
                        raise EngineError(self._source, "is of an unaligned checkpoint with tuples in flight; use an aligned one")
        return StoredOperatorState(key, name, parallelism, max_parallelism, tuple(sizes) if any(sizes) else ())

    def _operator_state(self) -> None:
        if self._kind((NO_HANDLE, PARTITIONABLE)) == NO_HANDLE:
            return
        for _ in range(self.integer()):
            self._text()
            self._take(1)
            self._integers(f">{self.integer()}q")
        self._stream()

    def _keyed_state(self, sizes: list[int]) -> None:
        """Add the sizes of key groups: each reaches to the next offset, the last one to the end of the file.

        Empty key groups have a negative offset, or 0 in canonical savepoints; every file begins with something else.
        """
        kind = self._kind((NO_HANDLE, KEY_GROUPS_HANDLE, SAVEPOINT_KEY_GROUPS, NAMED_KEY_GROUPS))
        if kind == NO_HANDLE:
            return
        first, count = self._integers(">2i")
        offsets = self._integers(f">{count}q")
        total = self._stream()
        if kind == NAMED_KEY_GROUPS:
            self._text()
        if first < 0 or first + count > len(sizes) or max(offsets, default=0) > total:
            raise IndexError(first)
        stored = sorted((offset, first + index) for index, offset in enumerate(offsets) if offset > 0)
        ends = [*(offset for offset, _ in stored[1:]), total]
        for (offset, group), end in zip(stored, ends, strict=True):
            sizes[group] += end - offset

    def _stream(self) -> int:
        """Bytes of what is stored, wherever it is."""
        kind = self._kind((NO_HANDLE, BYTES, FILE, RELATIVE_FILE))
        if kind == NO_HANDLE:
            return 0
        if kind == FILE:
            (size,) = self._integers(">q")
            self._text()
            return int(size)
        self._text()
        if kind == RELATIVE_FILE:
            return int(self._integers(">q")[0])
        return len(self._take(self.integer()))

    def _kind(self, known: Collection[int]) -> int:
        kind = self._take(1)[0]
        if kind not in known:
            why = f"holds state of kind {kind}, in which key groups have no sizes, as in incremental checkpoints; use a savepoint"
            raise EngineError(self._source, why)
        return kind

    def _text(self) -> str:
        return self._take(self._integers(">H")[0]).decode("utf-8")

    def _integers(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._content):
            raise IndexError(count)
        self._at += count
        return self._content[self._at - count : self._at]
