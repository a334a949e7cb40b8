"""Throughput and latency of placements, against hand calculation and queueing theory."""

import numpy as np
import pytest

from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.validation.papers.latency_aware.throughput_report import (
    EVEN,
    TABLE_2,
    TABLE_3,
    SchedulerPlacement,
    factors,
    placements,
    table_2,
    throughput_statements,
)
from edrp.validation.simulation.placement.throughput import (
    carried,
    cores_needed,
    end_to_end_latencies,
    shared_cpu,
    sustainable_throughput,
)


def line(cores: float = 1.0, **fields) -> LatencyAwareProblem:
    """A source that sends to a worker, 100 tuples/s, each needing half a core."""
    need = {"resources": {"cpu": 0.5}}
    return LatencyAwareProblem(
        application={
            "operators": [{"name": "source", "external_rate": 100.0, **need}, {"name": "work", **need}],
            "streams": [{"source": "source", "target": "work", "rate": 100.0}],
        },
        network={
            "nodes": [{"name": name, "resources": {"cpu": cores}} for name in "ab"],
            "links": [{"source": "a", "target": "b", "delay": 0.01}],
        },
        **fields,
    )


TOGETHER, APART = Deployment({"source": ["a"], "work": ["a"]}), Deployment({"source": ["a"], "work": ["b"]})


def test_the_fullest_supervisor_decides():
    assert carried(line(), TOGETHER).throughput == pytest.approx(100)
    assert carried(line(), TOGETHER).reserved == 1.0
    # Apart each has half the work, and 0.2 of a mean tuple's cost on top.
    assert cores_needed(line(), APART) == {"a": pytest.approx(0.6), "b": pytest.approx(0.6)}
    assert carried(line(), APART).throughput == pytest.approx(100 / 0.6)
    assert carried(line(), APART, transfer=0.0).throughput == pytest.approx(200)


def test_instances_share_a_stream():
    problem = line()
    source, work = problem.application.operators
    two = problem.replace(application=problem.application.replace(operators=(source, work.replace(instances=2))))
    halved = cores_needed(two, Deployment({"source": ["a"], "work": ["a", "b"]}), transfer=0.0)
    assert halved == {"a": 1.0, "b": 0.5}
    # Half of the tuples leave a; a mean tuple takes 0.0075 core-seconds.
    sent = cores_needed(two, Deployment({"source": ["a"], "work": ["a", "b"]}), transfer=1.0)
    assert sent == {"a": pytest.approx(1.0 + 50 * 0.0075), "b": pytest.approx(0.5 + 50 * 0.0075)}


@pytest.mark.parametrize("name", ["T-M2", "T-R2", "T-R7"])
@pytest.mark.parametrize("transfer", [0.0, 0.2, 1.5])
def test_shared_cores_are_those_that_were_counted_by_hand(name, transfer):
    problem = paper_problem(name, 0.4)
    shared = shared_cpu(problem, transfer=transfer)
    random = np.random.default_rng(1)
    for _ in range(20):
        nodes = [node.name for node in problem.network.nodes][: random.integers(1, 12)]
        placed = Deployment({o.name: tuple(random.choice(nodes, o.instances)) for o in problem.application.operators})
        expected = carried(problem, placed, transfer=transfer).throughput
        assert sustainable_throughput(shared, placed) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_a_single_queue_is_m_d_1(load):
    """Mean time in an M/D/1 queue: s + ρ·s / (2·(1 − ρ))."""
    problem = LatencyAwareProblem(
        application={"operators": [{"name": "work", "external_rate": 100.0, "resources": {"cpu": 1.0}}]},
        network={"nodes": [{"name": "n", "resources": {"cpu": 1.0}}]},
    )
    seconds = end_to_end_latencies(problem, Deployment({"work": ["n"]}), tuples=40_000, rate_share=load, seed=3)
    service = 0.01
    assert seconds.size == 40_000
    assert seconds.mean() == pytest.approx(service + load * service / (2 * (1 - load)), rel=0.03)
    assert seconds.min() == pytest.approx(service)


def test_without_queues_latency_is_work_and_way():
    seconds = end_to_end_latencies(line(), APART, tuples=200, rate_share=1e-6, transfer=0.0)
    assert np.allclose(seconds, 0.005 + 0.01 + 0.005)
    more = end_to_end_latencies(line(), APART, tuples=200, rate_share=1e-6, transfer=0.2)
    assert np.allclose(more, 0.02 + 2 * 0.2 * 0.005)


def test_every_tuple_comes_through():
    problem = paper_problem("T-R5", 0.4)
    everything = Deployment({o.name: ("w1",) * o.instances for o in problem.application.operators})
    first, second = (end_to_end_latencies(problem, everything, tuples=300, rate_share=0.2, seed=seed) for seed in (1, 1))
    assert np.array_equal(first, second)
    sink = problem.application.operators[-1].name if not problem.application.streams else problem.application.streams[-1].target
    into = problem.application.load(sink) / problem.application.operators[0].external_rate
    assert first.size == pytest.approx(300 * into, rel=0.25)


def test_factors_compare_at_equal_cores():
    def placed(method: str, reserved: float, throughput: float) -> SchedulerPlacement:
        return SchedulerPlacement("T-R1", 0.2, method, 0, reserved, throughput)

    found = [placed(EVEN, 1.0, 100.0), placed(EVEN, 3.0, 200.0), placed(EVEN, 3.0, 400.0)]
    found += [placed("hybrid", cores, 400.0) for cores in (0.5, 2.0, 9.0)]
    # Below the first and beyond the last placement the nearest counts; between them it is interpolated.
    assert factors(found, "T-R1", "hybrid", EVEN).tolist() == [4.0, 2.0, pytest.approx(4 / 3)]
    assert factors(found, "T-R2", "hybrid", EVEN).size == 0


def test_printed_factors_have_the_means_that_the_text_gives():
    """Section 6.2.1, of the random topologies."""
    random = [name for name in TABLE_2 if name.startswith("T-R")]
    over_default = {"hill-climbing": 2.09, "ant-system": 1.83, "hybrid": 2.01, "resource-aware": 2.11}
    over_resource_aware = {"hill-climbing": 1.11, "ant-system": 0.89, "hybrid": 1.03}
    for printed, means in ((TABLE_2, over_default), (TABLE_3, over_resource_aware)):
        for method, mean in means.items():
            assert np.mean([printed[name][method].mean for name in random]) == pytest.approx(mean, abs=0.0051), method


def test_tables_and_verdicts_of_a_small_run():
    found = placements(["T-R2", "T-R7"], loads=[0.3, 0.6], seeds=1, simulated=["T-R2"])
    assert {bound.least is not None for bound in found if bound.topology == "T-R2"} == {True}
    assert {bound.least for bound in found if bound.topology == "T-R7"} == {None}
    table = table_2(found)
    assert list(table.columns[1:4]) == ["hill-climbing", "ant-system", "hybrid"]
    assert [row[0] for row in table.rows] == ["T-R2", "T-R7", "mean of T-R"]
    assert [row[3].splitlines()[1] for row in table.rows] == ["(2.08 ± 0.97)", "(1.92 ± 1.00)", "(2.00)"]
    held = {statement.sentence: statement.holds for statement in throughput_statements(found)}
    assert next(holds for sentence, holds in held.items() if sentence.startswith("every scheduler that knows resources"))
