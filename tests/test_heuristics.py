"""Annealing and the baselines: feasible, repeatable, and as good as they claim."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.compiled import compile_problem
from edrp.datasets import debs2015, geometric, layered
from edrp.documents import Deployment
from edrp.heuristics.annealing import AnnealingParameters, energies
from edrp.heuristics.start import random_fit
from edrp.metrics import METRICS
from edrp.validation.random_problems import random_problem


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 400), draw=st.integers(0, 10))
def test_kernels_and_plain_metrics_agree_on_random_deployments(seed: int, draw: int) -> None:
    """The search evaluates with code of its own; the metrics' plain face must say the same."""
    problem = random_problem(seed)
    compiled = compile_problem(problem)
    if not np.isfinite(compiled.latency).any(axis=1).all():
        return
    counts = random_fit(compiled, np.random.default_rng(draw)).counts(compiled)
    values = energies(compiled, counts)
    deployment = compiled.deployment(counts)
    for value, name in zip(values, ("response_time", "cost", "downtime", "network_usage", "availability"), strict=True):
        plain = METRICS[name].scaled(METRICS[name].evaluate(problem, deployment))
        assert value == pytest.approx(plain, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("seed", [0, 2, 5, 6])
def test_annealing_finds_the_optimum_of_ten_operators(seed: int) -> None:
    """Within its default budget, a fraction of a second."""
    problem = layered(10, seed=seed)
    assert edrp.solve(problem, "annealing").objective == pytest.approx(edrp.solve(problem).objective, abs=1e-9)


def test_annealing_repeats_with_its_seed() -> None:
    """The same seed gives the same deployment."""
    problem = layered(20, seed=3)
    once, again = (edrp.solve(problem, "annealing", seed=5, anneals=1, steps=5000) for _ in range(2))
    assert once.deployment == again.deployment


def test_annealing_honours_its_time_limit() -> None:
    """A budget for minutes stops after the limit."""
    solution = edrp.solve(layered(20, seed=3), "annealing", time_limit=0.2, steps=500_000_000)
    assert solution.stopped_because == "time_limit"
    assert solution.seconds["solve"] < 1.5


def test_an_overloaded_current_deployment_is_repaired() -> None:
    """The application may have to leave where it is."""
    problem = debs2015(100.0, network=geometric(10, 0), max_replicas=2)
    crowded = Deployment({o.name: [o.candidates[0] if o.candidates else "n3"] for o in problem.application.operators})
    weights = edrp.Weights(response_time=0.3, cost=0.3, downtime=0.4)
    stuck = problem.replace(current=crowded, weights=weights)
    assert not stuck.evaluate(crowded).feasible
    for method in ("annealing", "eliminate"):
        assert edrp.solve(stuck, method).status in ("feasible", "optimal")


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_methods_rank_as_expected(seed: int) -> None:
    """Optimum ≤ annealing ≤ greedy, and random is no better than the optimum."""
    problem = layered(10, seed=seed)
    best = edrp.solve(problem)
    values = {name: edrp.solve(problem, name).objective for name in ("annealing", "greedy", "random")}
    for value in values.values():
        assert value is None or value >= best.objective - 1e-9
    if values["greedy"] is not None:
        assert values["annealing"] <= values["greedy"] + 1e-12


@pytest.mark.parametrize("wrong", [{"anneals": 0}, {"steps": 0}, {"hot": 1e-5}, {"cold": 0.0}])
def test_annealing_parameters_are_checked(wrong: dict[str, float]) -> None:
    """Values that make no sense are refused with what they were."""
    with pytest.raises(ValueError, match="got"):
        AnnealingParameters(**wrong)
