"""Exact methods honour rules: optimum and infeasibility are those of an enumeration, by every method and by `auto`."""

from typing import Any

import numpy as np
import pytest

import edrp
from edrp.auto.choices import proofs
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.rules import with_rules
from edrp.datasets.families.placement.shapes import layered_shape
from edrp.formulations.placement.handover import RULES_LEFT_OUT, without_rules
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.node_classes import node_classes


def on_cluster(*rules: dict[str, Any], **fields: Any) -> edrp.EdrpProblem:
    """Two operators on four equal nodes, where replicas that share a node save time."""
    problem = cluster(2, np.random.default_rng(1), shape=layered_shape, size=(4, 4, 4), weights={"response_time": 1.0})
    nodes = tuple(node.replace(zone="ab"[u % 2]) for u, node in enumerate(problem.network.nodes))
    network = problem.network.replace(nodes=nodes, within_zone={"delay": 0.0005}, between_zones={"delay": 0.0005})
    return problem.replace(network=network, rules=rules, **fields)


def classes(*rules: dict[str, Any]) -> list[int]:
    """Class of each node of the cluster with some rules."""
    return node_classes(compile_problem(on_cluster(*rules))).tolist()


def test_rules_that_say_the_same_of_all_nodes_keep_their_classes():
    first = on_cluster().application.operators[0].name
    assert classes({"rule": "apart", "name": "apart", "operators": [first]}) == [0, 0, 0, 0]
    assert classes({"rule": "spread", "name": "few", "operators": [first], "most": 2, "penalty": 0.1}) == [0, 0, 0, 0]
    assert (
        classes({"rule": "together", "name": "all", "operators": [o.name for o in on_cluster().application.operators]}) == [0] * 4
    )


def test_classes_of_equal_nodes_are_refined_by_rules():
    first = on_cluster().application.operators[0].name
    zones = {"rule": "at_least_zones", "name": "zones", "operators": [first], "zones": 2}
    licence = {"terms": [{"operator": first, "nodes": [on_cluster().network.nodes[2].name]}], "upper": 1}
    assert classes(zones) == [0, 1, 0, 1]
    assert classes({"rule": "linear", "name": "licence", **licence}) == [0, 0, 1, 0]


@pytest.mark.parametrize("seed", range(6))
def test_exchanging_equal_nodes_changes_nothing_that_rules_say(seed):
    compiled = compile_problem(with_rules(random_cluster(seed), seed))
    random, number = np.random.default_rng(seed), node_classes(compiled)
    for kind in range(int(number.max()) + 1):
        members = np.flatnonzero(number == kind)
        counts = random.integers(0, 3, compiled.candidate.shape)
        exchanged = counts.copy()
        exchanged[:, members] = counts[:, random.permutation(members)]
        assert compiled.rules.price(exchanged) == pytest.approx(compiled.rules.price(counts))
        assert compiled.rules.breach(exchanged) == pytest.approx(compiled.rules.breach(counts))


def test_a_method_that_knows_no_rules_hands_over_and_says_so():
    names = [operator.name for operator in on_cluster().application.operators]
    problem = on_cluster({"rule": "apart", "name": "apart", "operators": names, "between": "operators"})
    solution = edrp.solve(problem, "equal-nodes")
    assert (solution.method, solution.status) == ("equal-nodes, highs", "optimal")
    assert RULES_LEFT_OUT in solution.notes
    assert solution.objective == pytest.approx(edrp.solve(problem, "eliminate").objective)


def test_an_optimum_without_rules_that_meets_them_is_one_with_them():
    first = on_cluster().application.operators[0].name
    problem = on_cluster({"rule": "at_least_zones", "name": "somewhere", "operators": [first], "zones": 1})
    solution = edrp.solve(problem, "equal-nodes")
    assert (solution.method, solution.status, solution.notes) == ("equal-nodes", "optimal", ())


def test_a_limit_leaves_a_true_bound_and_the_best_decision_known():
    first = on_cluster().application.operators[0].name
    problem = on_cluster({"rule": "apart", "name": "apart", "operators": [first]})
    best = edrp.solve(problem, "highs")
    solution = edrp.solve(problem, "equal-nodes", work_limit=1e-3, start=best.decision)
    assert solution.objective == pytest.approx(best.objective)
    assert solution.bound is None or solution.bound <= best.objective + 1e-9


def test_rules_that_only_narrow_candidates_are_not_left_out():
    first = on_cluster().application.operators[0].name
    near = {"rule": "required", "name": "near", "operators": [first], "zones": ["a"]}
    apart = {"rule": "apart", "name": "apart", "operators": [first]}
    problem = on_cluster(near)
    assert without_rules(problem) is problem
    assert [rule.name for rule in without_rules(on_cluster(near, apart)).rules] == ["near"]


def test_proofs_with_rules_begin_with_a_method_that_takes_them():
    names = [operator.name for operator in on_cluster().application.operators]
    rules = [
        {"rule": "linear", "name": f"licence {u}", "terms": [{"operator": names[0], "nodes": [node.name]}], "upper": u + 1}
        for u, node in enumerate(on_cluster().network.nodes)
    ]
    assert "equal-nodes" not in [method.name for method in proofs(on_cluster(*rules))]
    weights = {"response_time": 0.5, "availability": 0.5}
    limits = on_cluster().limits.replace(availability=0.5)
    assert proofs(on_cluster(*rules, weights=weights, limits=limits))


def test_a_zone_that_no_operator_can_use_counts_for_nothing():
    queue = {"model": "mm1", "service_rate": 10.0}
    work = {"name": "work", "latency": queue, "external_rate": 5.0, "max_replicas": 2, "candidates": ["a", "b"]}
    problem = EdrpProblem(
        application={"operators": [work]},
        network={"nodes": [{"name": name, "zone": f"zone of {name}"} for name in "abc"]},
        rules=[
            {"rule": "at_least_zones", "name": "survive", "operators": ["work"], "zones": 2},
            {"rule": "spread", "name": "even", "operators": ["work"], "per": "zone", "max_skew": 1, "penalty": 0.1},
        ],
        weights={"cost": 1.0},
        limits={"cost": 10.0},
    )
    assert edrp.solve(problem, "eliminate").deployment == {"work": ["a", "b"]}
