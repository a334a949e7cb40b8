"""Source rates over time: the ramp of the EDRP paper and the taxi stream of the DEBS 2015 Grand Challenge."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.traces.data_folder import data_file

TAXI_FILE = "nyc_taxi_2013_trips_per_minute.txt"
"""One line per minute of 2013: trips begun in that minute."""


def ramp(minutes: int = 60, low: float = 70.0, high: float = 220.0) -> Floats:
    """Rates in tuples/s at minutes 0, 1, …, `minutes`: linearly up for half of the time, then down (EDRP, section 7.2).

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
    """Taxi trips of New York in 2013 as tuples/s, one value per minute of the original.

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
