"""Leases by first fit in each period: feasible wherever anything is, never better than the optimum, at once."""

import pytest

import edrp
from edrp.datasets.families.enactment.enactment_families import random_leasing_problem
from edrp.enactment.leasing import LeasingProblem


def problem(**changed):
    """One operator whose instances serve 1/s, two to a host of which a unit costs 1 and lasts two of the periods."""
    operator = {"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}
    host = {"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}
    return LeasingProblem(application={"operators": [operator]}, host_types=[host], period=300.0, **changed)


def leases(solution):
    return {host.name: (host.first, host.units) for host in solution.hosts}


def test_units_follow_the_need():
    """A second host is needed in periods 1, 2 and 3, and after a pause in period 6."""
    solution = edrp.solve(problem(forecast=[2, 4, 4, 4, 2, 2, 4]), "first-fit-leases")
    assert leases(solution) == {"host-1": (0, 4), "host-2": (1, 2), "host-3": (6, 1)}
    assert solution.objective == 7.0
    assert solution.metrics["violations"] == 0


def test_what_is_paid_is_used_before_anything_is_bought():
    paid = {"name": "a", "type": "small", "paid_periods": 2}
    solution = edrp.solve(problem(forecast=[2, 2, 2, 0, 2], leased=[paid]), "first-fit-leases")
    assert leases(solution) == {"a": (2, 2)}  # the second unit follows the first one


@pytest.mark.parametrize("seed", range(12))
def test_it_answers_where_anything_is_feasible_and_is_never_below_the_optimum(seed):
    drawn = random_leasing_problem(seed)
    found, best = edrp.solve(drawn, "first-fit-leases"), edrp.solve(drawn, "highs")
    assert found.status == ("none" if best.status == "infeasible" else "feasible")
    if best.objective is not None:
        assert found.objective >= best.objective - 1e-9


def test_auto_answers_by_it_where_a_program_has_no_time():
    forecast = [10 + step % 7 for step in range(200)]
    solution = edrp.solve(problem(forecast=forecast), work_limit=0.001)
    assert solution.status == "feasible"
    assert solution.method == "auto: first-fit-leases"
