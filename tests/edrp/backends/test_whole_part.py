"""Bounds whose whole part is rounded up: never above an optimum, and what tolerances cut off is regained."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from edrp.backends.base import ProgramResult, SolverOptions
from edrp.backends.closing import last_word
from edrp.backends.whole_part import raised_by_whole_part
from edrp.core.program import Arrays, Linear, Program


def covering(seed: int) -> tuple[Arrays, float, np.ndarray]:
    """Five columns of 0 or 1, an excess that is whole by its row alone, and seconds; its optimum."""
    rng = np.random.default_rng(seed)
    rows, costs = rng.integers(0, 3, (2, 5)), rng.integers(1, 9, 5).astype(float)
    least, seconds = rng.integers(1, 3, 2), rng.integers(1, 9, 5) * 1e-6
    allowed, penalty = int(rng.integers(0, 3)), float(rng.integers(1, 9))
    program = Program()
    x = program.add_columns("x", 5, lower=0, upper=1, integer=True)
    excess = program.add_columns("excess", 1, lower=0, upper=5)
    slowest = program.add_columns("slowest", 1, lower=0, upper=1)
    for k, row in enumerate(rows):
        program.add_row(f"cover {k}", Linear.of(x, row.astype(float)), lower=float(least[k]))
    program.add_row("excess", Linear.of(excess, [1.0]) + Linear.of(x, -np.ones(5)), lower=-float(allowed))
    for j in range(5):
        program.add_row(f"slowest {j}", Linear.of(slowest, [1.0]) + Linear.of(x[j : j + 1], [-seconds[j]]), lower=0.0)
    program.minimise(Linear.of(x, costs) + Linear.of(excess, [penalty]) + Linear.of(slowest, [1.0]))
    best, point = np.inf, np.zeros(7)
    for chosen in product((0.0, 1.0), repeat=5):
        values = np.array(chosen)
        if (rows @ values >= least).all():
            over, last = max(0.0, values.sum() - allowed), float((seconds * values).max())
            value = float(costs @ values + penalty * over + last)
            if value < best:
                best, point = value, np.array([*chosen, over, last])
    return program.arrays(), best, point


@pytest.mark.parametrize("seed", range(40))
def test_a_raised_bound_is_below_the_optimum_by_less_than_before_and_never_above(seed: int) -> None:
    arrays, best, point = covering(seed)
    if best == np.inf:
        return
    left = ProgramResult("feasible", "finished", point, best, best - 2e-6, 0.0)
    raised = raised_by_whole_part(arrays, left, SolverOptions(), 1.0, 1.0)
    assert raised.bound is not None
    assert best - 2e-6 <= raised.bound <= best + 1e-12
    scaled = replace(arrays, objective=64 * arrays.objective)
    left = ProgramResult("feasible", "finished", point, 64 * best, 64 * (best - 2e-6), 0.0)
    assert raised_by_whole_part(scaled, left, SolverOptions(), 1 / 64, 1.0).bound == pytest.approx(64 * raised.bound, abs=1e-9)
    far = replace(left, objective=64 * (best + 1), values=point)
    assert raised_by_whole_part(scaled, far, SolverOptions(), 1 / 64, 1.0) is far


def test_what_tolerances_left_open_is_closed_without_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve moves and a microsecond, which is lost beside HiGHS's absolute tolerance."""
    program = Program()
    x = program.add_columns("x", 3, lower=0, upper=12, integer=True)
    slowest = program.add_columns("slowest", 1, lower=1.001e-6, upper=1)
    program.add_row("moves", Linear.of(x, [1.0, 2.0, 3.0]), lower=12.0)
    program.minimise(Linear.of(x, [1.0, 2.0, 3.0]) + Linear.of(slowest, [1.0]))
    value = 12.000001001
    left = ProgramResult("feasible", "finished", np.array([0.0, 0.0, 4.0, 1.001e-6]), value, value - 1.6e-6, 0.0)
    monkeypatch.setattr("edrp.backends.closing.closed", lambda *_: pytest.fail("a tree was grown"))
    answer = last_word(program.arrays(), left, SolverOptions(), 1.0, 0.1)
    assert (answer.status, answer.objective) == ("optimal", value)
    assert answer.bound == pytest.approx(value, abs=1e-11)
