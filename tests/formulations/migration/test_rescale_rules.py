"""Rules in the exact methods for rescalings: the program over ranges, bounds, and why nothing is feasible."""

import pytest

import edrp
from edrp.auto.choices import choose_for_rescale
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.solve import find_clashes
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.rules import with_rules
from edrp.formulations.migration.rescale.decomposition import method as decomposition
from edrp.migration.rescale.problem import RescaleProblem


def ruled(seed):
    return with_rules(random_rescale(seed, tasks=(3, 5)), seed)


@pytest.mark.parametrize("seed", [10, 30, 43, 54, 79, 99, 17])
def test_bounds_prove_the_optimum_with_rules_without_the_program(seed, monkeypatch):
    """Prices know of no rule: that the bound is reached tells that what they leave open is looked at under the rules."""
    monkeypatch.setattr(decomposition, "MAX_PROGRAM", 0)
    problem = ruled(seed)
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "range-decomposition", rounds=100)
    if optimum is None:
        assert solution.status in ("infeasible", "none")
        return
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(optimum, abs=1e-7)
    assert solution.bound <= optimum + 1e-9


def test_what_is_left_open_is_looked_at_up_to_a_number(monkeypatch):
    monkeypatch.setattr(decomposition, "MAX_PROGRAM", 0)
    monkeypatch.setattr(decomposition, "MAX_RULED", 0)
    problem = ruled(79)
    solution = edrp.solve(problem, "range-decomposition", rounds=100)
    assert solution.status == "feasible"
    assert solution.bound < solution.objective == pytest.approx(brute_force(problem)[0], abs=1e-7)


def one_operator(rule, nodes=("a", "b"), **fields):
    """Six tasks of equal work, each replica takes three; two run on the first node."""
    operator = {
        "name": "count",
        "latency": {"model": "mm1", "service_rate": 10.0},
        "external_rate": 18.0,
        "cost": 1.0,
        "max_replicas": 4,
        "tasks": {"work": [1] * 6, "state_size": [1e6] * 6},
    }
    described = {
        "application": {"operators": [operator]},
        "network": {"nodes": [{"name": name, "down_rate": 1e6} for name in nodes]},
        "rules": [{"name": "own", **rule}],
        "weights": {"cost": 0.5, "moved_state": 0.5},
        "limits": {"cost": 4.0, "moved_state": 6e6},
        "transfer": "direct",
        "current": {"count": [{"node": "a", "tasks": [0, 3]}, {"node": "a", "tasks": [3, 6]}]},
    }
    return RescaleProblem(**{**described, **fields})


@pytest.mark.parametrize(
    ("count", "nodes"),
    [("replicas", ["a", "b"]), ("nodes", ["a", "a"])],
    ids=["both ranges of a node count", "a node counts once"],
)
@pytest.mark.parametrize("method", ["highs", "range-decomposition", "range-annealing", "auto"])
def test_ranges_of_one_operator_on_one_node(method, count, nodes):
    """At most one replica on the first node, or at most one node that runs any: the latter says nothing of two ranges there."""
    rule = {"rule": "linear", "terms": [{"operator": "count", "count": count, "nodes": ["a"]}], "upper": 1}
    solution = edrp.solve(one_operator(rule), method)
    assert sorted(solution.deployment.nodes("count")) == nodes
    assert solution.status == ("feasible" if method == "range-annealing" else "optimal")


def test_a_penalty_is_weighed_against_what_it_takes_to_avoid_it():
    rule = {"rule": "apart", "operators": ["count"]}
    cheap, dear = (edrp.solve(one_operator({**rule, "penalty": penalty})) for penalty in (0.2, 0.3))
    assert (cheap.metrics["penalties"], cheap.metrics["moved_state"]) == (0.2, 0.0)
    assert (dear.metrics["penalties"], dear.metrics["moved_state"]) == (0.0, 3e6)
    assert dear.objective == pytest.approx(cheap.objective + 0.05)


def test_auto_proves_by_methods_that_take_rules():
    problem = ruled(30)
    stages = choose_for_rescale(problem).stages
    assert all(stage.method.refusal(problem) is None for stage in stages)
    assert edrp.solve(problem).status == "optimal"


def test_a_rule_that_narrows_candidates_is_named_with_the_limit_that_it_clashes_with():
    rule = {"rule": "forbidden", "operators": ["count"], "nodes": ["a"]}
    problem = one_operator(rule, limits={"cost": 4.0, "moved_state": 4e6}, nodes=("a", "b", "c"))
    problem = problem.replace(
        rules=[*problem.rules, {"rule": "apart", "name": "needless", "operators": ["count"], "penalty": 1.0}]
    )
    assert edrp.solve(problem, "highs").status == "infeasible"
    limit, named = find_clashes(problem, 5.0).clashes
    assert limit == "limits.moved_state: 4e+06 bytes; it is at least 6e+06 bytes"
    assert named == "rule 'own': no replicas of count on node a"


@pytest.mark.parametrize(("penalty", "least"), [(None, "3e+06"), (9.0, "1e+06")])
def test_the_least_value_of_a_limit_is_that_under_all_rules(penalty, least):
    """One task to the second node would do, on a third replica; a rule against that must hold, though the clash needs it not."""
    rule = {"rule": "linear", "terms": [{"operator": "count", "nodes": ["b"]}], "lower": 1}
    further = {"rule": "linear", "name": "two", "terms": [{"operator": "count"}], "upper": 2, "penalty": penalty}
    problem = one_operator(rule, limits={"cost": 4.0, "moved_state": 5e5})
    limit, own = find_clashes(problem.replace(rules=[*problem.rules, further]), 5.0).clashes
    assert limit == f"limits.moved_state: 500000 bytes; it is at least {least} bytes"
    assert own.startswith("rule 'own'")


@pytest.mark.parametrize(("scenarios", "load"), [((), ""), ((1.0, 1.2), " at up to 1.2 times the load")])
def test_a_load_that_needs_the_replicas_that_a_rule_parts_is_named_with_it(scenarios, load):
    problem = RescaleProblem(
        application={
            "operators": [
                {"name": "work", "external_rate": 15.0, "latency": {"model": "mm1", "service_rate": 10.0}, "max_replicas": 2},
                {"name": "idle", "external_rate": 15.0, "latency": {"model": "mm1", "service_rate": 10.0}, "max_replicas": 2},
            ]
        },
        network={"nodes": [{"name": name, "zone": "z"} for name in "ab"], "within_zone": {"delay": 0.01}},
        weights={"cost": 1.0},
        limits={"cost": 10.0},
        rules=[{"rule": "apart", "name": "R0", "operators": ["work"], "per": "zone"}],
        scenarios=[{"factor": factor, "probability": 0.5} for factor in scenarios],
    )
    needed = f"work: its load of 15 tuples/s needs at least 2 replicas{load}"
    assert edrp.solve(problem).clashes == (needed, "rule 'R0': replicas of work run in different zones")
