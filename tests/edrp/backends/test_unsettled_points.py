"""Points of solvers that rounding cannot settle: those that break a row, and those that are not finished."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import edrp
from edrp.backends import BACKENDS, LET_THROUGH, solve_program
from edrp.backends.base import ProgramResult, SolverOptions
from edrp.backends.highs import HighsBackend
from edrp.core.program import Linear, Program

EXAMPLES = Path(__file__).parents[3] / "examples"


class Loose:
    """A backend without tolerances of its own that gives the same point whatever it is asked."""

    name, features, package, extra = "loose", frozenset(), "numpy", ""

    def __init__(self, values):
        self.values = np.array(values)

    def solve(self, arrays, options):
        return ProgramResult("optimal", "finished", self.values, float(arrays.objective @ self.values), None, 0.0)


def test_a_point_that_only_a_solvers_tolerances_let_through_is_not_handed_on(monkeypatch):
    """SciPy's tolerances are 1e-6: a limit of 37 MB was exceeded by more than the evaluator grants, and called feasible."""
    program = Program()
    take = program.add_columns("take", 1, upper=9, integer=True)
    program.add_row("limit", Linear.of(take, [2e6]), upper=6e6 - 1)
    program.minimise(Linear.of(take, [-1]))
    monkeypatch.setitem(BACKENDS, "loose", Loose([3.0]))
    result = solve_program(program, "loose")
    assert (result.status, result.values, result.notes[-1]) == ("none", None, LET_THROUGH)
    known = solve_program(program, "loose", start=np.array([2.0]))
    assert (known.status, known.objective, known.values.tolist()) == ("feasible", -2.0, [2.0])
    monkeypatch.setitem(BACKENDS, "loose", Loose([2.0]))
    assert solve_program(program, "loose").status == "optimal"


class OutOfTime:
    """HiGHS stopped before its continuous columns are what the integer ones allow: as large as a finite bound lets them be."""

    name, features, package, extra = "scipy", frozenset({"tolerances"}), "highspy", ""

    def solve(self, arrays, options):
        first = HighsBackend().solve(arrays, options)
        lower, upper = arrays.lower.copy(), np.where(arrays.integer, arrays.upper, np.abs(first.values) * 2 + 1)
        lower[arrays.integer] = upper[arrays.integer] = np.round(first.values[arrays.integer])
        objective = np.where(arrays.integer, 0.0, -1.0)
        fixed = replace(arrays, objective=objective, lower=lower, upper=np.minimum(upper, arrays.upper))
        return replace(HighsBackend().solve(fixed, SolverOptions()), status="feasible", stopped_because="time_limit", bound=None)


def test_an_incumbent_whose_latencies_are_not_the_least_yet_is_worth_what_its_evaluation_says(monkeypatch):
    """Pyomo, out of time before a rescaling's response time came down, claimed more than the evaluation: a loud error."""
    problem = edrp.load(EXAMPLES / "word_count.json")
    monkeypatch.setitem(BACKENDS, "scipy", OutOfTime())
    nothing = ProgramResult("none", "time_limit", None, None, None, 0.0)
    monkeypatch.setattr("edrp.backends.solve_arrays", lambda arrays, **_: nothing)
    solution = edrp.solve(problem, "scipy")
    assert solution.status == "feasible"
    assert solution.objective == problem.evaluate(solution.deployment).objective
