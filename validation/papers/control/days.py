"""The job whose replicas are controlled, and real days of its load with the weeks before them, drawn by a seed.

A chain of three operators; a day of taxi trips, tweets or departures is compressed as on a real cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.traces.flights import flights
from edrp.datasets.traces.load_series import COMPANIES, taxi_series, twitter_series
from edrp.validation.simulation.placement.fluid_job import FluidJob

STEP = 600.0
"""Seconds of the original day in a period: whole minutes of all traces, and two counts of tweets."""

DAY_STEPS = 144
HISTORY = 42
"""Days before a day that are known at most."""

TAXI, TWITTER, FLIGHTS = "taxi", "Twitter", "flights"
DATA_SETS = (TAXI, TWITTER, FLIGHTS)

MIN_HISTORY = {TAXI: HISTORY, TWITTER: 14, FLIGHTS: HISTORY}
"""Days that are known at least of a day that may be drawn: there are only 54 days of tweets on each company."""


@dataclass(frozen=True, slots=True)
class TracedDay:
    """A day of a trace in periods of `STEP` seconds, and those before it.

    Attributes
    ----------
    data_set, name : where it is from, and which day it is.
    history : shape (steps,)
        Rates of whole days before the day, oldest first; nothing of the day itself is in their scale.
    rates : shape (DAY_STEPS,)
        Tuples/s.
    """

    data_set: str
    name: str
    history: Floats
    rates: Floats


def traced_days(data_set: str, count: int, seed: int, peak: float, data: Path | None = None) -> list[TracedDay]:
    """Draw days of a data set without replacement.

    Counts are scaled so that the median of the daily peaks of the history is `peak` tuples/s. Up to `HISTORY` days before
    the day are its history; days with less than `MIN_HISTORY` of them are not drawn.

    Parameters
    ----------
    data_set
        One of `DATA_SETS`.
    count
        Days; all that there are where these are fewer.
    data
        Folder of the taxi stream and of the tweets; default: the environment variable `EDRP_DATA`. Flights are in a package.

    Raises
    ------
    InvalidInstanceError
        There is no such file in the folder.
    BackendUnavailableError
        The package of the flights is not installed.
    """
    series = [
        (name, counts[: counts.size // DAY_STEPS * DAY_STEPS].reshape(-1, DAY_STEPS)) for name, counts in _series(data_set, data)
    ]
    days = [(number, day) for number, (_, counts) in enumerate(series) for day in range(MIN_HISTORY[data_set], len(counts))]
    chosen = np.random.default_rng([seed, DATA_SETS.index(data_set)]).permutation(len(days))[:count]
    return [_day(data_set, series[number], day, peak) for number, day in (days[index] for index in sorted(chosen))]


def _series(data_set: str, data: Path | None) -> Iterator[tuple[str, Floats]]:
    """Names of series, and their counts in periods of `STEP` seconds."""
    if data_set == TAXI:
        yield "2013", taxi_series(data).per(STEP)
    elif data_set == FLIGHTS:
        yield "2013", flights().per_bin(STEP).astype(np.float64)
    else:
        for company in COMPANIES:
            yield company, twitter_series(company, data).per(STEP)


def _day(data_set: str, series: tuple[str, Floats], day: int, peak: float) -> TracedDay:
    name, counts = series
    history = counts[max(0, day - HISTORY) : day]
    scale = peak / float(np.median(history.max(axis=1)))
    return TracedDay(data_set, f"{name}, day {day}", scale * history.ravel(), scale * counts[day])


SPEED = 72.0
"""Seconds of the original day in a second of the job: a day takes 20 minutes, a period of ten minutes 8.3 s."""

PEAK = 180.0
"""Tuples/s at the median of the daily peaks of the weeks before a day."""

SERVICE = {"parser": (100.0, 6), "join": (50.0, 8), "counter": (40.0, 10)}
"""Tuples/s that a replica serves, and most replicas: some more than twice what `PEAK` takes."""

SILENCES = (0.6, 6.0)
"""Seconds without processing at a change: little state, and much."""

LATE = 0.5
"""Seconds of waiting above which a tuple is late: the least of the bounds that were recorded on the cluster."""

LATE_PRICE = 0.3
"""Replica-seconds for a late tuple: five times what serving it takes. One per cent more of them costs what
4 % more replicas do."""


def control_job(silence: float) -> FluidJob:
    """The job, with `silence` seconds without processing at each change."""
    curves = tuple(tuple(rate * number for number in range(1, most + 1)) for rate, most in SERVICE.values())
    return FluidJob(tuple(SERVICE), curves, STEP / SPEED, silence, LATE, LATE_PRICE)
