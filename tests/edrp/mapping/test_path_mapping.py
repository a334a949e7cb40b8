"""Tasks as paths: what an evaluation says, which input is refused, what is short."""

import json
import math

import pytest

import edrp
from edrp import MappingProblem, PathMap
from edrp.core.errors import InvalidInstanceError

NODES = [
    {"name": "a", "capacity": 0.0},
    {"name": "b", "capacity": 3.0, "total_capacity": 6.0},
    {"name": "c", "capacity": 9.0, "total_capacity": 10.0},
    {"name": "d", "capacity": 1.0},
]
LINKS = [
    {"source": "a", "target": "b", "bandwidth": 10.0, "cost": 1.0},
    {"source": "b", "target": "c", "bandwidth": 10.0, "cost": 5.0},
    {"source": "c", "target": "d", "bandwidth": 4.0, "cost": 2.0},
]
COMPONENTS = [{"name": "decode", "capacity": 3.0}, {"name": "join", "capacity": 3.0}]
TASK = {"source": "a", "delivery": "d", "components": COMPONENTS, "bandwidths": [4.0, 2.0, 1.0]}
ANSWER = PathMap(nodes=("b", "c"), routes=(("a", "b"), ("b", "c"), ("c", "d")))


def mapping(*, task=None, network=None, **fields):
    """The chain a, b, c, d; parts may be changed by name."""
    return MappingProblem(network={"nodes": NODES, "links": LINKS} | (network or {}), task=TASK | (task or {}), **fields)


def public_mapping(**fields):
    """The same with uplinks of 6 bytes/s at a and b and a downlink of 3 at d."""
    nodes = [
        {**node, **{"a": {"uplink": 6.0}, "b": {"uplink": 6.0}, "d": {"downlink": 3.0}}.get(node["name"], {})} for node in NODES
    ]
    return mapping(network={"nodes": nodes}, **fields)


def test_links_hops_and_loads_are_counted():
    evaluation = mapping().evaluate(ANSWER)
    assert evaluation.broken == ()
    assert evaluation.objective == 8.0
    assert evaluation.metrics == pytest.approx(
        {"cost": 8.0, "links": 3.0, "public_hops": 0.0, "dedicated_hops": 3.0, "empty_hops": 0.0, "load_balance": (1.0 + 0.4) / 2}
    )


def test_a_hop_that_stays_is_free_and_a_server_that_is_passed_is_an_empty_hop():
    both = PathMap(nodes=("c", "c"), routes=(("a", "b", "c"), ("c",), ("c", "d")))
    evaluation = mapping().evaluate(both)
    assert (evaluation.objective, evaluation.metrics["empty_hops"], evaluation.metrics["dedicated_hops"]) == (8.0, 1.0, 2.0)
    assert mapping(max_empty_hops=0).evaluate(both).broken == ("max_empty_hops: a → b → c: 1 against 0",)


def test_empty_hops_are_bounded_by_hop_or_in_total():
    far = PathMap(nodes=("c", "b"), routes=(("a", "b", "c"), ("c", "b"), ("b", "c", "d")))
    assert mapping(max_empty_hops=1).evaluate(far).broken == ()
    assert mapping(max_empty_hops=1, empty_hops="total").evaluate(far).broken == ("max_empty_hops: 2 in all against 1",)


def test_all_uses_of_a_direction_add_up_unless_each_is_looked_at_alone():
    """The stream passes b → c twice, with 4 and with 1, and c → b once: 5 of 4.5 one way."""
    links = [LINKS[0], {**LINKS[1], "bandwidth": 4.5}, LINKS[2]]
    there_and_back = PathMap(nodes=("c", "b"), routes=(("a", "b", "c"), ("c", "b"), ("b", "c", "d")))
    broken = mapping(network={"links": links}).evaluate(there_and_back).broken
    assert broken == ("bandwidth of b → c: 5 used of 4.5",)
    assert mapping(network={"links": links}, bandwidth="per_edge").evaluate(there_and_back).feasible


def test_capacity_and_services_are_limits():
    nodes = [*NODES[:2], {**NODES[2], "services": ["video"]}, NODES[3]]
    components = [COMPONENTS[0], {**COMPONENTS[1], "service": "audio"}]
    problem = mapping(network={"nodes": nodes}, task={"components": components})
    assert problem.evaluate(ANSWER).broken == ("component join: c does not host service audio",)
    crowded = PathMap(nodes=("b", "b"), routes=(("a", "b"), ("b",), ("b", "c", "d")))
    assert problem.evaluate(crowded).broken == ("capacity of b: 6 used of 3",)


def test_public_hops_use_up_and_downlinks_and_have_a_price():
    decision = PathMap(nodes=("b", "b"), routes=(("a", "b"), ("b",), ("b", "d")), public=(True, False, True))
    problem = public_mapping(task={"components": [COMPONENTS[0], {**COMPONENTS[1], "capacity": 0.0}]}, public_cost=0.25)
    evaluation = problem.evaluate(decision)
    assert (evaluation.objective, evaluation.broken) == (0.5, ())
    assert (evaluation.metrics["public_hops"], evaluation.metrics["links"]) == (2.0, 0.0)
    wide = public_mapping(task={"components": [], "bandwidths": [4.0]})
    assert wide.evaluate(PathMap(nodes=(), routes=(("a", "d"),), public=(True,))).broken == ("downlink of d: 4 used of 3",)


