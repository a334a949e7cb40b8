"""Rules that clash with each other, with limits or with resources are named, and no others."""

import pytest

import edrp
from edrp.formulations.placement.infeasibility import Prover, clashing_demands, demands, feasibility_problem, without
from edrp.placement.rules import Apart, AtLeastZones, Forbidden, Required

NODES = [
    {"name": "a", "zone": "north", "labels": {"tenant": "acme"}, "resources": {"cpu": 4.0}},
    {"name": "b", "zone": "north", "resources": {"cpu": 1.0}},
    {"name": "c", "zone": "south", "resources": {"cpu": 1.0}},
]
NETWORK = {"nodes": NODES, "within_zone": {"delay": 0.001}, "between_zones": {"delay": 0.01}}
HARMLESS = {"rule": "spread", "name": "harmless", "operators": ["parse"], "most": 9}
PRICED = {"rule": "forbidden", "name": "dear", "zones": ["north", "south"], "penalty": 5.0}


def latency_aware(rules, needs=(0.5, 0.5), **changes):
    operators = [
        {"name": "read", "resources": {"cpu": needs[0]}},
        {"name": "parse", "resources": {"cpu": needs[1]}, "instances": 2},
    ]
    application = {"operators": operators, "streams": [{"source": "read", "target": "parse", "rate": 5.0}]}
    return edrp.LatencyAwareProblem(application=application, network=NETWORK, rules=rules, **changes)


def classic(rules, needs=(0.5, 0.5), **limits):
    operators = [
        {"name": "read", "resources": {"cpu": needs[0]}, "external_rate": 5.0, "cost": 1.0},
        {"name": "parse", "resources": {"cpu": needs[1]}, "min_replicas": 2, "max_replicas": 3, "cost": 1.0},
    ]
    application = {"operators": operators, "streams": [{"source": "read", "target": "parse"}]}
    limits = {"cost": 9.0, **limits}
    return edrp.EdrpProblem(application=application, network=NETWORK, rules=rules, weights={"cost": 1.0}, limits=limits)


@pytest.mark.parametrize("make", [latency_aware, classic])
@pytest.mark.parametrize(
    ("rules", "needs", "told"),
    [
        (
            [Apart(name="apart", operators=("read", "parse"), per="zone")],
            (0.5, 0.5),
            ["rule 'apart': replicas of read and parse run in different zones"],
        ),
        (
            [
                Apart(name="nodes", operators=("parse",)),
                Required(name="home", operators=("parse",), zones=("north",)),
                Forbidden(name="tenant", operators=("parse",), labels={"tenant": ("acme",)}),
            ],
            (0.5, 0.5),
            [
                "rule 'nodes': replicas of parse run on different nodes",
                "rule 'home': replicas of parse only on nodes in zone north",
                "rule 'tenant': no replicas of parse on nodes with tenant acme",
            ],
        ),
        (
            [AtLeastZones(name="two", operators=("parse",), zones=2)],
            (0.5, 1.5),
            ["cpu of the nodes: ", "rule 'two': parse runs in at least 2 zones"],
        ),
    ],
)  # fmt: skip
def test_rules_that_clash_are_named_and_no_others(make, rules, needs, told):
    clashes = edrp.solve(make([HARMLESS, PRICED, *rules], needs), "highs").clashes
    clashes = [clash for clash in clashes if not clash.startswith("min_replicas")]
    assert len(clashes) == len(told), clashes
    for clash, begin in zip(clashes, told, strict=True):
        assert clash.startswith(begin)


@pytest.mark.parametrize("make", [latency_aware, classic])
def test_without_any_one_demand_that_is_named_there_is_a_deployment(make):
    problem = make([HARMLESS, AtLeastZones(name="two", operators=("parse",), zones=2)], (0.5, 1.5))
    known = demands(problem)
    clash = clashing_demands(feasibility_problem(problem), known, Prover(lambda part: [edrp.methods(part.kind)["highs"]])).clash
    relaxed = without(feasibility_problem(problem), [demand for k, demand in enumerate(known) if k not in clash])
    assert [known[k].text.partition(":")[0] for k in clash][-2:] == ["cpu of the nodes", "rule 'two'"]
    assert edrp.solve(relaxed, "highs").status == "infeasible"
    for k in clash:
        assert edrp.solve(known[k].drop(relaxed), "highs").deployment is not None


@pytest.mark.parametrize("make", [latency_aware, classic])
@pytest.mark.parametrize(
    ("rules", "needs", "told"),
    [
        (
            [Required(name="home", operators=("parse",), zones=("south",)), Forbidden(name="closed", nodes=("c",))],
            (0.5, 0.5),
            "parse: rule 'home' (replicas of parse only on nodes in zone south) and rule 'closed' (no replicas on node c) "
            "leave no node",
        ),
        (
            [Forbidden(name="closed", nodes=("c",)), Forbidden(name="acme", labels={"tenant": ("acme",)})],
            (2.0, 0.5),
            "read: rule 'acme' (no replicas on nodes with tenant acme) leaves no node that has room for a replica",
        ),
    ],
)
def test_an_operator_that_rules_leave_no_node_names_these_rules(make, rules, needs, told):
    assert edrp.solve(make([HARMLESS, *rules], needs), "highs").clashes == (told,)


def test_rules_and_limits_that_clash_are_named_together_with_how_far_the_limit_is_missed():
    """Rows of rules with a penalty play no part in the value that a limit would need."""
    rules = [HARMLESS, PRICED, Apart(name="zones", operators=("parse",), per="zone")]
    problem = classic(rules, response_time=0.004)
    assert edrp.solve(problem, "highs").clashes == (
        "min_replicas of parse: 2",
        "rule 'zones': replicas of parse run in different zones",
        "limits.response_time: 0.004 s; it is at least 0.01 s",
    )


def test_rules_that_play_no_part_leave_what_is_said_of_resources_as_it_is():
    problem = latency_aware([HARMLESS], (1.0, 2.5))
    assert edrp.solve(problem, "highs").clashes == latency_aware([], (1.0, 2.5)).clashes()
