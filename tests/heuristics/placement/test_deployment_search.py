"""Hill climbing, ant system, hybrid and iterated local search on EDRP problems: moves, replicas more, replicas fewer."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core import budget
from edrp.core.errors import UnsupportedProblemError
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.heuristics.placement.deployment_starts import random_fit
from edrp.heuristics.placement.deployment_state import DeploymentState, refresh_all
from edrp.heuristics.placement.filling import overload_answer
from edrp.heuristics.placement.problem_arrays import placement_arrays
from edrp.heuristics.placement.search import search_engine as engine_module
from edrp.heuristics.placement.search.count_engine import CountEngine
from edrp.heuristics.placement.search.deployment_ants import size_prior
from edrp.heuristics.placement.search.deployment_engine import DeploymentEngine
from edrp.heuristics.placement.search.method_parameters import ColonyParameters, KickParameters
from edrp.heuristics.placement.search.methods import make_engine
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment

METHODS = ("hill-climbing", "ant-system", "hybrid", "iterated-local-search")
SMALL = {"operators": (3, 5), "nodes": (3, 5), "combinations_limit": 1e5}

# Inlined kernels that are called from here.
refresh_all_alone = numba.njit(refresh_all.function)


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
        engine = searched(random_problem(seed, **SMALL), draw, steps, patch)
    if engine is None:
        return
    now, fresh = engine.now, DeploymentState.from_matrix(engine.arrays, engine.now.counts.replicas)
    refresh_all_alone(engine.arrays, fresh)
    np.testing.assert_allclose(now.counts.used, fresh.counts.used, rtol=1e-9, atol=1e-9)
    for name in ("per_operator", "per_stream"):
        np.testing.assert_allclose(getattr(now, name), getattr(fresh, name), rtol=1e-9, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(getattr(now, f"old_{name}"), getattr(fresh, name), rtol=1e-9, atol=1e-9, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 400), draw=st.integers(0, 5))
def test_the_value_of_the_best_is_what_the_problem_says(seed: int, draw: int) -> None:
    """Objective and violations come from kernels; the problem evaluates in plain code, and knows what replicas are allowed."""
    problem = random_problem(seed, **SMALL)
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


def test_minimum_numbers_of_replicas_are_kept() -> None:
    problem = layered(6, seed=1)
    operators = [o.replace(min_replicas=2) if o.max_replicas > 1 else o for o in problem.application.operators]
    problem = problem.replace(
        application=problem.application.replace(operators=operators), weights={"cost": 1.0}, limits={"cost": 100.0}
    )
    for method in METHODS:
        deployment = edrp.solve(problem, method).deployment
        assert [len(deployment[o.name]) for o in operators] == [o.min_replicas for o in operators], method


@pytest.fixture(scope="module")
def optima() -> dict[int, float]:
    """Least objectives of small random problems, by brute force, where there is a feasible deployment."""
    found = {seed: brute_force(random_problem(seed, **SMALL))[0] for seed in range(40)}
    return {seed: value for seed, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("method", "found", "optimal"),
    [("hill-climbing", 0.8, 0.3), ("ant-system", 0.9, 0.3), ("hybrid", 0.95, 0.5), ("iterated-local-search", 1.0, 0.97)],
)
def test_most_small_problems_are_solved(method: str, found: float, optimal: float, optima: dict[int, float]) -> None:
    """Share of feasible problems for which there is an answer, and for which that is optimal; none is better than the optimum."""
    values = {seed: edrp.solve(random_problem(seed, **SMALL), method).objective for seed in optima}
    feasible = [seed for seed in optima if values[seed] is not None]
    gaps = np.array([values[seed] - optima[seed] for seed in feasible])
    assert len(optima) >= 20
    assert gaps.min() >= -1e-9
    assert len(feasible) >= found * len(optima)
    assert (gaps <= 1e-9).sum() >= optimal * len(optima)


@pytest.mark.parametrize("method", ["hill-climbing", "hybrid", "iterated-local-search", "annealing", "eliminate"])
def test_a_deployment_that_breaks_limits_is_repaired(method: str) -> None:
    """Everything on one node, far beyond its capacity, is where the search starts."""
    problem = debs2015(100.0, network=geometric(10, 0), max_replicas=2)
    overloaded = Deployment({o.name: [o.candidates[0] if o.candidates else "n3"] for o in problem.application.operators})
    weights = edrp.Weights(response_time=0.3, cost=0.3, downtime=0.4)
    stuck = problem.replace(current=overloaded, weights=weights)
    assert not stuck.evaluate(overloaded).feasible
    assert edrp.solve(stuck, method).status in ("feasible", "optimal")


def test_the_printed_rule_does_not_leave_an_overloaded_node() -> None:
    """Counting broken limits, no single move off the node is progress; what the repaired rule sees of it is overload."""
    problem = layered(10, seed=0).replace(limits={"response_time": 9.0, "cost": 100.0})
    inner = {o.name: ["n3"] * 2 for o in problem.application.operators if o.candidates is None}
    start = Deployment({o.name: inner.get(o.name, o.candidates) for o in problem.application.operators})
    assert problem.evaluate(start).broken == ("resources of node n3: 16 against 2",)
    assert edrp.solve(problem, "hill-climbing", start=start).status == "feasible"
    assert edrp.solve(problem, "hill-climbing", start=start, rule="printed").status == "none"


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_answer(method: str) -> None:
    problem = layered(12, seed=3)
    arguments = {"kicks": 100} if method == "iterated-local-search" else {}
    once = edrp.solve(problem, method, seed=5, **arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_module, "CHUNK_UNITS", 1e-4)
        again = edrp.solve(problem, method, seed=5, **arguments)
    assert once.deployment == again.deployment
    assert once.objective == again.objective


@pytest.mark.parametrize("operators", [20, 100])
@pytest.mark.parametrize("method", ["ant-system", "iterated-local-search"])
def test_steps_are_bounded_work(method: str, operators: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the problem is, the caller looks at the clock after a few hundredths of a unit."""
    spent: list[float] = []
    monkeypatch.setattr(budget, "spend", spent.append)
    engine = DeploymentEngine(compile_problem(layered(operators, seed=3, nodes=100, resources=4.0)))
    engine.reset(None, np.random.default_rng(0))
    search = engine.colony(ColonyParameters(), 0) if method == "ant-system" else engine.kicks(KickParameters(), 0)
    for _ in zip(range(5), search, strict=False):
        pass
    assert len(spent) >= 4
    assert max(spent) < 0.05


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


def test_too_many_replicas_are_refused() -> None:
    many = {"name": "a", "external_rate": 1000.0, "latency": {"model": "mm1", "service_rate": 1.1}, "max_replicas": 2000}
    problem = edrp.EdrpProblem(
        application={"operators": [many, {**many, "name": "b"}], "streams": [{"source": "a", "target": "b"}]},
        network={"nodes": [{"name": "x"}, {"name": "y"}], "links": [{"source": "x", "target": "y", "delay": 0.1}]},
        weights={"response_time": 1.0},
        limits={"response_time": 100.0},
    )
    for method in METHODS:
        with pytest.raises(UnsupportedProblemError, match=r"looked at one by one.*; use highs$"):
            edrp.solve(problem, method)
