"""Certificates of `column-generation`: the checker's patterns prove the problem itself, and no false claim passes."""

import json

import numpy as np
import pytest

from edrp import LatencyAwareProblem, solve
from edrp.certificates import checker
from edrp.certificates.column_generation import certify_column_generation
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.certificates import NotCertifiedError
from edrp.datasets.families.placement.latency_aware import FAMILIES
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.validation.oracles.corruption import change_certified, check_documents

ACYCLIC = [family for family in FAMILIES if not family.packages and not family.name.endswith("cyclic")]


def made(number, size, seed=0):
    return ACYCLIC[number].make(size, np.random.default_rng([seed, size]))


def header(certificate):
    return json.loads(certificate.splitlines()[0])


@pytest.mark.parametrize("number", range(len(ACYCLIC)))
@pytest.mark.parametrize("size", [4, 8])
def test_an_answer_is_certified_for_the_problem_itself(number, size):
    problem = made(number, size)
    solution = solve(problem, "column-generation", certify=True)
    assert (solution.proof, solution.notes[1:]) == ("checked certificate", ())
    assert header(solution.certificate)["format"] == "column-generation"
    assert check_documents(problem, solution.to_document(), solution.certificate).startswith(
        "the answer is optimal, its objective is "
    )


def test_the_tree_has_windows_where_one_set_of_prices_is_not_enough(monkeypatch):
    monkeypatch.setattr("edrp.certificates.column_generation.FEW_PARTS", 100)
    solution = solve(made(6, 8), "column-generation", certify=True)
    assert header(solution.certificate)["format"] == "column-generation"
    assert sum(line.startswith('["W"') for line in solution.certificate.splitlines()) >= 1


SEARCHED = (0, 2, 3, 4, 5, 8, 11, 12, 13, 16, 17, 22, 23, 25, 26, 31, 32, 33)
"""Seeds of problems without cycles for which random prices leave no more than some thousand parts of placements."""


@pytest.mark.parametrize("seed", SEARCHED)
def test_bounds_hold_for_what_brute_force_finds(seed):
    """The checker's own parts: prices at random leave the optimum, and what is a little above it is refused."""
    problem = random_latency_aware_problem(seed)
    best, optima = brute_force(problem)
    order = [operator.name for operator in problem.application.operators]
    document = checker.parse(problem.model_dump_json())
    patterns = checker.Patterns(document, order, best is not None)
    worth = [int(x) for x in np.random.default_rng(seed).integers(0, 2 ** (checker.SHIFT - 4), len(order))]
    if best is None:
        patterns.close(patterns.root, worth, 1, 10**6)
        return
    deployment = checker.parse(json.dumps({name: list(nodes) for name, nodes in optima[0].items()}))
    assert float(checker.evaluate_latency_aware(document, deployment)) == pytest.approx(best, rel=1e-9)
    patterns.close(patterns.root, worth, int((best - 1e-7) * 2**checker.SHIFT), 10**6)
    with pytest.raises(checker.Refused, match="there may be a better placement"):
        patterns.close(patterns.root, worth, int((best + 1e-7) * 2**checker.SHIFT), 10**6)


def test_a_tree_that_leaves_out_a_half_is_refused(monkeypatch):
    monkeypatch.setattr("edrp.certificates.column_generation.FEW_PARTS", 100)
    problem = made(6, 8)
    solution = solve(problem, "column-generation", certify=True)
    *lines, _ = solution.certificate.splitlines()
    with pytest.raises(checker.Refused, match="the tree ends before all of it is closed"):
        check_documents(problem, solution.to_document(), "\n".join(lines))


def test_streams_that_form_cycles_are_left_to_programs():
    cyclic = LatencyAwareProblem(
        application={
            "operators": [{"name": "a"}, {"name": "b"}],
            "streams": [{"source": "a", "target": "b", "rate": 1}, {"source": "b", "target": "a", "rate": 1}],
        },
        network={"nodes": [{"name": "u"}, {"name": "v"}], "links": [{"source": "u", "target": "v", "delay": 0.1}]},
    )
    solution = solve(cyclic, "column-generation", certify=True)
    assert header(solution.certificate)["format"] == "program"
    with pytest.raises(NotCertifiedError, match="cycle"):
        certify_column_generation(cyclic, solution)


@pytest.mark.parametrize("numbers", [range(3), pytest.param(range(3, 6), marks=pytest.mark.slow)], ids=["first", "others"])
def test_no_change_makes_a_false_claim_pass(numbers):
    solved = [problem for problem in (made(number, 4) for number in numbers) if solve(problem).status == "optimal"]
    refused, passed = change_certified(solved, "column-generation", 40)
    assert refused > 40
    assert passed < refused
