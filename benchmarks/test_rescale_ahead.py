"""Days decided for loads to come: the load of the hour is in what is solved, and what an hour comes to is that of its steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
from rescale_ahead import DECIDERS, STEPS, Decider, _result, departure_rates, with_rate
from rescale_days import first_deployment

from edrp.datasets.families.migration.flight_day import FIRST_DAY, TUPLES, flight_day


@pytest.fixture(scope="module")
def hour():
    """One hour of the day of departures."""
    return list(flight_day())[5]


def test_deciders_see_the_load_of_now_and_scenarios_around_it(hour):
    """Deciders differ in their utilisation and scenarios, not in the load of now."""
    now = with_rate(hour, 50.0)
    assert now.application.load("departures") == pytest.approx(TUPLES * 50)
    assert DECIDERS[1].problem(now, 50.0).utilisation == 0.9
    prepared = Decider(1.0, 0.05).problem(now, 50.0)
    factors = [scenario.factor for scenario in prepared.scenarios]
    assert len(factors) > 1
    assert min(factors) < 1 < max(factors)
    assert sum(scenario.probability for scenario in prepared.scenarios) == pytest.approx(1.0)


def test_an_hour_comes_to_what_its_steps_come_to(hour):
    """Steps at the load that was decided for come to the evaluation, overloaded ones to the limit."""
    current = first_deployment(hour)
    now = hour.problem.replace(current=current)
    rates = departure_rates()[(24 * FIRST_DAY + hour.hour) * STEPS :][:STEPS]
    calm = _result(hour, now, current, rates * 0 + hour.departures, refused=False)
    evaluation = now.evaluate(current)
    assert (calm.steps, calm.downtime, calm.moved_state) == (0, 0.0, 0.0)
    assert calm.objective == pytest.approx(evaluation.objective)
    busy = _result(hour, now, current, rates * 0 + 10 * hour.departures, refused=False)
    assert busy.steps == STEPS
    assert busy.response_time == pytest.approx(now.limits.response_time)
