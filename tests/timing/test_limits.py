"""Time limits hold within about a second, also where a problem is large or a program is hard."""

from time import perf_counter

import numpy as np
import pytest
from topologies import many

import edrp
from edrp.backends import backends
from edrp.backends.solving import solve_program
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.datasets.families.placement.layered import layered
from edrp.testing import market_split

SECOND = 1.0
"""Beyond the limit: for building, for a step that cannot be interrupted, and for checking the answer."""


@pytest.mark.parametrize("backend", sorted(backends()))
def test_a_solver_stops_in_a_program_that_takes_hours(backend):
    solve_program(market_split(1), backend)  # imports
    began = perf_counter()
    result = solve_program(market_split(), backend, time_limit=0.5)
    assert perf_counter() - began < 0.5 + SECOND
    assert result.stopped_because == "time_limit"


@pytest.mark.parametrize("method", ["annealing", "greedy", "random"])
@pytest.mark.parametrize("running", [False, True])
def test_thousands_of_executors_are_placed_within_the_limit(method, running):
    edrp.solve(many(20), method)
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
    edrp.solve(small, method)
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


def fixed_tasks(operators: int, nodes: int):
    """Four to twelve tasks of each operator, in a tree of streams, on equal nodes; the peak load is to be least."""
    random = np.random.default_rng(0)
    described = [
        {
            "name": f"o{i}",
            "external_rate": 0.0 if i else 500.0,
            "min_replicas": (tasks := int(random.integers(4, 13))),
            "max_replicas": tasks,
            "resources": 1.0,
            "usage": {"cpu": {"per_replica": random.random()}, "io": {"per_replica": random.random(), "per_tuple": 0.001}},
        }
        for i in range(operators)
    ]
    streams = [{"source": f"o{random.integers(max(0, i - 4), i)}", "target": f"o{i}"} for i in range(1, operators)]
    slots = 2.0 + sum(operator["max_replicas"] for operator in described) // nodes
    hosts = [{"name": f"n{u}", "resources": slots, "capacity": {"cpu": 100.0, "io": 100.0}} for u in range(nodes)]
    return edrp.EdrpProblem(
        application={"operators": described, "streams": streams},
        network={"nodes": hosts, "between_zones": {"delay": 0.001}},
        weights={"peak_load": 1.0},
    )


def test_pricing_of_patterns_of_many_tasks_stops():
    edrp.solve(fixed_tasks(8, 8), "fixed-tasks", work_limit=0.5)
    problem = fixed_tasks(180, 100)
    began = perf_counter()
    solution = edrp.solve(problem, "fixed-tasks", time_limit=2.0)
    assert perf_counter() - began < 2.0 + SECOND
    assert solution.status == "feasible"


def test_a_map_of_many_components_is_found_within_the_limit():
    problem = mapping_problem(64, components=64, seed=0)
    edrp.solve(problem, work_limit=0.1)
    began = perf_counter()
    solution = edrp.solve(problem, time_limit=0.5)
    assert perf_counter() - began < 0.5 + SECOND
    assert solution.status == "feasible"
