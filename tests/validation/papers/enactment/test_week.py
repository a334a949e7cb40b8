"""A week of departures through policies."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from edrp.core.errors import InvalidInstanceError
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.validation.papers.enactment import week


def test_policies_are_compared_under_each_unit(monkeypatch):
    def short(first_day, days, *, billing_time):
        return manufacturing_scenario("stepwise", billing_time=billing_time, duration=1800.0)

    monkeypatch.setattr(week, "departures_scenario", short)
    console = Console(width=200, file=StringIO())
    rows = week.run(console, policies=("threshold", "btu"), units=(600.0, 3600.0))
    names = [(row.policy, row.unit) for row in rows]
    assert names == [("threshold", 600.0), ("threshold", 3600.0), ("btu", 600.0), ("btu", 3600.0)]
    ten, hour = (row.metrics for row in rows[:2])
    assert ten["near_real_time_compliance"] == hour["near_real_time_compliance"], "one run, billed twice"
    assert ten["resource_cost"] < hour["resource_cost"]
    text = console.file.getvalue()
    for row in rows:
        assert row.metrics == short("", 1, billing_time=row.unit).evaluate(row.run).metrics
        assert f"{row.metrics['near_real_time_total']:.0f}" in text


def test_a_week_of_another_year_is_refused():
    with pytest.raises(InvalidInstanceError, match="must lie in 2013"):
        week.follow_week("2015-01-01")
