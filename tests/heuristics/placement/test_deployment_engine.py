"""Kernels of annealing and of the engine for whole deployments: what they compute is what the problem's plain code says."""

from collections.abc import Callable

import numpy as np
import pytest
from contention import random_contention
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp import _native
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.heuristics.placement.annealing import energies
from edrp.heuristics.placement.deployment_starts import random_fit
from edrp.heuristics.placement.deployment_state import DeploymentState
from edrp.heuristics.placement.filling import overload_answer
from edrp.heuristics.placement.problem_arrays import placement_arrays
from edrp.heuristics.placement.search import search_engine as engine_module
from edrp.heuristics.placement.search.count_engine import CountEngine
from edrp.heuristics.placement.search.deployment_engine import DeploymentEngine, DeploymentMemory, size_prior
from edrp.heuristics.placement.search.methods import make_engine
from edrp.heuristics.placement.search.search_engine import KickParameters, OverloadRule
from edrp.placement.compilation import compile_problem
from edrp.placement.metrics import EDRP_METRICS, NORMALISED
from edrp.placement.metrics.own import OwnMetric


def small(seed: int) -> edrp.EdrpProblem:
    return random_problem(seed, operators=(3, 5), nodes=(3, 5), combinations_limit=1e5)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 400), draw=st.integers(0, 10))
def test_kernels_and_plain_metrics_agree_on_random_deployments(seed: int, draw: int) -> None:
    """The search evaluates with code of its own; the metrics' plain face must say the same."""
    problem = random_problem(seed)
    compiled = compile_problem(problem)
    if not np.isfinite(compiled.latency).any(axis=1).all():
        return
    counts = random_fit(compiled, np.random.default_rng(draw))
    values = energies(compiled, counts)
    deployment = compiled.deployment(counts)
    for value, (name, metric) in zip(values, NORMALISED.items(), strict=True):
        plain = metric.scaled(metric.evaluate(problem, deployment))
        assert value == pytest.approx(plain, rel=1e-9, abs=1e-12), name
    assert all(isinstance(metric, OwnMetric) for name, metric in EDRP_METRICS.items() if name not in NORMALISED), "no kernel"


def test_in_storm_whatever_changes_takes_as_long_as_the_longest_restart() -> None:
    """One operator moves without any state; the other stays, and reads 2 GB from its disk again."""
    operators = [{"name": "moves", "external_rate": 1.0}, {"name": "stays", "external_rate": 1.0, "state_size": 2e9}]
    problem = edrp.EdrpProblem(
        application={"operators": operators},
        network={"nodes": [{"name": "x"}, {"name": "y"}], "store": {"local_bandwidth": 1e8}},
        reconfiguration="storm",
        weights={"downtime": 1.0},
        limits={"downtime": 100.0},
        current={"moves": ["x"], "stays": ["x"]},
    )
    compiled, after = compile_problem(problem), edrp.Deployment({"moves": ["y"], "stays": ["x"]})
    assert problem.evaluate(after).metrics["downtime"] == 40.0
    assert energies(compiled, compiled.counts(after))[2] == 40.0


def contended(seed: int) -> edrp.EdrpProblem:
    """Replicas and streams, some of which go one to one, share cores, a disk and the network; peak loads are weighed."""
    return random_contention(seed).replace(weights={"cost": 0.4, "peak_load": 0.6})


