"""Deployments over periods as one program: every backend proves the optimum that enumeration finds."""

import pytest

import edrp
from edrp.check_problems.placement.sequence_brute_force import brute_force_sequence
from edrp.check_problems.placement.sequence_problems import tiny_sequence
from edrp.core.errors import UnsupportedProblemError
from edrp.formulations.placement.sequence_program import formulate_sequence

SEEDS = (0, 2, 3, 4, 6, 10, 11, 12)
"""Of problems that the program expresses, some infeasible."""


@pytest.mark.parametrize("seed", SEEDS)
def test_the_program_finds_what_enumeration_finds(seed):
    problem = tiny_sequence(seed)
    best, solution = brute_force_sequence(problem), edrp.solve(problem, "highs")
    if best is None:
        assert solution.status == "infeasible"
    else:
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("backend", ["scipy", "scip", "gurobi", "cvxpy", "pyomo"])
def test_all_backends_solve_it(backend):
    problem = tiny_sequence(2)
    assert edrp.solve(problem, backend).objective == pytest.approx(brute_force_sequence(problem), rel=1e-6)


def test_a_course_is_encoded_and_decoded_again():
    for seed in SEEDS[:3]:
        problem = tiny_sequence(seed)
        solution = edrp.solve(problem, "highs")
        if solution.decision is None:
            continue
        formulation = formulate_sequence(problem, "periods")
        point = formulation.encode(solution.decision)
        assert formulation.decode(point) == solution.decision


def test_storms_downtime_is_refused_where_it_counts():
    problem = tiny_sequence(2).replace(reconfiguration="storm", changes={"downtime": 1.0})
    with pytest.raises(UnsupportedProblemError, match="Storm's downtime"):
        edrp.solve(problem, "highs")
