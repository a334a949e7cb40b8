"""Certificates of SSM and PMC: every optimum has one that the checker accepts, and no false claim has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from edrp import solve
from edrp.datasets.families.migration.random_migration import random_migration, random_policy_problem
from edrp.migration.single_step import MigrationProblem
from edrp.validation.oracles.corruption import Verdicts, check_documents, try_corruptions


def totals(verdicts):
    return Verdicts(*map(sum, zip(*verdicts, strict=True)))


def claims_what_is_true(problem, solution, value_of):
    """Whether a solution document and a bound claim no more than what `solution` is known to be."""

    def is_true(document, bound):
        if bound is None or solution.objective is None:
            return bound is None and solution.objective is None
        value = value_of(document["intervals"])
        known = value is not None and abs(value - document["objective"]) <= 2e-9 * max(1, abs(value))
        return known and bound <= Fraction(solution.objective) + Fraction(11, 10**7)

    return is_true


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


def test_no_change_makes_a_false_claim_of_ssm_pass():
    random, verdicts = np.random.default_rng(0), []
    for seed in range(20):
        problem = random_migration(seed)
        solution = solve(problem, "ssm", certify=True)

        def value_of(intervals, problem=problem):
            evaluation = problem.evaluate(intervals)
            return evaluation.objective if evaluation.feasible else None

        is_true = claims_what_is_true(problem, solution, value_of)
        verdicts.append(try_corruptions(problem, solution, 50, random, is_true))
    refused, passed = totals(verdicts)
    assert refused > 400
    assert refused + passed == 1000


def test_no_change_makes_a_false_claim_of_pmc_pass():
    random, verdicts = np.random.default_rng(0), []
    for seed in range(10):
        problem = random_policy_problem(seed)
        solution = solve(problem, "pmc", certify=True)

        def value_of(intervals, problem=problem, solution=solution):
            evaluation = problem.evaluate({"intervals": intervals, "projected_cost": 0.0, "objective": 0.0})
            same = intervals == solution.to_document()["intervals"]
            return solution.objective if evaluation.feasible and same else None

        is_true = claims_what_is_true(problem, solution, value_of)
        verdicts.append(try_corruptions(problem, solution, 40, random, is_true))
    refused, passed = totals(verdicts)
    assert refused > 150
    assert refused + passed == 400
