"""Shared resources: what replicas and streams use of them, the load of the fullest node, and what is refused."""

import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.placement.compilation import compile_problem
from edrp.placement.node_classes import node_classes

PARTS = {
    "application": {
        "operators": [
            {"name": "source", "external_rate": 100.0, "max_replicas": 4, "usage": {"cpu": {"per_replica": 0.5}}},
            {"name": "join", "max_replicas": 4, "usage": {"cpu": {"per_tuple": 0.02}, "disk": {"per_tuple": 10.0}}},
        ],
        "streams": [{"source": "source", "target": "join", "usage": {"network": 5.0}}],
    },
    "network": {
        "nodes": [{"name": name, "capacity": {"cpu": 4.0, "disk": 2000.0, "network": 1000.0}} for name in "ab"],
        "between_zones": {"delay": 0.001},
    },
    "limits": {"response_time": 1.0, "cost": 1.0},
}


def contended(partitioning: str = "hash", **changes: object) -> edrp.EdrpProblem:
    """Two operators on two nodes with cores, a disk and a network card each."""
    application = {**PARTS["application"], "streams": [{**PARTS["application"]["streams"][0], "partitioning": partitioning}]}
    return edrp.EdrpProblem(**{**PARTS, "application": application, **changes})


def metrics(problem: edrp.EdrpProblem, source: str, join: str) -> dict[str, float]:
    return problem.evaluate({"source": list(source), "join": list(join)}).metrics


def test_the_fullest_node_is_measured_by_resource_and_over_all():
    """On a: 2 × 0.5 cores for the sources, and two thirds of 100 tuples/s × 0.02; b has the rest of both."""
    found = metrics(contended(), "aa", "aab")
    assert found["peak_loads.cpu"] == pytest.approx((1.0 + 4 / 3) / 4)
    assert found["peak_loads.disk"] == pytest.approx(2 / 3 * 1000 / 2000)
    assert found["peak_loads.network"] == pytest.approx(1 / 3 * 500 / 1000)
    assert found["peak_load"] == found["peak_loads.cpu"]


@pytest.mark.parametrize(
    ("partitioning", "source", "join", "share"),
    [
        ("hash", "ab", "ab", 0.25),
        ("rebalance", "ab", "ab", 0.25),
        ("forward", "ab", "ab", 0.0),
        ("forward", "aab", "abb", 1 / 3),
        ("forward", "aabb", "a", 0.5),
        ("forward", "a", "aabb", 0.0),
        ("hash", "a", "b", 1.0),
    ],
)
def test_what_a_stream_sends_away_depends_on_its_partitioning(partitioning, source, join, share):
    """The sender's node pays; with unequal parallelism a sender without a receiver of its own on its node sends away."""
    assert metrics(contended(partitioning), source, join)["peak_loads.network"] == pytest.approx(share * 500 / 1000)


def test_without_usage_there_are_no_peak_loads(word_count):
    assert not [name for name in word_count.metrics if name.startswith("peak")]
    with pytest.raises(InvalidInstanceError, match=r"limits\.peak_load: needs a `usage` of shared resources"):
        word_count.replace(limits=word_count.limits.replace(peak_load=0.5))


def test_usage_without_capacity_is_refused_with_its_place():
    nodes = [{"name": "a", "capacity": {"cpu": 4.0, "disk": 1.0, "network": 1.0}}, {"name": "b", "capacity": {"cpu": 4.0}}]
    with pytest.raises(InvalidInstanceError) as refused:
        contended(network={"nodes": nodes, "between_zones": {"delay": 0.001}})
    said = str(refused.value)
    assert "network.nodes[1].capacity: is missing for 'disk', which join uses and this node may run" in said
    assert "is missing for 'network', which source → join uses" in said
    assert "nodes[0]" not in said


def test_a_node_that_no_user_may_run_on_needs_no_capacity():
    operators = [{**operator, "candidates": ["a"]} for operator in PARTS["application"]["operators"]]
    nodes = [PARTS["network"]["nodes"][0], {"name": "b"}]
    problem = contended(
        application={"operators": operators, "streams": PARTS["application"]["streams"]},
        network={"nodes": nodes, "between_zones": {"delay": 0.001}},
    )
    assert metrics(problem, "a", "a")["peak_loads.disk"] == 0.5


@pytest.mark.parametrize("field", ["weights", "limits"])
def test_peak_loads_of_what_nobody_uses_are_refused(field):
    with pytest.raises(InvalidInstanceError, match=rf"{field}\.peak_loads\.gpu: is a shared resource that no .* cpu, disk, net"):
        contended(**{field: {"peak_loads": {"gpu": 1.0}, **({} if field == "weights" else PARTS["limits"])}})


def test_weights_of_peak_loads_count_towards_one_and_need_no_limit():
    problem = contended(weights={"cost": 0.5, "peak_load": 0.2, "peak_loads": {"disk": 0.3}})
    evaluation = problem.evaluate({"source": ["a"], "join": ["a"]})
    assert evaluation.objective == pytest.approx(0.2 * 0.625 + 0.3 * 0.5)
    with pytest.raises(InvalidInstanceError, match="must sum to 1"):
        contended(weights={"cost": 0.5, "peak_loads": {"disk": 0.3}})


def test_a_limit_is_checked():
    broken = contended(limits={**PARTS["limits"], "peak_loads": {"cpu": 0.5}}).evaluate({"source": ["a"], "join": ["a"]}).broken
    assert broken == ("limits.peak_loads.cpu: 0.625 against 0.5",)


def test_nodes_of_unequal_capacity_are_not_alike():
    nodes = [
        {"name": n, "capacity": {"cpu": c, "disk": 2e3, "network": 1e3}} for n, c in zip("abc", (4.0, 4.0, 2.0), strict=True)
    ]
    problem = contended(network={"nodes": nodes, "between_zones": {"delay": 0.001}})
    assert node_classes(compile_problem(problem)).tolist() == [0, 0, 1]


def test_latency_aware_placement_takes_no_usage():
    topology = {"operators": [{"name": "a"}, {"name": "b"}], "streams": [{"source": "a", "target": "b", "rate": 1.0}]}
    with pytest.raises(InvalidInstanceError, match=r"streams\[0\]\.usage: is taken by problems of kind edrp only"):
        edrp.Topology(**{**topology, "streams": [{**topology["streams"][0], "usage": {"network": 1.0}}]})


def test_a_node_that_is_no_candidate_and_has_no_capacity_breaks_limits_and_is_no_error():
    work = {"name": "work", "candidates": ["a"], "usage": {"cpu": {"per_replica": 1.0}}}
    problem = edrp.EdrpProblem(
        application={"operators": [work]},
        network={"nodes": [{"name": "a", "capacity": {"cpu": 2.0}}, {"name": "b"}]},
        weights={"peak_load": 1.0},
        limits={"peak_load": 1.0},
    )
    evaluation = problem.evaluate({"work": ["b"]})
    assert evaluation.broken == ("candidates of work: b", "limits.peak_load: inf against 1")
