"""Comparisons with the paper: margins over the seeds, their confidence intervals, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from edrp.validation.report.intervals import Interval, Verdict, gravest

ROUNDING = 1e-9
"""The paper's figures have two digits; a margin of 0 is none against it."""


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
        return gravest(each.verdict for each in self.comparisons)

    def count(self, verdict: Verdict) -> int:
        """How many comparisons have this verdict."""
        return sum(each.verdict == verdict for each in self.comparisons)

    @property
    def paper_agrees(self) -> tuple[int, int]:
        """In how many comparisons the paper's own tables are on the side of its text, of how many with figures."""
        known = [each.paper for each in self.comparisons if each.paper is not None]
        return sum(margin > -ROUNDING for margin in known), len(known)
