"""The greedy that gives workers to the slowest stage: feasible answers, and what it carries next to the optimum."""

import numpy as np
import pytest
from xenna import PIPELINES, Pipeline, pipeline_problem

import edrp
from edrp.errors import UnsupportedProblemError
from edrp.formulations.placement.carrying.classes import carry_by_classes
from edrp.placement.throughput import GrowingLoad, largest_multiple


def solved(problem, multiple):
    """What the greedy says of a multiple of the rates; what it finds is carried by plain code."""
    found = edrp.solve(GrowingLoad(problem).at(multiple), "greedy-pipeline")
    assert found.deployment is None or largest_multiple(problem, found.deployment).multiple >= multiple
    return found.status


@pytest.mark.parametrize(
    ("name", "reached", "largest"),
    [("why_not_scaling_down", 18 * 0.033, 19 * 0.033), ("fragmentation_with_large_models", 0.066, 0.066)],
)
def test_it_may_lose_a_worker_where_the_proof_keeps_it(name, reached, largest):
    problem = pipeline_problem(PIPELINES[name])
    assert carry_by_classes(GrowingLoad(problem)).bound == pytest.approx(largest)
    assert (solved(problem, 0.9999 * reached), solved(problem, 1.0001 * reached)) == ("feasible", "none")


def small(seed):
    """Four stages on three hosts."""
    random = np.random.default_rng(seed)
    gpus, cpus = random.choice([0.0, 0.2, 0.29, 0.34, 0.5, 1.0, 2.0], 4), random.choice([0.5, 1.0, 2.0], 4)
    return pipeline_problem(Pipeline((3, 20, 4), cpus.tolist(), gpus.tolist(), random.uniform(1, 5, 4).tolist(), ends=(0, 0)))


@pytest.mark.parametrize("seed", range(10))
def test_it_carries_much_and_no_more_than_the_bound(seed, monkeypatch):
    monkeypatch.setattr("edrp.formulations.placement.carrying.classes.MANY_PLACES", 0)
    bound = carry_by_classes(GrowingLoad(small(seed))).bound
    assert (solved(small(seed), 0.7 * bound), solved(small(seed), 1.001 * bound)) == ("feasible", "none")


def test_rules_are_refused():
    problem = small(0).replace(rules=({"rule": "apart", "name": "apart", "operators": ["stage0"]},))
    with pytest.raises(UnsupportedProblemError, match="greedy-pipeline does not take rules into account"):
        edrp.solve(problem, "greedy-pipeline")
