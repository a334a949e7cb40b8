"""Rules in certificates: broken ones are refused, and optima proven about stated programs."""

import json

import pytest
from rule_documents import CASES

import edrp
from edrp.certificates import checker


@pytest.mark.parametrize("kind", CASES)
def test_optima_within_rules_are_proven_about_a_stated_program_and_their_rules_checked(kind):
    instance, broken = CASES[kind]
    problem = edrp.loads(json.dumps(instance))
    solution = edrp.solve(problem, certify=True)
    document = checker.parse(json.dumps(solution.to_document()))
    verdict = checker.check(checker.parse(problem.model_dump_json()), document, solution.certificate.splitlines())
    assert isinstance(verdict, checker.Stated)
    assert "was not checked" not in verdict
    parsed = checker.parse(json.dumps(instance))
    assert checker.EVALUATE[kind]({**parsed, "rules": []}, broken) < solution.objective
    with pytest.raises(checker.Refused, match="is broken"):
        checker.EVALUATE[kind](parsed, broken)
