"""A day of departures as rescalings: real counts, the same keys on the same tasks, replicas that are as fast at any load."""

from __future__ import annotations

import numpy as np
import pytest

from edrp.datasets.families.migration.flight_day import BYTES, FIRST_DAY, TUPLES, flight_day
from edrp.datasets.traces.flights import DAY, flights


@pytest.fixture(scope="module")
def days():
    return {factor: list(flight_day(factor=factor)) for factor in (1.0, 2.0)}


def test_hours_have_the_departures_of_the_day(days):
    stream = flights().between(FIRST_DAY * DAY, (FIRST_DAY + 1) * DAY)
    counted = stream.per_bin(3600.0)
    assert [(hour.hour, hour.departures) for hour in days[1.0]] == [(h, n) for h, n in enumerate(counted) if n]
    for hour in days[1.0]:
        application = hour.problem.application
        assert application.load("departures") == TUPLES * hour.departures
        assert all(sum(application.by_name[name].tasks.work) == hour.departures for name in ("routes", "airports", "carriers"))


def test_state_is_that_of_the_week_before_and_tasks_stay_where_they_are(days):
    morning, noon = days[1.0][1].problem.application, days[1.0][7].problem.application
    week = flights().between((FIRST_DAY - 7) * DAY + 6 * 3600, FIRST_DAY * DAY + 6 * 3600)
    assert morning.by_name["routes"].total_state == pytest.approx(BYTES * len(week.time))
    for name in ("routes", "airports", "carriers"):
        now, later = (np.array(application.by_name[name].tasks.state_size) for application in (morning, noon))
        assert np.corrcoef(now, later)[0, 1] > 0.99


def test_twice_the_load_runs_on_the_same_replicas_and_every_task_alone_is_stable(days):
    for once, twice in zip(days[1.0], days[2.0], strict=True):
        for slow, fast in zip(once.problem.application.operators, twice.problem.application.operators, strict=True):
            assert slow.latency == fast.latency
            assert twice.problem.application.load(fast.name) == 2 * once.problem.application.load(slow.name)
            if fast.tasks is not None:
                heaviest = max(fast.tasks.work) / sum(fast.tasks.work)
                assert heaviest * twice.problem.application.load(fast.name) < fast.latency.service_rate
