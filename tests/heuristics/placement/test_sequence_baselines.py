"""`myopic` and `static-deployment`: what they are given is no reason to fail."""

import pytest

from edrp.check_problems.placement.over_time import brute_force_sequence
from edrp.core.solve import solve
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.placement.changes import ChangePrices


@pytest.mark.parametrize("method", ["myopic", "static-deployment"])
def test_the_deployments_to_start_from_are_those_of_the_periods(method):
    problem = random_sequence(3, combinations=60)
    best = solve(problem)
    for start in (None, best.decision, [dict(deployment) for deployment in best.decision]):
        solution = solve(problem, method=method, start=start)
        assert solution.status in ("feasible", "optimal")
        assert solution.objective >= brute_force_sequence(problem) * (1 - 1e-9)


def test_a_course_that_its_bound_proves_is_called_optimal():
    """Where changes are free, the best deployments of all periods are the best course."""
    problem = random_sequence(3, combinations=60).replace(changes=ChangePrices())
    solution = solve(problem, method="myopic")
    assert (solution.status, solution.bound) == ("optimal", pytest.approx(solution.objective))
