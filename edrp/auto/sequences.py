"""The default methods for deployments over time."""

from __future__ import annotations

from edrp.auto.portfolio import helped_out
from edrp.core.methods import FirstOf, Method, get_method
from edrp.formulations.placement.compact import estimated_columns
from edrp.placement.compilation import compile_problem
from edrp.placement.sequence import EdrpSequence

_proof = FirstOf(("replica-vectors", "priced-course", "highs"))


def choose_for_sequence(problem: EdrpSequence) -> Method:
    """`replica-vectors` where only numbers of replicas count, else `priced-course`; `highs` for peak loads and small programs.

    Under a limit `myopic` answers where they have nothing in time.
    """
    columns = estimated_columns(compile_problem(problem.base)) * len(problem.periods)
    return helped_out(problem, _proof(problem), get_method("myopic", problem.kind), columns=columns)
