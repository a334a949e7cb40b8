"""`priced-course`: brute force on tiny sequences, bounds that hold wherever a search stops, and answers that repeat."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from edrp.check_problems.placement.over_time import brute_force_sequence
from edrp.core.methods import get_method
from edrp.core.solve import solve
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.formulations.placement.priced import PricedAnswer, solve_priced, solve_under_loads
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.intervals import IntervalBounds, averaged
from edrp.mdp.placement.pool import DeploymentPool, Origin, all_deployments, count_deployments, relax_over_pool
from edrp.placement.counted_values import PeriodValues, counts_objective
from edrp.placement.sequence import EdrpSequence
from edrp.placement.sequence_arrays import compile_sequence

METHOD = "priced-course"
SEEDS = range(40)


def check_bounds(seed: int, **options) -> str:
    """Bound ≤ optimum ≤ value; infeasible exactly where brute force says so, if it is said."""
    problem = random_sequence(seed)
    if get_method(METHOD).refusal(problem):
        return "refused"
    optimum = brute_force_sequence(problem)
    solution = solve(problem, method=METHOD, **options)
    if optimum is None:
        assert solution.status in ("infeasible", "none")
        return solution.status
    assert solution.status in ("optimal", "feasible", "none")
    assert solution.bound <= optimum * (1 + 1e-9) + 1e-9
    if solution.decision is not None:
        assert problem.evaluate(solution.decision).feasible
        assert solution.objective >= optimum * (1 - 1e-9) - 1e-9
    if solution.status == "optimal":
        assert solution.objective == pytest.approx(optimum)
    return solution.status


def test_all_deployments_prove_every_tiny_sequence():
    """With limits of periods and on downtime, all prices, both ways to reconfigure, initial deployments that break limits."""
    status = [check_bounds(seed) for seed in range(10)]
    assert set(status) <= {"optimal", "infeasible", "refused"}
    assert status.count("optimal") >= 5
    assert "infeasible" in status


def test_priced_problems_bound_tiny_sequences():
    status = [check_bounds(seed, enumeration=0, work_limit=3.0) for seed in (0, 3)]
    assert set(status) & {"optimal", "feasible"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_both_ways_agree_with_brute_force(seed):
    assert check_bounds(seed) in ("optimal", "infeasible", "refused")
    check_bounds(seed, enumeration=0, work_limit=20.0)


@pytest.mark.slow
@pytest.mark.parametrize("work", [0.01, 0.5, 3.0])
def test_it_stops_anywhere_with_a_bound_and_repeats(work):
    problem = elastic_sequence(3, operators=4, nodes=5, periods=6)
    first, second = (solve(problem, method=METHOD, work_limit=work, enumeration=0) for _ in range(2))
    assert first.bound is None or first.objective is None or 0 <= first.bound <= first.objective
    assert (first.objective, first.bound, first.decision) == (second.objective, second.bound, second.decision)


@pytest.mark.slow
def test_a_small_day_is_nearly_proven():
    solution = solve(elastic_sequence(3, operators=4, nodes=5, periods=6), method=METHOD, enumeration=0, gap=1e-3)
    assert solution.gap < 0.01


def sequence_with_values(seed: int):
    arrays = compile_sequence(random_sequence(seed))
    counts = all_deployments(arrays.periods[0])
    return arrays, counts, PeriodValues(arrays.periods)(counts)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_values_are_those_of_the_arrays_one_by_one(seed):
    arrays, counts, values = sequence_with_values(seed)
    assert len(counts) == count_deployments(arrays.periods[0])
    for k in range(0, len(counts), 7):
        expected = [counts_objective(period, counts[k]) for period in arrays.periods]
        assert values[k] == pytest.approx(expected)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_averages_bound_sums(seed):
    arrays, counts, values = sequence_with_values(seed)
    mean = averaged(arrays.periods)
    feasible = np.flatnonzero(np.isfinite(values).all(axis=1))
    for k in feasible[::5]:
        assert counts_objective(mean, counts[k]) <= values[k].sum() * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_any_multipliers_bound_every_course(seed):
    """The relaxation over all deployments is at most the cost of courses drawn at random, through which its paths run."""
    arrays, counts, _ = sequence_with_values(seed)
    coordinates = ChangeCoordinates.of(arrays)
    pool = DeploymentPool(PeriodValues(arrays.periods), coordinates)
    pool.add(counts)
    random, initial = np.random.default_rng(seed), arrays.initial
    origin = Origin(None if initial is None else coordinates(initial[None])[0], -1 if initial is None else pool.index(initial))
    multipliers = random.uniform(0, 1, (len(arrays.periods) + 1, coordinates.upper.size)) * coordinates.upper
    multipliers[-1] = 0.0
    multipliers[0] *= initial is not None
    relaxation = relax_over_pool(pool, multipliers, coordinates.fixed, origin)
    for _ in range(50 if len(pool) else 0):
        members = random.integers(len(pool), size=len(arrays.periods))
        members[1:] = np.where(random.random(members.size - 1) < 0.5, members[:-1], members[1:])
        before = initial
        cost = 0.0
        for t, member in enumerate(members):
            after = pool.counts[member]
            cost += pool.values[member, t]
            cost += 0.0 if before is None else arrays.change_costs(before[None], after[None], t)[0, 0]
            before = after
        assert relaxation.value <= cost + 1e-9
        assert relaxation.through[members, np.arange(members.size)].max() <= cost + 1e-9
    for start, end in combinations(range(len(arrays.periods) + 1 if np.isfinite(relaxation.value) else 0), 2):
        net = multipliers[start] - multipliers[end]
        least = (pool.values[:, start:end].sum(axis=1) + pool.coordinates @ net).min()
        entry = coordinates.fixed if start else origin.entry(coordinates.fixed)
        possible = coordinates.fixed > 0 or end == start + 1
        assert not possible or least >= relaxation.levels[end] - relaxation.levels[start] - entry - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_bounds_under_other_multipliers_imply_some(seed):
    arrays, counts, _ = sequence_with_values(seed)
    coordinates = ChangeCoordinates.of(arrays)
    pool = DeploymentPool(PeriodValues(arrays.periods), coordinates)
    pool.add(counts)

    def least(compiled, *_, **__):
        found = min(counts_objective(compiled, row) for row in counts)
        return PricedAnswer(found, None, None, True)

    bounds = IntervalBounds(arrays, coordinates, Origin(None), pool, least, least)
    random, periods = np.random.default_rng(seed), len(arrays.periods)
    first, other = random.uniform(0, 1, (2, periods + 1, coordinates.upper.size)) * coordinates.upper
    intervals = list(combinations(range(periods + 1), 2))
    for start, end in intervals:
        bounds.solve_interval(start, end, first[start] - first[end], 1e-9, None)
    low = bounds.known(other)
    exact = [bounds.solve_interval(start, end, other[start] - other[end], 1e-9, None) for start, end in intervals]
    for (start, end), value in zip(intervals, exact, strict=True):
        assert low[start, end] <= value + 1e-9


def test_a_priced_problem_that_is_cut_ends_at_the_limit():
    solution = solve(elastic_sequence(3, operators=4, nodes=5, periods=6), method=METHOD, work_limit=0.05, enumeration=0)
    assert solution.stopped_because == "work_limit"


@pytest.mark.parametrize("seed", [2, 3, 4, 9])
def test_periods_apart_are_bounded_between_their_means_and_the_best_deployment_of_all(seed):
    arrays = compile_sequence(random_sequence(seed, combinations=60))
    compiled = averaged(arrays.periods)
    shape = (*compiled.latency.shape, compiled.candidate.shape[1])
    compiled = replace(compiled, replica_prices=np.random.default_rng(seed).normal(0, 0.3, shape))
    listed = all_deployments(arrays.periods[0])
    paid = np.array(
        [counts_objective(compiled, counts) - counts_objective(averaged(arrays.periods), counts) for counts in listed]
    )
    costs = PeriodValues(arrays.periods)(listed).sum(axis=1) + np.where(np.isfinite(paid), paid, 0.0)
    means, apart = solve_priced(compiled).bound, solve_under_loads(compiled, arrays.periods, np.inf, None, 1e-9).bound
    assert apart >= means - 1e-6 * max(1.0, abs(means))
    assert apart <= costs.min() + 1e-6 * max(1.0, abs(costs.min()))


@pytest.mark.parametrize(
    ("operator", "rule"),
    [
        ({"min_replicas": 2, "max_replicas": 2}, {"rule": "spread", "max_skew": 1, "per": "zone", "penalty": 1.0}),
        ({"candidates": ["x"]}, {"rule": "forbidden", "nodes": ["x"], "penalty": 0.1}),
    ],
)
def test_soft_rules_count_where_a_block_of_deployments_is_empty(operator, rule):
    problem = EdrpSequence(
        application={"operators": [{"name": "p", "cost": 1.0, "external_rate": 1.0, **operator}]},
        network={"nodes": [{"name": "x", "zone": "A"}, {"name": "y", "zone": "B"}]},
        weights={"cost": 1.0},
        limits={"cost": 10.0},
        rules=[{"name": "soft", "operators": ["p"], **rule}],
        periods=[{"duration": 60.0}],
    )
    for method in ("auto", METHOD):
        solution = solve(problem, method)
        assert (solution.status, solution.objective) == ("optimal", pytest.approx(12.0)), method
