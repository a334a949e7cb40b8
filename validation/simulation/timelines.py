"""Amounts over the time of a simulated run, sampled."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from edrp.core.arrays import Floats, Ints

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
