"""Rules in certificates: the checker reads them, evaluates them by itself, and proves optima that they bind."""

import json

import pytest
from rule_documents import CASES

import edrp
from edrp.certificates import checker
from edrp.placement.rules.own import registered_rules

NODES = [
    {"name": "a", "zone": "east", "labels": {"rack": "r1"}},
    {"name": "b", "zone": "east", "labels": {"rack": "r2"}},
    {"name": "c", "zone": "west"},
    {"name": "d"},
]
OPERATORS = [{"name": "read", "cost": 1.0}, {"name": "work", "cost": 1.0}]
PLACED = {"read": ["a", "a", "b"], "work": ["c"]}
"""Two replicas of an operator on a node, three in a zone; another in another zone."""


def ruled(*rules, max_replicas=3):
    named = [{"name": f"rule {number}", **rule} for number, rule in enumerate(rules)]
    network = {"nodes": NODES, "within_zone": {"delay": 0.1}, "between_zones": {"delay": 1.0}}
    operators = [{**operator, "max_replicas": max_replicas} for operator in OPERATORS]
    application = {"operators": operators, "streams": [{"source": "read", "target": "work", "rate": 1.0}]}
    goals = {"weights": {"response_time": 0.5, "cost": 0.5}, "limits": {"response_time": 10.0, "cost": 10.0}}
    return {"kind": "edrp", "application": application, "network": network, **goals, "rules": named}


def evaluated(document, decision=PLACED):
    return checker.evaluate_deployment(checker.parse(json.dumps(document)), decision)


def certified(document, method="highs"):
    """A certified solution, and what the checker says of it."""
    problem = edrp.loads(json.dumps(document))
    solution = edrp.solve(problem, method, certify=True)
    answer = checker.parse(json.dumps(solution.to_document()))
    return solution, checker.check(checker.parse(json.dumps(document)), answer, solution.certificate.splitlines())


READ, BOTH = {"operators": ["read"]}, {"operators": ["read", "work"]}


@pytest.mark.parametrize(
    ("rule", "violation"),
    [
        ({"rule": "together", **BOTH, "per": "zone"}, 2),
        ({"rule": "spread", **READ, "max_skew": 1, "per": "rack", "min_domains": 3}, 1),
        ({"rule": "at_least_zones", **BOTH, "zones": 2}, 0),
        ({"rule": "linear", "terms": [{"operator": "read", "coefficient": 2.0, "nodes": ["a", "c"]}], "upper": 2.5}, 1.5),
    ],
)
def test_the_checker_prices_or_refuses_what_violates_a_rule(rule, violation):
    """That it measures violations as the evaluation does is a clause of the contract of rules."""
    priced = evaluated(ruled({**rule, "penalty": 1.0})) - evaluated(ruled())
    assert float(priced) == violation
    if violation:
        with pytest.raises(checker.Refused, match=rf"rule rule 0: violated by {float(violation)!r}"):
            evaluated(ruled(rule))
    else:
        assert evaluated(ruled(rule)) == evaluated(ruled())


@pytest.mark.parametrize(
    "rules",
    [
        [{"rule": "apart", **BOTH, "between": "operators"}],
        [{"rule": "at_least_zones", **BOTH, "zones": 2}, {"rule": "spread", **BOTH, "most": 1}],
        [{"rule": "apart", **BOTH, "between": "operators", "penalty": 0.03}],
        [{"rule": "at_least_zones", **BOTH, "zones": 2, "penalty": 1.0}],
        [{"rule": "linear", "terms": [{"operator": "read"}, {"operator": "work"}], "lower": 4.0, "upper": 5.0}],
    ],
)
def test_optima_that_rules_bind_are_proven_of_the_problem_itself(rules):
    free, _ = certified(ruled(max_replicas=2))
    solution, said = certified(ruled(*rules, max_replicas=2))
    assert solution.objective > free.objective + 1e-3
    assert (solution.status, solution.proof, type(said)) == ("optimal", "checked certificate", str)


def test_that_rules_contradict_each_other_is_proven_of_the_problem_itself():
    rules = [{"rule": "apart", **BOTH, "between": "operators"}, {"rule": "together", **BOTH}]
    solution, said = certified(ruled(*rules, max_replicas=1))
    assert (solution.status, solution.proof, type(said)) == ("infeasible", "checked certificate", str)


def test_the_optimum_without_a_rule_proves_nothing_with_it():
    without, _ = certified(ruled(max_replicas=1))
    bound = ruled({"rule": "apart", **BOTH, "between": "operators"}, max_replicas=1)
    document = checker.parse(json.dumps(bound))
    header, *tree = without.certificate.splitlines()
    claimed = json.dumps({**json.loads(header), "instance": [checker.instance_hash(document)]})
    with pytest.raises(checker.Refused, match="rule rule 0: violated by 1"):
        checker.check(document, checker.parse(json.dumps(without.to_document())), [claimed, *tree])


def test_names_of_rules_are_unique_for_the_checker_too():
    document = ruled({"rule": "apart", **READ}, {"rule": "apart", **READ, "name": "rule 0"})
    with pytest.raises(checker.Refused, match="rules: rule 0 is given twice"):
        checker.check_instance(checker.parse(json.dumps(document)))


class AtMostOneHere:
    """At most one replica on node a."""

    def evaluate(self, problem, deployment):
        return max(0, sum(deployment.replicas(name)["a"] for name in problem.application.by_name) - 1)

    def linearise(self, model):
        return model.replicas[:, "a"].sum() <= 1


def test_of_a_rule_in_python_only_a_stated_program_is_proven(monkeypatch):
    monkeypatch.setitem(registered_rules(), "one-here", AtMostOneHere)
    document = ruled({"rule": "python", "type": "one-here"}, max_replicas=1)
    with pytest.raises(checker.Unknown, match="the checker does not know what rules in Python say, such as 'rule 0'"):
        evaluated(document, {"read": ["a"], "work": ["c"]})
    solution, said = certified(document)
    assert (solution.status, solution.proof) == ("optimal", "checked certificate")
    assert isinstance(said, checker.Stated)
    assert said.endswith(checker.UNCHECKED)


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
