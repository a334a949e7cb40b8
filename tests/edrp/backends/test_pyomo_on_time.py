"""Making a model for Pyomo takes as long as solving it: the clock is looked at throughout."""

from __future__ import annotations

import pytest

from edrp.backends import solve_program
from edrp.core.budget import LOOK, running
from edrp.core.program import Linear, Program


def test_the_limit_ends_the_making_of_columns():
    """No rows, 5,000 columns: the work is over among them."""
    pytest.importorskip("pyomo")
    program = Program()
    program.minimise(Linear.of(program.add_columns("x", 5_000, upper=1), 1.0))
    with running() as run:
        found = solve_program(program, "pyomo", work_limit=1000 * LOOK)
    assert (found.status, found.stopped_because) == ("none", "time_limit")
    assert run.work < 2000 * LOOK
