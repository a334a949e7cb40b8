"""The test bed of latency-aware placement and the families made of it: the paper's counts, feasible, varied, the same again."""

import networkx as nx
import numpy as np
import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.datasets import generate
from edrp.datasets.placement.latency_aware_test_bed import LOADS, packing, paper_network, paper_problem, random_problem

TABLE_1 = {
    "T-M1": (6, 6),
    "T-M2": (3, 12),
    "T-M3": (3, 3),
    "T-R1": (16, 30),
    "T-R2": (7, 12),
    "T-R3": (12, 22),
    "T-R4": (15, 28),
    "T-R5": (11, 20),
    "T-R6": (11, 20),
    "T-R7": (22, 42),
    "T-R8": (8, 14),
    "T-R9": (10, 18),
}
RANDOM = [name for name in TABLE_1 if "R" in name]


def needed(problem, resource):
    """Need of all instances relative to the capacity of all nodes."""
    needs = sum(o.instances * o.resources[resource] for o in problem.application.operators)
    return needs / sum(node.resources[resource] for node in problem.network.nodes)


def stream_graph(problem):
    return nx.DiGraph([(stream.source, stream.target) for stream in problem.application.streams])


def test_the_network_has_the_printed_capacities_and_single_digit_latencies():
    network = paper_network()
    sizes = {node.name: (node.resources["cpu"], node.resources["memory"] / 1e6) for node in network.nodes}
    big, small = {"w2", "w6", "w7"}, {"w3", "w4", "w5", "w8", "w9", "w10", "w11"}
    assert sizes == {"w1": (1.5, 2048), **dict.fromkeys(big, (1, 1024)), **dict.fromkeys(small, (0.3, 768))}
    delays = [network.delay(u, v) for u in sizes for v in sizes if u != v]
    assert len(delays) == 110
    assert min(delays) >= 0.001
    assert max(delays) < 0.010
    assert len(set(delays)) >= 5
    assert network.delay("w3", "w11") == network.delay("w11", "w3")


@pytest.mark.parametrize("name", TABLE_1)
def test_topologies_have_the_counts_of_table_1_at_every_load(name):
    for load in LOADS:
        problem = paper_problem(name, load)
        operators = problem.application.operators
        assert (len(operators), sum(o.instances for o in operators)) == TABLE_1[name]
        graph = stream_graph(problem)
        assert [n for n in graph if graph.in_degree(n) == 0] == [operators[0].name]
        assert [n for n in graph if graph.out_degree(n) == 0] == [operators[-1].name]
        assert nx.is_directed_acyclic_graph(graph) == (name not in ("T-R8", "T-R9"))
        assert len(problem.application.feedback) == (name in ("T-R8", "T-R9"))
        assert problem.evaluate(packing(problem.application, problem.network)).feasible


def test_manual_topologies_are_chains_and_one_operation_of_ten_instances():
    for name in ("T-M1", "T-M2", "T-M3"):
        assert nx.is_path(stream_graph(paper_problem(name)), [o.name for o in paper_problem(name).application.operators])
    assert [o.instances for o in paper_problem("T-M2").application.operators] == [1, 10, 1]
    assert {o.instances for o in paper_problem("T-M1").application.operators} == {1}


@pytest.mark.parametrize("load", LOADS)
def test_random_topologies_of_the_paper_use_the_share_of_the_cluster_that_they_are_said_to(load):
    for name in RANDOM:
        problem = paper_problem(name, load)
        assert needed(problem, "cpu") == pytest.approx(load, rel=0.01)
        assert 0.55 * load < needed(problem, "memory") < 1.01 * load
        inner = problem.application.operators[1:-1]
        assert {o.instances for o in inner} == {2}
        assert problem.application.operators[0].external_rate == pytest.approx(1000 * load)


