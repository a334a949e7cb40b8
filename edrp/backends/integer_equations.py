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
        columns, values = arrays.matrix.indices[span], arrays.matrix.data[span]
        if not values.any() or not arrays.integer[columns].all():
            continue
        exact = [Fraction(repr(value)) for value in values.tolist()]
        scale = math.lcm(*(value.denominator for value in exact))
        whole = {column: int(scale * value) for column, value in zip(columns.tolist(), exact, strict=True)}
        divisor = math.gcd(*whole.values())
        low, high = (Fraction(repr(float(end))) for end in (arrays.row_lower[row], arrays.row_upper[row]))
        slack = Fraction(FEASIBILITY_TOLERANCE) * max(Fraction(1), abs(low), abs(high))
        first, last = math.ceil((low - slack) * scale / divisor), math.floor((high + slack) * scale / divisor)
        if first > last:
            return True
        if first == last:
            equations.append((whole, first * divisor))
    numbers = {column for whole, _ in equations for column in whole}
    if len(equations) * len(numbers) > MAX_EQUATIONS:
        return False
    vectors = {column: [whole.get(column, 0) for whole, _ in equations] for column in numbers}
    return _without_solution(vectors, [value for _, value in equations])


def _without_solution(vectors: dict[int, list[int]], right: list[int]) -> bool:
    """Whether equations have no solution in integers, given the coefficients of each column and the right sides."""
    for row in range(len(right)):
        while len(nonzero := [column for column in vectors if vectors[column][row]]) > 1:
            pivot = min(nonzero, key=lambda column: abs(vectors[column][row]))
            for column in set(nonzero) - {pivot}:
                factor = vectors[column][row] // vectors[pivot][row]
                vectors[column] = [a - factor * b for a, b in zip(vectors[column], vectors[pivot], strict=True)]
        settled = vectors.pop(nonzero[0]) if nonzero else [0] * len(right)
        value, rest = divmod(right[row], settled[row]) if nonzero else (0, right[row])
        if rest:
            return True
        right = [end - value * factor for end, factor in zip(right, settled, strict=True)]
    return False
