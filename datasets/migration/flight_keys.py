"""Departures from New York by key, as the work of tasks that keys are hashed to."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.migration.skew import departures_of_days
from edrp.datasets.traces.flights import FlightKey


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
    counts = departures_of_days(key, random)
    return np.bincount(random.integers(tasks, size=counts.size), weights=counts, minlength=tasks).astype(np.float64)
