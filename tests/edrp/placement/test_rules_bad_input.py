"""What is wrong with a rule is said at its place, with what would be right; all faults of a document together."""

import json
from typing import Any

import pytest

import edrp
from edrp.certificates import checker
from edrp.core.errors import InvalidInstanceError

NODES = [
    {"name": "edge1", "zone": "east", "labels": {"tenant": "acme"}},
    {"name": "edge2", "zone": "east"},
    {"name": "cloud", "zone": "west", "labels": {"tenant": "globex", "disk": "ssd"}},
]
BARE = [{"name": "edge1"}, {"name": "edge2"}]
WORD_FOR_ZONE = [{"name": "edge1", "labels": {"zone": "east"}}]


def document(*rules: dict[str, Any], nodes: list[dict[str, Any]] = NODES, **fields: Any) -> str:
    written = {
        "kind": "edrp",
        "application": {"operators": [{"name": "reader"}, {"name": "parser"}], "streams": []},
        "network": {"nodes": nodes, "links": []},
        "weights": {"response_time": 1.0},
        "limits": {"response_time": 1.0},
        "rules": [{"name": f"rule {number}", **rule} for number, rule in enumerate(rules)],
    }
    return json.dumps({**written, **fields})


def faults(*rules: dict[str, Any], **fields: Any) -> list[str]:
    """Every fault of a document with these rules, as it is printed."""
    with pytest.raises(InvalidInstanceError) as refusal:
        edrp.loads(document(*rules, **fields))
    return [str(fault) for fault in refusal.value.faults]


def rule(kind: str, *operators: str, **fields: Any) -> dict[str, Any]:
    return {"rule": kind, "operators": list(operators or ["parser"]), **fields}


def linear(**fields: Any) -> dict[str, Any]:
    return {"rule": "linear", "terms": [{"operator": "parser"}], **fields}


def term(**fields: Any) -> dict[str, Any]:
    return linear(terms=[{"operator": "parser", **fields}], upper=1)


TYPES = "'apart', 'together', 'spread', 'at_least_zones', 'forbidden', 'required', 'linear', 'python'"