def test_load_changes_needs_and_rates_but_not_the_topology():
    light, heavy = random_problem(4, load=0.2), random_problem(4, load=0.4)
    assert stream_graph(light).edges == stream_graph(heavy).edges
    for first, second in zip(light.application.operators, heavy.application.operators, strict=True):
        assert second.resources["cpu"] == pytest.approx(2 * first.resources["cpu"], abs=0.003)
        assert heavy.application.load(second.name) == pytest.approx(2 * light.application.load(first.name), rel=1e-4)


def test_every_operation_sends_all_its_tuples_to_all_that_follow():
    for seed in range(20):
        application = random_problem(seed).application
        for operator in application.operators:
            sent = {s.rate for s in application.streams if s.source == operator.name}
            assert len(sent) <= 1
            received = application.load(operator.name)
            assert all(0.4 * received <= rate * 1.00001 and rate <= 1.20001 * received for rate in sent)


def test_random_problems_are_feasible_also_where_few_instances_cannot_use_the_load():
    for seed in range(120):
        problem = random_problem(seed, load=LOADS[seed % 3], cyclic=seed % 5 == 0)
        assert problem.evaluate(packing(problem.application, problem.network)).feasible
    assert needed(random_problem(0, operations=3, load=0.7), "cpu") < 0.5


@pytest.mark.parametrize("operations", [4, 5, 9])
def test_cyclic_problems_have_one_stream_that_goes_back(operations):
    for seed in range(10):
        problem = random_problem(seed, operations=operations, cyclic=True)
        acyclic = random_problem(seed, operations=operations)
        assert len(problem.application.streams) == len(acyclic.application.streams) + 1
        assert len(problem.application.feedback) == 1
        ((source, target),) = problem.application.feedback
        inner = {o.name for o in problem.application.operators[1:-1]}
        assert {source, target} <= inner
        assert 0 < problem.application.rate(source, target) < 0.2 * problem.application.load(target)


def test_the_same_seed_gives_the_same_problem_and_another_another():
    assert random_problem(7) == random_problem(7)
    assert random_problem(7) != random_problem(8)
    assert paper_problem("T-R5", 0.2) == paper_problem("T-R5", 0.2)
    assert stream_graph(paper_problem("T-R5")).edges != stream_graph(paper_problem("T-R6")).edges
    assert edrp.loads(random_problem(7).model_dump_json()) == random_problem(7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: paper_problem("T-R10"), "name: is no topology of Table 1; did you mean 'T-R1'"),
        (lambda: paper_problem("T-R1", 0.0), "load: must be a share of the cluster's cores, above 0 and at most 1"),
        (lambda: random_problem(-1), "seed: must not be negative"),
        (lambda: random_problem(1, operations=2), "operations: must be at least 3: source, sink and one between them"),
        (lambda: random_problem(1, operations=3, cyclic=True), "operations: must be at least 4"),
        (lambda: random_problem(1, load=1.5), "load: must be a share"),
    ],
)
def test_what_cannot_be_made_is_refused(make, message):
    with pytest.raises(InvalidInstanceError) as raised:
        make()
    assert message in str(raised.value)


def test_families_have_unequal_nodes_zones_cycles_pins_and_running_applications():
    problems = dict(generate("latency-aware", 280, seed=9))
    for name, problem in problems.items():
        assert ("cyclic" in name) == bool(problem.application.feedback), name
        assert ("zones" in name) == (problem.network.within_zone is not None), name
        assert len(problem.application.operators) == 8
    values = list(problems.values())
    sizes = [len({node.resources["cpu"] for node in problem.network.nodes}) for problem in values]
    assert np.mean(np.array(sizes) >= 2) > 0.95
    assert 40 < sum(problem.current is not None for problem in values) < 130
    assert 40 < sum(problem.application.operators[0].candidates is not None for problem in values) < 130
    assert len({problem.weights for problem in values}) == 4
    assert {o.instances for problem in values for o in problem.application.operators} == {1, 2, 3, 4}
