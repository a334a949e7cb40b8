"""Which sources kernels are made of: when one of them changes, what was compiled before is worth nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOMS = ("edrp", "edrp.formulations", "edrp.heuristics", "edrp.mdp", "edrp.datasets", "edrp.validation")
"""Where kernels are."""


def tie_to_all_sources(index: Any, stamp: Any) -> None:
    """Have a cached kernel compiled again when any file with kernels has changed.

    Numba looks at the kernel's own file only, but what is inlined comes from other files too: after an upgrade an old
    kernel would go on computing what it did.
    """
    index._source_stamp = (stamp, fingerprint())
    index._load_index = partial(_load_index, index._load_index)


def _load_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """Read the index of a kernel's cache; one whose types have been moved or renamed since counts as empty."""
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


@cache
def fingerprint() -> str:
    """Hash of all sources that have to do with kernels, wherever they lie: a wheel is laid out unlike a checkout."""
    texts = (path.read_bytes() for path in _sources())
    hashes = {sha256(text).digest() for text in texts if b"edrp.core.kernels" in text}
    return sha256(b"".join(sorted(hashes))).hexdigest()


def _sources() -> Iterator[Path]:
    for room in ROOMS:
        found = find_spec(room)
        for folder in (found.submodule_search_locations or ()) if found else ():
            yield from Path(folder).rglob("*.py")
