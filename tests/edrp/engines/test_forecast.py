"""Forecasts of the offered rate, and the histories that they are made from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.errors import InvalidInstanceError
from edrp.engines.forecast import RateHistory, forecast, forecast_remark, read_history

STEP, DAY = 3600.0, 86400.0
PROFILE = 100.0 + 50.0 * np.sin(np.arange(24) / 24 * 2 * np.pi)
LEVELS = [0.1, 0.5, 0.9]


def days(count, noise=0.0, seed=1):
    """So many days of the profile, with noise of this relative deviation."""
    rng = np.random.default_rng(seed)
    return np.tile(PROFILE, count) * np.exp(noise * rng.standard_normal(24 * count))


def test_a_load_that_repeats_itself_is_forecast_exactly():
    values = forecast(RateHistory(STEP, DAY, days(10)), [], 30, LEVELS)
    assert values == pytest.approx(np.tile(np.resize(PROFILE, 30), (3, 1)))


def test_the_ratio_of_the_last_hour_fades():
    history = RateHistory(STEP, DAY, days(10))
    (middle,) = forecast(history, [*PROFILE[:5], 1.5 * PROFILE[5]], 12, [0.5])
    ratios = middle / np.resize(np.roll(PROFILE, -6), 12)
    assert 1.05 < ratios[0] < 1.5
    assert np.all(np.diff(ratios) < 0)
    assert ratios[-1] < 1.2


def test_weekdays_are_told_apart_where_that_was_better():
    week = np.concatenate([PROFILE] * 5 + [0.3 * PROFILE] * 2)
    history = RateHistory(STEP, DAY, np.tile(week, 8))
    (middle,) = forecast(history, week[: 4 * 24], 48, [0.5])
    assert middle == pytest.approx(week[4 * 24 : 6 * 24], rel=0.02)


def test_quantiles_hold_as_many_rates_as_they_say():
    inside = []
    for seed in range(30):
        series = days(41, noise=0.2, seed=seed)
        begin = 40 * 24 - seed
        low, _, high = forecast(RateHistory(STEP, DAY, series[:begin]), [], 12, LEVELS)
        inside.append((low <= series[begin : begin + 12]) & (series[begin : begin + 12] <= high))
    assert 0.72 < np.mean(inside) < 0.88


def test_less_than_a_season_stays_as_it_is_with_wide_quantiles_and_says_so():
    history = RateHistory(600.0, DAY, np.r_[np.full(60, 10.0), np.full(12, 20.0)])
    low, middle, high = forecast(history, [], 5, LEVELS)
    assert middle == pytest.approx(20.0)
    assert (low < 12).all()
    assert (high > 35).all()
    assert "covers 0.5 seasons" in forecast_remark(history)
    assert forecast_remark(RateHistory(STEP, DAY, days(10))) is None


def test_steps_that_were_not_observed_are_left_out():
    series = days(12)
    series[200:240] = np.nan
    series[-1] = np.nan
    assert forecast(RateHistory(STEP, DAY, series), [], 24, [0.5])[0] == pytest.approx(PROFILE)


def test_nights_without_load_are_forecast():
    nights = np.tile(np.r_[np.zeros(8), np.full(16, 30.0)], 10)
    values = forecast(RateHistory(STEP, DAY, nights), [], 24, LEVELS)
    assert values[1] == pytest.approx(nights[:24])


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.integers(1, 60), st.integers(1, 24))
@settings(max_examples=40, deadline=None)
def test_quantiles_are_ordered_finite_and_never_negative(rates, steps, season):
    values = forecast(RateHistory(1.0, float(season), np.array(rates)), [], steps, LEVELS)
    assert values.shape == (3, steps)
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (np.diff(values, axis=0) >= -1e-9 * (1 + values.max())).all()


@pytest.mark.parametrize(
    ("rates", "steps", "quantiles", "said"),
    [([], 1, [0.5], "holds no rate"), ([1.0], 0, [0.5], "at least 1"), ([1.0], 1, [1.0], "between 0 and 1")],
)
def test_bad_input_is_said(rates, steps, quantiles, said):
    with pytest.raises(InvalidInstanceError, match=said):
        forecast(RateHistory(STEP, DAY, np.array(rates)), [], steps, quantiles)


def test_observations_extend_a_history_by_whole_steps():
    history = RateHistory(10.0, 100.0, np.ones(3), end=1000.0)
    longer = history.extended([(1001.0, 1004.0, 5.0), (1008.0, 1012.0, 7.0)], 1037.0)
    assert longer.end == 1030.0
    assert longer.rates == pytest.approx([1, 1, 1, (3 * 5 + 2 * 7) / 5, 7, np.nan], nan_ok=True)


def test_a_file_is_read(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("time,rate\n1200,3.5\n1800,4\n\n2400,0\n")
    history = read_history(path)
    assert (history.step, history.season, history.end) == (600.0, DAY, 3000.0)
    assert history.rates.tolist() == [3.5, 4.0, 0.0]


WRONG = [
    ("", "line 1.*must be the header time,rate"),
    ("rate,time\n1,2\n", "line 1.*must be the header time,rate"),
    ("time,rate\n", "two or more"),
    ("time,rate\n600,1\n", "two or more"),
    ("time,rate\n600,1\n1200,one\n", "line 3.*must be two numbers"),
    ("time,rate\n600,1\n1200\n", "line 3.*must be two numbers"),
    ("time,rate\n600,1\n1200,nan\n", "line 3.*must be finite"),
    ("time,rate\n600,1\n1200,-2\n", "line 3.rate.*must not be negative"),
    ("time,rate\n600,1\n1200,2\n900,2\n", "line 4.time.*sort the rows"),
    ("time,rate\n1200,1\n600,2\n", "line 3.time.*sort the rows"),
    ("time,rate\n600,1\n1200,2\n3000,2\n", "line 4.time.*leaves a hole"),
    ("time,rate\n600,1\n1200,2\n1300,2\n", "line 4.time.*100 s after the row before, and steps have 600 s"),
    ("time,rate\n0,1\n50000,2\n", "season.*must be a multiple of the step of 50000 s"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_faults_of_a_file_are_said_with_their_line(tmp_path, text, said):
    path = tmp_path / "history.csv"
    path.write_text(text)
    with pytest.raises(InvalidInstanceError, match=f"(?s){said}"):
        read_history(path)


def test_another_step_than_is_expected_is_said(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("time,rate\n600,1\n1200,2\n")
    with pytest.raises(InvalidInstanceError, match="steps have 900 s"):
        read_history(path, step=900.0)
