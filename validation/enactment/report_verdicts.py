"""Comparisons with the paper: margins over the seeds, their confidence intervals, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from edrp.validation.enactment.report_runs import Values

CONFIDENCE = 0.95

ROUNDING = 1e-9
"""The paper's figures have two digits; a margin of 0 is none against it."""

Verdict = Literal["holds", "does not hold", "undecided"]


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval; None where one seed says nothing of it."""

    mean: float
    low: float | None
    high: float | None


class Comparison(NamedTuple):
    """One margin, as a share: 0.01 is a point of compliance, or a per cent of a cost or of a number of scalings.

    Attributes
    ----------
    where
        Pattern and columns in words.
    paper
        The margin in the paper's tables; None where it prints no figures.
    ours
        Margin over the seeds.
    """

    where: str
    paper: float | None
    ours: Interval

    @property
    def verdict(self) -> Verdict:
        """Whether the margin is positive beyond noise, or negative."""
        if self.ours.low is not None and self.ours.low > 0:
            return "holds"
        if self.ours.high is not None and self.ours.high <= 0:
            return "does not hold"
        return "undecided"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the paper with all comparisons that it makes.

    Attributes
    ----------
    sentence, section
        What is said, and where.
    comparisons
        Each with its margin; the sentence holds where every one does.
    """

    sentence: str
    section: str
    comparisons: tuple[Comparison, ...]

    @property
    def verdict(self) -> Verdict:
        """Of the sentence as a whole."""
        verdicts = {each.verdict for each in self.comparisons}
        if "does not hold" in verdicts:
            return "does not hold"
        return "undecided" if "undecided" in verdicts else "holds"

    def count(self, verdict: Verdict) -> int:
        """How many comparisons have this verdict."""
        return sum(each.verdict == verdict for each in self.comparisons)

    @property
    def paper_agrees(self) -> tuple[int, int]:
        """In how many comparisons the paper's own tables are on the side of its text, of how many with figures."""
        known = [each.paper for each in self.comparisons if each.paper is not None]
        return sum(margin > -ROUNDING for margin in known), len(known)


def interval(values: Values) -> Interval:
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
