"""The greedy that gives workers to the slowest stage: feasible answers, and what it carries next to the optimum."""

import numpy as np
import pytest

import edrp
from edrp.datasets.placement.xenna import PIPELINES, Pipeline, pipeline_problem
from edrp.errors import UnsupportedProblemError
from edrp.formulations.placement.carrying.classes import carry_by_classes
from edrp.placement.throughput import GrowingLoad, largest_multiple


def filled(problem):
    """What the greedy carries when it goes on until the slowest operator finds no room."""
    found = edrp.solve(GrowingLoad(problem).at(1e-6), "greedy-pipeline", fill=True)
    return largest_multiple(problem, found.deployment).multiple


def test_it_loses_a_worker_where_the_proof_keeps_it():
    problem = pipeline_problem(PIPELINES["why_not_scaling_down"])
    assert carry_by_classes(GrowingLoad(problem)).bound == pytest.approx(0.627)
    assert filled(problem) == pytest.approx(18 * 0.033)


def test_it_reaches_the_optimum_where_models_take_whole_hosts():
    assert filled(pipeline_problem(PIPELINES["fragmentation_with_large_models"])) == pytest.approx(0.066)


def small(seed):
    """Four stages on three hosts."""
    random = np.random.default_rng(seed)
    gpus, cpus = random.choice([0.0, 0.2, 0.29, 0.34, 0.5, 1.0, 2.0], 4), random.choice([0.5, 1.0, 2.0], 4)
    return pipeline_problem(Pipeline((3, 20, 4), cpus.tolist(), gpus.tolist(), random.uniform(1, 5, 4).tolist(), ends=(0, 0)))


@pytest.mark.parametrize("seed", range(10))
def test_it_carries_no_more_than_the_bound_and_what_it_says(seed, monkeypatch):
    monkeypatch.setattr("edrp.formulations.placement.carrying.classes.MANY_PLACES", 0)
    problem = small(seed)
    bound, multiple = carry_by_classes(GrowingLoad(problem)).bound, filled(problem)
    assert 0 < multiple <= bound * (1 + 1e-9)

    found = edrp.solve(GrowingLoad(problem).at(0.9 * multiple), "greedy-pipeline")
    assert found.status == "feasible"
    assert edrp.solve(GrowingLoad(problem).at(1.001 * bound), "greedy-pipeline").status == "none"


def test_rules_are_refused():
    problem = small(0).replace(rules=({"rule": "apart", "name": "apart", "operators": ["stage0"]},))
    with pytest.raises(UnsupportedProblemError, match="greedy-pipeline does not take rules into account"):
        edrp.solve(problem, "greedy-pipeline")
