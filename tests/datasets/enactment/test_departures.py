"""Departures as a load: scaled, smoothed as said, of the days asked for; and the families made of patterns and departures."""

import numpy as np
import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.datasets import generate
from edrp.datasets.enactment.departures import departure_machines, departures_scenario
from edrp.datasets.traces.flights import flights

DAY_STEPS = 288
MONDAY = 188
"""8 July, counted from 1 January."""


@pytest.fixture(scope="module")
def counts():
    """Departures by five minutes."""
    return flights().between(MONDAY * 86_400.0, (MONDAY + 7) * 86_400.0).per_bin(300.0)


def test_a_week_has_its_quietest_and_its_busiest_moment():
    scenario = departures_scenario("2013-07-08", billing_time=3600.0)
    assert scenario.duration == 7 * 86_400
    assert (min(scenario.load), max(scenario.load)) == (1, 8)
    assert scenario.host_types[0].price == 6
    nights = np.reshape(scenario.load, (7, DAY_STEPS))[:, 12:48]
    assert (nights == 1).all(), "nobody leaves between one and four"


def test_without_smoothing_machines_are_the_departures_themselves(counts):
    machines = np.array(departure_machines("2013-07-08", smoothing=300.0))
    padded = np.zeros(machines.size)
    padded[: counts.size] = counts
    assert np.allclose(machines, 1 + 7 * padded / padded.max(), atol=1e-4)


def test_smoothing_averages_over_its_window_and_no_more(counts):
    machines = np.array(departure_machines("2013-07-08"))
    inner = np.convolve(counts, np.ones(6), "valid")
    # The window of six steps lies around each step: three before it, itself, two after.
    expected = machines[3 : 3 + inner.size]
    assert np.corrcoef(inner, expected)[0, 1] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"first_day": "2013-12-30"}, "days"),
        ({"first_day": "2012-07-08"}, "first_day"),
        ({"first_day": "8 July"}, "first_day"),
        ({"days": 0}, "days"),
        ({"days": -3}, "days"),
        ({"smoothing": 400.0}, "smoothing"),
        ({"smoothing": 0.0}, "smoothing"),
    ],
)
def test_days_and_windows_that_cannot_be_are_named(arguments, place):
    with pytest.raises(InvalidInstanceError) as caught:
        departure_machines(**arguments)
    assert [fault.place for fault in caught.value.faults] == [place]


def test_the_year_can_be_used_to_its_end():
    assert len(departure_machines("2013-12-25")) == 7 * DAY_STEPS


def test_snapshots_go_from_idle_to_queued_and_some_run_already():
    problems = [problem for _, problem in generate("enactment", 120, seed=2)]
    assert 0.3 < np.mean([bool(problem.current) for problem in problems]) < 0.7
    assert 0.2 < np.mean([bool(problem.queues) for problem in problems]) < 1
    assert {len(problem.host_types) for problem in problems} == {1, 2, 3}
    assert {problem.utilisation for problem in problems} == {0.8, 1.0, None}
    for problem in problems:
        broken = problem.evaluate(problem.current).broken
        assert not [why for why in broken if why.startswith(("host ", "limit of"))], "what runs has room on its hosts"
