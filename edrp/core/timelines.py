"""Amounts over the time of a simulated run, sampled, and the file that they are written to."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints
from edrp.core.files import write_whole

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
LONG, LONGER = 6 * HOUR, 2 * DAY
"""Seconds from which an axis counts hours, and days."""


def amount_at(time: Floats, spans: Iterable[tuple[float, float | None, float]]) -> Floats:
    """Sum of the amounts that are there at each time: from the start of their span until before its end (None: never).

    >>> amount_at(np.array([0.0, 1.0, 2.0, 3.0]), [(1.0, 3.0, 2.0), (2.0, None, 0.5)]).tolist()
    [0.0, 2.0, 2.5, 0.5]
    """
    steps = np.array(
        [
            (at, change)
            for start, end, amount in spans
            for at, change in ((start, amount), (np.inf if end is None else end, -amount))
        ]
    ).reshape(-1, 2)
    steps = steps[np.argsort(steps[:, 0], kind="stable")]
    reached = np.concatenate([[0.0], np.cumsum(steps[:, 1])])
    found: Floats = reached[np.searchsorted(steps[:, 0], time, side="right")]
    return found


def count_at(time: Floats, spans: Iterable[tuple[float, float | None]]) -> Ints:
    """How many spans hold each time: from their start until before their end (None: never).

    >>> count_at(np.array([0.0, 1.0, 2.0, 3.0]), [(1.0, 3.0), (2.0, None)]).tolist()
    [0, 1, 2, 1]
    """
    return amount_at(time, ((start, end, 1.0) for start, end in spans)).astype(np.int64)


def time_unit(duration: float) -> tuple[float, str]:
    """Seconds of the unit in which an axis of that length counts, and its name.

    >>> time_unit(7200.0), time_unit(86_400.0)
    ((60.0, 'min'), (3600.0, 'h'))
    """
    if duration >= LONGER:
        return DAY, "days"
    return (HOUR, "h") if duration >= LONG else (MINUTE, "min")


def save_columns(columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write columns of equal length as CSV under their names; the file appears whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{value:.10g}" for value in row] for row in zip(*columns.values(), strict=True))
    write_whole(path, text.getvalue())
