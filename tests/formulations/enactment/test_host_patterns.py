"""Patterns of hosts: their bound, and packings that come from them."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import edrp
from edrp import _native
from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.enactment.aggregate import best_counts, sharpened
from edrp.formulations.enactment.host_patterns import HostPatterns, packed_by_patterns
from edrp.formulations.enactment.packing import compositions, enactment_arrays


@pytest.mark.parametrize("seed", range(6))
def test_the_best_pattern_is_that_of_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    operators, resources = 4, seed % 3 + 1
    needs, values = random.uniform(0.1, 0.5, (operators, resources)), random.uniform(0.1, 1.0, operators)
    weights, most = needs.sum(axis=1), random.integers(1, 5, operators)
    order = np.argsort(-values / weights)
    needs, values, weights, most = needs[order], values[order], weights[order], most[order]
    patterns = np.array(list(product(*(range(count + 1) for count in most))))
    fits = (patterns @ needs <= 1).all(axis=1)
    free, best = np.array([1.0] * resources + [float(resources)]), np.zeros(operators, np.int64)
    found, _, ended = _native.best_host_pattern(values, needs, weights, most, free, 0.0, 100_000, best * 0, best)
    assert ended
    assert found == pytest.approx((patterns[fits] @ values).max())
    assert found == pytest.approx(values @ best)
    assert (best @ needs <= 1).all()


def test_bounds_of_patterns_hold_on_random_problems() -> None:
    """The smallest bound of all combinations of hosts is no larger than the optimum."""
    sharper = 0
    for seed in range(15):
        problem = random_enactment_problem(seed)
        arrays = enactment_arrays(problem)
        if not arrays.sizes.needs.any(axis=1).all() or (best := brute_force_enactment(problem)[0]) is None:
            continue
        bounds = []
        for hosts in compositions(arrays).counts:
            patterns = HostPatterns(arrays, hosts)
            patterns.raise_bound(np.inf, -np.inf)
            bounds.append(patterns.bound)
            sharper += patterns.bound > best_counts(arrays, hosts)[0] + 0.01
        assert not bounds or min(bounds) <= best + 1e-9, seed
    assert sharper


def thirds() -> EnactmentProblem:
    """Thirty instances that leave a third of a host free, whatever is beside them; in aggregate they fit into eleven hosts."""
    operators = [
        {
            "name": f"o{i}",
            "processing_duration": 1.0,
            "external_rate": 1.0,
            "resources": {"cpu": 0.34 + i / 1000},
            "min_instances": 6,
            "max_instances": 6,
        }
        for i in range(5)
    ]
    host = {"name": "host", "resources": {"cpu": 1.0}, "price": 1.0, "billing_time": 600.0}
    return EnactmentProblem(application={"operators": operators}, host_types=[host], weights={"free_resources": 0.001})


def test_patterns_rule_out_hosts_that_suffice_in_aggregate() -> None:
    arrays = enactment_arrays(thirds())
    found = sharpened(arrays, compositions(arrays))
    assert found.bounds.min() < 12
    found = packed_by_patterns(arrays, found)
    assert found.counts.tolist() == [[15]]
    solution = edrp.solve(thirds(), work_limit=5.0)
    assert solution.status == "optimal"
    assert solution.metrics["hosts"] == 15


def bins(sizes: list[int], capacity: int) -> EnactmentProblem:
    """Bin packing: an operator for each size, hosts as bins."""
    counts = Counter(sizes)
    once = {"external_rate": 0.0, "processing_duration": 1.0}
    operators = [
        {"name": f"s{size}", "resources": size, "min_instances": counts[size], "max_instances": counts[size], **once}
        for size in sorted(counts, reverse=True)
    ]
    return EnactmentProblem(
        application={"operators": operators},
        host_types=[{"name": "bin", "resources": capacity, "price": 1.0, "billing_time": 3600.0}],
        weights={"host_cost": 1.0, "free_resources": 0.0},
    )


@pytest.mark.slow
@pytest.mark.parametrize("items", [120, 250])
def test_bins_are_packed_up_to_the_bound(items: int) -> None:
    """Sizes from 20 to 100 on bins of 150 (class U of Falkenauer): the sum of the sizes is the optimum."""
    sizes = np.random.default_rng(5).integers(20, 101, items).tolist()
    solution = edrp.solve(bins(sizes, 150), work_limit=10)
    assert (solution.status, solution.objective) == ("optimal", -(-sum(sizes) // 150))


def test_triplets_fill_bins_without_waste() -> None:
    """Three items fill each bin (class T of Falkenauer): patterns of the bound make up the whole packing."""
    random, sizes = np.random.default_rng(1), []
    for _ in range(12):
        largest = int(random.integers(380, 500))
        second = int(random.integers(250, (1000 - largest) // 2 + 1))
        sizes += [largest, second, 1000 - largest - second]
    solution = edrp.solve(bins(sizes, 1000), work_limit=10)
    assert (solution.status, solution.objective) == ("optimal", 12)
