"""Certificates of programs as VIPR 1.0 (Cheung, Gleixner, Steffy, 2017), so that a judge written by others can check them.

The tree is the same; in place of our checker's safe rounding stand exact linear combinations over the rationals of the program.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from edrp.certificates import checker
from edrp.core.errors import EdrpError


class NoViprError(EdrpError):
    """A certificate cannot be written as VIPR; the message says why."""


class StatedConstraint(NamedTuple):
    """A constraint with its number: bounds of columns in a box, and assumptions."""

    number: int
    value: Fraction


BALANCING_STEPS = 100_000
"""Multipliers changed at most in one leaf."""

Box = tuple[dict[int, StatedConstraint], dict[int, StatedConstraint]]
"""Lower and upper bounds of columns that hold in a box."""


def to_vipr(certificate: str, document: dict[str, Any]) -> str:
    """A certificate in the format "program" as VIPR.

    Parameters
    ----------
    certificate
        Its text, as `solution.certificate` holds it.
    document
        The instance, from `checker.parse`.

    Raises
    ------
    NoViprError
        For other formats, and for programs whose columns have bounds only because worse points do not matter.
    """
    lines = iter(certificate.splitlines())
    header = json.loads(next(lines))
    if header["format"] != "program":
        raise NoViprError(f"a certificate in the format {header['format']!r} is no tree over a program")
    parsed = (checker.parse(line) for line in lines)
    built = header["program"] == "built"
    program = checker.PROGRAMS[document["kind"]](document) if built else checker.stated_program(parsed)[0]
    goal = Fraction(header["bound"]) - checker.TOLERANCE - program.constant if header["claim"] == "optimal" else None
    return _ViprWriter(program, goal).text(parsed)


class _ViprWriter:
    """Writes the sections one after the other; constraints are numbered through, bounds before rows, as VIPR asks."""

    def __init__(self, program: checker.ExactProgram, goal: Fraction | None) -> None:
        self.program, self.goal = program, goal
        self.constraints: list[str] = []
        self.derived: list[str] = []
        self.of_row: dict[tuple[int, str], int] = {}
        self.rows_of: dict[int, list[int]] = defaultdict(list)
        for row, (entries, _, _) in enumerate(program.rows):
            for column in entries:
                self.rows_of[column].append(row)

    def text(self, tree: Iterator[Any]) -> str:
        program = self.program
        lower = {j: self._bound("G", j, end) for j, end in enumerate(program.lower) if end is not None}
        upper = {j: self._bound("L", j, end) for j, end in enumerate(program.upper) if end is not None}
        for row, (entries, low, high) in enumerate(program.rows):
            for sense, value in (("G", low), ("L", high)):
                if value is not None:
                    self.of_row[row, sense] = self._constraint(f"R{row}{sense}", sense, value, entries)
        bounds = len(lower) + len(upper)
        self._branch(tree, (lower, upper))
        objective = {column: cost for column, cost in enumerate(program.cost) if cost}
        integer = [str(column) for column, whole in enumerate(program.integer) if whole]
        head = ["VER 1.0", f"VAR {len(program.cost)}", *(f"x{column}" for column in range(len(program.cost)))]
        head += [f"INT {len(integer)}", " ".join(integer), "OBJ min", _entries(objective)]
        head += [f"CON {len(self.constraints)} {bounds}", *self.constraints]
        head += ["RTP infeas" if self.goal is None else f"RTP range {self.goal} inf", "SOL 0", f"DER {len(self.derived)}"]
        return "\n".join([*head, *self.derived]) + "\n"

    def _constraint(self, name: str, sense: str, value: Fraction, entries: dict[int, Fraction]) -> int:
        self.constraints.append(f"{name} {sense} {value} {_entries(entries)}")
        return len(self.constraints) - 1

    def _bound(self, sense: str, column: int, value: Fraction) -> StatedConstraint:
        return StatedConstraint(self._constraint(f"B{column}{sense}", sense, value, {column: Fraction(1)}), value)

    def _derive(self, sense: str, value: Fraction, entries: dict[int, Fraction] | None, reason: str) -> int:
        """Derive a constraint on some columns, or, with None, on the objective; `viprchk` knows it by the keyword alone."""
        number = len(self.constraints) + len(self.derived)
        left_side = "OBJ" if entries is None else _entries(entries)
        self.derived.append(f"D{number} {sense} {value} {left_side} {{ {reason} }} -1")
        return number

    def _branch(self, tree: Iterator[Any], root: Box) -> int:
        """Derive the goal over all of the tree; the number of the constraint that says it."""
        results: list[int] = []
        work: list[Any] = [root]
        while work:
            item = work.pop()
            if len(item) == 3:  # both children are done
                first, second, _ = item
                right, left = results.pop(), results.pop()
                results.append(self._goal(f"uns {left} {first} {right} {second}"))
                continue
            line = next(tree)
            if line[0] in ("B", "F"):
                results.append(self._leaf(line, item))
                continue
            columns = {line[1]: Fraction(1)} if line[0] == "S" else dict.fromkeys(line[2], Fraction(1))
            floor = Fraction(line[2] if line[0] == "S" else 0)
            no = self._derive("L", floor, columns, "asm")
            yes = self._derive("G", floor + 1, columns, "asm")
            boxes = self._halves(item, line, StatedConstraint(no, floor), StatedConstraint(yes, floor + 1))
            work += [(no, yes, None), boxes[1], boxes[0]]
        return results[0]

    def _halves(self, box: Box, line: list[Any], no: StatedConstraint, yes: StatedConstraint) -> tuple[Box, Box]:
        """The bounds in both children, those of the columns of a group derived from the assumptions."""
        if line[0] == "S":
            return (box[0], {**box[1], line[1]: no}), ({**box[0], line[1]: yes}, box[1])
        row, some = line[1], set(line[2])
        lower, entries = box[0], self.program.rows[row][0]
        if any(value != 1 for value in entries.values()) or any(self.program.lower[column] != 0 for column in entries):
            raise NoViprError(f"row {row} is no sum of columns from 0 on")
        zero, one = dict(box[1]), dict(box[1])
        for column in some:  # 1·(sum of some ≤ 0) − (the others ≥ 0)
            terms = " ".join(f"{lower[other].number} -1" for other in some if other != column)
            reason = f"lin {len(some)} {no.number} 1 {terms}".rstrip()
            zero[column] = StatedConstraint(self._derive("L", Fraction(0), {column: Fraction(1)}, reason), Fraction(0))
        for column in entries.keys() - some:  # (row ≤ 1) − (sum of some ≥ 1) − (the others ≥ 0)
            others = [other for other in entries.keys() - some if other != column]
            terms = " ".join(f"{lower[other].number} -1" for other in others)
            reason = f"lin {2 + len(others)} {self.of_row[row, 'L']} 1 {yes.number} -1 {terms}".rstrip()
            one[column] = StatedConstraint(self._derive("L", Fraction(0), {column: Fraction(1)}, reason), Fraction(0))
        return (lower, zero), (lower, one)

    def _leaf(self, line: list[Any], box: Box) -> int:
        """The linear combination of rows and bounds that closes a leaf."""
        reduced = dict(enumerate(self.program.cost)) if line[0] == "B" else {}
        factors: dict[int, Fraction] = {}
        for row, k in zip(line[1][::2], line[1][1::2], strict=True):
            if (row, "G" if k > 0 else "L") in self.of_row:
                factors[row] = Fraction(k, 2**checker.PLACES)
                self._take(reduced, row, factors[row])
        self._balance(factors, reduced, box)
        parts = {self.of_row[row, "G" if factor > 0 else "L"]: factor for row, factor in factors.items() if factor}
        for column, cost in reduced.items():
            if cost:
                bound = box[0 if cost > 0 else 1][column]
                parts[bound.number] = parts.get(bound.number, Fraction(0)) + cost
        if not parts:  # an empty box: a lower bound above the upper one
            parts = self._crossing(box)
        return self._goal(f"lin {len(parts)} " + " ".join(f"{number} {factor}" for number, factor in parts.items()))

    def _take(self, reduced: dict[int, Fraction], row: int, factor: Fraction) -> None:
        """Subtract a multiple of a row from the reduced costs."""
        for column, value in self.program.rows[row][0].items():
            reduced[column] = reduced.get(column, Fraction(0)) - factor * value

    def _balance(self, factors: dict[int, Fraction], reduced: dict[int, Fraction], box: Box) -> None:
        """Lower multipliers until no reduced cost needs a bound that there is not.

        Multipliers are rounded, so that the reduced cost of a column without an upper bound may be just below 0. A row that
        holds the column takes the rest over, and hands it to its other columns: times follow one another, up to one that begins.
        """

        def wanting(columns: Iterable[int]) -> list[int]:
            return [j for j in columns if reduced[j] and j not in box[0 if reduced[j] > 0 else 1]]

        work = wanting(list(reduced))
        for _ in range(BALANCING_STEPS):
            work = wanting(work)
            if not work:
                return
            column = work[-1]
            slopes = ((row, factors.get(row, 0) * self.program.rows[row][0][column]) for row in self.rows_of[column])
            row = next((row for row, slope in slopes if slope * reduced[column] < 0), None)
            if row is None:
                break
            entries = self.program.rows[row][0]
            step = min(abs(reduced[column] / entries[column]), abs(factors[row]))
            step = step if factors[row] > 0 else -step
            factors[row] -= step
            self._take(reduced, row, -step)
            work += [j for j in entries if j not in work]
        raise NoViprError(f"column {work[-1]} has no bound but that worse points do not matter")

    def _crossing(self, box: Box) -> dict[int, Fraction]:
        """The two bounds of a column that no number meets, as a contradiction."""
        for column, low in box[0].items():
            high = box[1].get(column)
            if high is not None and high.value < low.value:
                return {low.number: Fraction(1), high.number: Fraction(-1)}
        return {}

    def _goal(self, reason: str) -> int:
        """State the goal: that the objective is at least this, or a contradiction."""
        if self.goal is None:
            return self._derive("G", Fraction(1), {}, reason)
        return self._derive("G", self.goal, None, reason)


def _entries(entries: dict[int, Fraction]) -> str:
    return " ".join([str(len(entries)), *(f"{column} {value}" for column, value in sorted(entries.items()))])
