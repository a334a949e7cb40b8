"""Statements of papers, and whether our findings bear them out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rich.console import Console
from rich.markup import escape

from edrp.core.tolerances import PRINTED_MARGIN
from edrp.report.estimates import Estimate
from edrp.report.formatting import NONE, Unit
from edrp.report.tables import Table

Verdict = Literal["holds", "does not hold", "undecided"]

SEVERITY: tuple[Verdict, ...] = ("does not hold", "undecided", "holds")
"""Verdicts, the most severe first."""

COLOURS: dict[Verdict, str] = {"holds": "green", "does not hold": "red", "undecided": "yellow"}
COUNTED: dict[Verdict, str] = {"holds": "hold", "undecided": "undecided", "does not hold": "do not"}


class Finding(NamedTuple):
    """An estimate and the range that a statement requires of it.

    Attributes
    ----------
    where : quantity and place.
    minimum, maximum : ends of the range, which belong to it.
    strict : whether `minimum` itself is too little: a difference of 0 is none.
    printed : the same quantity from the paper's own figures; None where it prints none.
    """

    where: str
    value: Estimate
    unit: Unit
    minimum: float = -math.inf
    maximum: float = math.inf
    strict: bool = False
    printed: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval lies in the range, or all of it outside on one side."""
        low, high = self.value.low, self.value.high
        if low is None or high is None:
            return "undecided"
        if high < self.minimum or low > self.maximum or (self.strict and high <= self.minimum):
            return "does not hold"
        if high <= self.maximum and (low > self.minimum if self.strict else low >= self.minimum):
            return "holds"
        return "undecided"

    @property
    def margin(self) -> float:
        """How far the estimate lies inside the range; negative outside."""
        return min(self.value.mean - self.minimum, self.maximum - self.value.mean)

    @property
    def text(self) -> str:
        """The estimate with its interval."""
        return self.unit.with_interval(self.value)

    @property
    def required(self) -> str:
        """The range as text."""
        if self.strict:
            return f"above {self.unit.text(self.minimum)}"
        if math.isinf(self.maximum):
            return f"at least {self.unit.text(self.minimum)}"
        if math.isinf(self.minimum):
            return f"at most {self.unit.text(self.maximum)}"
        return f"{self.unit.text(self.minimum)} to {self.unit.text(self.maximum)}"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with the findings that decide it.

    Attributes
    ----------
    findings : the statement holds where all of them do.
    certain : whether it holds, and what was found, where that is known without an interval; then there are no findings.
    """

    sentence: str
    section: str = ""
    findings: tuple[Finding, ...] = ()
    certain: tuple[bool, str] | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the sentence as a whole: the most severe of its findings."""
        if self.certain is not None:
            return "holds" if self.certain[0] else "does not hold"
        return min((finding.verdict for finding in self.findings), key=SEVERITY.index)

    @property
    def holds(self) -> bool:
        """Whether it holds beyond doubt."""
        return self.verdict == "holds"

    def count(self, verdict: Verdict) -> int:
        """Number of findings with this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)

    @property
    def paper_agrees(self) -> tuple[int, int]:
        """Number of findings in which the paper's own figures bear out its text, and number of those with figures."""
        printed = [finding.printed - finding.minimum for finding in self.findings if finding.printed is not None]
        return sum(margin > -PRINTED_MARGIN for margin in printed), len(printed)

    @property
    def decisive(self) -> Finding:
        """The finding that decides: of those with the most severe verdict the one with the smallest margin."""
        return min(self.findings, key=lambda finding: (SEVERITY.index(finding.verdict), finding.margin))

    @property
    def reason(self) -> str:
        """Why the verdict is what it is."""
        if self.certain is not None:
            return self.certain[1]
        agreement = agreement_text(self)
        paper = "" if agreement == NONE else f"the paper's tables {agreement}; "
        decisive = self.decisive
        return f"{self.count('holds')} of {len(self.findings)}; {paper}decided by {decisive.where}: {decisive.text}"


def claim(sentence: str, holds: bool, found: str) -> Statement:
    """A statement that is decided without an interval.

    >>> claim("costs fall", True, "3, 2, 1").verdict
    'holds'
    """
    return Statement(sentence, certain=(bool(holds), found))


def print_statements(console: Console, statements: Iterable[Statement]) -> None:
    """Print sentences with their verdicts and reasons."""
    for statement in statements:
        verdict = f"[{COLOURS[statement.verdict]}]{statement.verdict}[/]"
        console.print(f"{verdict}: {escape(statement.sentence)} [dim]({escape(statement.reason)})[/dim]")


def statement_table(statements: Sequence[Statement]) -> Table:
    """One row for each statement, with the paper's own agreement where it prints figures."""
    printed = any(statement.paper_agrees[1] for statement in statements)
    rows = tuple(
        (
            statement.sentence,
            statement.section,
            statement.verdict,
            *(str(statement.count(verdict)) for verdict in COUNTED),
            *([agreement_text(statement)] if printed else []),
            f"{statement.decisive.where}: {statement.decisive.text}",
        )
        for statement in statements
    )
    counts = (*COUNTED.values(), *(["paper's tables\nagree"] if printed else []))
    columns = ("statement", "where", "verdict", *counts, "decided by (95 %)")
    return Table("Statement by statement", columns, rows, counts, open=True)


def finding_table(statement: Statement) -> Table:
    """All findings on a statement."""
    printed = any(finding.printed is not None for finding in statement.findings)
    rows = tuple(
        (
            finding.where,
            finding.required,
            *([NONE if finding.printed is None else finding.unit.text(finding.printed)] if printed else []),
            finding.text,
            finding.verdict,
        )
        for finding in statement.findings
    )
    columns = ("finding", "required", *(["paper"] if printed else []), "ours (95 %)", "verdict")
    return Table(f"{statement.sentence} ({statement.section})", columns, rows, columns[1:-1])


def agreement_text(statement: Statement) -> str:
    """In how many findings the paper's figures bear out its text, such as "7 of 8"."""
    agreeing, known = statement.paper_agrees
    return f"{agreeing} of {known}" if known else NONE
