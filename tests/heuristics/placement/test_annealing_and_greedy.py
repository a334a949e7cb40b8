"""Annealing and the baselines: feasible, repeatable, and as good as they claim."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.core.methods import Options, methods
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.heuristics.placement import greedy
from edrp.heuristics.placement.annealing import AnnealingParameters, energies
from edrp.heuristics.placement.deployment_starts import random_fit
from edrp.placement.compilation import compile_problem
from edrp.placement.metrics import EDRP_METRICS


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
    for value, name in zip(values, ("response_time", "cost", "downtime", "network_usage", "availability"), strict=True):
        plain = EDRP_METRICS[name].scaled(EDRP_METRICS[name].evaluate(problem, deployment))
        assert value == pytest.approx(plain, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("seed", [0, 6])
def test_annealing_finds_the_optimum_of_ten_operators(seed: int) -> None:
    problem = layered(10, seed=seed)
    assert edrp.solve(problem, "annealing").objective == pytest.approx(edrp.solve(problem).objective, abs=1e-9)


@pytest.mark.parametrize("wrong", [{"anneals": 0}, {"steps": 0}, {"hot": 1e-5}, {"cold": 0.0}])
def test_annealing_parameters_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="got"):
        AnnealingParameters(**wrong)


def roomy(seed: int) -> edrp.EdrpProblem:
    problem = layered(10, seed=seed, resources=6.0)
    return problem.replace(limits=edrp.Limits(response_time=3.0, cost=100.0))


class Watch:
    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.objectives: list[float] = []
        self.bounds: list[float | None] = []

    def __call__(self, seconds: float, objective: float, bound: float | None) -> None:
        self.seconds.append(seconds)
        self.objectives.append(objective)
        self.bounds.append(bound)


@pytest.mark.parametrize("method", ["greedy", "random"])
def test_incumbents_are_reported_where_they_improve(method: str) -> None:
    """Every one better than the one before, later than it, none proven, and the last one is the answer."""
    most = 0
    for seed in range(5):
        watch = Watch()
        solution = edrp.solve(roomy(seed), method, progress=watch)
        assert watch.objectives == sorted(set(watch.objectives), reverse=True)
        assert watch.seconds == sorted(watch.seconds)
        assert set(watch.bounds) <= {None}
        assert watch.objectives[-1] == solution.objective
        most = max(most, len(watch.objectives))
    assert most > 2


def test_placements_that_break_limits_are_not_reported() -> None:
    problem = layered(10, seed=0).replace(limits=edrp.Limits(response_time=1e-6, cost=1.0))
    for method in ("greedy", "random"):
        watch = Watch()
        solution = edrp.solve(problem, method, progress=watch)
        assert (solution.status, watch.objectives) == ("none", [])
        assert solution.notes[0].startswith("the best deployment met breaks limits.response_time: ")


def test_greedy_keeps_a_current_deployment_that_is_as_good() -> None:
    problem = layered(8, seed=1)
    best = edrp.solve(problem)
    assert edrp.solve(problem.replace(current=best.deployment), "greedy").actions == ()


def test_greedy_stops_where_replication_ceases_to_pay() -> None:
    """Not where the first fit ends, and not with all replicas there may be."""
    queue = {"model": "mm1", "service_rate": 10.0}
    operator = {"name": "a", "external_rate": 9.0, "latency": queue, "cost": 1.0, "max_replicas": 9}
    problem = edrp.EdrpProblem(
        application={"operators": [operator]}, network={"nodes": [{"name": "x"}]}, limits={"response_time": 1.0, "cost": 9.0}
    )
    # Response time 1, 2/11, 1/7, …, each replica costs 1/9: the second pays, the third does not.
    assert len(edrp.solve(problem, "greedy").deployment["a"]) == 2


@pytest.mark.parametrize(("method", "part"), [("greedy", "_replicate_bottleneck"), ("random", "random_fit")])
def test_an_interrupted_search_returns_the_best_so_far(method: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, original = [], getattr(greedy, part)

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(greedy, part, interrupted)
    answer = methods()[method].run(roomy(0), Options())
    assert (answer.status, answer.stopped_because) == ("feasible", "interrupted")


@pytest.mark.parametrize("method", ["greedy", "random"])
def test_without_work_the_first_placement_is_the_answer(method: str) -> None:
    answer = methods()[method].run(roomy(0), Options(work_limit=0.0))
    assert (answer.status, answer.stopped_because) == ("feasible", "time_limit")
