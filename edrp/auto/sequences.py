"""The default methods for deployments over time."""

from __future__ import annotations

from edrp.auto.choices import helped_out
from edrp.core.methods import FirstOf, Method, get_method
from edrp.placement.sequence import EdrpSequence

_proof = FirstOf(("replica-vectors", "priced-course", "highs"))


def choose_for_sequence(problem: EdrpSequence) -> Method:
    """`replica-vectors` where only numbers of replicas count, else `priced-course`; `highs` for peak loads.

    Under a limit `myopic` answers where they have nothing in time.
    """
    return helped_out(problem, _proof(problem), get_method("myopic", problem.kind))
