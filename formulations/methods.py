"""Methods that formulate a problem as a program and hand it to a solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from edrp.backends import get_backend, solve_program
from edrp.backends.base import ProgramResult
from edrp.backends.rounding import rounded
from edrp.core.kinds import get_kind, kinds
from edrp.core.methods import Method, Options, Progress
from edrp.core.solution import Answer
from edrp.formulations.builders import formulate
from edrp.formulations.formulation import Formulation, best_feasible, to_answer

TIE_SLACK = 1e-9
"""By how much a later stage of tie-breaking may worsen the value of an earlier one."""


@dataclass(frozen=True, slots=True)
class ProgramParameters:
    """`tie_break`: whether to choose among equal optima by the formulation's tie breaks.

    For deployments these are the cost, then the number of replicas that move.
    """

    tie_break: bool = False


class ProgramMethod(Method):
    """One backend on the program that `Options.program` names, for every kind that has programs."""

    exact = True
    parameters = ProgramParameters

    def __init__(self, backend: str, summary: str) -> None:
        self.name = backend
        self.summary = summary

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that have programs."""
        return tuple(name for name, kind in kinds().items() if kind.formulations)

    def refusal(self, problem: Any) -> str | None:
        """Why no program of the kind can express the problem; None if one can."""
        refuse = get_kind(problem.kind).refuse_formulation
        return None if refuse is None else refuse(problem)

    def run(self, problem: Any, options: Options) -> Answer:
        """Formulate, start from the given or the current deployment where it is feasible, solve."""
        get_backend(self.name)  # a missing package is reported before any work
        parameters = self.read_parameters(options)
        formulation = formulate(problem, options.program)
        result = self._solve(formulation, options)
        if result.status == "optimal" and parameters.tie_break:
            result = self._break_ties(formulation, result, options)
        return replace(to_answer(formulation, result), method=f"{self.name} ({formulation.name} program)")

    def _solve(self, formulation: Formulation, options: Options, start: Any = None) -> ProgramResult:
        point = None
        if "start" in get_backend(self.name).features:
            begin = start or _start(formulation, options)
            point = None if begin is None else formulation.encode(begin)
        return solve_program(
            formulation.program,
            self.name,
            time_limit=None if options.time_limit is None else options.remaining,
            gap=options.gap,
            threads=options.threads,
            seed=options.seed,
            start=point,
            progress=_progress(options) if "progress" in get_backend(self.name).features else None,
        )

    def _break_ties(self, formulation: Formulation, first: ProgramResult, options: Options) -> ProgramResult:
        """Hold the objective and minimise the first tie break, then hold both and minimise the next (lexicographic order)."""
        program, best = formulation.program, first
        stages = [program.objective, *formulation.tie_breaks()]
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
        # Continuous columns may have used up the slack of the rows that hold the stages: they are made optimal again.
        last = rounded(program.arrays(), best)
        assert first.objective is not None
        assert last.objective is not None
        if last.objective > first.objective + TIE_SLACK * max(1.0, abs(first.objective)):
            return first
        return replace(first, values=last.values, seconds=first.seconds + best.seconds)


def _progress(options: Options) -> Progress | None:
    """A callback for a backend, which reports its own seconds; passed on in seconds since the method started."""
    report = options.progress
    return None if report is None else lambda seconds, incumbent, bound: report(options.elapsed, incumbent, bound)


def _start(formulation: Formulation, options: Options) -> Any:
    """The best of the start in the options and the current decision, if any is feasible."""
    known = (options.start, formulation.current)
    return best_feasible(formulation.problem, [decision for decision in known if decision is not None])


HIGHS = ProgramMethod("highs", "mixed-integer program solved by HiGHS")

METHODS = (
    HIGHS,
    ProgramMethod("scipy", "mixed-integer program solved by scipy.optimize.milp"),
    ProgramMethod("cvxpy", "mixed-integer program handed to CVXPY"),
    ProgramMethod("pyomo", "mixed-integer program handed to Pyomo"),
)
"""One method per backend, for the registry."""
