"""The default methods for deployments over time."""

from __future__ import annotations

from edrp.auto.portfolio import helped_out
from edrp.core.methods import FirstOf, Method, get_method
from edrp.formulations.placement.compact import estimated_columns
from edrp.placement.compilation import compile_problem
from edrp.placement.sequence import EdrpSequence

_first = FirstOf(("replica-vectors", "priced-course", "highs", "myopic"))


def choose_for_sequence(problem: EdrpSequence) -> Method:
    """`replica-vectors` where only numbers of replicas count, else `priced-course`; `highs` for peak loads and small programs.

    `myopic` where none of them takes the problem; under a limit it answers where they have nothing in time.
    `static-deployment` is asked where it finds nothing either.
    """
    columns = estimated_columns(compile_problem(problem.base)) * len(problem.periods)
    rules = (get_method(name, problem.kind) for name in ("myopic", "static-deployment"))
    return helped_out(problem, _first(problem), *rules, columns=columns)
