"""A judge of VIPR 1.0 files, written from the specification of the format alone.

In one respect it is stricter than the specification, as `viprchk` is: what proves a bound must state the objective by the
keyword `OBJ`, not by its coefficients. The reason `sol`, whose meaning the specification leaves open, is refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

SENSES = {"G": 1, "E": 0, "L": -1}


class Constraint(NamedTuple):
    """A constraint of the file, or a derived one.

    Attributes
    ----------
    sense : 1 for ≥, 0 for =, -1 for ≤.
    under : indices of the assumptions that it was derived under.
    keyword : whether it states the objective by the keyword `OBJ`.
    last_use : last index of a constraint that may refer to it.
    """

    sense: int
    value: Fraction
    entries: dict[int, Fraction]
    under: frozenset[int] = frozenset()
    keyword: bool = False
    last_use: float = math.inf

    @property
    def absurd(self) -> bool:
        """Whether no numbers meet it."""
        return not self.entries and (self.sense * self.value > 0 if self.sense else self.value != 0)

    def dominates(self, other: Constraint) -> bool:
        """Whether it says as much as another; an absurdity says everything."""
        if self.absurd or other.sense == 0:
            return self.absurd or (self.sense == 0 and self[1:3] == other[1:3])
        same = self.entries == other.entries and self.sense in (0, other.sense)
        return same and other.sense * self.value >= other.sense * other.value

    def holds(self, point: dict[int, Fraction]) -> bool:
        """Whether a point meets it."""
        excess = sum((factor * point.get(column, 0) for column, factor in self.entries.items()), -self.value)
        return excess * self.sense >= 0 if self.sense else excess == 0


class Vipr:
    """Reads a file whole and verifies its solutions and derivations; `AssertionError` where something does not hold."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        while lines and lines[0].startswith("%"):
            lines.pop(0)
        self.words = iter(" ".join(lines).split())
        assert self.take(2) == ["VER", "1.0"]
        self.columns = self.section("VAR")
        self.take(self.columns)
        self.integer = {self.index(self.columns) for _ in range(self.section("INT"))}
        assert self.next() == "OBJ"
        self.sign = {"min": 1, "max": -1}[self.next()]
        self.objective = self.entries(self.next())
        self.constraints: list[Constraint] = []
        self.names: set[str] = set()
        count, bounds = self.section("CON"), int(self.next())
        for number in range(count):
            self.constraints.append(self.constraint())
            assert number >= bounds or len(self.constraints[-1].entries) == 1, "bounds come first"
        assert self.next() == "RTP"
        ends = None if self.next() == "infeas" else self.take(2)[:: self.sign]
        self.goal = None if ends is None or "inf" in ends[0] else Fraction(ends[0])
        self.check_solutions(ends)
        for _ in range(self.section("DER")):
            self.derive()
        assert next(self.words, None) is None, "words after the last derivation"
        if ends is None or self.goal is not None:
            last = self.constraints[-1]
            assert not last.under
            assert last.absurd if self.goal is None else self.proves_goal(last)

    def proves_goal(self, last: Constraint) -> bool:
        """Whether a constraint states the objective, by keyword, and bounds it by the goal at least."""
        assert self.goal is not None
        return last.keyword and last.dominates(Constraint(self.sign, self.goal, self.objective))

    def next(self) -> str:
        """Read the next word of the file."""
        word = next(self.words, None)
        assert word is not None, "the file ends too early"
        return word

    def take(self, count: int) -> list[str]:
        """Read the next words of the file."""
        return [self.next() for _ in range(count)]

    def section(self, name: str) -> int:
        """Read the name of a section and the count of what it holds."""
        assert self.next() == name
        return int(self.next())

    def index(self, end: int) -> int:
        """Read an index below an end."""
        index = int(self.next())
        assert 0 <= index < end
        return index

    def entries(self, count: str) -> dict[int, Fraction]:
        """Read coefficients other than 0 by column; each column stands once."""
        pairs = [(self.index(self.columns), Fraction(self.next())) for _ in range(int(count))]
        assert len(dict(pairs)) == len(pairs)
        return {column: value for column, value in pairs if value}

    def constraint(self) -> Constraint:
        """Read one constraint of the file."""
        name, sense, value, start = self.take(4)
        assert name not in self.names
        self.names.add(name)
        entries = self.objective if start == "OBJ" else self.entries(start)
        return Constraint(SENSES[sense], Fraction(value), entries, keyword=start == "OBJ")

    def check_solutions(self, ends: list[str] | None) -> None:
        """Verify that all solutions are feasible, and that the best one reaches the bound on the other side, if there is one."""
        values = []
        for _ in range(self.section("SOL")):
            point = self.entries(self.take(2)[1])
            assert all(point.get(column, Fraction(0)).denominator == 1 for column in self.integer)
            assert all(constraint.holds(point) for constraint in self.constraints)
            values.append(sum((cost * point.get(column, 0) for column, cost in self.objective.items()), Fraction(0)) * self.sign)
        if ends is not None and "inf" not in ends[1]:
            assert any(value <= self.sign * Fraction(ends[1]) for value in values)

    def referred(self) -> Constraint:
        """Read the index of an earlier constraint that may still be used."""
        constraint = self.constraints[self.index(len(self.constraints))]
        assert len(self.constraints) <= constraint.last_use
        return constraint

    def derive(self) -> None:
        """Verify the next derivation."""
        stated = self.constraint()
        opening, reason = self.take(2)
        assert opening == "{"
        if reason == "asm":
            under = frozenset({len(self.constraints)})
        elif reason == "uns":
            under = self.split(stated)
        else:
            assert reason in ("lin", "rnd"), f"unknown reason {reason}"
            derived = self.combined()
            derived, under = self.rounded(derived) if reason == "rnd" else derived, derived.under
            assert derived.dominates(stated), f"derivation {len(self.constraints)}"
        closing, last_use = self.take(2)
        assert closing == "}"
        self.constraints.append(stated._replace(under=under, last_use=math.inf if int(last_use) < 0 else int(last_use)))

    def combined(self) -> Constraint:
        """Read a suitable linear combination, all parts of which point the same way."""
        value, entries, under = Fraction(0), dict[int, Fraction](), frozenset[int]()
        senses, parts = set(), []
        for _ in range(int(self.next())):
            parts.append(part := self.referred())
            factor = Fraction(self.next())
            senses.add(part.sense * ((factor > 0) - (factor < 0)))
            value += factor * part.value
            under |= part.under
            for column, coefficient in part.entries.items():
                entries[column] = entries.get(column, Fraction(0)) + factor * coefficient
        assert len({id(part) for part in parts}) == len(parts), "an index stands twice"
        senses.discard(0)
        assert len(senses) <= 1, "parts point both ways"
        return Constraint(sum(senses), value, {column: factor for column, factor in entries.items() if factor}, under)

    def rounded(self, derived: Constraint) -> Constraint:
        """A constraint on integer columns with integer coefficients, its right side rounded."""
        assert self.whole(derived)
        assert derived.sense
        return derived._replace(value=Fraction(derived.sense * math.ceil(derived.sense * derived.value)))

    def split(self, stated: Constraint) -> frozenset[int]:
        """Read a case split of which both sides say as much as stated; return what remains assumed."""
        under, sides = frozenset[int](), []
        for _ in range(2):
            proven, side = self.referred(), self.index(len(self.constraints))
            assert proven.dominates(stated)
            under |= proven.under - {side}
            sides.append(self.constraints[side])
        no, yes = sorted(sides, key=lambda side: side.sense)
        assert (no.sense, yes.sense) == (-1, 1)
        assert no.entries == yes.entries
        assert self.whole(no)
        assert no.value.denominator == 1
        assert yes.value == no.value + 1
        return under

    def whole(self, constraint: Constraint) -> bool:
        """Whether all coefficients are integers, of integer columns."""
        return all(column in self.integer and value.denominator == 1 for column, value in constraint.entries.items())
