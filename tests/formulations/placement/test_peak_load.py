"""Peak loads in programs and searches: both faces agree, optima are those of an enumeration, other methods refuse by name."""

import pytest
from contention import random_contention

import edrp
from edrp.check_problems.placement.enumeration import feasible_deployments
from edrp.core.errors import UnsupportedProblemError


@pytest.mark.parametrize("method", ["iterated-local-search", pytest.param("annealing", marks=pytest.mark.slow), "hill-climbing"])
def test_searches_spread_what_shares_a_node(method):
    """With peak load alone in the objective they find the optimum of small instances, or come near it."""
    for seed in range(200, 206):
        problem = random_contention(seed).replace(weights={"peak_load": 1.0})
        best = min((each.evaluation.objective for each in feasible_deployments(problem)), default=None)
        if best is None:
            continue
        found = edrp.solve(problem, method, seed=1)
        assert found.objective is not None
        assert best * (1 - 1e-9) <= found.objective <= best * (1.3 if method == "hill-climbing" else 1.02)


@pytest.mark.parametrize(
    ("method", "weights", "said"),
    [
        ("eliminate", {"cpu": 1.0}, r"eliminate does not take peak_loads\.cpu into account.*use highs"),
        ("equal-nodes", {"cpu": 0.5, "disk": 0.5}, r"one peak load into account, not of .*cpu and peak_loads\.disk; use highs"),
    ],
)
def test_methods_that_do_not_minimise_peak_loads_say_so(method, weights, said):
    problem = random_contention(1).replace(weights={"peak_loads": weights})
    with pytest.raises(UnsupportedProblemError, match=said):
        edrp.solve(problem, method)


def test_usage_without_weight_or_limit_changes_no_answer():
    problem = random_contention(5)
    assert edrp.solve(problem, "eliminate").objective == pytest.approx(edrp.solve(problem, "highs").objective)


def test_auto_proves_a_peak_load():
    solution = edrp.solve(random_contention(3).replace(weights={"peak_load": 1.0}))
    assert solution.status == "optimal"


def test_a_clash_with_a_limit_on_a_peak_load_is_explained():
    problem = random_contention(7).replace(weights={"cost": 1.0})
    least = min(each.evaluation.metrics["peak_loads.disk"] for each in feasible_deployments(problem))
    tight = problem.replace(limits=problem.limits.replace(peak_loads={"disk": 0.9 * least}))
    clashes = edrp.solve(tight).clashes
    assert len(clashes) == 1
    assert clashes[0].startswith("limits.peak_loads.disk:")
    assert f"it is at least {least:.6g}" in clashes[0]


def test_no_certificate_is_claimed_for_what_the_checker_does_not_know():
    solution = edrp.solve(random_contention(3).replace(priorities=[{"metric": "peak_load"}]), certify=True)
    assert solution.certificate is None
    assert any("priorities" in note for note in solution.notes)
