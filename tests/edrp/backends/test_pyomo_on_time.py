"""Making a model for Pyomo takes as long as solving it: the clock is looked at throughout."""

from __future__ import annotations

from itertools import count

import pytest

from edrp.backends import solve_program
from edrp.core.budget import clock_replaced
from edrp.core.program import Linear, Program


def test_the_time_limit_ends_the_making_of_columns():
    """No rows, 5,000 columns: with a clock that goes on by a millisecond at every look, a second is over among them."""
    pytest.importorskip("pyomo")
    program = Program()
    program.minimise(Linear.of(program.add_columns("x", 5_000, upper=1), 1.0))
    ticks = count()
    with clock_replaced(lambda: next(ticks) / 1000):
        found = solve_program(program, "pyomo", time_limit=1.0)
    assert (found.status, found.stopped_because) == ("none", "time_limit")
    assert 1000 < next(ticks) < 2000
