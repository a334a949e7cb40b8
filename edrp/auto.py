"""The default method: chooses, and says what it chose."""

from __future__ import annotations

from dataclasses import replace

from edrp.methods import Method, Options, get_method
from edrp.problems.edrp import EdrpProblem
from edrp.solution import Answer

LARGEST_PROOF = 100_000
"""Operators × nodes above which no proof is attempted."""


def choose(problem: EdrpProblem) -> Method:
    """`eliminate` where it can express the problem, else `highs`; `annealing` beyond what either can hold."""
    if len(problem.application.operators) * len(problem.network.nodes) > LARGEST_PROOF:
        return get_method("annealing", problem.kind)
    eliminate = get_method("eliminate", problem.kind)
    return eliminate if eliminate.refusal(problem) is None else get_method("highs", problem.kind)


class Auto:
    """Runs the method that `choose` names."""

    name = "auto"
    kinds: tuple[str, ...] = ("edrp",)
    exact = True
    summary = "eliminate where it applies, else highs; annealing where no proof is in reach"

    def refusal(self, problem: EdrpProblem) -> str | None:
        """Takes what the chosen method takes."""
        return choose(problem).refusal(problem)

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Run it; the answer's method says which it was."""
        chosen = choose(problem)
        answer = chosen.run(problem, options)
        return replace(answer, method=f"auto: {answer.method or chosen.name}")


METHODS = (Auto(),)
"""For the registry."""
