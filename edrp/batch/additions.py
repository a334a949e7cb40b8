"""Additions of this process to the registries, packed so that a worker knows them too."""

from __future__ import annotations

from collections.abc import Iterable

import cloudpickle

from edrp.batch.tasks import Choice
from edrp.core.kinds import kinds, register_kind
from edrp.core.methods import get_method, register
from edrp.core.plugins import is_ours, own

PARTS = ("rules", "metrics")
"""Registries that travel as they are, by what is behind the dot of their entry point."""


def packed_additions(choices: Iterable[Choice]) -> bytes:
    """Methods among `choices`, kinds of problems, rules in Python and metrics, that are not part of this package."""
    chosen = [get_method(choice.name) for choice in choices]
    added = {
        "methods": [method for method in chosen if not is_ours(method.origin)],
        "kinds": [kind for kind in kinds().values() if kind not in own("edrp.kinds")],
        **{part: own(f"edrp.{part}")() for part in PARTS},
    }
    return bytes(cloudpickle.dumps(added))


def unpack_additions(packed: bytes) -> None:
    """Add what another process had added, which replaces what installed packages have under the same name."""
    added = cloudpickle.loads(packed)
    for method in added["methods"]:
        register(method, replace=True)
    for kind in added["kinds"]:
        register_kind(kind, replace=True)
    for part in PARTS:
        own(f"edrp.{part}")().update(added[part])
