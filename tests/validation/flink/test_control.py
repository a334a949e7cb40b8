"""Days of load on clusters of Flink: the day, the policies that control a job, and what is measured of them."""

import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "edrp" / "engines"))
from fake_flink import FakeFlink, word_count
from taxi_stream import write_taxi_stream
from test_flink_fit import fitted

from edrp.core.errors import EdrpError
from edrp.engines.forecast import read_history
from edrp.validation.flink.control import JOBS, SERVICE, lab_settings
from edrp.validation.flink.control_measures import ReplicaSample, control_measures, late_tuples, replica_hours, standstills
from edrp.validation.flink.control_policies import AutoscalerControl, peak_replicas
from edrp.validation.flink.days import LoadDay, taxi_day
from edrp.validation.flink.lab.job import Bucket

DAY = LoadDay("made up", 40.0, (10.0, 20.0, 0.0, 30.0))


def bucket(first: int, *, tuples: int = 10, latencies: tuple[float, float, float] = (50.0, 80.0, 90.0)) -> Bucket:
    return Bucket(first, first + 90, tuples, latencies[0], *latencies)


def test_a_day_of_taxi_trips_is_scaled_to_its_peak_and_drawn_by_the_seed(tmp_path):
    write_taxi_stream(tmp_path, days=3)
    day = taxi_day(1, 1200.0, 180.0, tmp_path)
    assert max(day.rates) == 180.0
    assert len(day.rates) * day.step == pytest.approx(1200.0)
    assert day.speed == 72
    assert day == taxi_day(1, 1200.0, 180.0, tmp_path)
    origins = {taxi_day(seed, 1200.0, 180.0, tmp_path).origin for seed in range(20)}
    assert origins == {f"New York taxi trips, 2013-01-0{day}" for day in (1, 2, 3)}
    with pytest.raises(EdrpError, match="nyc_taxi"):
        taxi_day(1, 1200.0, 180.0, tmp_path / "nowhere")


def test_the_history_of_a_day_is_the_same_weekday_of_six_weeks_before(tmp_path):
    """Days of the stream differ by their peaks, 110, 120, … trips a minute in the busiest ten minutes, and their night."""
    write_taxi_stream(tmp_path, days=60)
    days = {taxi_day(seed, 1440.0, 180.0, tmp_path).origin[-10:]: taxi_day(seed, 1440.0, 180.0, tmp_path) for seed in range(40)}
    assert {len(day.past) for name, day in days.items() if name > "2013-02-12"} == {6}
    late = days["2013-02-20"]
    for week, past in enumerate(reversed(late.past), 1):
        other = days.get(f"2013-{date(2013, 2, 20) - timedelta(weeks=week):%m-%d}")
        assert max(past) < 180.0
        assert other is None or np.argmax(past) == np.argmax(other.rates)
    assert all(len(day.past) == 1 for name, day in days.items() if "2013-01-01" < name < "2013-01-15")


def test_a_history_is_one_that_the_command_reads(tmp_path):
    day = LoadDay("made up", 40.0, (10.0, 20.0, 0.0, 30.0), ((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)))
    (tmp_path / "history.csv").write_text(day.history(1e9 + 0.25))
    history = read_history(tmp_path / "history.csv", season=40.0)
    assert history.rates.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert (history.step, history.season_steps, history.end) == (10.0, 4, 1e9 + 0.25)


def test_state_is_complete_before_the_day_begins():
    for kind in JOBS.values():
        settings = lab_settings(kind, "autoscaler", LoadDay("made up", 40.0, (2.0,)))
        if kind.state_bytes > 1000:
            assert settings.rate * kind.warm_up > settings.keys
            assert settings.keys * settings.state_bytes >= 400e6
            assert settings.rate * SERVICE["counter"] < settings.replicas["counter"]


def test_the_schedule_of_a_day_ends_with_nothing_due():
    assert DAY.schedule(1000) == [(1000, 10.0), (11000, 20.0), (21000, 0.0), (31000, 30.0), (41000, 0.0)]
    assert DAY.due(15.0) == 200.0
    assert DAY.due(100.0) == 600.0
    assert DAY.mean_rate(5.0, 15.0) == 15.0


def test_tuples_are_late_by_the_quantiles_of_their_bucket():
    on_time, late = bucket(0), bucket(100, latencies=(4000.0, 4400.0, 4500.0))
    half = bucket(200, latencies=(1000.0, 1900.0, 2000.0))
    assert late_tuples([on_time], 1.0) == 0
    assert late_tuples([late], 1.0) == 10
    assert late_tuples([half], 1.0) == 5
    assert late_tuples([half], 1.9) == pytest.approx(0.5)
    assert 0 < late_tuples([half], 1.95) < 0.5


def test_a_standstill_is_a_time_without_tuples_that_lasts():
    assert list(standstills([bucket(0), bucket(100), bucket(1290), bucket(1700)])) == [pytest.approx(1.1)]


def test_replica_hours_are_those_of_the_original_day():
    samples = [ReplicaSample(0.0, {"a": 1, "b": 1}), ReplicaSample(30.0, {"a": 2, "b": 4})]
    assert replica_hours(samples, DAY) == pytest.approx(18 * 2 + 6 * 6)


def test_what_never_arrives_is_late():
    found = control_measures([bucket(0, tuples=590)], [ReplicaSample(0.0, {"a": 1})], DAY)
    assert found["tuples"] == 600
    assert found["late"]["1.0"] == 10
    assert found["rescales"] == 0


def test_the_peak_takes_replicas_that_are_at_most_80_percent_busy():
    assert peak_replicas(180.0, {"parser": 0.01, "counter": 0.02}) == {"parser": 3, "counter": 5}
    assert peak_replicas(80.0, {"parser": 0.01}) == {"parser": 1}


def test_the_autoscaler_knows_of_more_than_the_job_takes_in_by_what_is_offered():
    """Busy shares end at 100 %, at which the rule alone changes nothing."""
    fit = fitted(FakeFlink(rates=(200.0,)))
    control = AutoscalerControl(4, 8)
    assert control.plan(fit, 200.0)["counter"] == 1
    assert control.plan(fit, 400.0)["counter"] > 1
    assert control.plan(fit, 1e6)["counter"] == 8


def test_the_autoscaler_takes_replicas_away_only_when_that_was_wanted_for_long():
    idle, busy = (fitted(FakeFlink(word_count(counter={"replicas": 3}), rates=(rate,))) for rate in (30.0, 400.0))
    control = AutoscalerControl(3, 8)
    counts = [control.plan(fit, rate)["counter"] for fit, rate in ((idle, 30.0), (idle, 30.0), (busy, 400.0), (idle, 30.0))]
    assert counts == [3, 3, 3, 3]
    assert [control.plan(idle, 30.0)["counter"] for _ in range(2)] == [3, 2]
