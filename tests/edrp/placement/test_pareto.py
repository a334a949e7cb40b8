"""Pareto fronts: all points that nothing beats in both metrics, and no others."""

import pytest
from contention import random_contention

import edrp
from edrp.check_problems.placement.enumeration import feasible_deployments
from edrp.core.errors import InvalidInstanceError


def enumerated_front(problem: edrp.EdrpProblem, first: str, second: str) -> list[tuple[float, float]]:
    """Values of both metrics, on their scales, of the deployments that none dominates."""
    scales = [problem.metrics[name].scaled for name in (first, second)]
    found = [each.evaluation.metrics for each in feasible_deployments(problem)]
    values = sorted({(round(scales[0](m[first]), 9), round(scales[1](m[second]), 9)) for m in found})
    front: list[tuple[float, float]] = []
    for value in values:
        if not front or value[1] < front[-1][1] - 1e-6 * front[-1][1]:
            front.append(value)
    return front


@pytest.mark.parametrize("metrics", [("cost", "peak_load"), ("response_time", "cost"), ("peak_loads.cpu", "peak_loads.network")])
@pytest.mark.parametrize("seed", [401, 405])
def test_the_front_is_that_of_an_enumeration(seed, metrics):
    problem = random_contention(seed)
    front = edrp.pareto_front(problem, *metrics, method="highs")
    assert front.complete
    assert all(point.status == "optimal" for point in front.points)
    expected = enumerated_front(problem, *metrics)
    assert len(front.values) == len(expected)
    for value, wanted in zip(front.values, expected, strict=True):
        assert value == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_a_few_points_lie_between_both_ends():
    problem = random_contention(401)
    whole = edrp.pareto_front(problem, "cost", "peak_load", method="highs")
    few = edrp.pareto_front(problem, "cost", "peak_load", points=2, method="highs")
    assert not few.complete
    assert [few.values[0], few.values[-1]] == [pytest.approx(whole.values[0]), pytest.approx(whole.values[-1])]
    assert len(few.points) <= len(whole.points)


def test_an_infeasible_problem_has_no_front():
    problem = random_contention(401)
    tight = problem.replace(limits=problem.limits.replace(cost=1e-3))
    front = edrp.pareto_front(tight, "cost", "peak_load")
    assert front.infeasible
    assert not front.points


@pytest.mark.parametrize(("metrics", "said"), [(("cost", "peek_load"), "names no metric"), (("cost", "cost"), "name each once")])
def test_fronts_of_what_is_no_pair_of_metrics_are_refused(metrics, said):
    with pytest.raises(InvalidInstanceError, match=said):
        edrp.pareto_front(random_contention(401), *metrics)


def test_the_command_shows_the_front(run, examples):
    shown = run("front", examples / "contention.json", "cost", "peak_load").ended(0)
    assert "Complete: no other deployment" in shown.out
    assert run("front", examples / "word_count.json", "cost", "peak_load").code == 2
    assert "of kind 'migration'" in run("front", examples / "migration.json", "cost", "peak_load").err
