"""The default methods for deployments over time."""

from __future__ import annotations

from edrp.auto.choices import helped_out
from edrp.core.methods import FirstOf, Method, get_method
from edrp.placement.sequence import EdrpSequence

_first = FirstOf(("replica-vectors", "priced-course", "highs", "myopic"))


def choose_for_sequence(problem: EdrpSequence) -> Method:
    """`replica-vectors` where only numbers of replicas count, else `priced-course`; `highs` for peak loads.

    `myopic` where none of them takes the problem; under a limit it answers where they have nothing in time.
    `static-deployment` is asked where it finds nothing either.
    """
    return helped_out(problem, _first(problem), *(get_method(name, problem.kind) for name in ("myopic", "static-deployment")))
