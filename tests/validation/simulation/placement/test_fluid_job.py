"""The fluid job against a simulation in small steps, and the clairvoyant bound against all courses there are."""

from itertools import product

import numpy as np
import pytest

from edrp.core.tolerances import LIMIT_SLACK
from edrp.validation.simulation.placement.fluid_job import FluidJob, clairvoyant_day

SMALL = FluidJob(("a", "b"), ((60.0, 120.0), (40.0, 80.0, 130.0)), 10.0, 2.0, 0.5, 0.1)


def simulated(job: FluidJob, rate: float, capacity: float, backlog: float, silence: float, steps: int = 2_000):
    """Late tuples and backlog after a period, a two-thousandth of it at a time."""
    dt, late, waiting = job.period / steps, 0.0, backlog
    for step in range(steps):
        left = max(0.0, silence - step * dt)
        late += rate * dt * (left + waiting / capacity > job.bound)
        waiting = max(0.0, waiting + rate * dt - (capacity * dt if left == 0.0 else 0.0))
    return late, waiting


@pytest.mark.parametrize(
    ("rate", "capacity", "backlog", "silence"),
    [(30.0, 40.0, 0.0, 2.0), (50.0, 40.0, 0.0, 0.0), (40.0, 40.0, 30.0, 0.0), (10.0, 80.0, 300.0, 2.0), (0.0, 40.0, 5.0, 2.0)],
)
def test_a_period_is_what_a_simulation_in_small_steps_gives(rate, capacity, backlog, silence):
    late, left = SMALL.step(rate, capacity, backlog, silence)
    expected_late, expected_left = simulated(SMALL, rate, capacity, backlog, silence)
    assert float(late) == pytest.approx(expected_late, abs=1.0)
    assert float(left) == pytest.approx(expected_left, abs=1.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_below_every_course_and_near_to_the_best(seed):
    """All 6³ courses, also those with replicas that serve nothing more, and with more load than all replicas can take."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(5.0, 150.0, 3)
    courses = product(SMALL.vectors, repeat=len(rates))
    least = min(SMALL.course(rates, course).cost for course in courses)
    best = clairvoyant_day(SMALL, rates)
    assert best.bound <= least * (1 + LIMIT_SLACK)
    assert best.bound >= 0.98 * least
    assert best.day.cost >= least * (1 - LIMIT_SLACK)
    assert SMALL.course(rates, best.course) == best.day


def test_levels_leave_out_replicas_that_serve_no_more():
    assert SMALL.levels.tolist() == [[1, 1], [1, 2], [2, 2], [2, 3]]
    assert SMALL.fewest(1000.0).tolist() == [2, 3]


def test_a_silence_longer_than_a_period_is_refused():
    with pytest.raises(ValueError, match="a silence of 11 s does not fit into a period of 10 s"):
        FluidJob(("a",), ((1.0,),), 10.0, 11.0, 0.5, 0.1)
