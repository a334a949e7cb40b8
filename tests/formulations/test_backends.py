"""Programs of kinds other than placement: every backend finds the optimum of brute force."""

import pytest

from edrp.backends.base import ProgramResult
from edrp.check_problems.enactment.leasing_brute_force import brute_force_leasing
from edrp.check_problems.enactment.problems import EnactmentCheckProblems, LeasingCheckProblems
from edrp.check_problems.enactment.snapshot_brute_force import brute_force_enactment
from edrp.check_problems.mapping.link_allocation_brute_force import brute_force_link_allocation
from edrp.check_problems.mapping.problems import LinkAllocationCheckProblems
from edrp.check_problems.migration.single_step_brute_force import brute_force_migration
from edrp.core.claims import contradiction
from edrp.datasets.families.enactment.random_enactment import random_enactment_problem, random_leasing_problem
from edrp.datasets.families.mapping.link_allocation import random_link_allocation_problem
from edrp.datasets.families.migration.random_migration import random_migration
from edrp.formulations.formulation import to_answer
from edrp.formulations.methods import formulate, solve_formulation


def least_moved(problem):
    """State that moves at least; None where nothing keeps the limit."""
    best = brute_force_migration(problem)
    return None if best is None else best.cost


PROBLEMS = {
    "link-allocation": [*map(random_link_allocation_problem, (3, 14, 15)), *LinkAllocationCheckProblems().infeasible().values()],
    "enactment": [*map(random_enactment_problem, (28, 57)), *list(EnactmentCheckProblems().degenerate().values())[:3]],
    "leasing": [*map(random_leasing_problem, (20, 29)), *LeasingCheckProblems().infeasible().values()],
    "migration": [*map(random_migration, range(6))],
}
BRUTE_FORCE = {
    "link-allocation": brute_force_link_allocation,
    "enactment": lambda problem: brute_force_enactment(problem)[0],
    "leasing": brute_force_leasing,
    "migration": least_moved,
}


@pytest.mark.parametrize("backend", ["scipy", "scip", "gurobi", "cvxpy", "pyomo"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_backend_finds_the_same_optimum(kind, backend):
    for problem in PROBLEMS[kind]:
        best, solution = BRUTE_FORCE[kind](problem), solve_formulation(formulate(problem), backend)
        assert solution.status == ("infeasible" if best is None else "optimal")
        assert best is None or solution.objective == pytest.approx(best, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(
    ("status", "stopped", "kept"),
    [("infeasible", "finished", False), ("none", "error", False), ("none", "time_limit", True), ("none", "interrupted", True)],
)
def test_a_bound_goes_with_a_decision_or_with_a_search_that_was_stopped(status, stopped, kept):
    """The bound may be one that the formulation knows; an answer that contradicts itself would be refused."""
    formulation = formulate(random_leasing_problem(0), None)
    answer = to_answer(formulation, ProgramResult(status, stopped, None, None, -1.0, 0.0))
    assert (answer.bound is not None, answer.proof is not None) == (kept, kept or status == "infeasible")
    assert not contradiction(answer)
