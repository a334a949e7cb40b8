"""Equations of integer columns that have no solution in integers, whatever the bounds of the columns are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from edrp.core.program import Arrays
from edrp.core.tolerances import FEASIBILITY_TOLERANCE

MAX_EQUATIONS = 20_000
"""Rows times columns of equations that are solved in integers, at most."""


def contradict_integers(arrays: Arrays) -> bool:
    """Whether equations of integer columns have no solution in integers, such as 2 x − 2 y = 1, whatever the bounds are.

    The rows are brought into Hermite normal form by steps of Euclid's algorithm on columns. A range of values counts as an
    equation where it holds one multiple of the greatest common divisor of its row, and contradicts by itself where it holds none.

    Examples
    --------
    >>> from edrp.core.program import Linear, Program
    >>> program = Program()
    >>> program.add_row("odd", Linear.of(program.add_columns("x", 2, integer=True), [2, -2]), lower=1, upper=1)
    >>> contradict_integers(program.arrays())
    True
    """
    equations: list[tuple[dict[int, int], int]] = []
    for row in np.flatnonzero(np.isfinite(arrays.row_lower) & np.isfinite(arrays.row_upper)).tolist():
        span = slice(*arrays.matrix.indptr[row : row + 2])
        columns, values = arrays.matrix.indices[span].tolist(), arrays.matrix.data[span].tolist()
        if not any(values) or not arrays.integer[columns].all():
            continue
        exact = [Fraction(repr(value)) for value in values]
        scale = math.lcm(*(value.denominator for value in exact))
        whole = {column: int(scale * value) for column, value in zip(columns, exact, strict=True) if value}
        divisor = math.gcd(*whole.values())
        low, high = (Fraction(repr(float(end))) for end in (arrays.row_lower[row], arrays.row_upper[row]))
        slack = Fraction(FEASIBILITY_TOLERANCE) * max(1, abs(low), abs(high))
        first, last = math.ceil((low - slack) * scale / divisor), math.floor((high + slack) * scale / divisor)
        if first > last:
            return True
        if first == last:
            equations.append((whole, first * divisor))
    used = {column for whole, _ in equations for column in whole}
    return len(equations) * len(used) <= MAX_EQUATIONS and _without_solution(equations, used)


def _without_solution(equations: list[tuple[dict[int, int], int]], used: set[int]) -> bool:
    """Whether equations with integer coefficients and right sides have no solution in integers."""
    vectors = {column: [whole.get(column, 0) for whole, _ in equations] for column in used}
    right = [value for _, value in equations]
    for row in range(len(equations)):
        while True:
            nonzero = [column for column in vectors if vectors[column][row]]
            if len(nonzero) <= 1:
                break
            pivot = min(nonzero, key=lambda column: (abs(vectors[column][row]), column))
            for column in nonzero:
                factor = vectors[column][row] // vectors[pivot][row] if column != pivot else 0
                if factor:
                    vectors[column] = [a - factor * b for a, b in zip(vectors[column], vectors[pivot], strict=True)]
        value = 0
        if nonzero:
            settled = vectors.pop(nonzero[0])
            value, rest = divmod(right[row], settled[row])
            right = [end - value * factor for end, factor in zip(right, settled, strict=True)]
            if rest:
                return True
        elif right[row]:
            return True
    return False
