"""`myopic` and `static-deployment`: what they are given is no reason to fail."""

import pytest

from edrp.check_problems.placement.sequence_brute_force import brute_force_sequence
from edrp.core.solve import solve
from edrp.datasets.families.placement.random_sequence import random_sequence


@pytest.mark.parametrize("method", ["myopic", "static-deployment"])
def test_the_deployments_to_start_from_are_those_of_the_periods(method):
    problem = random_sequence(3, combinations=60)
    best = solve(problem)
    for start in (None, best.decision, [dict(deployment) for deployment in best.decision]):
        solution = solve(problem, method=method, start=start)
        assert solution.status in ("feasible", "optimal")
        assert solution.objective >= brute_force_sequence(problem) * (1 - 1e-9)
