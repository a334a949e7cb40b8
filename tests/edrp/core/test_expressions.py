"""Arrays of expressions: NumPy's results at every point, rows as people write them, mistakes answered with what is right."""

import re
import sys

import numpy as np
import pytest

from edrp.backends.solving import solve_program
from edrp.core.errors import EdrpError
from edrp.core.expressions import Block, Expression
from edrp.core.program import Linear, Program

POINT = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])
"""Values of the columns."""

table = Expression.of_columns(np.arange(6).reshape(2, 3))
vector = Expression.of_columns([7, 0, 7])
single = Linear.of([1, 2, 1], [2.0, 1.0, 0.5], constant=4.0)

SAME = {
    "array on the left of +": lambda x, y: np.arange(3.0) + x,
    "array on the left of -": lambda x, y: np.arange(3.0) - x,
    "array on the left of *": lambda x, y: np.arange(6.0).reshape(2, 3) * x,
    "array on the left of @": lambda x, y: np.arange(8.0).reshape(4, 2) @ x,
    "vector on the left of @": lambda x, y: np.arange(2.0) @ x,
    "array on the right of @": lambda x, y: x @ np.arange(12.0).reshape(3, 4),
    "vector on the right of @": lambda x, y: x @ [1, 2, 4],
    "vectors on both sides of @": lambda x, y: (y + 1) @ np.arange(3.0),
    "matrix with a vector of expressions": lambda x, y: np.arange(6.0).reshape(2, 3) @ (y - 1),
    "NumPy's numbers": lambda x, y: np.float64(2) * x - np.int64(3) + x / np.float64(4) - y * np.arange(1)[0],
    "broadcast": lambda x, y: x[:, None, :] * [[[1], [2]]] - y[::-1] + 5,
    "negation": lambda x, y: 1 - -x,
    "sums": lambda x, y: x.sum() + y.sum(-1) + x.sum((0, 1)) - x.sum(axis=()).sum(0)[1],
    "sum along the last axis": lambda x, y: x.sum(axis=-1),
    "numpy.sum": lambda x, y: np.sum(x, axis=0) + np.sum(y),
    "sum of a list": lambda x, y: sum([x[0], y, x[1], y]),
    "sum of its rows": lambda x, y: sum(x),
    "negative index": lambda x, y: x[-1, -2] + y[-3:],
    "mask": lambda x, y: x[:, np.array([True, False, True])],
    "mask of all axes": lambda x, y: x[np.array([[True, False, False], [False, True, True]])],
    "ellipsis": lambda x, y: x[..., 1] + x[..., 0],
    "indices": lambda x, y: x[[1, 0, 1]][:, [0, 0]],
    "nothing": lambda x, y: x[:, 3:].sum() + x[[], :].sum(0),
    "nothing left": lambda x, y: x[2:] * 2 + y,
    "cancelled": lambda x, y: x - x + y,
}


@pytest.mark.parametrize("name", SAME)
def test_every_operation_is_numpys(name):
    made, wanted = SAME[name](table, vector), SAME[name](POINT[:6].reshape(2, 3), POINT[[7, 0, 7]])
    assert made.shape == np.shape(wanted)
    assert made.values(POINT) == pytest.approx(wanted, abs=1e-12)


def test_single_expressions_and_arrays_of_them_mix():
    value = single.value(POINT)
    for mixed, wanted in [
        (single + vector, value + POINT[[7, 0, 7]]),
        (vector - single, POINT[[7, 0, 7]] - value),
        (single * np.array([1.0, 2.0]), value * np.array([1.0, 2.0])),
        (np.array([1.0, 2.0]) + single, value + np.array([1.0, 2.0])),
    ]:
        assert mixed.values(POINT).tolist() == wanted.tolist()
    assert isinstance(np.float64(2) * single + np.float64(1), Linear)


def rows_of(rows):
    """Whether each row holds at the point."""
    values = rows.expression.values(POINT)
    return ((rows.lower <= values) & (values <= rows.upper)).tolist()


def test_comparisons_are_rows_on_either_side():
    held = POINT[:6].reshape(2, 3)
    assert rows_of(table <= 1) == rows_of(np.int64(1) >= table) == (held <= 1).tolist()
    assert rows_of(table >= np.arange(3.0)) == rows_of(np.arange(3.0) <= table) == (held >= np.arange(3.0)).tolist()
    assert rows_of(table == [[3], [1]]) == rows_of(np.array([[3], [1]]) == table) == (held == [[3], [1]]).tolist()
    assert rows_of(table + 1 <= vector * 0.5) == (held + 1 <= POINT[[7, 0, 7]] * 0.5).tolist()
    assert rows_of(single <= 6.5) == rows_of(np.float64(6.5) >= single) is True
    assert rows_of(single == vector[0] - 0.5) is True


