"""Certificates of SSM and PMC: every optimum has one that the checker accepts, and no false claim has."""

import pytest

from edrp import solve
from edrp.datasets.families.migration.migration_families import random_migration, random_policy_problem
from edrp.migration.single_step import MigrationProblem
from edrp.validation.oracles.corruption import change_certified, check_documents


@pytest.mark.parametrize("seed", range(30))
def test_an_answer_of_ssm_is_certified(seed):
    problem = random_migration(seed)
    solution = solve(problem, "ssm", certify=True)
    assert solution.status in ("optimal", "infeasible")
    assert solution.proof == "checked certificate", solution.notes


def test_potentials_that_fit_no_machine_integer_are_certified():
    sizes = [0.1234567890123456, 1000.7, 3.7, 2.2, 1e-6]
    problem = MigrationProblem(work=[1] * 5, state_size=sizes, intervals=[[0, 4], [4, 5]], nodes=3, tolerance=0.3)
    assert solve(problem, "ssm", certify=True).proof == "checked certificate"


def test_an_assignment_that_moves_more_is_not_certified_as_optimal():
    problem = MigrationProblem(work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=3, tolerance=0.4)
    solution = solve(problem, "ssm", certify=True)
    worse = {**solution.to_document(), "intervals": [[0, 8], [13, 20], [8, 13]], "objective": 5.0}
    header, *lines = solution.certificate.splitlines()
    with pytest.raises(Exception, match=r"it is proven that 4\.0 bytes move, not 5\.0"):
        check_documents(problem, worse, "\n".join([header.replace('"bound":"4"', '"bound":"5"'), *lines]))


@pytest.mark.parametrize("seed", range(30))
def test_small_policies_are_certified(seed):
    solution = solve(random_policy_problem(seed), "pmc", certify=True)
    assert solution.proof == "checked certificate", solution.notes


@pytest.mark.parametrize(
    ("method", "draw", "seeds", "changes", "least"),
    [("ssm", random_migration, range(20), 50, 400), ("pmc", random_policy_problem, range(10), 40, 150)],
)
def test_no_change_makes_a_false_claim_pass(method, draw, seeds, changes, least):
    refused, passed = change_certified(map(draw, seeds), method, changes)
    assert refused > least
    assert refused + passed == len(seeds) * changes
