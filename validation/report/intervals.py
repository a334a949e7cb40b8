"""Means over seeds or networks, their confidence intervals, and verdicts on what a paper says of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from edrp.core.arrays import Floats

CONFIDENCE = 0.95

Verdict = Literal["holds", "does not hold", "undecided"]

GRAVITY: tuple[Verdict, ...] = ("does not hold", "undecided", "holds")
"""Verdicts, the gravest first."""


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval; None where one seed says nothing of it."""

    mean: float
    low: float | None
    high: float | None


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a sentence that says several things at once: it holds where all of them do.

    >>> gravest(["holds", "undecided"]), gravest(["holds", "holds"])
    ('undecided', 'holds')
    """
    return min(verdicts, key=GRAVITY.index)


def interval(values: Floats) -> Interval:
    """The mean of values and its confidence interval (95 %) by Student's t.

    Examples
    --------
    >>> found = interval(np.array([1.0, 2.0, 3.0]))
    >>> found.mean, round(found.low, 2), round(found.high, 2)
    (2.0, -0.48, 4.48)
    >>> interval(np.array([1.0]))
    Interval(mean=1.0, low=None, high=None)
    """
    from scipy import stats

    mean = float(values.mean())
    if values.size < 2:
        return Interval(mean, None, None)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    return Interval(mean, mean - reach, mean + reach)
