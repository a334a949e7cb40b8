"""What violates each type of rule by how much, and that plain code and rows say the same of any deployment."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruled_clusters import placed, violations

NAMES = ("reader", "parser", "counter")
MAX_NODES = 5

per = st.sampled_from(["node", "zone", "tenant"])
some = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
several = st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True)
choices = st.one_of(
    st.just({"nodes": ["n0"]}),
    st.just({"zones": ["A"]}),
    st.sampled_from([["acme"], []]).map(lambda values: {"labels": {"tenant": values}}),
    st.just({"zones": ["A"], "labels": {"tenant": ["acme"]}}),
)
terms = st.builds(
    lambda operator, coefficient, count, chosen: {"operator": operator, "coefficient": coefficient, "count": count, **chosen},
    st.sampled_from(NAMES),
    st.sampled_from([-2.0, 0.5, 1.0]),
    st.sampled_from(["replicas", "nodes"]),
    choices | st.just({}),
)

RULES = {
    "apart": st.fixed_dictionaries({"operators": some, "per": per}),
    "apart operators": st.fixed_dictionaries({"operators": several, "per": per, "between": st.just("operators")}),
    "together": st.fixed_dictionaries({"operators": several, "per": per}),
    "together beside": st.fixed_dictionaries({"operators": some, "per": per, "beside": some}),
    "spread most": st.fixed_dictionaries({"operators": some, "per": per, "most": st.integers(1, 3)}),
    "spread share": st.fixed_dictionaries({"operators": some, "per": per, "share": st.sampled_from([0.3, 0.5, 1.0])}),
    "spread max_skew": st.fixed_dictionaries(
        {"operators": some, "per": per, "max_skew": st.integers(1, 2), "min_domains": st.integers(1, 4)}
    ),
    "at_least_zones": st.fixed_dictionaries({"operators": some, "per": per, "zones": st.integers(1, 2)}),
    "forbidden": st.builds(lambda operators, chosen: {"operators": operators, **chosen}, some | st.just([]), choices),
    "required": st.builds(lambda operators, chosen: {"operators": operators, **chosen}, some | st.just([]), choices),
    "linear": st.fixed_dictionaries({"terms": st.lists(terms, min_size=1, max_size=3), "upper": st.integers(0, 3)}),
    "linear lower": st.fixed_dictionaries({"terms": st.lists(terms, min_size=1, max_size=3), "lower": st.integers(-1, 3)}),
}


@st.composite
def clusters(draw):
    """Nodes of which some have no zone or no label, besides two that have both."""
    others = st.fixed_dictionaries({}, optional={"zone": st.sampled_from("AB"), "labels": st.just({"tenant": "acme"})})
    both = [{"zone": zone, "labels": {"tenant": tenant}} for zone, tenant in (("A", "acme"), ("B", "globex"))]
    drawn = [*both, *draw(st.lists(others, max_size=MAX_NODES - len(both)))]
    return [{"name": f"n{number}", **fields} for number, fields in enumerate(drawn)]


@st.composite
def operators_with_nodes(draw, nodes):
    """Candidates of each operator, and the nodes of its replicas among them."""
    names = [node["name"] for node in nodes]
    candidates = {name: draw(st.none() | st.lists(st.sampled_from(names), min_size=1, unique=True)) for name in NAMES}
    return candidates, {
        name: draw(st.lists(st.sampled_from(own or names), min_size=1, max_size=4)) for name, own in candidates.items()
    }


@pytest.mark.parametrize("form", RULES)
def test_plain_code_and_rows_give_the_same_violation(form):
    @settings(max_examples=12)
    @given(data=st.data(), nodes=clusters())
    def agree(data, nodes):
        rule = {"rule": form.split()[0], **data.draw(RULES[form])}
        candidates, deployment = data.draw(operators_with_nodes(nodes))
        problem = placed(nodes, [rule], {name: {"candidates": own} for name, own in candidates.items()})
        seen.update(violations(problem, deployment))

    seen: set[float] = set()
    agree()
    assert len(seen) > 1, "deployments that were drawn meet the rule, or violate it, all alike"


NODES = [
    {"name": "a1", "zone": "A", "labels": {"tenant": "acme"}},
    {"name": "a2", "zone": "A"},
    {"name": "b1", "zone": "B", "labels": {"tenant": "globex"}},
    {"name": "c1"},
    {"name": "d1"},
]
"""Two zones, and two nodes without one."""

DEPLOYMENT = {"reader": ["a1", "a2"], "parser": ["a1", "a1", "a2", "b1"], "counter": ["c1", "c1", "d1"]}
ALL = list(NAMES)
PAIR = ["reader", "parser"]


def rule(kind, operators, **fields):
    return {"rule": kind, "operators": operators, **fields}


def linear(*terms, **bounds):
    return {"rule": "linear", "terms": list(terms), **bounds}


IN_ZONE_A = {"operator": "parser", "zones": ["A"]}
NODES_OF_PARSER = {"operator": "parser", "count": "nodes", "coefficient": 2}


@pytest.mark.parametrize(
    ("stated", "violation"),
    [
        (rule("apart", ["parser"]), 1),
        (rule("apart", PAIR), 2 + 1),
        (rule("apart", ["parser"], per="zone"), 2),
        (rule("apart", ["counter"], per="zone"), 1),
        (rule("apart", ALL, between="operators"), 1 + 1),
        (rule("apart", ALL, between="operators", per="zone"), 1),
        (rule("together", PAIR), 1),
        (rule("together", PAIR, per="zone"), 1),
        (rule("together", ["reader"], beside=["parser", "counter"]), 2),
        (rule("together", ["counter"], beside=PAIR, per="zone"), 2 + 2),
        (rule("spread", ["parser"], most=1), 1),
        (rule("spread", PAIR, most=2, per="zone"), 3),
        (rule("spread", ["counter"], most=1, per="zone"), 1),
        (rule("spread", ["parser"], share=0.3, per="zone"), 1.8),
        (rule("spread", ["counter"], share=0.5, per="zone"), 0.5),
        (rule("spread", ["parser"], max_skew=1, per="zone"), 1),
        (rule("spread", ["parser"], max_skew=1, per="zone", min_domains=3), 2),
        (rule("spread", ["counter"], max_skew=1, per="zone"), 3),
        (rule("at_least_zones", ["reader"], zones=2), 1),
        (rule("at_least_zones", ["counter"], zones=2), 2),
        (rule("at_least_zones", ["reader", "counter"], zones=2), 1),
        (rule("at_least_zones", ["parser"], zones=2, per="tenant"), 0),
        (rule("forbidden", [], zones=["A"]), 2 + 3),
        (rule("forbidden", ["parser"], zones=["A"], labels={"tenant": []}), 2),
        (rule("required", ["parser"], zones=["A"]), 1),
        (rule("required", ["counter"], labels={"tenant": []}), 3),
        (linear(IN_ZONE_A, upper=1), 2),
        (linear(IN_ZONE_A, lower=4), 1),
        (linear(IN_ZONE_A, NODES_OF_PARSER, lower=2, upper=8), 1),
    ],
    ids=str,
)
def test_violation_of_each_type(stated, violation):
    problem = placed(NODES, [stated], {name: {} for name in NAMES})
    assert violations(problem, DEPLOYMENT) == pytest.approx([violation])


@pytest.mark.parametrize("zone", ["lone", "lone, alone"])
def test_a_node_without_a_zone_is_no_part_of_a_zone_whatever_its_name(zone):
    nodes = [{"name": "lone"}, {"name": "other", "zone": zone}]
    problem = placed(nodes, [rule("apart", ["parser"], per="zone")], {name: {} for name in NAMES})
    assert violations(problem, {name: ["lone", "other"] for name in NAMES}) == [0.0]
