"""Mixed-integer programs in exact arithmetic, bounds on them by multipliers, and trees of branch and bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from .reading import TOLERANCE, counted_leaves, fraction, need, tree_nodes

SHIFT, PLACES, MAX_COLUMNS = 60, 40, 500_000
"""Numbers of a program are rounded to multiples of 2^-SHIFT, on the safe side; multipliers are multiples of 2^-PLACES."""
Entries = dict[int, Fraction]
Bound = Fraction | None


class ExactProgram:
    """Minimise constant + Σ cost·x over columns with bounds, some of them integer, and rows lower ≤ Σ a·x ≤ upper; exact."""

    def __init__(self) -> None:
        self.constant, self.cost, self.integer = Fraction(0), list[Fraction](), list[bool]()
        self.lower, self.upper, self.rows = list[Bound](), list[Bound](), list[tuple[Entries, Bound, Bound]]()

    def column(self, cost: Any = 0, lower: Any = 0, upper: Any = 1, integer: bool = False) -> int:
        """Add a column; its number. A bound of None is none."""
        need(len(self.cost) < MAX_COLUMNS, f"a program of more than {MAX_COLUMNS} columns")
        self.cost.append(fraction(cost))
        self.lower.append(None if lower is None else fraction(lower))
        self.upper.append(None if upper is None else fraction(upper))
        self.integer.append(integer)
        return len(self.cost) - 1

    def row(self, entries: Iterable[tuple[int, Any]], lower: Any = None, upper: Any = None) -> None:
        """Add a row; coefficients of one column add up."""
        row: Entries = {}
        for column, value in entries:
            row[column] = row.get(column, Fraction(0)) + value
        self.rows.append((row, None if lower is None else fraction(lower), None if upper is None else fraction(upper)))

    def close(self, cutoff: Bound) -> None:
        """Give columns without a bound the one that a row implies, or the cutoff: worse points than that do not matter."""
        objective = {column: value for column, value in enumerate(self.cost) if value}
        rows = self.rows if cutoff is None else [*self.rows, (objective, None, cutoff - self.constant)]
        opened = {column for column, ends in enumerate(zip(self.lower, self.upper, strict=True)) if None in ends}
        rows = [row for row in rows if not opened.isdisjoint(row[0])]
        while opened and sum(self._imply(row, column) for row in rows for column in opened & row[0].keys()):
            opened = {column for column in opened if None in (self.lower[column], self.upper[column])}

    def _imply(self, row: tuple[Entries, Bound, Bound], column: int) -> bool:
        """Give a column the bounds that it lacks and a row implies; whether there was one."""
        entries, low, high = row
        changed = False
        for limit, sign in ((high, 1), (low, -1)):  # sign·(the row) ≤ sign·limit
            bounds = self.upper if entries[column] * sign > 0 else self.lower
            if limit is None or bounds[column] is not None or not entries[column]:
                continue
            ends = [(a, (self.lower if a * sign > 0 else self.upper)[other]) for other, a in entries.items() if other != column]
            if all(end is not None for _, end in ends):
                bounds[column] = (limit - sum(a * end for a, end in ends if end is not None)) / entries[column]
                changed = True
        return changed

    def round(self) -> None:
        """Go over to integers, in units of 2^-SHIFT; ranges and the constant give way by what rounding can change."""
        ends = zip(self.lower, self.upper, strict=True)
        self.largest = [None if low is None or high is None else max(abs(low), abs(high)) for low, high in ends]
        self.low = [None if low is None else math.floor(low * 2**SHIFT) for low in self.lower]
        self.high = [None if high is None else math.ceil(high * 2**SHIFT) for high in self.upper]
        self.whole_rows = []
        for entries, low, high in self.rows:
            integer_entries, error = self._whole(entries)
            least = None if low is None or error is None else math.floor(low * 2**SHIFT - error)
            most = None if high is None or error is None else math.ceil(high * 2**SHIFT + error)
            self.whole_rows.append((integer_entries, least, most))
        costs, error = self._whole(dict(enumerate(self.cost)))
        self.bounded, self.whole_cost = error is not None, dict(costs)
        self.whole_constant = math.floor(self.constant * 2**SHIFT - (error or 0))

    def _whole(self, entries: Entries) -> tuple[list[tuple[int, int]], Bound]:
        """Coefficients as integers, and how far that can be from the sum; None where a column has no bounds."""
        whole, error = [], Fraction(0)
        for column, value in entries.items():
            near, size = round(value * 2**SHIFT), self.largest[column]
            whole.append((column, near))
            if near != value * 2**SHIFT:
                if size is None:
                    return whole, None
                error += abs(near - value * 2**SHIFT) * size
        return whole, error

    def at_least(self, multipliers: list[int], low: list[Any], high: list[Any], costs: bool) -> int | None:
        """Lower bound on the objective (without costs: on 0) in a box, by multipliers row, k, …; units 2^-(2·SHIFT + PLACES).

        For every point x that keeps to the rows, c·x = y·(A·x) + (c − Aᵀy)·x, of which each term has a bound of its own.
        """
        reduced = [self.whole_cost[column] << PLACES for column in range(len(low))] if costs else [0] * len(low)
        total = self.whole_constant << PLACES if costs else 0
        for row, k in zip(multipliers[::2], multipliers[1::2], strict=True):
            integer_entries, low_value, high_value = self.whole_rows[row]
            side = low_value if k > 0 else high_value
            if side is not None:  # a multiplier of the wrong sign is dropped
                total += k * side
                for column, value in integer_entries:
                    reduced[column] -= k * value
        total <<= SHIFT
        for r, low_value, high_value in zip(reduced, low, high, strict=True):
            side = low_value if r > 0 else high_value
            if side is None and r:
                return None
            total += r * (side or 0)
        return total


def check_tree(program: ExactProgram, lines: Iterator[Any], target: Bound) -> str:
    """Every leaf of a tree in pre-order reaches the target, or holds no point; no target: no leaf holds one."""
    program.close(target)
    program.round()
    goal = None if target is None else math.ceil((target - TOLERANCE) * 2 ** (2 * SHIFT + PLACES))
    stack: list[Any] = [()]
    leaves = 0
    for path, line in tree_nodes(stack, lines):
        if line[0] in ("B", "F"):
            need(len(set(line[1][::2])) * 2 == len(line[1]), f"leaf {leaves + 1} has a row twice, or one without multiplier")
            low, high = list(program.low), list(program.high)
            while path:
                path, changes = path
                for column, new_low, new_high in changes:
                    low[column] = (
                        new_low if new_low is not None and (low[column] is None or new_low > low[column]) else low[column]
                    )
                    high[column] = (
                        new_high if new_high is not None and (high[column] is None or new_high < high[column]) else high[column]
                    )
            value = program.at_least(line[1], low, high, costs=line[0] == "B") if line[0] == "F" or program.bounded else None
            empty = any(
                new_low is not None and new_high is not None and new_low > new_high
                for new_low, new_high in zip(low, high, strict=True)
            )
            enough = empty or (value is not None and (value > 0 if line[0] == "F" else goal is not None and value >= goal))
            leaves += 1
            need(enough, f"leaf {leaves} does not reach the bound")
        elif line[0] == "S":  # S column floor: x ≤ floor or x ≥ floor + 1
            need(program.integer[line[1]] and isinstance(line[2], int), f"column {line[1]} is not integer")
            stack += [(path, [(line[1], line[2] + 1 << SHIFT, None)]), (path, [(line[1], None, line[2] << SHIFT)])]
        else:  # G row columns: all of these are 0, or all others of the row are
            need(line[0] == "G", f"line {str(line[0])[:40]!r} is none of B, F, S, G")
            entries, _, new_high = program.rows[line[1]]
            need(
                new_high is not None and new_high <= 1 and all(_binary(program, c) and a >= 1 for c, a in entries.items()),
                "no group",
            )
            need(set(line[2]) <= entries.keys(), f"row {line[1]} does not have these columns")
            others = entries.keys() - set(line[2])
            stack += [(path, [(c, None, 0) for c in others]), (path, [(c, None, 0) for c in line[2]])]
    return counted_leaves(leaves)


def _binary(program: ExactProgram, column: int) -> bool:
    low = program.lower[column]
    return program.integer[column] and low is not None and low >= 0
