"""Kernels of `eliminate`, here interpreted, on problems of a few hundred deployments: it proves what enumeration finds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.budget import LOOK
from edrp.core.kernels import interpreting
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with interpreting():
        yield


def small(seed: int) -> edrp.EdrpProblem:
    return random_problem(seed, operators=(2, 4), nodes=(3, 4), combinations_limit=600)


def small_latency_aware(seed: int) -> Any:
    return random_latency_aware_problem(seed, operators=(2, 4), nodes=(3, 4), max_instances=2)


LITTLE = {"annealing": False, "iterations": 3, "efforts": ((3, 200), (100_000, 1000)), "ascent_states": 100}


def prove_with_little_effort(problem: Any, best: float | None) -> None:
    """Few steps of the ascent leave much to the label search, a narrow beam leaves much to branching; no start is known."""
    solution = edrp.solve(problem, "eliminate", **LITTLE)
    assert solution.status == ("infeasible" if best is None else "optimal")
    assert solution.objective == (None if best is None else pytest.approx(best, abs=1e-9))


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6, 7, 8, 9, 15, 17, 18, 19, 20])
def test_the_optimum_is_that_of_enumeration(seed: int) -> None:
    prove_with_little_effort(small(seed), brute_force(small(seed))[0])


@pytest.mark.parametrize("seed", [12, 22, 26, 32, 37, 49])
def test_the_optimum_of_paths_through_instances_is_that_of_enumeration(seed: int) -> None:
    prove_with_little_effort(small_latency_aware(seed), brute_force(small_latency_aware(seed))[0])


@pytest.mark.parametrize("looks", [10, 30, 60])
def test_an_answer_that_the_work_limit_cut_short_says_so_and_claims_no_more_than_is_true(looks: int) -> None:
    """The limit passes after so many looks at the clock, while boxes are still open."""
    problem = small(5)
    best, _ = brute_force(problem)
    solution = edrp.solve(problem, "eliminate", work_limit=looks * LOOK, **LITTLE)
    assert (solution.status, solution.stopped_because) == ("none", "work_limit")
    assert solution.bound is None or solution.bound <= best + 1e-9


@pytest.mark.parametrize("seed", [0, 1, 7, 9, 19])
@pytest.mark.parametrize(("limit", "weight"), [("response_time", "cost"), ("cost", "response_time"), ("network_usage", "cost")])
def test_a_limit_binds_without_a_weight_on_it(seed: int, limit: str, weight: str) -> None:
    problem = small(seed).replace(weights={weight: 1.0}, limits={"response_time": 10.0, "cost": 1e3, "downtime": 1e3})
    _, unlimited = brute_force(problem)
    needed = problem.evaluate(unlimited[0]).metrics[limit]
    limited = problem.replace(limits=problem.limits.replace(**{limit: 0.9 * needed + 1e-6}))
    prove_with_little_effort(limited, brute_force(limited)[0])


@pytest.mark.parametrize("seed", [1, 10, 22, 31, 42])
def test_what_a_move_costs_in_downtime_counts(seed: int) -> None:
    weights = {"response_time": 0.1, "cost": 0.3, "network_usage": 0.3, "downtime": 0.3}
    limits = {"response_time": 10.0, "cost": 100.0, "network_usage": 100.0, "downtime": 20.0}
    problem = small(seed).replace(weights=weights, limits=limits)
    assert problem.current is not None
    prove_with_little_effort(problem, brute_force(problem)[0])


@pytest.mark.parametrize("seed", range(8))
def test_every_node_holds_no_more_than_it_has_room_for(seed: int) -> None:
    """Two sources, a join and a sink on three nodes, of which one has room for two; what runs where decides how long it takes."""
    random = np.random.default_rng(seed)
    nodes = [{"name": name, "resources": 1.0, "speedup": float(random.uniform(1, 4))} for name in "abc"]
    nodes[int(random.integers(3))]["resources"] = 2.0
    ends = [("a", "b"), ("a", "c"), ("b", "c")]
    links = [{"source": u, "target": v, "delay": float(random.uniform(0.01, 0.1))} for u, v in ends]
    latency = {"model": "mm1", "service_rate": 40.0}
    operators = [{"name": name, "latency": latency, "resources": 1.0} for name in ("left", "right", "join", "sink")]
    operators[0]["external_rate"], operators[1]["external_rate"] = 5.0, 20.0
    streams = [("left", "join"), ("right", "join"), ("join", "sink")]
    problem = edrp.EdrpProblem(
        application={"operators": operators, "streams": [{"source": s, "target": t} for s, t in streams]},
        network={"nodes": nodes, "links": links},
        weights={"response_time": 1.0},
        limits={"response_time": 10.0},
    )
    prove_with_little_effort(problem, brute_force(problem)[0])


def test_what_runs_already_stays_where_nothing_else_is_better() -> None:
    """One replica less would cost the same, and is where the search starts."""
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "work", "max_replicas": 3}]},
        network={"nodes": [{"name": "a"}]},
        weights={"response_time": 1.0},
        limits={"response_time": 1.0},
        current={"work": ["a", "a", "a"]},
    )
    solution = edrp.solve(problem, "eliminate", annealing=False, start={"work": ["a", "a"]})
    assert (solution.status, solution.deployment) == ("optimal", problem.current)


@pytest.mark.parametrize("start", ["a", "b", "c"])
def test_of_equal_optima_the_first_of_the_document_is_taken_whatever_the_start(start: str) -> None:
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "work", "cost": 1.0, "external_rate": 1.0}]},
        network={"nodes": [{"name": name} for name in "abc"]},
        weights={"cost": 1.0},
        limits={"cost": 10.0},
    )
    solution = edrp.solve(problem, "eliminate", annealing=False, start={"work": [start]})
    assert (solution.status, solution.deployment) == ("optimal", {"work": ["a"]})
