"""Unbounded or without a point: random programs without bounds against enumeration, by all backends."""

from itertools import product

import numpy as np
import pytest

from edrp.backends import OWN_BACKENDS, backends
from edrp.backends.integer_equations import contradict_integers
from edrp.backends.solving import solve_program
from edrp.core.program import Linear, Program


def program(rows, cost, *, lower=0.0, upper=np.inf, integer=True):
    """Two columns or more; `rows` are a lower end, coefficients and an upper end."""
    result = Program()
    x = result.add_columns("x", len(cost), lower=lower, upper=upper, integer=integer)
    for number, (low, coefficients, high) in enumerate(rows):
        result.add_row(f"row {number}", Linear.of(x, np.array(coefficients, float)), lower=low, upper=high)
    result.minimise(Linear.of(x, np.array(cost, float)))
    return result


def enumerated(rows, cost):
    """What is right for integer columns from 0 on, by points and directions of small numbers."""
    ends = [np.array(column, float) for column in zip(*((low, high) for low, _, high in rows), strict=True)]
    matrix = np.array([coefficients for _, coefficients, _ in rows])
    points = np.array(list(product(range(19), repeat=len(cost))))
    used = points @ matrix.T
    values = points[((used >= ends[0]) & (used <= ends[1])).all(axis=1)] @ np.array(cost)
    kept = ((used >= np.where(np.isfinite(ends[0]), 0, -np.inf)) & (used <= np.where(np.isfinite(ends[1]), 0, np.inf))).all(
        axis=1
    )
    if not values.size:
        return "infeasible", None
    return ("unbounded", None) if (points[kept] @ np.array(cost) < 0).any() else ("optimal", values.min())


@pytest.mark.parametrize("backend", sorted(backends()))
def test_twice_a_difference_is_never_one(backend):
    """The relaxation has a ray, x = y, and points; in integers there are none."""
    assert solve_program(program([(1, (2, -2), 1)], (-1, 0)), backend).status == "infeasible"
    assert solve_program(program([(2, (2, -2), 2)], (-1, 0)), backend).status == "unbounded"
    assert solve_program(program([(1, (2, -2), 1)], (-1, 0), integer=False), backend).status == "unbounded"
    assert solve_program(program([(2, (5, 5, 4), 2)], (1, 1, 1)), backend).status == "infeasible"  # an error of SciPy's


@pytest.mark.parametrize("backend", OWN_BACKENDS)
def test_random_programs_without_bounds_are_judged_as_by_enumeration(backend):
    answers = set()
    for seed in range(25):
        random = np.random.default_rng(seed)
        count = int(random.integers(1, 3))
        ends = random.integers(-6, 7, count)
        kinds = random.integers(0, 3, count)
        highs = np.where(kinds == 0, ends, np.where(kinds == 1, ends + 1, np.inf))
        matrix = random.integers(-4, 5, (count, 2)) * random.choice([1, 2, 3])
        rows, cost = list(zip(ends, matrix, highs, strict=True)), random.integers(-3, 4, 2)
        right, value = enumerated(rows, cost)
        found = solve_program(program(rows, cost), backend, work_limit=1.0)
        assert (found.status, found.objective) == (right, value if value is None else pytest.approx(value)), seed
        answers.add(right)
    assert answers == {"infeasible", "optimal", "unbounded"}


def test_where_nothing_is_proven_the_answer_says_what_is_missing():
    """Between thirds there is no integer, and no equation that says so."""
    found = solve_program(program([(1, (3, -3), np.inf), (-np.inf, (3, -3), 2)], (-1, 0)), "highs", work_limit=0.05)
    assert found.status in ("none", "infeasible")
    assert found.status == "infeasible" or found.notes


@pytest.mark.parametrize(
    ("rows", "contradict"),
    [
        ([(1, (2, -2, 0), 1)], True),
        ([(1, (2, -2, 1), 1)], False),
        ([(0.1, (0.2, -0.2, 0), 0.1)], True),
        ([(1, (3, -3, 0), 2)], True),
        ([(1, (3, -3, 0), 3)], False),
        ([(1, (1, 1, 2), 1), (0, (1, -1, 0), 0)], True),
        ([(2, (1, 1, 2), 2), (0, (1, -1, 0), 0)], False),
        ([(1, (1, 1, 1), 1), (4, (2, 2, 2), 4)], True),
        ([(3 - 1e-10, (6, 10, 15), 3 + 1e-10)], False),
    ],
)
def test_equations_without_a_solution_in_integers(rows, contradict):
    assert contradict_integers(program(rows, (0, 0, 0)).arrays()) == contradict
    assert not contradict_integers(program(rows, (0, 0, 0), integer=False).arrays())
