"""Method `replica-vectors` against brute force by the plain evaluation, what it refuses, and its deployments."""

import numpy as np
import pytest

from edrp import _native
from edrp.check_problems.placement.over_time import brute_force_sequence
from edrp.core.methods import get_method
from edrp.core.solve import solve
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.mdp.placement.vector_relaxation import LEVELS, Branches, OperatorTables
from edrp.placement.sequence import EdrpSequence

METHOD = get_method("replica-vectors")


def of_equal_nodes(seed: int) -> EdrpSequence:
    """Two equal nodes without delays; operators of a random graph, all with the same need of a replica."""
    random = np.random.default_rng(seed)
    count, nodes = int(random.integers(1, 3)), 2
    operators = [
        {
            "name": f"o{i}",
            "latency": {"model": "mm1", "service_rate": float(random.uniform(6, 12))},
            "external_rate": 5.0 if i == 0 or random.random() < 0.2 else 0.0,
            "cost": float(random.uniform(0.5, 2)),
            "max_replicas": int(random.integers(1, 3)),
            "state_size": 5.0,
            "resources": 2.0,
        }
        for i in range(count)
    ]
    streams = [{"source": f"o{i}", "target": f"o{j}"} for j in range(count) for i in range(j) if random.random() < 0.7]
    places = [f"n{u}" for u in range(nodes)]
    initial = {f"o{i}": [places[i % nodes]] for i in range(count)}
    return EdrpSequence(
        application={"operators": operators, "streams": streams},
        network={"nodes": [{"name": name, "resources": 7.0} for name in places], "between_zones": {"delay": 0.0}},
        limits={"response_time": 5.0, "cost": 20.0},
        periods=[
            {"duration": float(random.integers(1, 4)), "external_rates": {"o0": float(random.uniform(1, 7))}} for _ in range(3)
        ],
        changes={"change": float(random.choice([0.0, 0.01])), "started_replicas": float(random.choice([0.0, 0.02]))},
        initial=initial if random.random() < 0.5 else None,
    )


def check_against_brute_force(problem: EdrpSequence) -> str:
    """The status; value and re-evaluation are those of brute force."""
    solution, optimum = solve(problem, method="replica-vectors"), brute_force_sequence(problem)
    if optimum is None:
        assert solution.status == "infeasible"
    else:
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(optimum)
        assert solution.bound == pytest.approx(optimum)
        assert problem.evaluate(solution.decision).feasible
    return solution.status


def test_on_one_node_it_is_brute_force():
    """All prices, limits of periods and on downtime, both ways to reconfigure, all latency models."""
    problems = [random_sequence(seed, nodes=(1, 1), combinations=30) for seed in range(16)]
    taken = [check_against_brute_force(problem) for problem in problems if METHOD.refusal(problem) is None]
    assert taken.count("optimal") >= 7
    assert taken.count("infeasible") >= 2


def test_on_equal_nodes_it_is_brute_force():
    taken = [check_against_brute_force(of_equal_nodes(seed)) for seed in range(6)]
    assert taken.count("optimal") >= 3


@pytest.mark.parametrize("ticks", [0, 1, LEVELS - 2, LEVELS - 1, LEVELS])
def test_a_bound_over_branches_is_tight_where_there_is_one_course(ticks: int) -> None:
    """One operator with one number of replicas costs the price of its ticks, up to those of the longest path."""
    none, span, price = np.zeros(1), np.array([0, 1]), np.array([[0.5]])
    tables = OperatorTables(first=span, replicas=np.ones(1, np.int64), started=none, entry=none, enters=none)
    branches = Branches(
        parent=np.array([-1]),
        owner=np.array([0]),
        copies=np.array([1]),
        first=span,
        begin=span,
        ticks=np.array([[ticks]], np.int32),
        price=price,
        tail=np.zeros((1, 1)),
        last=price * LEVELS,
        allowed=np.array([[LEVELS]]),
    )
    memory = [np.zeros((1, 1)) for _ in range(5)]
    assert _native.sweep_branches(branches, tables, np.full(1, np.inf), *memory) == 0.5 * ticks
