"""The largest multiple by classes of equal nodes: bounds against enumeration, known values, and packed deployments."""

import pytest
from unit_resources import drawn
from xenna import PIPELINES, Pipeline, pipeline_problem

import edrp
from edrp.check_problems.placement.enumeration import deployments
from edrp.formulations.placement.carrying.classes import carry_by_classes
from edrp.placement.throughput import GrowingLoad, largest_multiple


@pytest.mark.parametrize("seed", [*range(18), pytest.param(18, marks=pytest.mark.slow), *range(19, 30)])
def test_nothing_carries_more_than_the_bound(seed, monkeypatch):
    monkeypatch.setattr("edrp.formulations.placement.carrying.classes.MANY_PLACES", 0)
    load = GrowingLoad(drawn(seed))
    carried = [load.carried(deployment).multiple for deployment in deployments(load.problem)]
    best = max((multiple for multiple in carried if multiple is not None), default=None)
    found = carry_by_classes(load)
    if best is not None:
        assert found.bound >= best * (1 - 1e-9)
        assert found.deployment is None or load.carried(found.deployment).multiple <= best * (1 + 1e-9)


KNOWN = [
    ("why_not_scaling_down", (4, 8), 19 * 0.033),
    ("fragmentation_with_large_models", (4, 8), 0.066),
    ("benchmark_large", (4, 8), 4000.0),
    ("benchmark_large", (0, 0), 5333.0),
]


@pytest.mark.parametrize(("name", "ends", "multiple"), KNOWN)
def test_pipelines_on_hosts_with_devices(name, ends, multiple):
    problem = pipeline_problem(PIPELINES[name]._replace(ends=ends))
    found = carry_by_classes(GrowingLoad(problem))
    assert found.bound == pytest.approx(multiple, rel=1e-6)
    assert largest_multiple(problem, found.deployment).multiple == pytest.approx(multiple, rel=1e-6)


def test_a_thousand_nodes_with_fractions_and_pairs_of_devices():
    problem = pipeline_problem(
        Pipeline((1000, 96, 8), cpus=(1, 1, 2, 4, 3), gpus=(0, 0.25, 0.29, 2, 0), rates=(4.0, 3.0, 1.7, 0.8, 1.0), ends=(0, 0))
    )
    found = carry_by_classes(GrowingLoad(problem))
    assert largest_multiple(problem, found.deployment).multiple == pytest.approx(found.bound, rel=1e-6)
    # Units: m/3 quarters share with m/1.7 of 0.29, two of a quarter and two of 0.29 at most in one, and m/0.8 take two each.
    assert found.bound < 8000 / (2 / 0.8 + (1 / 3 * 0.25 + 1 / 1.7 * 0.29))


def test_where_more_than_numbers_counts_classes_say_nothing():
    problem = pipeline_problem(PIPELINES["fragmentation_with_large_models"])
    slow = problem.network.replace(nodes=(problem.network.nodes[0].replace(speedup=0.5), *problem.network.nodes[1:]))
    for other in (
        problem.replace(rules=({"rule": "apart", "name": "apart", "operators": ["stage6"]},)),
        problem.replace(network=slow),
    ):
        assert carry_by_classes(GrowingLoad(other)) is None


@pytest.mark.parametrize("method", ["auto", "scip"])
def test_the_largest_rate_of_a_large_cluster_is_proven_by_its_classes(method):
    largest = edrp.largest_rate(pipeline_problem(PIPELINES["why_not_scaling_down"]), method=method)
    assert (largest.status, largest.solves) == ("optimal", 2)
    assert largest.multiple == pytest.approx(0.627)
