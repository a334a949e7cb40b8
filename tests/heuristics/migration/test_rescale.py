"""The search for replicas, ranges and nodes, and the baselines that it is compared with."""

from __future__ import annotations

import numpy as np
import pytest

import edrp
from edrp.core.problem import derived_once
from edrp.datasets.families.migration.random_rescale import random_rescale
from edrp.datasets.families.migration.rescale import rescaled, zipf_tasks
from edrp.heuristics.migration.rescale.annealed_ranges import RangeSearch
from edrp.heuristics.migration.rescale.fewest_bytes import ranges_on
from edrp.heuristics.migration.rescale.range_arrays import METRICS, range_arrays
from edrp.heuristics.migration.rescale.range_state import OBJECTIVE
from edrp.heuristics.migration.rescale.starts import packed_start, present_start
from edrp.migration.rescale.arrays import compile_rescale
from edrp.validation.oracles.migration.rescale_brute_force import brute_force_rescale

BASELINES = ("keep", "edrp-then-ssm", "ds2-even-ranges", "even-ranges", "sticky-ranges")


@pytest.fixture(scope="module")
def scale_out():
    return rescaled(24, np.random.default_rng(5), zipf_tasks, 1.5)


@pytest.mark.parametrize("seed", range(30))
def test_kernels_and_evaluation_say_the_same(seed):
    problem = random_rescale(seed)
    arrays = compile_rescale(problem)
    for start in [present_start(arrays, problem.current), *(packed_start(arrays, share) for share in (0.0, 1.0))]:
        if start is None:
            continue
        search = RangeSearch(range_arrays(arrays), [start])
        evaluation = problem.evaluate(arrays.deployment(start))
        assert search.feasible == evaluation.feasible
        if evaluation.feasible:
            assert search.objective == pytest.approx(evaluation.objective, rel=1e-9, abs=1e-9)
            for value, name in zip(search.now.values, METRICS, strict=False):
                assert value == pytest.approx(evaluation.metrics.get(name, 0.0), rel=1e-9, abs=1e-6), name


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_the_optima_of_tiny_problems(seed):
    problem = random_rescale(seed)
    optimum, _ = brute_force_rescale(problem)
    solution = edrp.solve(problem, "range-annealing", seed=3)
    assert solution.status == ("none" if optimum is None else "feasible")
    if optimum is not None:
        assert solution.objective == pytest.approx(optimum, abs=1e-7)


def test_the_search_is_never_worse_than_the_baselines(scale_out):
    found = edrp.solve(scale_out, "range-annealing")
    assert found.status == "feasible"
    answers = {name: edrp.solve(scale_out, name) for name in BASELINES}
    known = {name: answer.objective for name, answer in answers.items() if answer.objective is not None}
    assert known
    assert all(found.objective <= objective + 1e-9 for objective in known.values()), (found.objective, known)
    assert answers["keep"].status == "none"
    assert "is overloaded on" in answers["keep"].notes[0]


def test_a_start_is_not_lost(scale_out):
    best = edrp.solve(scale_out, "range-annealing")
    again = edrp.solve(scale_out, "range-annealing", start=best.deployment, seed=9, runs=1, steps=1)
    assert again.objective <= best.objective + 1e-12


def test_keeping_is_answered_where_nothing_pays(scale_out):
    problem = scale_out.replace(
        application=scale_out.application.replace(
            operators=tuple(
                o.replace(external_rate=o.external_rate / 1.5, cost=0.0, latency=None) for o in scale_out.application.operators
            )
        ),
        weights={"downtime": 0.5, "moved_state": 0.5},
    )
    assert edrp.solve(problem, "range-annealing").deployment == problem.current


def test_even_ranges_are_even_and_ds2_decides_how_many(scale_out):
    load = scale_out.application.load
    even = tuple(
        o if o.tasks is None else o.replace(tasks=o.tasks.replace(work=(1.0,) * 24)) for o in scale_out.application.operators
    )
    problem = scale_out.replace(application=scale_out.application.replace(operators=even))
    for name in ("even-ranges", "ds2-even-ranges"):
        solution = edrp.solve(problem, name)
        assert solution.deployment is not None, solution.notes
        for operator in problem.application.operators:
            if operator.tasks is None:
                continue
            ends = [replica.tasks[1] for replica in solution.deployment.ranges(operator.name)]
            assert ends == [-(-24 * (k + 1) // len(ends)) for k in range(len(ends))]
            if name == "ds2-even-ranges":
                assert len(ends) == np.ceil(load(operator.name) / (0.7 * operator.latency.service_rate) - 1e-9)


def test_the_fewest_bytes_are_those_of_ssm():
    """On distinct nodes with one range each, given nodes that all hold something now."""
    from edrp.datasets.families.migration.random_migration import random_migration

    compared = 0
    for seed in range(60):
        migration = random_migration(seed, tasks=9, nodes=3)
        held = [interval for interval in migration.intervals if interval[0] < interval[1]]
        if len(held) != 3 or len(migration.intervals) != 3:
            continue
        problem = one_operator(migration, held)
        arrays = compile_rescale(problem)
        ranges = ranges_on(arrays, 0, [0, 1, 2], migration.tolerance)
        known = edrp.solve(migration.replace(allow_empty=False), "ssm")
        assert (ranges is None) == (known.status == "infeasible")
        if ranges is not None:
            assert problem.evaluate(arrays.deployment([ranges])).metrics["moved_state"] == pytest.approx(known.objective)
            compared += 1
    assert compared >= 3


def one_operator(migration, held):
    from edrp.migration.rescale.problem import RescaleProblem

    tasks = {"work": migration.work, "state_size": migration.state_size}
    return RescaleProblem(
        application={"operators": [{"name": "work", "tasks": tasks, "max_replicas": 3}]},
        network={"nodes": [{"name": f"n{u}"} for u in range(3)]},
        weights={"moved_state": 1.0},
        limits={"moved_state": 1e9},
        current={"work": [{"node": f"n{u}", "tasks": interval} for u, interval in enumerate(held)]},
    )


def test_one_hundred_thousand_tasks_are_taken():
    problem = rescaled(100, np.random.default_rng(2), zipf_tasks, 1.5)
    random = np.random.default_rng(3)
    many = {"work": random.uniform(0.5, 1.5, 100_000).tolist(), "state_size": random.uniform(0.0, 1e4, 100_000).tolist()}
    operators = tuple(o if o.tasks is None else o.replace(tasks=many) for o in problem.application.operators)
    large = problem.replace(application=problem.application.replace(operators=operators), current=None)
    solution = edrp.solve(large, "range-annealing", runs=1, steps=2000)
    assert solution.status == "feasible"


def test_a_run_stops_at_its_time_limit_and_keeps_the_best(scale_out):
    with derived_once(scale_out):
        arrays = compile_rescale(scale_out)
        search = RangeSearch(range_arrays(arrays), [packed_start(arrays, 0.0)])
    before = search.objective
    assert search.anneal(edrp.Options(time_limit=0.0), 4, 1000, (0.05, 1e-3)) == "time_limit"
    assert search.objective == before
    assert np.isfinite(search.best.values[OBJECTIVE])
