"""Rules stay in force when what runs is measured, nodes vanish, and plans of one kind become problems of another."""

import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.engines.model import latency_aware_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import Network
from edrp.replanning.measurements import with_measurements
from edrp.replanning.plans import exchanged_nodes
from edrp.replanning.replanner import Replanner, ReplanningPolicy

APART = {"rule": "apart", "name": "apart", "operators": ["read", "work"], "per": "zone"}
EXACT = ReplanningPolicy(method="highs", hysteresis=0.0)


def pair(*rules):
    """Two operators on four equal nodes in two zones; `d` is labelled."""
    nodes = [{"name": name, "zone": zone, "resources": {"cpu": 1.0}} for name, zone in zip("abcd", "xxyy", strict=True)]
    nodes[-1]["labels"] = {"disk": "fast"}
    return LatencyAwareProblem(
        application={
            "operators": [{"name": name, "resources": {"cpu": 0.3}} for name in ("read", "work")],
            "streams": [{"source": "read", "target": "work", "rate": 5.0}],
        },
        network={"nodes": nodes, "within_zone": {"delay": 0.001}, "between_zones": {"delay": 0.02}},
        rules=rules,
    )


def test_the_replanner_keeps_rules_and_repairs_what_breaks_them():
    replanner = Replanner(pair(APART), EXACT)
    assert replanner.decide().verdict == "place"
    assert {node < "c" for nodes in replanner.running.values() for node in nodes} == {True, False}
    replanner.running = {"read": ["a"], "work": ["b"]}
    decision = replanner.measure(rates={("read", "work"): 9.0})
    assert decision.verdict == "repair"
    assert decision.broken == ("rule 'apart' (replicas of read and work run in different zones): violated by 1",)
    assert replanner.problem.evaluate(replanner.running).feasible


def test_when_rules_leave_no_plan_the_decision_names_them():
    closed = [{"rule": "forbidden", "name": f"not {zone}", "operators": ["work"], "zones": [zone]} for zone in "xy"]
    decision = Replanner(pair(*closed), EXACT).decide()
    assert decision.verdict == "stuck"
    rules = " and ".join(f"rule 'not {zone}' (no replicas of work on nodes in zone {zone})" for zone in "xy")
    assert f"work: {rules} leave no node" in str(decision)


def test_labels_zones_and_rules_survive_measurements():
    before = pair(APART)
    measured = {"rates": {("read", "work"): 7.0}, "resources": {"read": {"cpu": 0.1}}}
    now = with_measurements(before, **measured, capacities={"d": {"cpu": 2.0}}, delays={("a", "b"): 0.002})
    assert now.rules == before.rules
    assert [(node.zone, node.labels) for node in now.network.nodes] == [(node.zone, node.labels) for node in before.network.nodes]
    graph = before.network.to_graph()
    assert [node.labels for node in Network.from_graph(graph).nodes] == [node.labels for node in before.network.nodes]


def test_rules_are_about_the_nodes_that_are_left():
    linear = {"rule": "linear", "name": "licences", "upper": 1.0}
    rules = [
        {"rule": "forbidden", "name": "some", "nodes": ["a", "b"]},
        {"rule": "forbidden", "name": "gone", "nodes": ["a"]},
        {"rule": "forbidden", "name": "slow", "labels": {"disk": ["fast"]}},
        {"rule": "required", "name": "home", "zones": ["x", "y"]},
        {**linear, "terms": [{"operator": "read", "nodes": ["a", "c"]}, {"operator": "work", "nodes": ["a"]}]},
        {**linear, "name": "none", "terms": [{"operator": "read", "nodes": ["a"]}]},
        APART,
    ]
    now = with_measurements(pair(*rules), vanished=["a"])
    assert [rule.name for rule in now.rules] == ["some", "slow", "home", "licences", "apart"]
    assert now.rules[0].nodes == ("b",)
    assert [(term.operator, term.nodes) for term in now.rules[3].terms] == [("read", ("c",))]
    assert [rule.name for rule in with_measurements(pair(*rules[:4]), vanished=["a", "b", "d"]).rules] == ["home"]
    assert with_measurements(pair(*rules[:4]), vanished=["a", "b", "d"]).rules[0].zones == ("y",)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"rule": "required", "name": "home", "nodes": ["a"]}, r"rules\[0\].nodes\[0\]"),
        ({"rule": "linear", "name": "one", "lower": 1.0, "terms": [{"operator": "read", "nodes": ["a"]}]}, "terms"),
        ({"rule": "at_least_zones", "name": "two", "operators": ["read", "work"], "zones": 2}, "zones: must be at most 1"),
    ],
)
def test_a_rule_that_the_nodes_left_cannot_meet_is_named(rule, why):
    with pytest.raises(InvalidInstanceError, match=why):
        with_measurements(pair(rule), vanished=["a", "b"])


def test_nodes_that_rules_may_tell_apart_are_not_exchanged():
    plan, running = Deployment({"read": ["a"], "work": ["c"]}), Deployment({"read": ["b"], "work": ["a"]})
    assert exchanged_nodes(plan, pair(), running) == {"a": "b", "c": "a"}
    assert exchanged_nodes(plan, pair(APART), running) == {"a": "b", "c": "c"}


def test_the_placement_of_a_plan_keeps_rules_and_labels():
    rules = [{"rule": "forbidden", "name": "slow", "labels": {"disk": ["fast"]}}]
    needs = {"cost": 1.0, "resources": {"cpu": 0.3}}
    operators = [{"name": "read", "external_rate": 5.0, **needs}, {"name": "work", **needs}]
    problem = edrp.EdrpProblem(
        application={"operators": operators, "streams": [{"source": "read", "target": "work"}]},
        network=pair().network,
        weights={"cost": 1.0},
        limits={"cost": 9.0},
        rules=rules,
        current={"read": ["a"], "work": ["b"]},
    )
    placed = latency_aware_problem(problem, problem.current)
    assert placed.rules == problem.rules
    assert placed.network == problem.network


def test_fronts_keep_hard_rules_and_refuse_penalties():
    work = {"name": "work", "external_rate": 8, "cost": 1, "max_replicas": 3, "usage": {"cpu": {"per_tuple": 0.1}}}
    problem = edrp.EdrpProblem(
        application={"operators": [work]},
        network={"nodes": [{"name": name, "capacity": {"cpu": 1}} for name in "abc"], "between_zones": {"delay": 0.001}},
        weights={"peak_load": 1.0},
        rules=[{"rule": "forbidden", "name": "closed", "nodes": ["c"]}],
    )
    front = edrp.pareto_front(problem, "cost", "peak_load", method="highs")
    assert [round(peak, 3) for _, peak in front.values] == [0.8, 0.4]
    assert all("c" not in point.deployment["work"] for point in front.points)
    priced = problem.replace(rules=[problem.rules[0].replace(penalty=1.0)])
    with pytest.raises(InvalidInstanceError, match=r"rules\[0\].penalty: has no place among priorities"):
        edrp.pareto_front(priced, "cost", "peak_load", method="highs")
