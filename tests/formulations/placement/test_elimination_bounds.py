"""Bounds of `eliminate` hold for every deployment of small problems, not only for optima: none within the cutoff is lost."""

from itertools import product

import numpy as np
import pytest

import edrp
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.placement.elimination import tree
from edrp.formulations.placement.elimination.ascent import raise_bound
from edrp.formulations.placement.elimination.box import Box, BoxPrices, BoxRelaxation
from edrp.formulations.placement.elimination.frontier import backward, memory_plan
from edrp.formulations.placement.elimination.method import roots
from edrp.formulations.placement.elimination.model import EliminationModel, build_model, least_downtime
from edrp.formulations.placement.elimination.paths import covering_paths, eliminate_by_paths, operator_flow, path_flow
from edrp.formulations.placement.elimination.tree import best_known, eliminate_by_response
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import multisets
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics import Downtime

SAMPLED = 12
"""Feasible deployments of a problem that are each looked for, from the best to the worst."""


def every_deployment(problem: EdrpProblem) -> list[Deployment]:
    pools = []
    for operator in problem.application.operators:
        names = operator.candidates or tuple(node.name for node in problem.network.nodes)
        rows = multisets(range(len(names)), operator.max_replicas)
        pools.append([[names[u] for u in row if u >= 0] for row in rows])
    names = [operator.name for operator in problem.application.operators]
    return [Deployment(dict(zip(names, chosen, strict=True))) for chosen in product(*pools)]


def small(seed: int) -> EdrpProblem:
    """A problem of a few hundred deployments; in every other one what is sent counts most."""
    problem = random_problem(seed, operators=(2, 3), nodes=(3, 4), combinations_limit=1500)
    if seed % 2:
        links = tuple(link.replace(cost=link.cost * 100) for link in problem.network.links)
        limits = {"response_time": 1e3, "cost": 1e5, "downtime": 1e4}
        weights = {"cost": 0.8, "response_time": 0.1, "downtime": 0.1}
        problem = problem.replace(network=problem.network.replace(links=links), weights=weights, limits=limits)
    return problem


SEEDS = sorted({*range(1, 48)} - {12, 14, 20, 24, 38, 44, 47})
"""Seeds of small problems that `eliminate` takes."""


