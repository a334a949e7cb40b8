"""Latency-aware placement: the score worked out by hand, its two faces, the arrays, the documents and their faults."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.errors import InvalidInstanceError
from edrp.core.instances import loads
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.placement.application import Topology
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.network import Network
from edrp.validation.oracles.placement.path_latency_faces import path_latencies, slowest_instance_path

EXAMPLE = Path(__file__).parents[3] / "examples" / "edge_to_cloud.json"


@pytest.fixture
def problem() -> LatencyAwareProblem:
    """A source, two instances of a worker that feeds back, a sink; three nodes."""
    return LatencyAwareProblem(
        application={
            "operators": [
                {"name": "source", "resources": {"cpu": 0.5}},
                {"name": "work", "resources": {"cpu": 0.4}, "instances": 2},
                {"name": "sink", "resources": {"cpu": 0.1}},
            ],
            "streams": [
                {"source": "source", "target": "work", "rate": 60.0},
                {"source": "work", "target": "sink", "rate": 30.0},
                {"source": "sink", "target": "source", "rate": 10.0},
            ],
        },
        network={
            "nodes": [{"name": name, "resources": {"cpu": 1.0}} for name in "abcd"],
            "links": [
                {"source": "a", "target": "b", "delay": 0.002},
                {"source": "a", "target": "c", "delay": 0.005},
                {"source": "b", "target": "c", "delay": 0.001},
                *({"source": "d", "target": other, "delay": 0.009} for other in "abc"),
            ],
        },
        weights={"latency": 0.01, "supervisors": 2.0, "colocation": 3.0, "events": 5.0},
    )


def test_score_by_hand(problem):
    found = problem.evaluate(Deployment({"source": ["a"], "work": ["a", "b"], "sink": ["c"]}))
    # Instance pairs: source–work 2 (1 apart), work–sink 2 (2 apart), sink–source 1 (apart).
    assert found.metrics["colocation"] == pytest.approx(4 / 5)
    assert found.metrics["events"] == pytest.approx((30 + 30 + 10) / 100)
    assert found.metrics["supervisors"] == 3 / 4
    # a → a → c takes 5 ms, a → b → c 2 + 1 ms; what goes back lies on no path.
    assert found.metrics["path_latency"] == pytest.approx(0.005)
    assert found.objective == pytest.approx(0.01 * 5 + 2 * 3 / 4 + 3 * 4 / 5 + 5 * 0.7)
    assert found.feasible


def test_utilisation_limits_what_may_be_used(problem):
    full = Deployment({"source": ["a"], "work": ["a", "b"], "sink": ["a"]})
    assert problem.evaluate(full).broken == ("cpu of node a: 1 against 0.95",)
    assert problem.replace(utilisation={"cpu": 1.0}).evaluate(full).feasible


def test_instances_are_counted(problem):
    few = problem.evaluate(Deployment({"source": ["a"], "work": ["b"], "sink": ["c"]}))
    assert few.broken == ("min_replicas of work: 1 against 2",)


def test_operators_without_streams_score_their_supervisors_only():
    problem = LatencyAwareProblem(application={"operators": [{"name": "a"}, {"name": "b"}]}, network={"nodes": [{"name": "n"}]})
    assert problem.evaluate(Deployment({"a": ["n"], "b": ["n"]})).objective == 1.0


def drawn_deployment(problem: LatencyAwareProblem, seed: int) -> Deployment:
    """Every instance on any of its candidates, whether there is room or not."""
    nodes, random = tuple(problem.network.by_name), np.random.default_rng(seed)
    operators = problem.application.operators
    return Deployment({o.name: tuple(map(str, random.choice(o.candidates or nodes, o.instances))) for o in operators})


@pytest.fixture
def crossing() -> LatencyAwareProblem:
    """op0 → op1 (two instances) → op2 on two nodes that are 3 ms apart."""
    return LatencyAwareProblem(
        application={
            "operators": [{"name": "op0"}, {"name": "op1", "instances": 2}, {"name": "op2"}],
            "streams": [{"source": "op0", "target": "op1"}, {"source": "op1", "target": "op2"}],
        },
        network={"nodes": [{"name": "w0"}, {"name": "w1"}], "links": [{"source": "w0", "target": "w1", "delay": 0.003}]},
        weights={"latency": 1.0, "supervisors": 0.0, "colocation": 0.0, "events": 0.0},
    )


ACROSS = Deployment({"op0": ["w0"], "op1": ["w0", "w1"], "op2": ["w1"]})


def test_every_tuple_crosses_the_link_once(crossing):
    """w0 → w0 → w1 and w0 → w1 → w1: the slowest pairs of both streams are on no common path."""
    assert crossing.evaluate(ACROSS).metrics["path_latency"] == 0.003
    faces = path_latencies(crossing, ACROSS)
    assert faces == pytest.approx(dict.fromkeys(faces, 0.003))


def test_the_slowest_path_is_named_by_instances(crossing):
    parts = edrp.explain(crossing, ACROSS, runner_up=False).critical_path
    first, middle, last = (part.name for part in parts if not part.is_stream)
    assert (first, last) == ("op0 on w0", "op2 on w1")
    assert middle in ("op1 on w0", "op1 on w1")
    assert sum(part.seconds for part in parts) == 0.003


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000))
def test_path_latency_is_that_of_the_slowest_of_all_paths(seed):
    """However it is computed, the latency is that of the slowest path."""
    problem = random_latency_aware_problem(seed)
    deployment = drawn_deployment(problem, seed)
    slowest = slowest_instance_path(problem, deployment)
    for face, seconds in path_latencies(problem, deployment).items():
        assert seconds == pytest.approx(slowest, abs=1e-9), face


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000_000))
def test_zones_and_listed_links_are_the_same_network(seed):
    """Path latency is computed by zones where links are described by them."""
    random = np.random.default_rng(seed)
    zones = [None if zone == 3 else f"z{zone}" for zone in random.integers(4, size=7)]
    nodes = [{"name": f"n{u}", "zone": zone} for u, zone in enumerate([*zones, "z0"])]
    listed = [{"source": "n0", "target": "n1", "delay": 0.007}] if seed % 2 else []
    network = Network(nodes=nodes, links=listed, within_zone={"delay": 0.001}, between_zones={"delay": 0.004})
    names = [node["name"] for node in nodes]
    links = [{"source": u, "target": v, "delay": network.delay(u, v)} for u in names for v in names if u < v]
    problem = random_latency_aware_problem(seed, nodes=(8, 8), max_instances=6, combinations_limit=float("inf"))
    operators = [operator.replace(candidates=None) for operator in problem.application.operators]
    by_zones = problem.replace(application=problem.application.replace(operators=operators), network=network)
    by_pairs = by_zones.replace(network={"nodes": [{"name": name} for name in names], "links": links})
    deployment = drawn_deployment(by_zones, seed)
    slowest = by_pairs.evaluate(deployment).metrics["path_latency"]
    assert by_zones.evaluate(deployment).metrics["path_latency"] == pytest.approx(slowest, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_the_arrays_say_what_the_evaluator_says(seed):
    """As EDRP's methods read them: price of streams apart, loss of nodes in use, response time without operators."""
    problem = random_latency_aware_problem(seed)
    deployment = drawn_deployment(problem, seed)
    compiled = compile_problem(problem)
    counts = compiled.counts(deployment)
    share = counts / counts.sum(axis=1, keepdims=True)
    apart = 1 - (share[compiled.stream_source] * share[compiled.stream_target]).sum(axis=1)
    used = counts.any(axis=0)
    arrival = np.where(counts > 0, 0.0, -np.inf)
    for i in range(len(arrival)):
        for e in np.flatnonzero((compiled.stream_target == i) & compiled.forward):
            by_node = (arrival[compiled.stream_source[e]][:, None] + compiled.delay).max(axis=0)
            arrival[i] = np.where(counts[i] > 0, np.maximum(arrival[i], by_node), -np.inf)
    assert compiled.instance_paths
    score = compiled.stream_rate @ apart + compiled.node_loss[used].sum()
    score += compiled.weight["response_time"] * arrival.max()
    assert problem.evaluate(deployment).objective == pytest.approx(score, rel=1e-9, abs=1e-12)