def program_of_two():
    program = Program()
    program.add_columns("take", 2, upper=9, integer=True)
    return program, program.block("take")


def test_rows_of_a_program_bind_cell_by_cell():
    program, take = program_of_two()
    program.add(take <= [4, np.inf], "each")
    program.add(take @ [1, 2] + 3, "weighted", lower=-1, upper=10)
    program.add(0.5 * take.sum() == 2.5, "five")
    program.minimise(-take[0])
    assert solve_program(program).values.tolist() == [4.0, 1.0]
    program.minimise(program.objective + 3 * take[0] + 0.0)
    assert solve_program(program).values.tolist() == [3.0, 2.0]
    assert program.row_name(1) == "each[1]"


BOTH_SIDES = re.escape("write one row for each side, `add(x >= 1)` and `add(x <= 3)`, or `add(x, lower=1, upper=3)`")
MISTAKES = {
    "a chain of bounds": (lambda p, x: p.add(1 <= x <= 3, "r"), TypeError, BOTH_SIDES),
    "a chain of equations": (lambda p, x: p.add(x[0] == x[1] == 2, "r"), TypeError, BOTH_SIDES),
    "a chain of rows": (lambda p, x: p.add((x <= 1) <= 3, "r"), TypeError, BOTH_SIDES),
    "a branch": (lambda p, x: p.add(x, "r") if x[0] <= 1 else None, TypeError, "leave out `if`, `and`, `or` and `not`"),
    "a branch on an expression": (lambda p, x: not x, TypeError, "leave out `if`"),
    "a branch on a metric": (lambda p, x: 1 if single else 2, TypeError, "leave out `if`"),
    "a row in arithmetic": (lambda p, x: x + (x <= 1), TypeError, "leave out `if`"),
    "a truth value": (lambda p, x: p.add(True, "r"), TypeError, f"row 'r': .*{BOTH_SIDES}"),
    "less": (lambda p, x: x < 1, TypeError, "write <= or >=, with the nearest number that is allowed"),
    "more": (lambda p, x: single > 1, TypeError, "write <= or >="),
    "unequal": (lambda p, x: x != 1, TypeError, "write two rows, or a binary column that chooses"),
    "a product": (lambda p, x: x[0] * x[1], TypeError, "not linear; multiply and divide an expression by numbers"),
    "a product of metrics": (lambda p, x: single * single, TypeError, "not linear"),
    "a quotient": (lambda p, x: x / x[1], TypeError, "not linear"),
    "a reciprocal": (lambda p, x: 1 / x, TypeError, "not linear"),
    "a matrix product": (lambda p, x: x @ x, TypeError, "not linear"),
    "an array of it": (lambda p, x: np.asarray(x), TypeError, "no values before the program is solved"),
    "arrays of it": (lambda p, x: np.concatenate([x, x]), TypeError, "no values before the program is solved"),
    "text": (lambda p, x: x <= "three", TypeError, "'three' is neither a number nor an expression"),
    "no bounds": (lambda p, x: p.add(x, "r"), ValueError, "row 'r' has neither a lower nor an upper bound"),
    "infinite bounds": (lambda p, x: p.add(x <= np.inf, "r"), ValueError, "row 'r' has neither"),
    "bounds twice": (lambda p, x: p.add(x <= 1, "r", lower=0), ValueError, "comparison already; give no further bounds"),
    "NaN": (lambda p, x: x <= np.nan, ValueError, r"bounds of rows must be numbers.*nan"),
    "NaN among bounds": (lambda p, x: p.add(x, "r", upper=[1, np.nan]), ValueError, "bounds of rows must be numbers"),
    "an infinite minimum": (lambda p, x: x >= np.inf, ValueError, "infinite only where there is none"),
    "a NaN coefficient": (lambda p, x: np.nan * x <= 1, ValueError, "coefficients and constants of rows must be finite"),
    "a text as a bound": (lambda p, x: p.add(x, "r", upper="3"), TypeError, "bounds of rows must be numbers.*'3'"),
    "a number": (lambda p, x: p.add(3.0, "r", lower=1), TypeError, "row 'r' is 3.0; give a comparison of expressions"),
    "a list of rows": (lambda p, x: p.add([x <= 1], "r"), TypeError, "give a comparison of expressions"),
    "shapes": (lambda p, x: [1, 2, 3] - x, ValueError, r"shapes \(2,\) and \(3,\) do not fit together"),
    "shapes of bounds": (lambda p, x: x <= [1, 2, 3], ValueError, "do not fit together"),
    "shapes of a matrix product": (lambda p, x: x @ [1, 2, 3], ValueError, "mismatch"),
    "a wrong axis": (lambda p, x: x.sum(1), ValueError, "axis 1 is out of bounds"),
    "a wrong index": (lambda p, x: x[2], IndexError, "out of bounds"),
    "a name of columns": (lambda p, x: p.block("tak"), EdrpError, "no columns named 'tak'; did you mean 'take'"),
    "a name again": (lambda p, x: [p.add(x <= 1, "r"), p.add(x <= 2, "r")], ValueError, "already has rows named 'r'"),
    "several objectives": (lambda p, x: p.minimise(x), ValueError, r"array of shape \(2,\); write `.sum\(\)`"),
    "a key": (lambda p, x: {x: 1}, TypeError, "unhashable"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_what_is_right(name):
    program, take = program_of_two()
    make, error, sentence = MISTAKES[name]
    with pytest.raises(error, match=sentence):
        make(program, take)


def test_a_row_without_any_column_is_an_answer():
    """Where a cell has no columns, such as an operator on a node that it cannot run on, the row holds, or nothing is feasible."""
    program, take = program_of_two()
    program.add(take[2:].sum() <= 0, "holds")
    assert solve_program(program).status == "optimal"
    program.add(take[2:].sum() >= 1, "does not")
    assert solve_program(program).status == "infeasible"


GRID = Block(Expression.of_columns(np.arange(6).reshape(2, 3)), operator=("parser", "counter"), node=("edge", "fog", "cloud"))

CHOSEN = {
    "a name": (GRID["counter"], [1, -5, 9]),
    "two names": (GRID["parser", "cloud"], 4),
    "two lists choose a rectangle": (GRID[["counter", "parser"], ["cloud", "edge"]], [[9, 1], [4, 3]]),
    "lists of numbers do, too": (GRID[[1, 0], np.array([2, 0])], [[9, 1], [4, 3]]),
    "an array of names": (GRID["parser", np.array(["fog", "edge"])], [-1, 3]),
    "a set, in the order of the axis": (GRID["parser", {"cloud", "edge", "fog"}], [3, -1, 4]),
    "keys of a dict": (GRID["parser", {"cloud": 1, "edge": 2}.keys()], [4, 3]),
    "a generator": (GRID["parser", (node for node in ("fog", "cloud"))], [-1, 4]),
    "a mask": (GRID[:, np.array([False, True, False])], [[-1], [-5]]),
    "a slice and a number": (GRID[:, -1], [4, 9]),
    "an ellipsis": (GRID[..., "fog"], [-1, -5]),
    "an empty list": (GRID["parser", []], []),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_block_is_indexed_by_names(name):
    cells, wanted = CHOSEN[name]
    assert cells.values(POINT).tolist() == wanted


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (("parsr", "edge"), "no operator 'parsr'; did you mean 'parser'"),
        (("parser", ["edge", "clod"]), "no node 'clod'; did you mean 'cloud'"),
        ("edge", "no operator 'edge'"),
        (("parser", "edge", 0), "3 indices for a block over operator and node"),
    ],
)
def test_unknown_names_of_a_block_are_refused(key, sentence):
    with pytest.raises(EdrpError, match=sentence):
        GRID[key]


def calls_to_build(nodes):
    """Number of calls of functions in which rows over 40 operators on `nodes` nodes are written."""
    program, calls = Program(), 0
    for name in ("replicas", "on"):
        program.add_columns(name, (40, nodes), upper=9, integer=True)
    names = tuple(map(str, range(nodes)))
    replicas, on = (Block(program.block(name), operator=tuple(map(str, range(40))), node=names) for name in ("replicas", "on"))

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        program.add(replicas + 2 * on <= 3, "licences")
        program.add((on * np.arange(nodes)).sum(axis=0) - replicas["7"] >= -1, "sums")
        program.add(on.sum() == 5, "five")
    finally:
        sys.setprofile(None)
    assert program.nonzeros == 4 * 40 * nodes + nodes - 40  # one coefficient of each sum is 0
    return calls


def test_rows_over_many_columns_take_as_many_calls_as_over_few():
    few, many = calls_to_build(10), calls_to_build(5_000)
    assert many <= few + 20
    assert many < 10_000
