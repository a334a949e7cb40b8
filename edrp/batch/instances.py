"""Instances of a batch, which are read again whenever they are needed, under names of their own."""

from __future__ import annotations

import itertools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from edrp.batch.tasks import SEPARATOR, Instance, text_hash
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a set of instances, which does not depend on their order.

    Attributes
    ----------
    digest : sum of their hashes, modulo 2⁶⁴.
    """

    count: int
    digest: int


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
        total, names = _Sum(), array("q")
        for instance in read():
            total.add(instance)
            names.append(hash(instance.id))
        self.fingerprint = total.fingerprint
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
        InvalidInstanceError.raise_if_any(faults)
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
        total = _Sum()
        for instance in self._named():
            total.add(instance)
            yield instance
        if total.fingerprint != self.fingerprint:
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


class _Sum:
    """Sums up instances to their fingerprint."""

    def __init__(self) -> None:
        self._count, self._digest = 0, 0

    def add(self, instance: Instance) -> None:
        self._count += 1
        named = f"{instance.id}{SEPARATOR}{text_hash(instance.text)}"
        self._digest = (self._digest + int.from_bytes(sha256(named.encode()).digest()[:8], "big")) % 2**64

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(self._count, self._digest)


def fingerprint(instances: Iterable[Instance]) -> Fingerprint:
    """Fingerprint of a set of instances, which does not depend on their order.

    >>> a, b = Instance("a", "{}"), Instance("b", "{}")
    >>> fingerprint([a, b]) == fingerprint([b, a]) != fingerprint([a])
    True
    """
    total = _Sum()
    for instance in instances:
        total.add(instance)
    return total.fingerprint
