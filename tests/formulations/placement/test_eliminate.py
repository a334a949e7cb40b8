"""`eliminate`: proven optima, valid bounds whenever it stops, unique answers."""

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.budget import LOOK
from edrp.core.errors import UnsupportedProblemError
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.formulations.placement.elimination.method import roots
from edrp.formulations.placement.elimination.model import build_model
from edrp.formulations.placement.elimination.paths import covering_paths, eliminate_by_paths, flow_paths, path_flow
from edrp.formulations.placement.elimination.tree import BestConfigurations, BoxTree, EliminationParameters
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment


def test_a_stop_in_time_leaves_a_valid_bound() -> None:
    problem = layered(10, seed=2)
    optimum = edrp.solve(problem, "eliminate").objective
    assert optimum is not None
    for limit in (0.02, 0.1, 0.3):
        stopped = edrp.solve(problem, "eliminate", work_limit=limit)
        assert stopped.stopped_because == ("finished" if stopped.status == "optimal" else "work_limit")
        if stopped.objective is not None:
            assert stopped.objective >= optimum - 1e-9
        if stopped.bound is not None:
            assert stopped.bound <= optimum + 1e-9


def test_a_search_that_is_stopped_at_once_has_proven_nothing() -> None:
    """Whatever is known to start from, and although all boxes are still open."""
    model = build_model(compile_problem(layered(8, seed=1, nodes=10)))
    search = BoxTree(
        model=model,
        parameters=EliminationParameters(),
        incumbent=BestConfigurations(1e6),
        gap=0.0,
        out_of_time=lambda: True,
        report=lambda incumbent, bound: None,
    )
    assert search.run(roots(model)) == -np.inf


@pytest.mark.slow
def test_a_loose_gap_is_kept() -> None:
    """The bound that is reported holds for the gap that was asked for."""
    problem = layered(10, seed=2)
    optimum = edrp.solve(problem, "eliminate").objective
    loose = edrp.solve(problem, "eliminate", gap=0.05)
    assert loose.status == "optimal"
    assert loose.gap is not None
    assert loose.gap <= 0.05
    assert loose.bound is not None
    assert optimum is not None
    assert loose.bound <= optimum + 1e-9


def test_equal_optima_have_one_answer_whatever_the_seed_and_the_start() -> None:
    """Ties go by cost, then moves, then the order of the document."""
    problem = debs2015(70.0)
    answers = {
        edrp.solve(problem, "eliminate", seed=seed, annealing=annealing).deployment
        for seed in range(3)
        for annealing in (True, False)
    }
    assert len(answers) == 1


def test_without_a_price_on_cost_the_cheapest_of_the_fastest_is_taken() -> None:
    """With w_c = 0 replicas that do not help cost nothing, but must not be taken."""
    problem = debs2015(100.0, weights=edrp.Weights(response_time=1.0))
    fastest = edrp.solve(problem, "eliminate")
    assert fastest.deployment is not None
    for operator in fastest.deployment:
        if fastest.deployment.degree(operator) > 1:
            fewer = fastest.deployment.root | {operator: fastest.deployment[operator][:-1]}
            assert problem.evaluate(Deployment(fewer)).objective > problem.evaluate(fastest.deployment).objective


def test_availability_is_refused_with_a_way_out() -> None:
    problem = debs2015(100.0)
    limited = problem.replace(limits=problem.limits.replace(availability=0.9))
    with pytest.raises(UnsupportedProblemError, match="use highs"):
        edrp.solve(limited, "eliminate")


