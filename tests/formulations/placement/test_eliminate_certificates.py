"""Certificates of `eliminate`: optima are certified, and no false claim has a certificate."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from edrp import solve
from edrp.certificates.elimination import certify_eliminate
from edrp.core.errors import EdrpError
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.validation.oracles import checker
from edrp.validation.oracles.corruption import check_documents, try_corruptions


def covered(seed):
    """A small random problem of response time and cost alone."""
    problem = random_problem(seed)
    weights = [{"response_time": 0.5, "cost": 0.5}, {"response_time": 1.0}, {"cost": 1.0}][seed % 3]
    limits = {"response_time": problem.limits.response_time or 100.0, "cost": problem.limits.cost or 1000.0}
    return problem.replace(weights=weights, limits=limits, current=None, reconfiguration="pause-and-resume")


def claims_what_is_true(problem, solution):
    """Whether a solution document and a bound claim no more than what `solution` is known to be."""

    def is_true(document, bound):
        evaluation = problem.evaluate(document["deployment"])
        known = evaluation.feasible and abs(evaluation.objective - document["objective"]) <= 2e-9
        return known and bound is not None and bound <= Fraction(solution.objective) + Fraction(11, 10**7)

    return is_true


@pytest.mark.parametrize("seed", range(40))
def test_an_optimum_of_eliminate_is_certified(seed):
    problem = covered(seed)
    solution = solve(problem, "eliminate", certify=True)
    if solution.status == "optimal":
        assert solution.proof == "checked certificate", solution.notes
        assert json.loads(solution.certificate.splitlines()[0])["format"] == "eliminate", solution.notes


def test_the_application_of_debs_2015_is_certified():
    solution = solve(debs2015(105.0, geometric(24, 1), max_replicas=4), "eliminate", certify=True)
    assert solution.proof == "checked certificate", solution.notes
    assert json.loads(solution.certificate.splitlines()[0])["format"] == "eliminate"


def test_a_worse_deployment_is_not_certified_as_optimal():
    problem = debs2015(105.0, geometric(8, 1))
    best = solve(problem, "eliminate", certify=True)
    other = solve(problem, "random")
    assert other.status == "feasible"
    assert other.objective > best.objective + 1e-4
    header, *lines = best.certificate.splitlines()
    claimed = json.dumps({**json.loads(header), "bound": str(Fraction(other.objective))})
    worse = json.loads(json.dumps({**other.to_document(), "status": "optimal"}))
    with pytest.raises(checker.Refused, match="there may be a better deployment"):
        check_documents(problem, worse, "\n".join([claimed, *lines]))


def test_what_the_relaxation_does_not_know_is_not_claimed():
    problem = debs2015(105.0, geometric(8, 1), weights={"network_usage": 1.0}, limits={"network_usage": 1000.0})
    solution = solve(problem, "eliminate")
    with pytest.raises(EdrpError, match="does not know network_usage"):
        certify_eliminate(problem, solution)


def test_no_change_makes_a_false_claim_of_eliminate_pass():
    random, refused, passed = np.random.default_rng(0), 0, 0
    for seed in range(8):
        problem = covered(seed)
        solution = solve(problem, "eliminate", certify=True)
        if solution.status == "optimal":
            verdicts = try_corruptions(problem, solution, 30, random, claims_what_is_true(problem, solution))
            refused, passed = refused + verdicts.refused, passed + verdicts.passed
    assert refused > 80
    assert passed < refused