def searched(problem: edrp.EdrpProblem, draw: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> DeploymentEngine | None:
    """An engine in the middle of a search that began somewhere at random; None where operators cannot be stable."""
    compiled = compile_problem(problem)
    if overload_answer(compiled) is not None:
        return None
    monkeypatch.setattr(engine_module, "CHUNK_UNITS", 3e-5)
    engine = DeploymentEngine(compiled)
    random = np.random.default_rng(draw)
    engine.reset(random_fit(compiled, random), random)
    for _ in zip(range(steps), engine.kicks(KickParameters(kicks=40), draw), strict=False):
        pass
    return engine


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 400), draw=st.integers(0, 5), steps=st.integers(1, 12))
def test_bookkeeping_equals_evaluation_from_scratch(seed: int, draw: int, steps: int) -> None:
    """Wherever a search stands after any number of changes and kicks, nothing it remembers has drifted."""
    with pytest.MonkeyPatch.context() as patch:
        engine = searched(small(seed), draw, steps, patch)
    if engine is None:
        return
    now, fresh = engine.now, DeploymentState.from_matrix(engine.arrays, engine.now.counts.replicas)
    _native.adopt_deployment(engine.arrays, fresh, DeploymentMemory.empty(engine.arrays), OverloadRule.COMPARED)
    np.testing.assert_allclose(now.counts.used, fresh.counts.used, rtol=1e-9, atol=1e-9)
    for name in ("per_operator", "per_stream"):
        np.testing.assert_allclose(getattr(now, name), getattr(fresh, name), rtol=1e-9, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(getattr(now, f"old_{name}"), getattr(fresh, name), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("family", [small, contended])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 400), draw=st.integers(0, 5))
def test_the_value_of_the_best_is_what_the_problem_says(family: Callable[[int], edrp.EdrpProblem], seed: int, draw: int) -> None:
    """Objective and violations come from kernels; the problem evaluates in plain code, and knows what replicas are allowed."""
    problem = family(seed)
    with pytest.MonkeyPatch.context() as patch:
        engine = searched(problem, draw, 1_000, patch)
    if engine is None:
        return
    evaluation = problem.evaluate(engine.compiled.deployment(engine.counts()))
    assert engine.value().objective == pytest.approx(evaluation.objective, rel=1e-7, abs=1e-7)
    assert engine.value().violations == len(evaluation.broken)
    assert (engine.value().violations == 0) == (engine.value().overload == 0.0) == evaluation.feasible
    degrees = engine.counts().sum(axis=1)
    assert (degrees >= engine.compiled.min_replicas).all()
    assert (degrees <= engine.compiled.max_replicas).all()
    assert np.isfinite(engine.compiled.latency[np.arange(degrees.size), degrees]).all()
    assert not engine.counts()[~engine.compiled.candidate].any()


def test_numbers_of_replicas_that_cost_least_are_drawn_most() -> None:
    """Unstable numbers are never drawn; among the others what counts is the operator's own share of the objective."""
    queue = {"model": "mm1", "service_rate": 10.0}
    operator = {"name": "a", "external_rate": 14.0, "latency": queue, "cost": 1.0, "max_replicas": 4}
    problem = edrp.EdrpProblem(
        application={"operators": [operator]},
        network={"nodes": [{"name": "x"}]},
        weights={"response_time": 0.5, "cost": 0.5},
        limits={"response_time": 1.0, "cost": 4.0},
    )
    # Latencies 1/3, 3/16, 2/13 s with 2, 3, 4 replicas: shares 5/12, 15/32, 15/26 of the objective.
    prior = size_prior(placement_arrays(compile_problem(problem)))[0]
    np.testing.assert_allclose(prior, [0, 0, 1, (5 / 12) / (15 / 32), (5 / 12) / (15 / 26)])


def test_where_latency_decides_every_change_is_evaluated_whole() -> None:
    for weights, expected in ((None, CountEngine), ({"latency": 1.0}, DeploymentEngine)):
        problem = paper_problem("T-R7", 0.4)
        if weights is not None:
            problem = problem.replace(weights=weights)
        engine = make_engine(compile_problem(problem))
        assert isinstance(engine, expected)
        engine.reset(None, np.random.default_rng(0))
        for _ in zip(range(3), engine.kicks(KickParameters(kicks=20), 0), strict=False):
            pass
        assert problem.evaluate(compile_problem(problem).deployment(engine.counts())).feasible