def test_a_cycle_needs_the_rates_that_close_it():
    operators = [{"name": "a", "external_rate": 4.0}, {"name": "b"}]
    there, back = {"source": "a", "target": "b"}, {"source": "b", "target": "a"}
    topology = Topology(operators=operators, streams=[there, {**back, "rate": 2.0}])
    assert topology.feedback == {("b", "a")}
    assert (topology.load("a"), topology.rate("a", "b")) == (6.0, 6.0)
    with pytest.raises(InvalidInstanceError, match=r"streams\[1\].rate.*closes a cycle"):
        Topology(operators=operators, streams=[there, back])


WRONG = [
    (("network", "links", 0), None, "network.links", "no link joins |gateway with cloudlet"),
    (("application", "operators", 1, "instances"), 0, "application.operators[1].instances", "must be at least 1"),
    (("application", "operators", 0, "max_replicas"), 2, "application.operators[0].max_replicas", "unknown field"),
    (("weights",), {"latency": -1}, "weights.latency", "must be at least 0"),
    (("utilisation",), {"cpu": 1.2}, "utilisation.cpu", "must be at most 1"),
    (("utilisation",), {"gpu": 0.5}, "utilisation.gpu", "nothing here has or needs"),
    (("current",), {"sensors": ["gateway"]}, "current.clean", "missing"),
]


