"""Every kind of problem is explained, by the command and from Python alike."""

import pytest

import edrp
from edrp.cli.display.explanation import explained_parts, explanation_parts
from edrp.core.kinds import get_kind, kinds
from edrp.explanations.objective import ObjectiveExplanation
from edrp.report.tables import Table

WORK = 0.2

WITHOUT_MARGINS = ("enactment-scenario", "bimodal-scenario")
"""Runs have no limits."""


def first_feasible(kind):
    """The last check problem of a kind, and its solution."""
    problem = list(get_kind(kind).check_problems().feasible().values())[-1]
    return problem, edrp.solve(problem, work_limit=2.0)


def told(parts):
    """Parts of an explanation as text and rows."""
    return [part.rows if isinstance(part, Table) else str(part) for part in parts]


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.has("explain")])
def test_kinds_with_an_explanation_of_their_own_have_it_in_python_and_by_the_command(kind):
    problem, solution = first_feasible(kind)
    explanation = edrp.explain(problem, solution, work_limit=WORK)
    assert not isinstance(explanation, ObjectiveExplanation)
    assert explanation.evaluation.objective == solution.objective
    assert any(isinstance(part, Table) for part in get_kind(kind).explain(problem, solution, WORK))


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if not kind.has("explain")])
def test_other_kinds_are_explained_by_parts_that_sum_to_the_objective_and_by_limits(kind):
    problem, solution = first_feasible(kind)
    explanation = edrp.explain(problem, solution, work_limit=WORK)
    assert explanation.parts
    assert sum(explanation.parts.values()) == pytest.approx(solution.objective, rel=1e-9, abs=1e-9)
    assert all(margin.used <= 1 + 1e-8 for margin in explanation.margins)
    assert bool(explanation.margins) == (kind not in WITHOUT_MARGINS)
    again = edrp.explain(problem, solution.decision, work_limit=WORK)
    assert (again.parts, again.margins) == (explanation.parts, explanation.margins)
    assert told(explanation_parts(problem, solution, WORK)) == told(explained_parts(explanation, running=False))
    assert explanation._repr_html_()


def test_rules_of_other_kinds_are_weighed_by_the_optimum_without_them():
    """The first node has to go, and its state moves to a new one."""
    rule = {"rule": "forbidden", "name": "away", "tasks": [(0, 1)], "nodes": [0]}
    idle = {"rule": "forbidden", "name": "idle", "tasks": [(3, 4)], "nodes": [0]}
    problem = edrp.MigrationProblem(
        work=[1.0] * 4, state_size=[5.0] * 4, intervals=[(0, 2), (2, 4)], nodes=2, tolerance=0.1, rules=[rule, idle]
    )
    states = {state.rule.name: state for state in edrp.explain(problem, edrp.solve(problem)).rules}
    assert states["away"].worth == "binds: the optimum without it is 10 lower"
    assert not states["idle"].gain


def test_an_infeasible_problem_of_any_kind_is_explained_by_what_clashes():
    for name in ("migration", "rescale", "edrp", "edrp-sequence"):
        problem = next(iter(get_kind(name).check_problems().infeasible().values()))
        solution = edrp.solve(problem, work_limit=5.0)
        explanation = edrp.explain(problem, solution)
        assert explanation.clashes == solution.clashes != ()
        parts = told((get_kind(name).explain or explanation_parts)(problem, solution, None))
        assert parts[0] == "These cannot hold together:"
