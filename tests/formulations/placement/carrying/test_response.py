"""Bounds by the response time of one path, against enumeration."""

import math

import pytest
from growing_loads import most_carried, random_growing_load

from edrp.formulations.placement.carrying.program import highest_in_time
from edrp.placement.throughput import GrowingLoad

TIGHT = {5, 17, 25}
"""Seeds at which nothing but the path counts."""


@pytest.mark.parametrize("seed", [1, *TIGHT, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(30, 80))])
def test_nothing_carries_more_than_the_bound(seed):
    problem = random_growing_load(seed)
    problem = problem.replace(limits=problem.limits.replace(response_time=0.05))
    best, bound = most_carried(problem).multiple, highest_in_time(GrowingLoad(problem), math.inf)
    assert best is None or bound >= best * (1 - 1e-9)
    assert seed not in TIGHT or bound <= best * (1 + 2e-6)
