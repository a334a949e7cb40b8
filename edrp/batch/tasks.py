"""The tasks of a batch: instances × methods × seeds, each with an identity and a seed of its own; and sets of their keys."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b, sha256
from typing import Annotated, Any, NamedTuple, Protocol
from zlib import crc32

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edrp.core.arguments import check_arguments
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.kinds import kinds, program_names, register_kind
from edrp.core.methods import find_method, get_method, method_names, read_parameters, register
from edrp.core.plugins import is_ours, own
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.core.wording import suggestion

DIGEST_BYTES = 16
"""Bytes kept of a key: two of 10⁹ keys agree in them with a probability of 10⁻²¹."""

MIN_MERGED = 4096
"""New keys that are collected, at least, before they are sorted in: sorting copies all keys."""


class Keys:
    """A set of keys that keeps 16 bytes of each.

    >>> keys = Keys(["a", "b"])
    >>> keys.add(["b", "c", "c"]), len(keys), "c" in keys, "d" in keys
    ([False, True, False], 3, True, False)
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._sorted: NDArray[np.bytes_] = np.empty(0, f"S{DIGEST_BYTES}")
        self._recent: set[bytes] = set()
        self.add(list(keys))

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.contains([key])[0]

    def __eq__(self, other: object) -> bool:
        """Whether a set of texts has the same elements."""
        return isinstance(other, (set, frozenset)) and len(other) == len(self) and all(self.contains(list(other)))

    __hash__ = None  # type: ignore[assignment]

    def contains(self, keys: Sequence[str]) -> list[bool]:
        """Say of each key whether it is in the set."""
        return self._found([_digest(key) for key in keys])

    def add(self, keys: Sequence[str]) -> list[bool]:
        """Add keys, and say of each whether it is new; of one that is given twice the first is."""
        digests = [_digest(key) for key in keys]
        fresh = []
        for digest, is_known in zip(digests, self._found(digests), strict=True):
            fresh.append(not is_known and digest not in self._recent)
            if fresh[-1]:
                self._recent.add(digest)
        if len(self._recent) > max(MIN_MERGED, len(self._sorted) // 4):
            self._sorted = np.sort(np.concatenate([self._sorted, np.array(list(self._recent), self._sorted.dtype)]))
            self._recent = set()
        return fresh

    def _found(self, digests: list[bytes]) -> list[bool]:
        if not len(self._sorted):
            return [digest in self._recent for digest in digests]
        sought = np.array(digests, self._sorted.dtype)
        places = np.minimum(np.searchsorted(self._sorted, sought), len(self._sorted) - 1)
        known = self._sorted[places] == sought
        return [bool(is_known) or digest in self._recent for is_known, digest in zip(known, digests, strict=True)]


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


RESERVED = ("method", "seed", "start", "progress", "problem")
"""Arguments of `solve` that the batch gives itself."""

KEYS_AT_ONCE = 64
"""Tasks whose keys are looked up at once: few, as an instance may be of 40 MB."""

SEPARATOR = "\x1f"
"""Separates the parts of the text whose hash is the key; Spark computes the same hash in SQL."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of `solve` that are no parameters of a method."""

    program: str | None = None
    time_limit: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    work_limit: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    gap: Annotated[float, Field(ge=0, allow_inf_nan=False)] = OPTIMALITY_GAP
    threads: Annotated[int, Field(ge=1)] = 1
    certify: bool = False
    strict: bool = False


OPTIONS = tuple(field.name for field in fields(Arguments))


class Instance(NamedTuple):
    """A name and the JSON text of a problem, which nobody has read yet.

    Attributes
    ----------
    fault : why there is nothing to be read; empty for an ordinary instance.
    """

    id: str
    text: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A method with the arguments it is to be called with.

    Attributes
    ----------
    method : the text that the user gave; the column `method` of the results.

    Examples
    --------
    >>> Choice.read("highs:program=literal", gap=1e-4).arguments
    {'gap': 0.0001, 'program': 'literal'}
    """

    method: str
    name: str
    arguments: dict[str, Any]

    @classmethod
    def read(cls, text: str, **defaults: Any) -> Choice:
        """From `name` or `name:key=value,…`; values are JSON where they can be, else words.

        Raises
        ------
        InvalidInstanceError
            When there is no such method or parameter, or an argument is not `key=value` or not to be given.
        """
        name, _, argument_text = text.strip().partition(":")
        method = find_method(name)
        if method is None:
            raise InvalidInstanceError([Fault("method", repr(name), f"is no method{suggestion(name, method_names())}")])
        arguments = {key: value for key, value in defaults.items() if value is not None}
        for part in filter(None, argument_text.split(",")):
            key, equals, value = (side.strip() for side in part.partition("="))
            if not equals or not key.isidentifier() or key in RESERVED:
                why = f"must be key=value, and the key none of {', '.join(RESERVED)}"
                raise InvalidInstanceError([Fault(f"method {name!r}", repr(part), why)])
            arguments[key] = _value(value)
        options = read_parameters(Arguments, {key: value for key, value in arguments.items() if key in OPTIONS}, name)
        if options.program is not None and options.program not in program_names():
            why = f"is no program{suggestion(options.program, program_names())}"
            raise InvalidInstanceError([Fault(f"method {name!r}", repr(options.program), why)])
        parameters = {key: value for key, value in arguments.items() if key not in OPTIONS}
        read_parameters(method.parameters, parameters, name, OPTIONS)
        return cls(text.strip(), name, arguments)

    @property
    def parameters(self) -> str:
        """The arguments as JSON, in one order."""
        return json.dumps(self.arguments, sort_keys=True)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The settings that all tasks of a batch share; they travel to the workers.

    Attributes
    ----------
    additions : everything that workers have to know beyond the installed packages, from `packed_additions`.
    kill_after : seconds after which a task that has not ended is killed; None for never.
    """

    choices: tuple[Choice, ...]
    additions: bytes
    kill_after: float | None


@dataclass(frozen=True, slots=True)
class Task:
    """One row to be: an instance, a method and a seed."""

    instance: Instance
    choice: Choice
    run_seed: int

    @property
    def key(self) -> str:
        """The identity of the row."""
        return self._key(text_hash(self.instance.text))

    def _key(self, instance_hash: str) -> str:
        parts = (self.instance.id, instance_hash, self.choice.method, self.choice.parameters, str(self.run_seed))
        return text_hash(SEPARATOR.join(parts))

    @property
    def identity(self) -> dict[str, Any]:
        """The columns that name the row."""
        instance_hash = text_hash(self.instance.text)
        return {
            "key": self._key(instance_hash),
            "id": self.instance.id,
            "instance_hash": instance_hash,
            "method": self.choice.method,
            "parameters": self.choice.parameters,
            "run_seed": self.run_seed,
            "seed": instance_seed(self.run_seed, self.instance.id),
        }


class Countable(Protocol):
    """Instances that can be counted and gone through, again and again."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Instance]: ...


@dataclass(frozen=True, slots=True)
class Tasks:
    """Instances × methods × seeds, made again each time that they are gone through."""

    instances: Countable
    choices: Sequence[Choice]
    seeds: Sequence[int]

    def __len__(self) -> int:
        return len(self.instances) * len(self.choices) * len(self.seeds)

    def __iter__(self) -> Iterator[Task]:
        for instance in self.instances:
            for choice in self.choices:
                for seed in self.seeds:
                    yield Task(instance, choice, seed)

    def without(self, done: Keys) -> Iterator[Task]:
        """Yield the tasks whose keys are not among those done."""
        if not len(done):
            yield from self
            return
        tasks = iter(self)
        while chunk := list(itertools.islice(tasks, KEYS_AT_ONCE)):
            known = done.contains([task.key for task in chunk])
            yield from (task for task, is_done in zip(chunk, known, strict=True) if not is_done)


def read_choices(method: str | Sequence[str], **defaults: Any) -> list[Choice]:
    """The methods of a batch, checked.

    Raises
    ------
    InvalidInstanceError
        For an unknown method, one given twice, or none.
    """
    texts = [method] if isinstance(method, str) or not isinstance(method, Iterable) else list(method)
    for text in texts:
        check_arguments("", method=text)
    if not texts:
        raise InvalidInstanceError([Fault("method", "", "name at least one method")])
    chosen = [Choice.read(text, **defaults) for text in texts]
    for index, choice in enumerate(chosen):
        if choice.method in [other.method for other in chosen[:index]]:
            raise InvalidInstanceError([Fault(f"method[{index}]", repr(choice.method), "is given twice")])
    return chosen


def read_seeds(seed: int | Iterable[int]) -> list[int]:
    """The seeds of a batch, checked.

    >>> read_seeds(3), read_seeds(range(2))
    ([3], [0, 1])
    """
    listed = list(seed) if isinstance(seed, Iterable) and not isinstance(seed, str) else [seed]
    for number in listed:
        check_arguments("", seed=number)
    seeds = [int(number) for number in listed]
    if not seeds or len(set(seeds)) < len(seeds):
        raise InvalidInstanceError([Fault("seed", str(seeds), "must be one or several different integers of at least 0")])
    return seeds


def instance_seed(run_seed: int, instance: str) -> int:
    """The seed of one instance; nothing that runs next to it, nor where it runs, can change its answer.

    >>> instance_seed(7, "a") == instance_seed(7, "a") != instance_seed(7, "b")
    True
    """
    mixed = np.random.SeedSequence([run_seed, crc32(instance.encode())])
    return int(mixed.generate_state(1)[0]) >> 1  # solvers take 31 bits


def text_hash(text: str) -> str:
    """SHA-256 of a text, in hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


PARTS = ("rules", "metrics")
"""Registries that travel as they are, by what is behind the dot of their entry point."""


def packed_additions(choices: Iterable[Choice]) -> bytes:
    """Methods among `choices`, kinds of problems, rules in Python and metrics, that are not part of this package."""
    chosen = [get_method(choice.name) for choice in choices]
    added = [
        *(("methods", method.name, method) for method in chosen if not is_ours(method.origin)),
        *(("kinds", kind.name, kind) for kind in kinds().values() if kind not in own("edrp.kinds")),
        *((part, name, addition) for part in PARTS for name, addition in own(f"edrp.{part}")().items()),
    ]
    return bytes(cloudpickle.dumps([(part, name, cloudpickle.dumps(addition)) for part, name, addition in added]))


def unpack_additions(packed: bytes) -> None:
    """Add what another process had added, which replaces what installed packages have under the same name.

    What is of a package that is not installed here is left out: tasks that name it say that it is not there.
    """
    for part, name, pickled in cloudpickle.loads(packed):
        try:
            addition = cloudpickle.loads(pickled)
        except ModuleNotFoundError:
            continue
        if part == "methods":
            register(addition, replace=True)
        elif part == "kinds":
            register_kind(addition, replace=True)
        else:
            own(f"edrp.{part}")()[name] = addition
