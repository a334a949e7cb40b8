"""A judge of VIPR 1.0 files, written from the specification of the format alone.

In one respect it is stricter, as `viprchk` is: what proves a bound must state the objective by the keyword `OBJ`, not by its
coefficients. The reason `sol`, whose meaning the specification leaves open, is refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

SENSES = {"G": 1, "E": 0, "L": -1}


class Constraint(NamedTuple):
    """A constraint; `under` are the assumptions behind it, `last_use` is the last index that may refer to it."""

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
        self.words = iter(" ".join(line for line in text.splitlines() if not line.startswith("%")).split())
        assert self.take(2) == ["VER", "1.0"]
        self.columns = self.section("VAR")
        self.take(self.columns)
        self.integer = {self.index(self.columns) for _ in range(self.section("INT"))}
        sign = {"min": 1, "max": -1}[self.take(2)[1]]
        self.objective = self.entries(self.next())
        self.constraints: list[Constraint] = []
        self.names: set[str] = set()
        count, bounds = self.section("CON"), int(self.next())
        for number in range(count):
            self.constraints.append(self.constraint())
            assert number >= bounds or len(self.constraints[-1].entries) == 1, "bounds come first"
        assert self.next() == "RTP"
        ends = ["-inf", "inf"] if (infeasible := self.next() == "infeas") else self.take(2)[::sign]
        self.goal = None if "inf" in ends[0] else Fraction(ends[0])
        self.check_solutions(sign, None if "inf" in ends[1] else Fraction(ends[1]))
        for _ in range(self.section("DER")):
            self.derive()
        assert next(self.words, None) is None, "words after the last derivation"
        last = self.constraints[-1]
        if infeasible:
            assert last.absurd
            assert not last.under
        elif self.goal is not None:
            assert last.keyword
            assert last.dominates(Constraint(sign, self.goal, self.objective))
            assert not last.under

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

    def check_solutions(self, sign: int, most: Fraction | None) -> None:
        """Verify that all solutions are feasible, and that one is as good as the range says, where it does."""
        values = []
        for _ in range(self.section("SOL")):
            point = self.entries(self.take(2)[1])
            assert all(point.get(column, Fraction(0)).denominator == 1 for column in self.integer)
            assert all(constraint.holds(point) for constraint in self.constraints)
            values.append(sum((cost * point.get(column, 0) for column, cost in self.objective.items()), Fraction(0)))
        assert most is None or any(sign * value <= sign * most for value in values)

    def referred(self) -> Constraint:
        """Read the index of an earlier constraint that may still be used."""
        constraint = self.constraints[self.index(len(self.constraints))]
        assert len(self.constraints) <= constraint.last_use
        return constraint

    def derive(self) -> None:
        """Verify the next derivation."""
        stated, (opening, reason) = self.constraint(), self.take(2)
        assert opening == "{"
        assert reason in ("asm", "uns", "lin", "rnd"), f"unknown reason {reason}"
        if reason == "asm":
            under = frozenset({len(self.constraints)})
        elif reason == "uns":
            under = self.split(stated)
        else:
            derived = self.combined(rounded=reason == "rnd")
            assert derived.dominates(stated), f"derivation {len(self.constraints)}"
            under = derived.under
        closing, last_use = self.take(2)
        assert closing == "}"
        self.constraints.append(stated._replace(under=under, last_use=math.inf if int(last_use) < 0 else int(last_use)))

    def combined(self, *, rounded: bool) -> Constraint:
        """Read a suitable linear combination, all parts of which point the same way."""
        parts = [(self.referred(), Fraction(self.next())) for _ in range(int(self.next()))]
        assert len({id(part) for part, _ in parts}) == len(parts), "an index stands twice"
        entries: dict[int, Fraction] = {}
        for part, factor in parts:
            for column, coefficient in part.entries.items():
                entries[column] = entries.get(column, Fraction(0)) + factor * coefficient
        senses = {part.sense * ((factor > 0) - (factor < 0)) for part, factor in parts} - {0}
        assert len(senses) <= 1, "parts point both ways"
        value, under = sum((factor * part.value for part, factor in parts), Fraction(0)), (part.under for part, _ in parts)
        entries = {column: factor for column, factor in entries.items() if factor}
        derived = Constraint(sum(senses), value, entries, frozenset().union(*under))
        if not rounded:
            return derived
        assert derived.sense
        assert self.whole(derived)
        return derived._replace(value=Fraction(derived.sense * math.ceil(derived.sense * value)))

    def split(self, stated: Constraint) -> frozenset[int]:
        """Read a case split of which both sides say as much as stated; return what remains assumed."""
        under, sides = frozenset[int](), []
        for _ in range(2):
            proven, side = self.referred(), self.index(len(self.constraints))
            assert proven.dominates(stated)
            under |= proven.under - {side}
            sides.append(self.constraints[side])
        no, yes = sorted(sides, key=lambda side: side.sense)
        assert (no.sense, yes.sense, yes.entries, yes.value) == (-1, 1, no.entries, no.value + 1)
        assert no.value.denominator == 1
        assert self.whole(no)
        return under

    def whole(self, constraint: Constraint) -> bool:
        """Whether all coefficients are integers, of integer columns."""
        return all(column in self.integer and value.denominator == 1 for column, value in constraint.entries.items())
