"""Prices of replicas: programs and `eliminate` against every deployment of tiny instances, and bounds whenever they stop."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.placement.priced import solve_priced
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled, multisets, replica_counts
from edrp.placement.counts_objective import counts_objective
from edrp.placement.edrp import EdrpProblem


def tiny(seed: int) -> EdrpProblem:
    return random_problem(seed, operators=(2, 3), nodes=(2, 3), combinations_limit=1500)


def priced(compiled: Compiled, seed: int, size: float = 1.0) -> Compiled:
    """The arrays with random prices of both signs, which depend on the number of replicas."""
    shape = (len(compiled.operators), compiled.latency.shape[1], len(compiled.nodes))
    return replace(compiled, replica_prices=size * np.random.default_rng(seed).normal(0, 0.3, shape))


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
    return sum(
        float(compiled.replica_prices[i, int(row.sum()), u])
        for i, row in enumerate(counts)
        for u in range(row.size)
        for _ in range(row[u])
    )


def best_of_all(problem: EdrpProblem, compiled: Compiled) -> float:
    """The least objective, by the evaluator of the document and plain sums."""
    best = np.inf
    for counts in deployments(compiled):
        evaluation = problem.evaluate(compiled.deployment(counts))
        if evaluation.feasible:
            best = min(best, evaluation.objective + prices_paid(compiled, counts))
    return best


@pytest.mark.parametrize("seed", range(24))
def test_arrays_alone_give_the_objective_of_the_document(seed: int) -> None:
    problem = tiny(seed)
    compiled = compile_problem(problem)
    everything = deployments(compiled)
    for k in np.random.default_rng(seed).permutation(len(everything))[:20]:
        evaluation = problem.evaluate(compiled.deployment(everything[k]))
        value = counts_objective(compiled, everything[k])
        assert value == pytest.approx(evaluation.objective, abs=1e-9) if evaluation.feasible else np.isinf(value)


@pytest.mark.parametrize("seed", range(24))
def test_priced_optima_are_those_of_all_deployments(seed: int) -> None:
    problem = tiny(seed)
    compiled = priced(compile_problem(problem), seed)
    best, answer = best_of_all(problem, compiled), solve_priced(compiled)
    assert answer.proven
    if np.isinf(best):
        assert answer.bound == np.inf
        assert answer.counts is None
        return
    assert answer.counts is not None
    assert answer.objective == pytest.approx(best, abs=1e-8)
    assert best - 1e-7 <= answer.bound <= best + 1e-9
    assert counts_objective(compiled, answer.counts) == answer.objective