@pytest.mark.parametrize(("seed", "states"), [*((seed, 500) for seed in SEEDS), *((seed, 2) for seed in SEEDS[::4])])
def test_no_deployment_below_the_cutoff_is_lost(seed: int, states: int) -> None:
    """It stays in one of the roots, whose bound is not above it, whatever eliminates there and however little is remembered."""
    problem = small(seed)
    compiled = compile_problem(problem)
    model = build_model(compiled)
    values = [(evaluation.objective, d) for d in every_deployment(problem) if (evaluation := problem.evaluate(d)).feasible]
    values.sort(key=lambda pair: pair[0])
    for _, deployment in values[:: max(1, len(values) // SAMPLED)]:
        objective = best_known(model, [compiled.counts(deployment)]).objective
        counts = compiled.counts(deployment)[model.order]
        downtime = problem.evaluate(deployment).metrics["downtime"]
        held = [_shrunk(model, box, objective + 1e-9, states) for box in roots(model) if _within(box, downtime)]
        held = [box for box in held if box.alive[counts > 0].all() and not box.empty()]
        assert held, f"no box holds {deployment}"
        assert min(box.bound for box in held) <= objective + 1e-9


def _within(box: Box, downtime: float) -> bool:
    return box.least - 1e-9 <= downtime <= box.most + 1e-9


def _shrunk(model, box: Box, cutoff: float, states: int) -> Box:
    """A box after both eliminations and with its bound raised, as long as it is not empty."""
    eliminate_by_response(model, box)
    if not box.empty():
        eliminate_by_paths(model, box, cutoff)
    if not box.empty():
        raise_bound(model, box, cutoff, 8, states, lambda: False)
    return box


@pytest.mark.parametrize("reconfiguration", ["pause-and-resume", "storm"])
@pytest.mark.parametrize("seed", range(30))
def test_no_operator_reaches_a_node_in_less_than_its_least_downtime(seed: int, reconfiguration: str) -> None:
    problem = random_problem(seed, operators=(3, 4), nodes=(4, 5), combinations_limit=1e3)
    if problem.current is None:
        problem = problem.replace(current=every_deployment(problem)[seed])
    problem = problem.replace(reconfiguration=reconfiguration)
    compiled = compile_problem(problem)
    least = least_downtime(compiled)
    for i, operator in enumerate(problem.application.operators):
        nodes = operator.candidates or tuple(problem.network.by_name)
        for row in multisets(range(len(nodes)), operator.max_replicas):
            after = Deployment({**problem.current.root, operator.name: [nodes[u] for u in row if u >= 0]})
            downtime = Downtime().evaluate(problem, after)
            for node in set(after[operator.name]):
                assert least[i, compiled.nodes.index(node)] <= downtime + 1e-9


@pytest.fixture
def leaving() -> EdrpProblem:
    """A stateless operator on a, far from the store, and b, near it; c is somewhere between."""
    nodes = [{"name": name, "store_delay": delay, "spawn_time": 0.5} for name, delay in (("a", 0.9), ("b", 0.1), ("c", 0.2))]
    return EdrpProblem(
        application={"operators": [{"name": "work", "max_replicas": 2, "cost": 1.0, "external_rate": 1.0}]},
        network={"nodes": nodes, "within_zone": None, "between_zones": {"delay": 0.0}},
        synchronisation_time=0.25,
        weights={"cost": 0.5, "downtime": 0.5},
        limits={"cost": 10.0, "downtime": 100.0},
        current={"work": ["a", "b"]},
    )


@pytest.mark.parametrize("reconfiguration", ["pause-and-resume", "storm"])
def test_the_least_downtime_waits_for_the_slowest_to_leave(leaving: EdrpProblem, reconfiguration: str) -> None:
    """Eq. 26: the slowest pair decides, and every node that runs the operator now makes one with c."""
    problem = leaving.replace(reconfiguration=reconfiguration)
    after = Deployment({"work": ["c"]})
    code = 2 * 0.2 if reconfiguration == "storm" else 0.0
    seconds = 0.25 + code + 2 * 0.9 + 2 * 0.2 + 0.5
    assert Downtime().evaluate(problem, after) == pytest.approx(seconds)
    assert least_downtime(compile_problem(problem))[0].tolist() == pytest.approx([0.0, 0.0, seconds])


def test_what_changes_in_place_only_is_found_where_nothing_may_move() -> None:
    """One replica on a is overloaded and two are not; moving to b takes longer than the downtime may last."""
    problem = EdrpProblem(
        application={
            "operators": [
                {
                    "name": "work",
                    "external_rate": 50.0,
                    "latency": {"model": "mm1", "service_rate": 40.0},
                    "max_replicas": 2,
                    "cost": 1.0,
                    "state_size": 1e6,
                }
            ]
        },
        network={
            "nodes": [{"name": "a"}, {"name": "b"}],
            "links": [{"source": "a", "target": "b", "delay": 0.01}],
            "store": {"delay": 1.0, "bandwidth": 1e6},
        },
        synchronisation_time=0.25,
        weights={"response_time": 0.5, "cost": 0.3, "downtime": 0.2},
        limits={"response_time": 1.0, "cost": 10.0, "downtime": 2.0},
        current={"work": ["a"]},
    )
    solution = edrp.solve(problem, "eliminate", annealing=False)
    assert (solution.status, solution.deployment) == ("optimal", {"work": ["a", "a"]})
    assert solution.metrics["downtime"] == 0.25
    assert solution.objective == pytest.approx(0.5 * 1 / 15 + 0.3 * 2 / 10 + 0.2 * 0.25 / 2)


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_streams_that_no_table_remembers_still_count(seed: int) -> None:
    """Their parts are nowhere above their costs: the bound is below that of large tables, and not far below."""
    problem = layered(8, seed, nodes=10, resources=4.0)
    model = build_model(compile_problem(problem))
    bounds = []
    for states in (40, 1_000_000):
        box = roots(model)[0]
        eliminate_by_paths(model, box, 1e6)
        flows = [path_flow(model, path) for path in covering_paths(model)]
        prices = BoxPrices(np.asarray(np.mean(flows, axis=0)), np.zeros_like(model.capacity))
        plan = memory_plan(model, box, states)
        relaxation = BoxRelaxation(model, box, prices, operator_flow(model, prices.flow))
        tables = backward(model, plan, relaxation, lambda: False)
        assert bool(tables.ahead) == (states == 40)
        bounds.append(tables.bound)
    assert 0.97 * bounds[1] <= bounds[0] <= bounds[1] + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_boxes_split_by_replicas_lose_no_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first root split by each operator's numbers of replicas in turn, whatever the relaxation thinks of it."""
    problem = layered(4, seed, nodes=5, resources=4.0)
    best = edrp.solve(problem, "highs").objective
    splits = []

    def always(model: EliminationModel, box: Box, reach: float) -> tuple[int, int] | None:
        numbers = [np.flatnonzero(np.isfinite(latency)).tolist() for latency in box.latency]
        splits.append(max(map(len, numbers)) - 1)
        return next(((i, own[(len(own) - 1) // 2]) for i, own in enumerate(numbers) if len(own) > 1), None)

    monkeypatch.setattr(tree, "undecided_replicas", always)
    solution = edrp.solve(
        problem, "eliminate", efforts=((1, 20), (100_000, 1000)), ascent_states=10, iterations=1, annealing=False
    )
    assert max(splits) > 0
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(best, rel=1e-7)