BAD = [
    # Names
    (rule("apart", "parsr"), "operators[0]: is no operator of the application; did you mean 'parser'? (got \"parsr\")"),
    (rule("apart", "parser", "parser"), 'operators[1]: is named already (got "parser")'),
    (rule("apart", operators=[]), "operators: must hold at least 1 (got [])"),
    (rule("apart", operators="parser"), 'operators: must be a list, such as ["parser"] (got "parser")'),
    (rule("forbidden", nodes=["edge3"]), "nodes[0]: is no node of the network; did you mean 'edge2'? (got \"edge3\")"),
    (rule("forbidden", nodes=["edge1", "edge1"]), 'nodes[1]: is named already (got "edge1")'),
    (rule("required", zones=["eats"]), "zones[0]: is no zone of the network; did you mean 'east'? (got \"eats\")"),
    (
        rule("required", "reder", zones=["east"]),
        "operators[0]: is no operator of the application; did you mean 'reader'? (got \"reder\")",
    ),
    (
        rule("forbidden", labels={"tennant": []}),
        "labels.tennant: is no label of any node; did you mean 'tenant'? (got \"tennant\")",
    ),
    (
        rule("forbidden", labels={"tenant": ["acne"]}),
        "labels.tenant[0]: is no value of the label 'tenant'; did you mean 'acme'? (got \"acne\")",
    ),
    (rule("together", beside=["cache"]), 'beside[0]: is no operator of the application; there are reader, parser (got "cache")'),
    (term(operator="pars"), "terms[0].operator: is no operator of the application; did you mean 'parser'? (got \"pars\")"),
    (term(nodes=["edg1"]), "terms[0].nodes[0]: is no node of the network; did you mean 'edge1'? (got \"edg1\")"),
    (rule("apart", name=""), 'name: must not be empty (got "")'),
    # Types and fields
    (rule("apartt"), f"rule: must be one of {TYPES}; did you mean 'apart'? (got \"apartt\")"),
    (rule("never"), f'rule: must be one of {TYPES} (got "never")'),
    (
        {"operators": ["parser"], "zones": 2},
        'rule: missing; it says which fields follow; the other fields are those of "at_least_zones" or "forbidden" or "required"',
    ),
    ({"rule": "python", "type": "quorum"}, 'type: is no registered rule (edrp.register_rule) (got "quorum")'),
    (rule("apart", hard=True), "hard: unknown field; there are rule, name, reason, penalty, operators, per, between (got true)"),
    (rule("apart", penality=1), "penality: unknown field; did you mean 'penalty'? (got 1)"),
    # Places
    (rule("apart", per="zon"), 'per: is no label of any node, nor "node" or "zone"; did you mean \'zone\'? (got "zon")'),
    (
        rule("apart", per="rack"),
        'per: is no label of any node, nor "node" or "zone"; there are node, zone, tenant, disk (got "rack")',
    ),
    (rule("at_least_zones", zones=3), "zones: must be at most 2: the network has 2 zones (got 3)"),
    (rule("at_least_zones", zones=4, per="node"), "zones: must be at most 3: the network has 3 nodes (got 4)"),
    (rule("at_least_zones", zones=2, per="disk"), "zones: must be at most 1: the network has 1 value of disk (got 2)"),
    (rule("at_least_zones", zones=0), "zones: must be at least 1 (got 0)"),
    # Numbers
    (rule("apart", penalty=-1), "penalty: must be at least 0, or left out (got -1)"),
    (rule("apart", penalty="free"), 'penalty: must be a number, or left out (got "free")'),
    (rule("spread", share=1.5), "share: must be at most 1, or left out (got 1.5)"),
    (rule("spread", share=-0.1), "share: must be above 0, or left out (got -0.1)"),
    (rule("spread", most=0), "most: must be at least 1, or left out (got 0)"),
    (rule("spread", most=1.5), "most: must be a whole number, or left out (got 1.5)"),
    (rule("spread", max_skew=0), "max_skew: must be at least 1, or left out (got 0)"),
    (linear(lower=3, upper=1), "lower: must be at most `upper`, 1 (got 3.0)"),
    # Fields that go together
    (rule("apart", between="operators"), 'operators: must name at least two operators that are kept apart (got ["parser"])'),
    (rule("together"), 'operators: must name at least two operators, or name others in `beside` (got ["parser"])'),
    (rule("spread"), 'needs exactly one of `most`, `share` and `max_skew` (got "rule 0")'),
    (rule("spread", most=1, share=0.5), 'needs exactly one of `most`, `share` and `max_skew` (got "rule 0")'),
    (rule("spread", most=1, min_domains=2), "min_domains: goes with `max_skew` alone; leave it out (got 2)"),
    (rule("forbidden"), 'needs `nodes`, `zones` or `labels` (got "rule 0")'),
    (rule("required"), 'needs `nodes`, `zones` or `labels` (got "rule 0")'),
    (
        rule("required", zones=["east"], labels={"disk": ["ssd"]}),
        'no node of the network meets all of this (got "nodes in zone east with disk ssd")',
    ),
    (linear(), 'needs `lower` or `upper`; without either it has no effect (got "rule 0")'),
    (linear(terms=[], upper=1), "terms: must hold at least 1 (got [])"),
    (linear(lower=-1e-12), "lower: must be 0, or at least 1e-09, or left out (got -1e-12)"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[said for _, said in BAD])
def test_a_fault_of_a_rule_says_where_it_is_and_what_is_right_and_the_checker_refuses_it_too(given, said, monkeypatch):
    monkeypatch.setattr("edrp.placement.rules.own.registered_rules", dict)  # whatever other tests have registered
    where = "rules[0]: " if said.startswith(("needs", "no node")) else "rules[0]."
    assert faults(given) == [where + said]
    if "type" not in given:  # what is registered here the checker does not know
        with pytest.raises(checker.Refused):
            checker.check_instance(checker.parse(document(given)))


@pytest.mark.parametrize(
    ("nodes", "given", "said"),
    [
        (BARE, rule("apart", per="zone"), 'rules[0].per: no node of the network has a zone (got "zone")'),
        (BARE, rule("at_least_zones", zones=2), 'rules[0].per: no node of the network has a zone (got "zone")'),
        (BARE, rule("required", zones=["east"]), 'rules[0].zones[0]: is no zone of the network (got "east")'),
        (BARE, rule("forbidden", labels={"disk": []}), 'rules[0].labels.disk: is no label of any node (got "disk")'),
        (
            WORD_FOR_ZONE,
            rule("apart", per="zone"),
            'rules[0].per: no node of the network has a zone; `zone` is a field of a node, not one of its labels (got "zone")',
        ),
    ],
    ids=["apart", "at_least_zones", "required", "forbidden", "label instead of field"],
)
def test_zones_and_labels_that_no_node_has(nodes, given, said):
    assert faults(given, nodes=nodes) == [said]


def test_faults_of_all_rules_are_reported_together():
    found = faults(rule("apart", "parsr", per="rack", name="one"), rule("forbidden", nodes=["edge3"], name="one"))
    assert [fault.split(":")[0] for fault in found] == [
        "rules[1].name",
        "rules[0].operators[0]",
        "rules[0].per",
        "rules[1].nodes[0]",
    ]
    assert found[0] == 'rules[1].name: already the name of rules[0]; names must be unique (got "one")'


def test_a_penalty_does_not_go_with_priorities():
    (fault,) = faults(rule("apart", penalty=0.5), priorities=[{"metric": "response_time"}])
    assert 'has no place among priorities; add one for "penalty.' in fault
    assert fault.endswith('"penalties" of all rules, or make the rule hard (got 0.5)')


def test_a_penalty_of_nothing_is_a_warning():
    problem = edrp.loads(document(rule("apart", penalty=0)))
    said = "rules[0].penalty: has no effect; leave it out to make the rule hard, or give a price (got 0)"
    assert said in [str(fault) for fault in problem.warnings()]
