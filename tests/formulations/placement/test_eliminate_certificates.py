"""Certificates of `eliminate`: optima are certified, and no false claim has a certificate."""

import json
from fractions import Fraction

import pytest

from edrp import solve
from edrp.certificates import checker
from edrp.certificates.elimination import certify_eliminate
from edrp.core.errors import EdrpError
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.validation.oracles.corruption import change_certified, check_documents


def covered(seed):
    problem = random_problem(seed)
    weights = [{"response_time": 0.5, "cost": 0.5}, {"response_time": 1.0}, {"cost": 1.0}][seed % 3]
    limits = {"response_time": problem.limits.response_time or 100.0, "cost": problem.limits.cost or 1000.0}
    return problem.replace(weights=weights, limits=limits, current=None, reconfiguration="pause-and-resume")


def quick_and_slow(seeds):
    """Seven of eight are for `pytest -m slow`."""
    return [pytest.param(seed, marks=[pytest.mark.slow] * (place % 8 != 4)) for place, seed in enumerate(seeds)]


@pytest.mark.parametrize("seed", quick_and_slow(range(40)))
def test_an_optimum_of_eliminate_is_certified(seed):
    problem = covered(seed)
    solution = solve(problem, "eliminate", certify=True)
    if solution.status == "optimal":
        assert solution.proof == "checked certificate", solution.notes
        assert json.loads(solution.certificate.splitlines()[0])["format"] == "eliminate", solution.notes


def test_a_worse_deployment_is_not_certified_as_optimal():
    problem = debs2015(105.0, geometric(8, 1))
    best = solve(problem, "eliminate", certify=True)
    other = solve(problem, "random")
    assert other.status == "feasible"
    assert other.objective > best.objective + 1e-4
    header, *lines = best.certificate.splitlines()
    claimed = json.dumps({**json.loads(header), "bound": str(Fraction(other.objective))})
    worse = json.loads(json.dumps({**other.to_document(), "status": "optimal"}))
    with pytest.raises(checker.Refused, match=r"there may be a better deployment"):
        check_documents(problem, worse, "\n".join([claimed, *lines]))


def test_what_the_relaxation_does_not_know_is_not_claimed():
    problem = debs2015(105.0, geometric(8, 1), weights={"availability": 1.0}, limits={"availability": 0.5})
    solution = solve(problem, "highs")
    with pytest.raises(EdrpError, match="does not know availability"):
        certify_eliminate(problem, solution)


WHOLE = [1, 3, 4, 6, 7, 10, 11, 14, 16, 17, 19, 22, 24, 26, 28, 32, 33, 36, 37, 39, 40, 41, 42, 43, 45, 47, 48, 49]
"""Seeds of random problems with limits and weights of all metrics that `eliminate` takes, without Storm's reconfiguration."""


@pytest.mark.parametrize("seed", quick_and_slow(WHOLE))
def test_downtimes_tuples_in_flight_and_infeasible_answers_are_certified(seed):
    problem = random_problem(seed)
    solution = solve(problem, "eliminate", certify=True)
    assert json.loads(solution.certificate.splitlines()[0])["format"] == "eliminate", solution.notes


@pytest.mark.parametrize("seed", quick_and_slow(WHOLE[6:]))
def test_bounds_above_the_optimum_and_false_infeasibility_have_no_certificate(seed, monkeypatch):
    """The writer tries all that it has on the checker's relaxation, which must keep the optimum."""
    monkeypatch.setattr("edrp.certificates.elimination.MAX_PARTS", 10_000)
    problem = random_problem(seed)
    solution = solve(problem, "eliminate")
    if solution.status == "optimal":
        for false in ({"objective": solution.objective + 1e-5}, {"status": "infeasible", "objective": None}):
            with pytest.raises(EdrpError, match=r"there may be a better deployment|more than|no limit on"):
                certify_eliminate(problem, solution.model_copy(update=false))


@pytest.mark.slow
def test_infeasible_limits_on_response_time_and_cost_together_are_certified():
    problem = debs2015(105.0, geometric(4, 1))
    quickest = solve(problem.replace(weights={"response_time": 1.0}), "eliminate").metrics["response_time"]
    cheapest = solve(problem.replace(weights={"cost": 1.0}), "eliminate").metrics["cost"]
    limited = problem.replace(limits={"response_time": 1.001 * quickest, "cost": 1.001 * cheapest})
    solution = solve(limited, "eliminate", certify=True)
    assert (solution.status, solution.proof) == ("infeasible", "checked certificate"), solution.notes
    assert check_documents(limited, solution.to_document(), solution.certificate).startswith(
        "the problem is infeasible: no deployment is feasible"
    )


def test_no_change_makes_a_false_claim_of_eliminate_pass():
    refused, passed = change_certified(map(covered, (2, 4, 5)), "eliminate", 30)
    assert refused > 50
    assert passed < refused
