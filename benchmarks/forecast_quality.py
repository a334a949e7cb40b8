"""Quality of forecasts of the offered rate: taxi trips, tweets and departures, ten minutes to four hours ahead.

`python benchmarks/forecast_quality.py SHARED [--seed 40] [--moments 20] [--library]` prints the mean pinball loss of ten
quantiles over the mean rate, at moments drawn by a seed. SHARED holds `nyc_taxi_2013_trips_per_minute.txt` and the files
`twitter_volume_*.csv` of the Numenta Anomaly Benchmark. With `--library` the same is printed of `statsforecast` (`MSTL` with the
seasons day and week, `AutoETS` for the trend, four weeks of history), which is no dependency of the package.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.traces.flights import flights
from edrp.engines.day_control import SCENARIOS
from edrp.engines.forecast import RateHistory, forecast

STEP, DAY = 600.0, 144
LEADS = 24
"""Steps of ten minutes that are forecast."""

HISTORY_DAYS = 28

Forecaster = Callable[[Floats], Floats]
"""From the past rates to quantiles of the next ones, (quantiles, leads)."""


def main() -> None:
    """Print the pinball loss of every forecaster on every series."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--library", action="store_true")
    arguments = parser.parse_args()
    drawn = random.Random(arguments.seed)
    forecasters: dict[str, Forecaster] = {"edrp": own_forecast, "same time last week": last_week}
    if arguments.library:
        forecasters["MSTL, AutoETS"] = library_forecast
    for name, rates in rate_series(arguments.shared).items():
        days = len(rates) // DAY
        moments = [drawn.randrange(HISTORY_DAYS, days - 1) * DAY + drawn.randrange(DAY) for _ in range(arguments.moments)]
        later = np.array([rates[moment : moment + LEADS] for moment in moments])
        for way, forecaster in forecasters.items():
            values = np.array([forecaster(rates[:moment]) for moment in moments])
            losses = pinball_losses(values, later) / later.mean()
            print(f"{name:13} {way:20} {losses.mean():.4f}  by lead {np.round(losses[[0, 5, 11, 23]], 4)}", flush=True)


def rate_series(shared: Path) -> dict[str, Floats]:
    """Mean events/s of steps of ten minutes, by name."""
    trips = np.loadtxt(shared / "nyc_taxi_2013_trips_per_minute.txt")
    whole = len(trips) // 10
    series = {"taxi": trips[: whole * 10].reshape(whole, 10).sum(axis=1) / STEP}
    for path in sorted(shared.glob("twitter_volume_*.csv")):
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[1:]
        times = np.array([datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() for time, _ in rows])
        counts = np.bincount(((times - times[0]) // STEP).astype(int), [float(count) for _, count in rows])
        series[path.stem.removeprefix("twitter_volume_")] = counts / STEP
    series["flights"] = np.bincount((flights().time // STEP).astype(int), minlength=365 * DAY) / STEP
    return series


def pinball_losses(values: Floats, later: Floats) -> Floats:
    """Mean pinball loss by lead, from quantiles (moments, quantiles, leads) and what came (moments, leads)."""
    levels, errors = np.array(SCENARIOS)[None, :, None], later[:, None] - values
    return np.maximum(levels * errors, (levels - 1.0) * errors).mean(axis=(0, 1))


def own_forecast(past: Floats) -> Floats:
    """The forecast of the package, from all that came before."""
    return forecast(RateHistory(STEP, DAY * STEP, past), [], LEADS, SCENARIOS)


def last_week(past: Floats) -> Floats:
    """The rates of a week ago as every quantile."""
    return np.tile(past[-7 * DAY :][:LEADS], (len(SCENARIOS), 1))


def library_forecast(past: Floats) -> Floats:
    """The forecast of `statsforecast`."""
    from statsforecast.models import MSTL, AutoETS

    model = MSTL([DAY, 7 * DAY], trend_forecaster=AutoETS(model="ZZN"))
    intervals = [round(200 * abs(level - 0.5)) for level in SCENARIOS]
    answer = model.forecast(y=past[-HISTORY_DAYS * DAY :], h=LEADS, level=sorted(set(intervals)))
    sides = ("lo" if level < 0.5 else "hi" for level in SCENARIOS)
    return np.maximum(0.0, np.array([answer[f"{side}-{width}"] for side, width in zip(sides, intervals, strict=True)]))


if __name__ == "__main__":
    main()
