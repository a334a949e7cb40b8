"""Departures from New York by key, as the work of tasks that keys are hashed to."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.datasets.migration.skew import MAX_FLIGHT_DAYS
from edrp.datasets.traces.flights import DAY, FlightKey, KeyedStream, flights

DAYS = 365


@lru_cache(maxsize=4)
def _daily_departures(key: FlightKey) -> Ints:
    """Count departures of 2013 by day and key, shape (365, keys), keys in alphabetical order."""
    stream: KeyedStream = flights(key)
    keys = len(stream.names)
    cells = (stream.time // DAY).astype(np.int64) * keys + stream.key
    return np.bincount(cells, minlength=DAYS * keys).reshape(DAYS, keys)


def route_keys(tasks: int, random: np.random.Generator) -> Floats:
    """Departures from New York by route (224 keys), in 1 to 60 days of 2013, hashed to tasks."""
    return _hashed("route", tasks, random)


def airport_keys(tasks: int, random: np.random.Generator) -> Floats:
    """Departures from New York by airport of destination (105 keys), in 1 to 60 days of 2013, hashed to tasks."""
    return _hashed("airport", tasks, random)


def carrier_keys(tasks: int, random: np.random.Generator) -> Floats:
    """Departures from New York by carrier (16 keys), in 1 to 60 days of 2013, hashed to tasks."""
    return _hashed("carrier", tasks, random)


def _hashed(key: FlightKey, tasks: int, random: np.random.Generator) -> Floats:
    by_day = _daily_departures(key)
    days = int(random.integers(1, MAX_FLIGHT_DAYS + 1))
    first = int(random.integers(DAYS - days + 1))
    counts = by_day[first : first + days].sum(axis=0).astype(np.float64)
    return np.bincount(random.integers(tasks, size=counts.size), weights=counts, minlength=tasks).astype(np.float64)
