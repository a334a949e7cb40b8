"""Bounds whose whole part is rounded up: never above an optimum, and what tolerances cut off is regained."""

from itertools import product

import numpy as np
import pytest

from edrp.backends.base import ProgramResult, SolverOptions
from edrp.backends.closing import raised_by_whole_part, verify_unproven
from edrp.core.program import Linear, Program


@pytest.mark.parametrize("seed", range(40))
def test_a_raised_bound_is_never_above_the_optimum(seed):
    """Columns of 0 or 1 that cover rows, an excess that is whole by its row alone, and the slowest of some microseconds."""
    rng = np.random.default_rng(seed)
    rows, costs, seconds = rng.integers(0, 3, (2, 5)), rng.integers(1, 9, 6).astype(float), rng.integers(1, 9, 5) * 1e-6
    program, allowed = Program(), float(rng.integers(0, 3))
    x = program.add_columns("x", 5, upper=1, integer=True)
    excess, slowest = program.add_columns("excess", 1, upper=5), program.add_columns("slowest", 1, upper=1)
    for k, row in enumerate(rows):
        program.add_row(f"cover {k}", Linear.of(x, row.astype(float)), lower=1.0)
    program.add_row("excess", Linear.of(excess, [1.0]) + Linear.of(x, -np.ones(5)), lower=-allowed)
    for j in range(5):
        program.add_row(f"slowest {j}", Linear.of(slowest, [1.0]) + Linear.of(x[j : j + 1], [-seconds[j]]), lower=0.0)
    program.minimise(Linear.of(x, costs[:5]) + Linear.of(excess, costs[5:]) + Linear.of(slowest, [1.0]))
    points = np.array([point for point in product((0.0, 1.0), repeat=5) if (rows @ point >= 1).all()]).reshape(-1, 5)
    over, last = np.maximum(0, points.sum(axis=1) - allowed), (seconds * points).max(axis=1, initial=0.0)
    values = points @ costs[:5] + costs[5] * over + last
    if values.size:
        best = int(values.argmin())
        point, value = np.array([*points[best], over[best], last[best]]), float(values[best])
        left = ProgramResult("feasible", "finished", point, value, value - 2e-6)
        raised = raised_by_whole_part(program.arrays(), left, SolverOptions(), 1.0, 1.0)
        assert value - 2e-6 <= raised.bound <= value + 1e-12


def test_what_tolerances_left_open_is_closed_without_a_tree(monkeypatch):
    """Twelve moves and a microsecond, which is lost beside HiGHS's absolute tolerance."""
    program = Program()
    x = program.add_columns("x", 3, lower=0, upper=12, integer=True)
    slowest = program.add_columns("slowest", 1, lower=1.001e-6, upper=1)
    program.add_row("moves", Linear.of(x, [1.0, 2.0, 3.0]), lower=12.0)
    program.minimise(Linear.of(x, [1.0, 2.0, 3.0]) + Linear.of(slowest, [1.0]))
    value = 12.000001001
    left = ProgramResult("feasible", "finished", np.array([0.0, 0.0, 4.0, 1.001e-6]), value, value - 1.6e-6)
    monkeypatch.setattr("edrp.backends.closing.closed", lambda *_: pytest.fail("a tree was grown"))
    answer = verify_unproven(program.arrays(), left, SolverOptions(), 1.0, 0.1)
    assert (answer.status, answer.bound) == ("optimal", pytest.approx(value, abs=1e-11))
