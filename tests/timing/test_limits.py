"""Time limits hold within about a second, also where a problem is large or a program is hard."""

from __future__ import annotations

from time import perf_counter

import pytest
from market_split import market_split
from topologies import many

import edrp
from edrp.backends import BACKENDS, solve_program
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.datasets.families.placement.layered import layered

SECOND = 1.0
"""Beyond the limit: for building, for a step that cannot be interrupted, and for checking the answer."""


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_a_solver_stops_in_a_program_that_takes_hours(backend):
    solve_program(market_split(1), backend)  # imports
    began = perf_counter()
    result = solve_program(market_split(), backend, time_limit=0.5)
    assert perf_counter() - began < 0.5 + SECOND
    assert result.stopped_because == "time_limit"


@pytest.mark.parametrize("method", ["annealing", "greedy", "random"])
@pytest.mark.parametrize("running", [False, True])
def test_thousands_of_executors_are_placed_within_the_limit(method, running):
    edrp.solve(many(20), method)  # loads kernels
    problem = many(1000 if running else 3000)
    if running:
        problem = problem.replace(current=edrp.solve(problem, "greedy").deployment)
    began = perf_counter()
    solution = edrp.solve(problem, method, time_limit=1.0)
    assert perf_counter() - began < 1.0 + 2 * SECOND
    assert solution.status == "feasible"


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("annealing", {"steps": 500_000_000}),
        ("ant-system", {"iterations": 10**9, "stagnation": 10**9}),
        ("iterated-local-search", {"kicks": 10**9}),
        ("eliminate", {}),
        ("equal-nodes", {}),
    ],
)
@pytest.mark.parametrize("operators", [20, 100])
def test_searches_and_proofs_stop(method, parameters, operators):
    small, problem = layered(5, seed=3), layered(operators, seed=3, nodes=100, resources=4.0)
    if method == "equal-nodes":
        nodes = [{"name": f"n{u}", "zone": "z", "resources": 4.0} for u in range(100)]
        equal = edrp.Network(nodes=nodes, within_zone={"delay": 0.001})
        small, problem = small.replace(network=equal), problem.replace(network=equal)
    edrp.solve(small, method)  # loads kernels
    began = perf_counter()
    solution = edrp.solve(problem, method, time_limit=0.5, **parameters)
    assert perf_counter() - began < 0.5 + SECOND
    assert solution.stopped_because in ("time_limit", "finished")


def test_a_mapping_stops_between_messages():
    edrp.solve(mapping_problem(20, seed=0), "process-map")
    problem = mapping_problem(60, seed=0)
    began = perf_counter()
    solution = edrp.solve(problem, "process-map", time_limit=0.2, max_messages=100_000_000)
    assert perf_counter() - began < 0.2 + SECOND
    assert solution.stopped_because == "time_limit"
