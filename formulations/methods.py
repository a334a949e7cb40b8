"""Methods that formulate a problem as a program and hand it to a solver."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from edrp.backends import get_backend, solve_program
from edrp.backends.base import ProgramResult
from edrp.documents import Deployment
from edrp.formulations.formulation import Formulation, answer_of, formulate
from edrp.methods import Options
from edrp.problem import EdrpProblem
from edrp.program import Linear
from edrp.solution import Answer

TIE_SLACK = 1e-9
"""By how much a later stage of tie-breaking may worsen the value of an earlier one."""


class ProgramMethod:
    """One backend on the program that `Options.program` names.

    Parameters of the method: `tie_break=True` chooses among equal optima the cheapest, and among those the one
    that moves fewest replicas.
    """

    kinds: tuple[str, ...] = ("edrp",)
    exact = True

    def __init__(self, backend: str, summary: str) -> None:
        self.name = backend
        self.summary = summary

    def refusal(self, problem: EdrpProblem) -> str | None:
        """None: the compact program expresses every problem."""
        return None

    def run(self, problem: EdrpProblem, options: Options) -> Answer:
        """Formulate, start from the given or the current deployment where it is feasible, solve."""
        get_backend(self.name)  # a missing package is reported before any work
        formulation = formulate(problem, options.program)
        result = self._solve(formulation, options)
        if result.status == "optimal" and options.parameters.get("tie_break"):
            result = self._break_ties(formulation, result, options)
        return replace(answer_of(formulation, result), method=f"{self.name} ({options.program} program)")

    def _solve(self, formulation: Formulation, options: Options, start: Deployment | None = None) -> ProgramResult:
        point = None
        if "start" in get_backend(self.name).features:
            begin = start or _start(formulation.problem, options)
            point = None if begin is None else formulation.encode(begin)
        return solve_program(
            formulation.program,
            self.name,
            time_limit=None if options.time_limit is None else options.remaining,
            gap=options.gap,
            threads=options.threads,
            seed=options.seed,
            start=point,
            progress=options.progress if "progress" in get_backend(self.name).features else None,
        )

    def _break_ties(self, formulation: Formulation, first: ProgramResult, options: Options) -> ProgramResult:
        """Hold the objective and minimise cost, then hold both and minimise replicas moved (lexicographic order)."""
        program, best = formulation.program, first
        stages = [program.objective, formulation.metric("cost")]
        if formulation.problem.current is not None:
            stages.append(_kept_replicas(formulation) * -1.0)
        for number, (held, wanted) in enumerate(pairwise(stages)):
            assert best.values is not None
            value = held.value(best.values)
            program.add_row(f"tie {number}", held, upper=value + TIE_SLACK * max(1.0, abs(value)))
            program.minimise(wanted)
            result = self._solve(formulation, options, formulation.decode(best.values))
            if result.values is None:
                break
            best = result
        program.minimise(formulation.model_objective)
        return replace(first, values=best.values, seconds=first.seconds + best.seconds)


def _kept_replicas(formulation: Formulation) -> Linear:
    """Number of replicas that stay where they are."""
    expressions = formulation.expressions
    current = expressions.compiled.current
    assert current is not None
    total = Linear.zero()
    for i, before in enumerate(current):
        held = expressions.holdings(i)
        total += Linear.of(held.columns, np.minimum(held.counts, before[held.nodes]))
    return total


def _start(problem: EdrpProblem, options: Options) -> Deployment | None:
    """The best of the start asked for and the current deployment, if any is feasible."""
    known = [each for each in (options.start, problem.current) if each is not None]
    rated = [(evaluation.objective, each) for each in known if (evaluation := problem.evaluate(each)).feasible]
    return min(rated, key=lambda pair: pair[0])[1] if rated else None


METHODS = (
    ProgramMethod("highs", "mixed-integer program solved by HiGHS"),
    ProgramMethod("scipy", "mixed-integer program solved by scipy.optimize.milp"),
    ProgramMethod("cvxpy", "mixed-integer program handed to CVXPY"),
    ProgramMethod("pyomo", "mixed-integer program handed to Pyomo"),
)
"""One method per backend, for the registry."""
