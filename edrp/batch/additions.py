"""Additions of this process to the registries, packed so that a worker knows them too."""

from __future__ import annotations

from collections.abc import Iterable

import cloudpickle

from edrp.batch.tasks import Choice
from edrp.core.kinds import kinds, register_kind
from edrp.core.methods import get_method, register
from edrp.core.plugins import is_ours, own


def packed_additions(choices: Iterable[Choice]) -> bytes:
    """Methods among `choices`, kinds of problems, and rules in Python, that are not part of this package."""
    chosen = [get_method(choice.name) for choice in choices]
    added = {
        "methods": [method for method in chosen if not is_ours(method.origin)],
        "kinds": [kind for kind in kinds().values() if kind not in own("edrp.kinds")],
        "rules": own("edrp.rules")(),
    }
    return bytes(cloudpickle.dumps(added))


def unpack_additions(packed: bytes) -> None:
    """Add what another process had added, which replaces what installed packages have under the same name."""
    added = cloudpickle.loads(packed)
    for method in added["methods"]:
        register(method, replace=True)
    for kind in added["kinds"]:
        register_kind(kind, replace=True)
    own("edrp.rules")().update(added["rules"])
