"""The default method for deployments over periods."""

from __future__ import annotations

from edrp.core.methods import FirstOf, Method
from edrp.placement.sequence import EdrpSequence


def choose_for_sequence(problem: EdrpSequence) -> Method:
    """The first method that takes the sequence."""
    return FirstOf(("replica-vectors", "myopic"))(problem)
