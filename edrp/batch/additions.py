"""Additions of this process to the registries, packed so that a worker knows them too."""

from __future__ import annotations

from collections.abc import Iterable

import cloudpickle

from edrp.batch.tasks import Choice
from edrp.core.kinds import kinds, register_kind
from edrp.core.methods import methods, register
from edrp.core.plugins import is_ours


def packed_additions(choices: Iterable[Choice]) -> bytes:
    """Methods among `choices`, and kinds of problems, that are not part of this package."""
    chosen = [methods()[choice.name] for choice in choices]
    added = {
        "methods": [method for method in chosen if not is_ours(type(method))],
        "kinds": [kind for kind in kinds().values() if not is_ours(kind.problem)],
    }
    return bytes(cloudpickle.dumps(added))


def unpack_additions(packed: bytes) -> None:
    """Add what another process had added; what is known already stays."""
    added = cloudpickle.loads(packed)
    known = methods()
    for method in added["methods"]:
        if method.name not in known:
            register(method)
    for kind in added["kinds"]:
        if kind.name not in kinds():
            register_kind(kind)
