"""Fronts of rate and cost, against enumeration."""

import pytest
from growing_loads import random_growing_load

import edrp
from edrp.check_problems.placement.enumeration import deployments
from edrp.placement.throughput import GrowingLoad

TIE = 3e-5


def without_price_of_traffic(seed: int) -> edrp.EdrpProblem:
    network = random_growing_load(seed).network
    return random_growing_load(seed).replace(network=network.replace(between_zones=network.between_zones.replace(cost=0.0)))


def enumerated_front(problem: edrp.EdrpProblem) -> list[tuple[float, float]]:
    """Largest multiple and cost of the deployments that no other one beats in both."""
    load, scale = GrowingLoad(problem), problem.metrics["cost"]
    all_values = []
    for deployment in deployments(problem):
        multiple = load.carried(deployment).multiple
        if multiple is not None:
            all_values.append((multiple, scale.scaled(scale.evaluate(load.start, deployment))))
    front: list[tuple[float, float]] = []
    for multiple, value in sorted(all_values, key=lambda pair: (-pair[0], pair[1])):
        if not front or value < front[-1][1] * (1 - TIE):
            if front and multiple > front[-1][0] * (1 - TIE):
                front.pop()
            front.append((multiple, value))
    return [(multiple, scale.unscaled(value)) for multiple, value in front]


@pytest.mark.parametrize("seed", [*range(1, 8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 60))])
def test_fronts_agree_with_enumeration(seed):
    problem = without_price_of_traffic(seed)
    expected = enumerated_front(problem)
    if expected and expected[0][0] == float("inf"):
        with pytest.raises(edrp.errors.UnsupportedProblemError, match="nothing limits the rates"):
            edrp.rate_front(problem)
        return
    front = edrp.rate_front(problem)
    assert front.complete
    assert front.infeasible == (not expected) == (not front.points)
    assert front.values == [pytest.approx(point, rel=TIE) for point in expected]
    for point in front.points:
        assert GrowingLoad(problem).carried(point.deployment).multiple == point.multiple
        assert point.bound >= point.multiple * (1 - TIE)


def test_a_few_points_lie_between_both_ends_where_traffic_has_a_price():
    problem = random_growing_load(43)
    assert problem.network.between_zones.cost > 0
    with pytest.raises(edrp.errors.InvalidInstanceError, match="infinitely many points"):
        edrp.rate_front(problem)
    front = edrp.rate_front(problem, points=4)
    assert not front.complete
    assert all(point.status == "optimal" for point in front.points)
    assert front.points[0].multiple == pytest.approx(edrp.largest_rate(problem).multiple, rel=TIE)
    assert front.values == sorted(front.values, reverse=True)


def test_the_command_prints_and_draws_the_front(run, examples, tmp_path):
    page = tmp_path / "front.html"
    shown = run("front", examples / "ray_data.json", "rate", "cost", "--points", "3", "--page", page).ended(0)
    assert "126  proven  read ×56, infer ×70" in shown.out
    assert "rate against cost" in page.read_text()
    assert "the rate goes with the cost alone" in run("front", examples / "ray_data.json", "rate", "downtime").err
