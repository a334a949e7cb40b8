"""Sets of keys in a few bytes each, for batches whose rows are too many for a set of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

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
