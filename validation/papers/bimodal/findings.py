"""Findings about bi-modal networks: a number with its interval, what the paper says of it, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from edrp.validation.report.intervals import Interval, Verdict, gravest


def _per_cent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _points(value: float) -> str:
    return f"{100 * value:+.1f} points"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _factor(value: float) -> str:
    return f"{value:.3f}"


def _links(value: float) -> str:
    return f"{value:.0f} links"


def _rate(value: float) -> str:
    return f"{value:+.2f} tasks/h"


SHARE, POINTS, NUMBER, FACTOR, LINKS, THROUGHPUT = _per_cent, _points, _number, _factor, _links, _rate
"""Units of findings: how their numbers are written."""


class Finding(NamedTuple):
    """A number beside the range in which it should be.

    Attributes
    ----------
    where
        What it is of.
    value
        Over networks or instances.
    unit
        Writes it.
    least, most
        The range; its ends belong to it.
    beyond
        Whether `least` itself is too little: a difference of 0 is none.
    """

    where: str
    value: Interval
    unit: Callable[[float], str]
    least: float = -math.inf
    most: float = math.inf
    beyond: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval is in the range, or all of it outside on one side."""
        low, high = self.value.low, self.value.high
        if low is None or high is None:
            return "undecided"
        if high < self.least or low > self.most or (self.beyond and high <= self.least):
            return "does not hold"
        if high <= self.most and (low > self.least if self.beyond else low >= self.least):
            return "holds"
        return "undecided"

    @property
    def margin(self) -> float:
        """How far the number is inside the range, negative where it is outside."""
        return min(self.value.mean - self.least, self.most - self.value.mean)

    @property
    def words(self) -> str:
        """The number with its interval."""
        return in_words(self.value, self.unit)

    @property
    def asked(self) -> str:
        """The range in words."""
        if self.beyond:
            return f"above {said(self.least, self.unit)}"
        if math.isinf(self.most):
            return f"at least {said(self.least, self.unit)}"
        if math.isinf(self.least):
            return f"at most {said(self.most, self.unit)}"
        return f"{said(self.least, self.unit)} to {said(self.most, self.unit)}"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with everything that was found about it.

    Attributes
    ----------
    sentence, section
        What is said, and where.
    findings
        The sentence holds where every one does.
    """

    sentence: str
    section: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """Of the sentence as a whole."""
        return gravest(each.verdict for each in self.findings)

    def count(self, verdict: Verdict) -> int:
        """How many findings have this verdict."""
        return sum(each.verdict == verdict for each in self.findings)


def in_words(value: Interval, unit: Callable[[float], str]) -> str:
    """A number with its interval.

    >>> in_words(Interval(0.118, 0.1, 0.136), SHARE), in_words(Interval(112.6, 110.2, math.inf), LINKS)
    ('11.8 % (10.0 to 13.6)', '113 links (110 to never)')
    >>> in_words(Interval(-0.021, None, None), POINTS)
    '−2.1 points'
    """
    mean = said(value.mean, unit)
    if value.low is None or value.high is None:
        return mean
    low, high = (said(end, unit).partition(" ")[0].lstrip("+") for end in (value.low, value.high))
    return f"{mean} ({low} to {high})"


def said(value: float, unit: Callable[[float], str]) -> str:
    """A number with its unit; a level that is reached nowhere is said to be so.

    >>> said(0.2, SHARE), said(math.inf, LINKS)
    ('20.0 %', 'never')
    """
    return "never" if math.isinf(value) else unit(value).replace("-", "−")
