"""Certificates of `label-setting`: cheapest maps are certified, and no false claim has a certificate."""

import json

import pytest

from edrp import solve
from edrp.certificates import checker
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.mapping.path_mapping import MappingProblem
from edrp.validation.oracles.corruption import change_certified, check_documents


@pytest.mark.parametrize("seed", range(40))
def test_an_answer_of_label_setting_is_certified(seed):
    solution = solve(random_mapping_problem(seed), "label-setting", certify=True)
    assert solution.status in ("optimal", "infeasible")
    assert solution.proof == "checked certificate", solution.notes
    assert json.loads(solution.certificate.splitlines()[0])["format"] == "label-setting"


def test_an_uplink_below_all_rates_still_sends_what_has_no_rate():
    nodes = [{"name": "a", "capacity": 0, "uplink": 0.5}, {"name": "b", "capacity": 0}]
    links = [{"source": "a", "target": "b", "bandwidth": 1, "cost": 9}]
    problem = MappingProblem(
        network={"nodes": nodes, "links": links},
        task={"source": "a", "delivery": "b", "components": [], "bandwidths": [0]},
        public_cost=1,
    )
    solution = solve(problem, "label-setting", certify=True)
    assert (solution.objective, solution.proof) == (1, "checked certificate")
    worse = {**solution.to_document(), "routes": [["a", "b"]], "public": [False], "objective": 9}
    header, *lines = solution.certificate.splitlines()
    with pytest.raises(checker.Refused, match="there may be a better map"):
        check_documents(problem, worse, "\n".join([header.replace('"bound":"1"', '"bound":"9"'), *lines]))


def test_no_change_makes_a_false_claim_of_label_setting_pass():
    problems = map(random_mapping_problem, range(10))
    refused, passed = change_certified(problems, "label-setting", 40)
    assert refused > 160
    assert refused + passed == 400
