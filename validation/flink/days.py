"""Days of a load that changes: taxi trips of New York, compressed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edrp.datasets.traces.source_rates import MINUTES_PER_DAY, day_of_2013, taxi_rates

STEP_MINUTES = 10
"""Minutes of the original day over which trips are added up: the rate changes so often."""

STEPS = MINUTES_PER_DAY // STEP_MINUTES
HOURS = 24.0

WEEKS, DAYS_OF_WEEK = 6, 7
"""Weeks before a day whose same weekday is its history, and days of a week."""


@dataclass(frozen=True, slots=True)
class LoadDay:
    """A day compressed into some seconds, whose rate is constant between equally long steps.

    Attributes
    ----------
    origin : where the rates are from, in words.
    seconds : from the first to the last moment of the day.
    rates : tuples/s of each step.
    past : tuples/s of each step of days before it, oldest first: the same weekday of six weeks, where the year has them.
    """

    origin: str
    seconds: float
    rates: tuple[float, ...]
    past: tuple[tuple[float, ...], ...] = ()

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return self.seconds / len(self.rates)

    @property
    def speed(self) -> float:
        """Seconds of the original day that pass in one second of the replay."""
        return HOURS * 3600 / self.seconds

    def schedule(self, begin: int) -> list[tuple[int, float]]:
        """Times at which the rate changes, in milliseconds since 1970, with the rate from then on; 0 after the day."""
        times = [begin + round(1000 * self.step * number) for number in range(len(self.rates) + 1)]
        return list(zip(times, [*self.rates, 0.0], strict=True))

    def history(self, begin: float) -> str:
        r"""The days before it as `edrp watch flink --history` reads them, one after the other up to a begin in s since 1970.

        >>> LoadDay("made up", 20.0, (1.0, 2.0), ((3.0, 4.0),)).history(1000.0)
        'time,rate\n980.000000,3.0\n990.000000,4.0\n'
        """
        rates = [rate for day in self.past for rate in day]
        times = begin + self.step * (np.arange(len(rates)) - len(rates))
        return "time,rate\n" + "".join(f"{at:.6f},{rate}\n" for at, rate in zip(times, rates, strict=True))

    def due(self, seconds: float) -> float:
        """Tuples that are due in the first so many seconds."""
        within = np.clip(seconds - self.step * np.arange(len(self.rates)), 0.0, self.step)
        return float(within @ np.array(self.rates))

    def mean_rate(self, begin: float, end: float) -> float:
        """Mean rate in tuples/s between two times."""
        return (self.due(end) - self.due(begin)) / (end - begin)


def taxi_day(seed: int, seconds: float, peak: float, data: Path | None = None) -> LoadDay:
    """A day of 2013, drawn by the seed, scaled so that its busiest ten minutes bring `peak` tuples/s.

    Its past has the same scale. In the first week of the year, where no weekday comes again, it is the day before.

    Raises
    ------
    InvalidInstanceError
        There is no taxi stream in the folder.
    """
    trips = taxi_rates(data)
    days = len(trips) // MINUTES_PER_DAY
    counts = trips[: days * MINUTES_PER_DAY].reshape(days, STEPS, STEP_MINUTES).sum(axis=2)
    day = int(np.random.default_rng(seed).integers(days))
    scaled = (peak * counts / counts[day].max()).round(3)
    before = [day - DAYS_OF_WEEK * week for week in range(WEEKS, 0, -1) if day >= DAYS_OF_WEEK * week] or [day - 1] * (day > 0)
    past = tuple(tuple(scaled[number].tolist()) for number in before)
    return LoadDay(f"New York taxi trips, {day_of_2013(day)}", seconds, tuple(scaled[day].tolist()), past)
