"""HiGHS, SCIP and Gurobi agree with enumeration; what only one of them does: refusals, and what it cannot tell apart."""

import math
from itertools import product

import gurobipy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.backends import solve_program
from edrp.core.errors import BackendUnavailableError, UnsupportedProblemError
from edrp.core.program import Linear, Program

NATIVE = ("highs", "scip", "gurobi")
COEFFICIENT = st.integers(-4, 4)


@st.composite
def tiny_programs(draw):
    """Up to three whole columns and a continuous one from 0 to 2 under rows with one side, two, or the same twice."""
    whole = draw(st.integers(1, 3))
    program = Program()
    low = draw(st.lists(st.integers(-2, 1), min_size=whole, max_size=whole))
    width = draw(st.lists(st.integers(0, 3), min_size=whole, max_size=whole))
    columns = program.add_columns("x", whole, lower=low, upper=np.add(low, width), integer=True)
    columns = np.append(columns, program.add_columns("y", 1, upper=2.0))
    coefficients = st.lists(COEFFICIENT, min_size=whole + 1, max_size=whole + 1)
    for row in range(draw(st.integers(0, 3))):
        lower, room = draw(st.integers(-6, 6)), draw(st.sampled_from([0.0, 1.5, math.inf]))
        ends = (lower, lower + room) if draw(st.booleans()) or not room else (-math.inf, lower)
        program.add_row(f"row {row}", Linear.of(columns, draw(coefficients)), lower=ends[0], upper=ends[1])
    program.minimise(Linear.of(columns, draw(coefficients)) + draw(COEFFICIENT))
    return program


def least(program):
    """Least objective by enumeration of whole columns, and the interval that is left to the last column; None for none."""
    arrays, best = program.arrays(), None
    matrix = arrays.matrix.toarray()
    for point in product(*(np.arange(low, high + 1) for low, high in zip(arrays.lower[:-1], arrays.upper[:-1], strict=True))):
        low, high = arrays.lower[-1], arrays.upper[-1]
        used = matrix[:, :-1] @ np.array(point)
        for value, factor, least_value, most in zip(used, matrix[:, -1], arrays.row_lower, arrays.row_upper, strict=True):
            if factor:
                ends = sorted([(least_value - value) / factor, (most - value) / factor])
                low, high = max(low, ends[0]), min(high, ends[1])
            elif not least_value <= value <= most:
                high = -math.inf
        if low <= high:
            costs = [arrays.objective[:-1] @ point + arrays.objective[-1] * end + arrays.constant for end in (low, high)]
            best = min(costs) if best is None else min(best, *costs)
    return best


@given(tiny_programs())
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_tiny_programs_are_solved_as_enumeration_solves_them(program):
    best = least(program)
    for backend in NATIVE:
        found = solve_program(program, backend)
        assert found.status == ("infeasible" if best is None else "optimal"), backend
        assert found.objective == (None if best is None else pytest.approx(best, abs=1e-9)), backend
        assert found.bound == (None if best is None else pytest.approx(best, abs=1e-6)), backend


def endless(*, feasible):
    """A column without an end that pays, and whole columns of which twice the sum is 3 unless it is feasible."""
    program = Program()
    x = program.add_columns("x", 2, upper=5, integer=True)
    program.add_row("odd", Linear.of(x, 2.0), lower=4 if feasible else 3, upper=4 if feasible else 3)
    program.minimise(Linear.of(program.add_columns("y", 1), -1.0) + Linear.of(x))
    return program


@pytest.mark.parametrize("backend", NATIVE)
def test_what_has_no_end_and_what_has_no_point_are_told_apart(backend):
    """Gurobi calls unbounded what has a ray, and no solver says after presolve which of the two it is."""
    assert [solve_program(endless(feasible=feasible), backend).status for feasible in (True, False)] == [
        "unbounded",
        "infeasible",
    ]


def large(columns, rows):
    program = Program()
    x = program.add_columns("x", columns, upper=1, integer=True)
    program.add_rows("row", rows, [(np.arange(rows), x[:rows], 1.0)], upper=1.0)
    program.minimise(Linear.of(x, -1.0))
    return program


def test_gurobi_says_in_one_line_what_its_free_licence_does_not_take():
    assert solve_program(large(2000, 1), "gurobi").objective == -2000
    with pytest.raises(
        UnsupportedProblemError, match=r"2001 columns and 1 row is .* 2000 of each .*; install a licence$"
    ) as error:
        solve_program(large(2001, 1), "gurobi")
    assert "\n" not in str(error.value)


def test_an_expired_licence_is_no_traceback(monkeypatch):
    def expired(**_):
        raise gurobipy.GurobiError(gurobipy.GRB.Error.NO_LICENSE, "License expired 2026-11-23")

    monkeypatch.setattr(gurobipy, "Env", expired)
    with pytest.raises(BackendUnavailableError, match="no valid licence: License expired 2026-11-23; highs and scip need none"):
        solve_program(large(1, 1), "gurobi")
