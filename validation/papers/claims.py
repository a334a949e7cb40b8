"""Claims of papers as data: a sentence, its section, and what must lie in which range where; one evaluator judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from edrp.core.arrays import Floats
from edrp.report.estimates import Estimate, bootstrap_mean, estimate_mean
from edrp.report.formatting import Unit
from edrp.report.statements import Finding, Statement
from edrp.report.tables import Table

Places = Callable[[Any], Iterable[tuple[str, Any]]]
"""Gives, on some evidence, the places of a requirement: what each is called, and what finds its value."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A range that a quantity must lie in, in all its places.

    Attributes
    ----------
    places : where.
    value : the quantity, of the evidence and a place: an estimate, or samples of which the mean is estimated, if there are any.
    unit : how it is written.
    minimum, maximum, strict : the range, as in `Finding`.
    printed : the quantity from the paper's own figures, of a place.
    """

    places: Places
    value: Callable[[Any, Any], Floats | Estimate]
    unit: Unit
    minimum: float = -inf
    maximum: float = inf
    strict: bool = False
    printed: Callable[[Any], float | None] | None = None

    def __call__(self, evidence: Any) -> Iterator[Finding]:
        """A finding for each place that has samples."""
        for where, place in self.places(evidence):
            value = self.value(evidence, place)
            if not isinstance(value, Estimate):
                if not value.size:
                    continue
                value = estimate_mean(value)
            printed = None if self.printed is None else self.printed(place)
            yield Finding(where, value, self.unit, self.minimum, self.maximum, self.strict, printed)


def positive(places: Places, value: Callable[[Any, Any], Floats | Estimate], unit: Unit, **more: Any) -> Requirement:
    """A quantity that must be above 0, such as a difference."""
    return Requirement(places, value, unit, 0.0, strict=True, **more)


Claims = Sequence[tuple[str, str, *tuple[Callable[[Any], Iterable[Finding]], ...]]]
"""Sections and sentences in the order of a report, each with its requirements, or with what else gives findings."""


def judged(claims: Claims, evidence: Any) -> tuple[Statement, ...]:
    """Claims judged on evidence; those on which it has nothing to say are left out."""
    judgements = (
        Statement(sentence, section, tuple(finding for requirement in required for finding in requirement(evidence)))
        for section, sentence, *required in claims
    )
    return tuple(statement for statement in judgements if statement.findings)


MIN_PAIRED = 5
"""Days, or pairs of measurements, from which on their mean has an interval: by bootstrap, that of fewer would be too narrow."""


def estimate_paired(values: Sequence[float]) -> Estimate:
    """The mean of values of days or of pairs, with its bootstrap interval where these are enough.

    >>> estimate_paired([1.0, 2.0])
    Estimate(mean=1.5, low=None, high=None)
    """
    estimate = bootstrap_mean(values)
    return estimate if len(values) >= MIN_PAIRED else Estimate(estimate.mean, None, None)


def claim_table(statements: Sequence[Statement]) -> Table:
    """Sentences with their verdicts and what was found."""
    rows = tuple((statement.sentence, statement.verdict, statement.reason) for statement in statements)
    return Table("Statement by statement", ("statement", "verdict", "found"), rows, open=True)


def claim_records(statements: Sequence[Statement]) -> list[dict[str, Any]]:
    """Sentences with their verdicts and what was found, as rows of a CSV file."""
    return [{"statement": one.sentence, "verdict": one.verdict, "found": one.reason} for one in statements]