def chain() -> edrp.EdrpProblem:
    """Three operators that run once each, on five nodes without limits of capacity; fast nodes are far apart."""
    nodes = [{"name": f"n{u}", "speedup": 1.0 + 0.3 * u} for u in range(5)]
    links = [
        {"source": f"n{u}", "target": f"n{v}", "delay": 0.001 * (v - u) ** 2, "cost": 0.01 * (5 - v)}
        for u in range(5)
        for v in range(u + 1, 5)
    ]
    operators = [{"name": name, "latency": {"model": "mm1", "service_rate": 30.0}, "cost": 1.0} for name in "abc"]
    operators[0]["external_rate"] = 10.0
    operators[0]["candidates"] = ["n0", "n1"]
    return edrp.EdrpProblem(
        application={"operators": operators, "streams": [{"source": s, "target": t} for s, t in ("ab", "bc")]},
        network={"nodes": nodes, "links": links},
        weights={"response_time": 0.7, "cost": 0.3},
        limits={"response_time": 1.0, "cost": 20.0},
    )


def test_on_a_chain_of_single_replicas_the_path_bound_is_the_optimum() -> None:
    """Nothing is relaxed there, so that nothing is left but the optimum, before any label search."""
    problem = chain()
    best, (deployment,) = brute_force(problem)
    assert len({deployment[name] for name in "abc"}) > 1
    model = build_model(compile_problem(problem))
    (box,) = roots(model)
    eliminate_by_paths(model, box, best + 1e-6)
    assert box.bound == pytest.approx(best, abs=1e-6)
    counts = model.compiled.counts(deployment)[model.order]
    assert (box.alive == (counts > 0)).all()


def test_paths_cover_every_operator_and_flows_come_apart() -> None:
    """Covering paths use all operators; a mixture of paths is taken apart into what it was made of."""
    model = build_model(compile_problem(layered(12, seed=3)))
    paths = covering_paths(model)
    used = {int(i) for path in paths for e in path for i in (model.source[e], model.target[e])}
    assert used == set(range(model.operators))
    mixture = np.mean([path_flow(model, path) for path in paths], axis=0)
    parts = flow_paths(model, mixture)
    assert sum(parts.values()) == pytest.approx(1.0)
    assert np.allclose(sum(share * path_flow(model, list(path)) for path, share in parts.items()), mixture)


def test_large_networks_are_proven_too() -> None:
    """100 nodes with up to three replicas: far beyond any program."""
    solution = edrp.solve(debs2015(145.0, network=geometric(100, 1), max_replicas=3), "eliminate")
    assert solution.status == "optimal"


@pytest.mark.parametrize("pinned", [False, True])
def test_where_nothing_can_change_the_current_deployment_is_the_optimum(pinned: bool) -> None:
    """On one node, or where operators may run nowhere else, no downtime is long enough for a move: that is no bound."""
    nodes = [{"name": "n0"}, {"name": "n1"}] if pinned else [{"name": "n0"}]
    operators = [{"name": name, **({"candidates": ["n0"]} if pinned else {})} for name in "abc"]
    operators[1]["latency"] = {"model": "polynomial", "coefficients": [1e-4]}
    problem = edrp.EdrpProblem(
        application={"operators": operators, "streams": [{"source": "a", "target": "b"}]},
        network={"nodes": nodes},
        weights={"response_time": 1.0},
        limits={"response_time": 0.5},
        current={name: ["n0"] for name in "abc"},
    )
    solution = edrp.solve(problem, "eliminate")
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(2e-4)  # in units of the limit


@pytest.mark.parametrize("looks", [10, 30, 60])
def test_an_answer_that_the_work_limit_cut_short_says_so_and_claims_no_more_than_is_true(looks: int) -> None:
    """The limit passes after `looks` looks at the clock, while boxes are still open."""
    problem = random_problem(5, operators=(2, 4), nodes=(3, 4), combinations_limit=600)
    best, _ = brute_force(problem)
    little = {"annealing": False, "iterations": 3, "efforts": ((3, 200), (100_000, 1000)), "ascent_states": 100}
    solution = edrp.solve(problem, "eliminate", work_limit=looks * LOOK, **little)
    assert (solution.status, solution.stopped_because) == ("none", "work_limit")
    assert solution.bound is None or solution.bound <= best + 1e-9


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
