"""A judge of VIPR 1.0 files, written from the description of the format: assumptions, linear combinations, case splits."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Constraint(NamedTuple):
    """A constraint, and the assumptions that it was derived under."""

    sense: str
    value: Fraction
    entries: dict[int, Fraction]
    under: frozenset[int] = frozenset()


class Vipr:
    """Reads a file whole and verifies its derivations; `AssertionError` where one does not hold."""

    def __init__(self, text: str) -> None:
        self.words = iter(text.split())
        assert self.take(2) == ["VER", "1.0"]
        assert self.next() == "VAR"
        self.columns = int(self.next())
        self.take(self.columns)
        assert self.next() == "INT"
        self.integer = set(map(int, self.take(int(self.next()))))
        assert self.take(2) == ["OBJ", "min"]
        self.objective = self.entries()
        assert self.next() == "CON"
        self.constraints: list[Constraint] = []
        for _ in range(int(self.take(2)[0])):
            self.constraints.append(self.constraint())
        assert self.next() == "RTP"
        self.goal = None if self.next() == "infeas" else Fraction(self.take(2)[0])
        assert self.take(2) == ["SOL", "0"]
        assert self.next() == "DER"
        for _ in range(int(self.next())):
            self.derive()
        last = self.constraints[-1]
        assert not last.under
        target = Constraint("G", Fraction(1), {}) if self.goal is None else Constraint("G", self.goal, self.objective)
        assert dominates(last, target)

    def next(self) -> str:
        """Read the next word of the file."""
        return next(self.words)

    def take(self, count: int) -> list[str]:
        """Read the next words of the file."""
        return [self.next() for _ in range(count)]

    def entries(self) -> dict[int, Fraction]:
        """Coefficients by column."""
        by_index = {}
        for _ in range(int(self.next())):
            column = int(self.next())
            assert 0 <= column < self.columns
            by_index[column] = Fraction(self.next())
        return by_index

    def constraint(self) -> Constraint:
        """Read one constraint of the file."""
        _, sense, value = self.take(3)
        return Constraint(sense, Fraction(value), self.entries())

    def derive(self) -> None:
        """Verify the next derivation."""
        stated, number = self.constraint(), len(self.constraints)
        opening, reason = self.take(2)
        assert opening == "{"
        if reason == "asm":
            self.constraints.append(stated._replace(under=frozenset({number})))
        elif reason == "lin":
            derived = self.combined(stated.sense)
            assert dominates(derived, stated), number
            self.constraints.append(stated._replace(under=derived.under))
        else:
            assert reason == "uns"
            first, no, second, yes = map(int, self.take(4))
            self.check_split(self.constraints[no], self.constraints[yes])
            assert dominates(self.constraints[first], stated)
            assert dominates(self.constraints[second], stated)
            assumptions = (self.constraints[first].under - {no}) | (self.constraints[second].under - {yes})
            self.constraints.append(stated._replace(under=assumptions))
        assert self.take(2) == ["}", "-1"]

    def combined(self, sense: str) -> Constraint:
        """The linear combination that follows, all parts of which must point the same way."""
        sign = 1 if sense == "G" else -1
        value, entries, under = Fraction(0), dict[int, Fraction](), frozenset[int]()
        for _ in range(int(self.next())):
            part, factor = self.constraints[int(self.next())], Fraction(self.next())
            assert factor * {"G": 1, "L": -1}[part.sense] * sign >= 0
            value += factor * part.value
            under |= part.under
            for column, coefficient in part.entries.items():
                entries[column] = entries.get(column, Fraction(0)) + factor * coefficient
        return Constraint(sense, value, {column: factor for column, factor in entries.items() if factor}, under)

    def check_split(self, no: Constraint, yes: Constraint) -> None:
        """Every integer point keeps to one of the two."""
        assert (no.sense, yes.sense) == ("L", "G")
        assert no.entries == yes.entries
        assert all(column in self.integer and value.denominator == 1 for column, value in no.entries.items())
        assert yes.value == no.value + 1
        assert no.value.denominator == 1


def dominates(derived: Constraint, target: Constraint) -> bool:
    """Whether a constraint says as much as another; a contradiction says everything."""
    sign = 1 if derived.sense == "G" else -1
    if not derived.entries and sign * derived.value > 0:
        return True
    if derived.entries != target.entries:
        return False
    return derived.sense == target.sense and sign * derived.value >= sign * target.value