@pytest.mark.parametrize(("way", "value", "place", "why"), WRONG)
def test_bad_input_names_the_place(way, value, place, why):
    document = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    part = document
    for step in way[:-1]:
        part = part[step]
    if value is None:
        del part[way[-1]]
    else:
        part[way[-1]] = value
    with pytest.raises(InvalidInstanceError) as caught:
        loads(json.dumps(document))
    named = [fault for fault in caught.value.faults if fault.place == place]
    assert named, str(caught.value)
    assert all(any(part in f"{fault.value} {fault.why}" for fault in named) for part in why.split("|"))


def test_infeasible_says_what_is_short():
    node = {"name": "n", "resources": {"cpu": 1.0, "memory": 8.0}}
    problem = LatencyAwareProblem(
        application={"operators": [{"name": "o", "resources": {"cpu": 0.4, "memory": 1.0}, "instances": 4}]},
        network={"nodes": [node]},
    )
    solution = edrp.solve(problem, "highs")
    assert solution.status == "infeasible"
    assert solution.clashes == ("cpu of the nodes: the nodes offer 0.95 in all, o needs 1.6 (4 replicas of 0.4)",)
    homeless = problem.replace(application=Topology(operators=[{"name": "o", "resources": {"memory": 9.0}}]))
    assert (
        "memory of o: a replica needs 9, no node offers more than the 8 of n (1 short)" in edrp.solve(homeless, "highs").clashes
    )


def test_explained(problem):
    """Terms of the score, the slowest path, streams between nodes, usable room, and the next best."""
    start = Deployment({"source": ["a"], "work": ["a", "b"], "sink": ["c"]})
    moved = problem.replace(current=start)
    best, optima = brute_force(problem)
    explanation = edrp.explain(moved, edrp.solve(moved, "highs"))
    assert sum(share.amount for share in explanation.shares) == pytest.approx(best)
    assert (abs(explanation.second_best.distance) < 1e-9) == (len(optima) > 1)
    assert not explanation.second_best.better
    assert {standstill.operator for standstill in explanation.standstills} <= {"source", "work", "sink"}
    given = edrp.explain(moved, start, runner_up=False)
    assert [(crossing.name, round(crossing.tuples, 9)) for crossing in given.crossings] == [
        ("source → work", 30.0), ("work → sink", 30.0), ("sink → source", 10.0)
    ]  # fmt: skip
    assert sum(part.seconds for part in given.critical_path) == pytest.approx(0.005)
    assert [(margin.name, margin.limit) for margin in given.margins] == [(f"cpu of node {name}", 0.95) for name in "abc"]
    assert given.standstills == ()
