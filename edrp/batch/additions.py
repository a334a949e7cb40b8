"""What this process has added to the registries, packed such that a worker knows it too."""

from __future__ import annotations

from collections.abc import Iterable

import cloudpickle

from edrp.batch.tasks import Choice
from edrp.core.instances import KINDS, SOLUTION_KINDS
from edrp.core.methods import methods, register


def packed_additions(choices: Iterable[Choice]) -> bytes:
    """Methods among `choices`, and kinds of problems, that are not part of this package."""
    chosen = [methods()[choice.name] for choice in choices]
    added = {
        "methods": [method for method in chosen if not _ours(type(method))],
        "kinds": {name: kind for name, kind in KINDS.items() if not _ours(kind)},
        "solution_kinds": {name: kind for name, kind in SOLUTION_KINDS.items() if not _ours(kind)},
    }
    return bytes(cloudpickle.dumps(added))


def unpack_additions(packed: bytes) -> None:
    """Add what another process had added; what is known already stays."""
    added = cloudpickle.loads(packed)
    known = methods()
    for method in added["methods"]:
        if method.name not in known:
            register(method)
    KINDS.update({name: kind for name, kind in added["kinds"].items() if name not in KINDS})
    SOLUTION_KINDS.update({name: kind for name, kind in added["solution_kinds"].items() if name not in SOLUTION_KINDS})


def _ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "edrp"
