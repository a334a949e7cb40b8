"""A day of 120 periods of jobs whose capacity was measured by number of replicas, on a cluster with slots and without names."""

import numpy as np
import pytest

from edrp.core.solve import solve
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.sequence import EdrpSequence

PERIODS, SECONDS = 120, 720.0


def production_job(seed: int, operators: int, most: int) -> EdrpSequence:
    """A chain whose operators serve less than n times as much with n replicas; two thirds of them serve the busiest period."""
    rng = np.random.default_rng(seed)
    hours = np.arange(PERIODS) * 24 / PERIODS
    rates = 1000 * (1.2 - np.cos(2 * np.pi * (hours - 4) / 24) + 0.3 * rng.random(PERIODS))
    measured = sorted({1, 2, 4, most})
    listed = []
    for number in range(operators):
        exponent = rng.uniform(0.75, 0.95)
        first = rates.max() / (2 * most / 3) ** exponent
        curve = {"model": "capacity-curve", "replicas": measured, "capacities": [first * n**exponent for n in measured]}
        listed.append({"name": f"o{number}", "latency": curve, "max_replicas": most, "cost": 1.0, "resources": {"slots": 1.0}})
    listed[0]["external_rate"] = float(rates[0])
    streams = [{"source": f"o{number}", "target": f"o{number + 1}"} for number in range(operators - 1)]
    slots = float(most * operators)
    return EdrpSequence(
        application={"operators": listed, "streams": streams},
        network={"nodes": [{"name": "cluster", "resources": {"slots": slots}}]},
        weights={"cost": 0.5, "response_time": 0.5},
        limits={"cost": slots, "response_time": 1.0},
        periods=[{"duration": SECONDS, "external_rates": {"o0": float(rate)}} for rate in rates],
        changes={"change": 20.0, "started_replicas": 2.0},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "operators", "most"),
    [(1, 5, 5), pytest.param(2, 6, 8, marks=pytest.mark.slow), pytest.param(3, 8, 8, marks=pytest.mark.slow)],
)
def test_a_day_of_a_production_job_is_solved_by_auto(seed, operators, most):
    """Up to 16.8 million vectors of replicas; those that can be listed are proven."""
    problem = production_job(seed, operators, most)
    answer = solve(problem, "auto", time_limit=3600.0)
    assert answer.status == ("optimal" if operators < 8 else answer.status)
    evaluation = problem.evaluate(answer.decision)
    assert not evaluation.broken
    assert evaluation.objective == pytest.approx(answer.objective)
    assert answer.bound <= answer.objective * (1 + LIMIT_SLACK)
    assert answer.objective <= 1.005 * answer.bound
    kept = [answer.decision[int(np.argmax([len(d["o0"]) for d in answer.decision]))]] * PERIODS
    assert answer.changes > 0
    assert answer.objective < problem.evaluate(kept).objective
