"""An explanation says of every rule whether it is met, what it adds to the objective, and what the optimum is without it."""

import pytest

import edrp
from edrp.cli.display.explanation import explanation_parts
from edrp.cli.display.placement import deployment_parts
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.rules import with_rules
from edrp.explanations.objective import RuleState
from edrp.explorer.page import explorer_page
from edrp.formulations.second_best import SecondBest
from edrp.placement.rules import Forbidden

RULES = [
    {"rule": "forbidden", "name": "tenant", "operators": ["parse"], "nodes": ["cheap"], "reason": "acme wants to be alone"},
    {"rule": "apart", "name": "apart", "operators": ["read", "parse"], "penalty": 0.01},
    {"rule": "required", "name": "home", "operators": ["read"], "nodes": ["cheap", "fast"]},
]


def problem(rules=RULES, **changes):
    """Two operators that would run together on `cheap`, the node with the link that costs nothing to the third."""
    operators = [{"name": "read", "external_rate": 10.0, "cost": 1.0}, {"name": "parse", "cost": 1.0}]
    links = [("cheap", "fast", 0.01), ("cheap", "far", 0.02), ("fast", "far", 0.04)]
    fields = {
        "application": {"operators": operators, "streams": [{"source": "read", "target": "parse"}]},
        "network": {
            "nodes": [
                {"name": "cheap", "labels": {"rack": "r1"}},
                {"name": "fast", "speedup": 0.5},
                {"name": "far", "speedup": 0.5},
            ],
            "links": [{"source": u, "target": v, "delay": delay, "cost": 0.1} for u, v, delay in links],
        },
        "weights": {"response_time": 0.5, "cost": 0.5},
        "limits": {"response_time": 0.1, "cost": 10.0},
        "rules": rules,
    }
    return edrp.EdrpProblem(**{**fields, **changes})


def test_rules_are_listed_with_their_state_and_what_the_optimum_is_without_them():
    ruled = problem()
    found = edrp.explain(ruled, edrp.solve(ruled, "highs"))
    tenant, apart, home = found.rules
    assert (tenant.state, tenant.worth, tenant.binds) == ("met", "does not bind: the optimum is the same without it", False)
    assert (apart.state, apart.violation, apart.price) == ("violated by 1, adds 0.01", 1.0, 0.01)
    assert (apart.worth, apart.binds) == ("binds: the optimum without it is 0.01 lower", True)
    assert (home.state, home.binds) == ("met", False)
    assert sum(share.amount for share in found.shares) == pytest.approx(found.evaluation.objective, rel=1e-12)
    assert found.shares[-1].metric == "penalties"


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("make", [random_problem, random_latency_aware_problem])
def test_what_a_rule_costs_is_the_difference_of_two_optima(make, seed):
    ruled = with_rules(make(seed, operators=(2, 3), nodes=(3, 3), combinations_limit=1e3), seed)
    solution = edrp.solve(ruled, "highs")
    if solution.deployment is None:
        ruled = ruled.replace(rules=tuple(rule.replace(penalty=rule.penalty or 0.5) for rule in ruled.rules))
        solution = edrp.solve(ruled, "highs")
    found = edrp.explain(ruled, solution, runner_up=False, alike=False, work_limit=20.0)
    assert sum(share.amount for share in found.shares) == pytest.approx(solution.objective, rel=1e-9)
    assert len(found.rules) == len(ruled.rules) > 0
    for state in found.rules:
        fewer = ruled.replace(rules=tuple(rule for rule in ruled.rules if rule.name != state.rule.name))
        without = edrp.solve(fewer, "highs").objective
        assert state.proven == (True, True)
        assert state.gain == pytest.approx(solution.objective - without, abs=1e-8)
        assert state.binds == (solution.objective - without > 1e-8)


def test_the_page_the_terminal_and_the_metrics_show_rules():
    ruled = problem()
    solution = edrp.solve(ruled, "highs")
    tables = {part.caption: part for part in explanation_parts(ruled, solution, None) if hasattr(part, "rows")}
    assert [row[:5] for row in tables["Rules"].rows][:2] == [
        ("tenant", "no replicas of parse on node cheap", "acme wants to be alone", "must be met", "met"),
        ("apart", "replicas of read and parse run on different nodes", "", "0.01 per unit", "violated by 1, adds 0.01"),
    ]  # fmt: skip
    assert ("penalties", "0.01", "1", "", "1") in next(p for p in deployment_parts(ruled, solution) if "weight" in p.columns).rows
    told = "• rule 'apart': replicas of read and parse run on different nodes: violated by 1"
    assert told in list(deployment_parts(ruled, solution))
    page = explorer_page(ruled, solution)
    for text in ("acme wants to be alone", "violated by 1, adds 0.01", '"rack"'):
        assert text in page
    assert "acme wants to be alone" in found_html(ruled, solution)


def found_html(ruled, solution):
    return edrp.explain(ruled, solution, runner_up=False)._repr_html_()


def test_a_deployment_that_breaks_a_rule_says_by_how_much_and_nothing_is_solved():
    found = edrp.explain(problem(), {"read": ["cheap"], "parse": ["cheap"]}, runner_up=False)
    tenant = found.rules[0]
    assert (tenant.state, tenant.worth, tenant.binds) == ("violated by 1", "", None)
    assert not found.evaluation.feasible


def test_with_priorities_the_problem_is_not_solved_without_its_rules():
    """There is no single objective to compare by."""
    ruled = problem(RULES[:1], priorities=[{"metric": "cost"}])
    assert edrp.explain(ruled, edrp.solve(ruled, "highs"), runner_up=False).rules[0].gain is None


@pytest.mark.parametrize(
    ("gain", "proven", "binds", "words"),
    [
        (0.5, (True, True), True, "binds: the optimum without it is 0.5 lower"),
        (0.5, (True, False), True, "binds: 0.5 lower was found without it, and the optimum may be lower still"),
        (0.5, (False, True), None, "0.5 lower was found without it; the deployment explained is not proven to be optimal"),
        (0.0, (False, True), False, "does not bind: the optimum is the same without it"),
        (0.0, (True, False), None, "nothing better was found without it; not proven within the work limit"),
        (None, (True, False), None, ""),
    ],
)
def test_only_what_is_proven_is_called_the_cost_of_a_rule(gain, proven, binds, words):
    state = RuleState(Forbidden(name="x", nodes=("a",)), 0.0, gain, proven)
    assert (state.binds, state.worth) == (binds, words)


def test_the_second_best_keeps_the_rules_and_proves_that_a_plain_deployment_is_optimal():
    only = {"rule": "forbidden", "name": "only", "operators": ["parse"], "nodes": ["cheap"]}
    ruled = problem([only, {"rule": "required", "name": "home", "operators": ["read"], "nodes": ["cheap"]}])
    found = edrp.explain(ruled, edrp.solve(ruled, "highs").deployment)
    assert isinstance(found.second_best, SecondBest)
    assert found.second_best.proven
    assert ruled.evaluate(found.second_best.deployment).feasible
    assert (found.deployment["parse"], found.second_best.deployment["parse"]) == (("fast",), ("far",))
    gain = found.evaluation.objective - edrp.solve(ruled.replace(rules=ruled.rules[1:]), "highs").objective
    assert gain > 0.01
    assert found.rules[0].gain == pytest.approx(gain, rel=1e-9)
    assert found.rules[0].worth == f"binds: the optimum without it is {gain:.6g} lower"