@pytest.mark.parametrize(
    ("cost", "expected"), [("load-balance", 0.7), ("public-hops", 0.35), ("public-hops-links", 3 + 0.35), ("additive", 8.0)]
)
def test_each_cost_is_one_number(cost, expected):
    assert mapping(cost=cost).evaluate(ANSWER).objective == pytest.approx(expected)


def test_fewer_public_hops_always_win_whatever_the_links():
    """A map with one public hop more is worse than one over as many links as there may be."""
    problem = public_mapping(cost="public-hops-links")
    longest, shortest = problem.max_links, 0
    assert longest == 9
    from edrp.mapping.mapping_arrays import MapFacts, objective

    over_links = objective("public-hops-links", MapFacts(0.0, longest, 0, 3, 1.0), problem.max_links)
    over_air = objective("public-hops-links", MapFacts(0.0, shortest, 1, 0, 0.0), problem.max_links)
    assert over_links < over_air


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (PathMap(nodes=("b",), routes=(("a", "b"), ("b", "d"))), "1 nodes and 2 routes for 2 components"),
        (PathMap(nodes=("b", "x"), routes=(("a", "b"), ("b", "x"), ("x", "d"))), "no nodes of the network: x"),
        (
            PathMap(nodes=("b", "c"), routes=(("a", "b"), ("a", "b", "c"), ("c", "d"))),
            "hop 1: leads from a to c, not from b to c",
        ),
        (PathMap(nodes=("b", "d"), routes=(("a", "b"), ("b", "d"), ("d",))), "hop 1: no link b → d"),
        (PathMap(nodes=("b", "c"), routes=ANSWER.routes, public=(True, False, False)), "hop 0: a → b is no connection over"),
    ],
)
def test_what_is_no_map_of_the_task_says_why(decision, why):
    evaluation = mapping().evaluate(decision)
    assert evaluation.objective == math.inf
    assert evaluation.broken[0].startswith(why)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"task": {**TASK, "source": "x"}}, "task.source"),
        ({"task": {**TASK, "delivery": "x"}}, "task.delivery"),
        ({"task": {**TASK, "bandwidths": [1.0, 2.0]}}, "task.bandwidths"),
        ({"task": {**TASK, "rate": 5.0}}, "task.bandwidths"),
        ({"task": {**TASK, "components": [COMPONENTS[0], COMPONENTS[0]]}}, "task.components[1].name"),
        ({"network": {"nodes": [{"name": "a", "capacity": -1.0}, *NODES[1:]], "links": LINKS}}, "network.nodes[0].capacity"),
        ({"network": {"nodes": NODES, "links": [{**LINKS[0], "target": "x"}]}}, "network.links[0].target"),
        ({"network": {"nodes": NODES, "links": [*LINKS, {**LINKS[0], "bandwidth": 1.0}]}}, "network.links[3]"),
        ({"max_empty_hops": -1}, "max_empty_hops"),
        ({"empty_hops": "each"}, "empty_hops"),
        ({"cost": "cheap"}, "cost"),
    ],
)
def test_bad_input_is_refused_by_its_place(change, place):
    document = {"kind": "mapping", "network": {"nodes": NODES, "links": LINKS}, "task": TASK} | change
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.loads(json.dumps(document))
    assert place in [fault.place for fault in caught.value.faults]


def test_a_task_that_is_too_long_says_how_long_it_may_be():
    with pytest.raises(InvalidInstanceError, match=r"task\.components: must hold at most 64 \(got a list of 65\)"):
        mapping(task={"components": [{"name": str(i)} for i in range(65)], "bandwidths": [0.0] * 66})


def test_a_service_that_no_server_hosts_is_refused():
    nodes = [{**node, "services": ["video"]} for node in NODES]
    with pytest.raises(InvalidInstanceError, match=r"task\.components\[1\]\.service: is hosted by no node"):
        mapping(network={"nodes": nodes}, task={"components": [COMPONENTS[0], {**COMPONENTS[1], "service": "vidio"}]})


@pytest.mark.parametrize(
    ("change", "resource"),
    [
        (
            {"task": {"components": [{"name": "huge", "capacity": 10.0}], "bandwidths": [0.0, 0.0]}},
            "capacity: component 1 needs 10; of the servers that host it, c has the most free, 9",
        ),
        (
            {"task": {"bandwidths": [4.0, 2.0, 5.0]}},
            "bandwidth: no way from component 2 to the delivery d has 5 bytes/s free; "
            "of the links that lead on, c → d has the most",
        ),
        (
            {"task": {"components": [{"name": "big", "capacity": 8.0}], "bandwidths": [1.0, 1.0]}, "max_empty_hops": 0},
            "max_empty_hops:",
        ),
        (
            {"task": {"components": [{"name": str(i), "capacity": 3.0} for i in range(5)], "bandwidths": [0.0] * 6}},
            "capacity: the components need 15 in all, the servers have 13 free (a 0, b 3, c 9 and d 1)",
        ),
    ],
)
def test_what_is_short_is_named_first(change, resource):
    problem = mapping(**change)
    (sentence,) = problem.clashes()
    assert sentence.startswith(resource)
