"""Prices of replicas: programs and `eliminate` against every deployment of tiny instances, and bounds whenever they stop."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from edrp.backends.solving import solve_program
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.placement.formulation import PLACEMENT_BUILDERS
from edrp.formulations.placement.priced import eliminable, solve_priced
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled, multisets, replica_counts
from edrp.placement.counted_values import counts_objective
from edrp.placement.edrp import EdrpProblem
from edrp.placement.scales import max_objective


def tiny(seed: int) -> EdrpProblem:
    return random_problem(seed, operators=(2, 4), nodes=(2, 4), combinations_limit=100)


def priced(compiled: Compiled, seed: int) -> Compiled:
    """The arrays with random prices of both signs, small or large, which depend on the number of replicas."""
    shape = (len(compiled.operators), compiled.latency.shape[1], len(compiled.nodes))
    size = (0.3, 0.03, 3.0)[seed % 3]
    return replace(compiled, replica_prices=np.random.default_rng(seed).normal(0, size, shape))


def deployments(compiled: Compiled) -> list[np.ndarray]:
    """Replicas per operator and node of all deployments that candidates allow."""
    parts = []
    for i, most in enumerate(compiled.max_replicas):
        counts = replica_counts(multisets(compiled.candidates(i), int(most)), len(compiled.nodes)).astype(int)
        parts.append(counts[counts.sum(axis=1) >= compiled.min_replicas[i]])
    return [np.array(rows) for rows in product(*parts)]


def prices_paid(compiled: Compiled, counts: np.ndarray) -> float:
    """The sum in plain code."""
    assert compiled.replica_prices is not None
    prices, numbers = compiled.replica_prices.tolist(), counts.tolist()
    return sum(prices[i][sum(row)][u] * count for i, row in enumerate(numbers) for u, count in enumerate(row))


def best_of_all(problem: EdrpProblem, compiled: Compiled) -> float:
    """The least objective, by the evaluator of the document and plain sums; infinite where nothing is feasible."""
    best = np.inf
    for counts in deployments(compiled):
        evaluation = problem.evaluate(compiled.deployment(counts))
        if evaluation.feasible:
            best = min(best, evaluation.objective + prices_paid(compiled, counts))
    return best


def elastic(seed: int, operators: int = 6, nodes: int = 8) -> Compiled:
    """A larger instance, with prices of half a replica's cost up and down."""
    compiled = compile_problem(layered(operators, seed, nodes=nodes))
    shape = (operators, compiled.latency.shape[1], nodes)
    size = 0.5 * compiled.weight["cost"] * compiled.replica_cost[:, None, None]
    return replace(compiled, replica_prices=size * np.random.default_rng(seed).uniform(-1, 1, shape))


@pytest.mark.parametrize("seed", range(12))
def test_arrays_alone_give_the_objective_of_the_document(seed: int) -> None:
    problem = tiny(seed)
    compiled = compile_problem(problem)
    everything = deployments(compiled)
    for k in np.random.default_rng(seed).permutation(len(everything))[:20]:
        evaluation = problem.evaluate(compiled.deployment(everything[k]))
        value = counts_objective(compiled, everything[k])
        assert value == pytest.approx(evaluation.objective if evaluation.feasible else np.inf, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_exceeds_the_ceiling_where_limits_are_missing(seed: int) -> None:
    compiled = compile_problem(tiny(seed))
    free = priced(replace(compiled, limit=dict.fromkeys(compiled.limit, np.inf)), seed)
    values = np.array([counts_objective(free, counts) for counts in deployments(free)[:40]])
    assert values[np.isfinite(values)].max(initial=-np.inf) <= max_objective(free) + 1e-9


@pytest.mark.parametrize("program", ["compact", "literal"])
@pytest.mark.parametrize("seed", range(5))
def test_programs_take_prices(seed: int, program: str) -> None:
    problem = tiny(seed)
    compiled = priced(compile_problem(problem), seed)
    best = best_of_all(problem, compiled)
    result = solve_program(PLACEMENT_BUILDERS[program](compiled).program)
    assert result.status == ("infeasible" if np.isinf(best) else "optimal")
    assert (np.inf if result.objective is None else result.objective) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 400), marks=pytest.mark.slow)], ids=["30", "370"])
def test_priced_optima_are_those_of_all_deployments(seeds: range) -> None:
    for seed in seeds:
        problem = tiny(seed)
        compiled = priced(compile_problem(problem), seed)
        best, answer = best_of_all(problem, compiled), solve_priced(compiled)
        assert answer.proven
        if np.isinf(best):
            assert (answer.bound, answer.counts) == (np.inf, None)
            continue
        assert answer.counts is not None
        assert counts_objective(compiled, answer.counts) == answer.objective
        assert answer.objective == pytest.approx(best, abs=1e-8)
        assert best - 1e-7 * max(1.0, abs(best)) <= answer.bound <= best + 2e-9


def test_bounds_hold_whenever_it_stops() -> None:
    compiled = elastic(0)
    assert eliminable(compiled)
    optimum = solve_priced(compiled)
    assert optimum.proven
    assert optimum.objective is not None
    others = [counts_objective(compiled, counts) for counts in optimum.others]
    assert others == sorted(others)
    assert optimum.objective <= others[0]
    assert np.isfinite(others).all()
    for work in (0.001, 0.05):
        stopped = solve_priced(compiled, work=work)
        assert stopped.bound <= optimum.objective + 1e-9
        assert stopped.objective is None or stopped.objective >= optimum.objective - 1e-9


def test_a_cutoff_ends_the_search() -> None:
    compiled = elastic(0)
    optimum = solve_priced(compiled)
    assert optimum.objective is not None
    below, above = optimum.objective - 0.01, optimum.objective + 0.01
    refused = solve_priced(compiled, cutoff=below)
    assert refused.counts is None
    assert refused.proven
    assert refused.bound == pytest.approx(below)
    found = solve_priced(compiled, cutoff=above)
    assert found.objective == pytest.approx(optimum.objective)
    start = solve_priced(compiled, start=optimum.counts, cutoff=below)
    assert start.proven
    assert start.objective == pytest.approx(optimum.objective)
    assert below <= start.bound <= optimum.objective


def test_a_replica_elsewhere_pays_only_as_long_as_its_node_has_room() -> None:
    problem = EdrpProblem(
        application={"operators": [{"name": "parser", "external_rate": 1.0, "max_replicas": 4, "cost": 1.0}]},
        network={"nodes": [{"name": "a"}, {"name": "b", "resources": 2}, {"name": "c", "resources": 2}]},
        weights={"cost": 1.0},
        limits={"cost": 8.0},
    )
    prices = np.zeros((1, 5, 3))
    prices[0, 3:, 1], prices[0, 3:, 2] = -0.5, -0.2  # b pays for two replicas, once there are at least three
    answer = solve_priced(replace(compile_problem(problem), replica_prices=prices))
    assert answer.counts is not None
    assert answer.counts.tolist() == [[0, 2, 2]]
    assert answer.objective == pytest.approx(0.5 - 1.4)
