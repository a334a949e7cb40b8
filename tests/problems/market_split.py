"""A small program that no solver is through with."""

import numpy as np

from edrp.core.program import Linear, Program


def market_split(rows: int = 4, seed: int = 0) -> Program:
    """A small program that takes branch and bound hours: Σ a_ij x_j = ⌊Σ a_ij / 2⌋ + slack, minimise the slack."""
    random = np.random.default_rng(seed)
    count = 10 * (rows - 1) + 20
    coefficients = random.integers(0, 100, (rows, count))
    program = Program()
    x = program.add_columns("x", count, upper=1, integer=True)
    over, under = program.add_columns("over", rows), program.add_columns("under", rows)
    row = np.arange(rows)
    entries = [(row[:, None], x, coefficients), (row, over, -1.0), (row, under, 1.0)]
    middle = coefficients.sum(axis=1) // 2
    program.add_rows("split", rows, entries, lower=middle, upper=middle)
    program.minimise(Linear.of(np.concatenate([over, under])))
    return program
