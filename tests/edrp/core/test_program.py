"""Programs: named blocks become one matrix, whatever the order and shape in which they were added."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.program import Linear, Program

numbers = st.floats(-100, 100, allow_nan=False)
expressions = st.builds(
    lambda terms, constant: Linear.of([c for c, _ in terms], [v for _, v in terms], constant),
    st.lists(st.tuples(st.integers(0, 4), numbers), max_size=6),
    numbers,
)
points = st.lists(numbers, min_size=5, max_size=5).map(np.array)


@settings(deadline=None, max_examples=50)
@given(expressions, expressions, numbers, points)
def test_linear_arithmetic_is_arithmetic_of_values(a, b, factor, x):
    assert (a + b).value(x) == pytest.approx(a.value(x) + b.value(x), abs=1e-9)
    assert (a - b).value(x) == pytest.approx(a.value(x) - b.value(x), abs=1e-9)
    assert (sum([a, b]) - (1.0 - a)).value(x) == pytest.approx(2 * a.value(x) + b.value(x) - 1.0, abs=1e-9)
    assert (factor * a + 1.0).value(x) == pytest.approx(factor * a.value(x) + 1.0, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), numbers), max_size=15))
def test_entries_of_one_cell_add_up(entries):
    program = Program()
    program.add_columns("x", 5)
    program.add_rows("r", 3, [(row, column, value) for row, column, value in entries])
    dense = np.zeros((3, 5))
    for row, column, value in entries:
        dense[row, column] += value
    matrix = program.arrays().matrix
    assert matrix.toarray() == pytest.approx(dense)
    assert np.all(matrix.data != 0)


@pytest.mark.parametrize("row", [-1, 3])
@pytest.mark.parametrize("others", [[0, 1], [1, 0]])
def test_a_row_beyond_its_block_is_refused(row, others):
    program = Program()
    x = program.add_columns("x", 3)
    with pytest.raises(ValueError, match="of a block of 3"):
        program.add_rows("r", 3, [([*others, row], x, 1.0)])


def test_blocks_keep_their_shape_and_follow_one_another():
    program = Program()
    first = program.add_columns("first", (2, 3), upper=[1, 2, 3])
    second = program.add_columns("second", (), lower=-1, integer=True)
    assert first.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert int(second) == 6
    assert program["first"] is first
    arrays = program.arrays()
    assert arrays.upper.tolist() == [1, 2, 3, 1, 2, 3, np.inf]
    assert arrays.lower.tolist() == [0] * 6 + [-1]
    assert arrays.integer.tolist() == [False] * 6 + [True]


def test_rows_of_later_blocks_come_after():
    program = Program()
    x = program.add_columns("x", 2)
    program.add_row("a", Linear.of(x, [1, 0], constant=2.0), upper=5.0)
    program.add_rows("b", 2, [(np.arange(2), x, 7.0)], lower=[1, 2], upper=3)
    arrays = program.arrays()
    assert arrays.matrix.toarray().tolist() == [[1, 0], [7, 0], [0, 7]]
    assert arrays.row_lower.tolist() == [-np.inf, 1, 2]
    assert arrays.row_upper.tolist() == [3, 3, 3], "the constant of an expression moves into the range"
    assert (program.rows, program.nonzeros) == (3, 4)


def test_fixing_touches_only_the_columns_named():
    program = Program()
    x, y = program.add_columns("x", 3, upper=1), program.add_columns("y", 2, upper=1)
    program.fix([x[1], y[0], y[0]], 1.0)
    arrays = program.arrays()
    assert arrays.lower.tolist() == [0, 1, 0, 1, 0]
    assert arrays.upper.tolist() == [1, 1, 1, 1, 1]


def test_of_two_fixed_values_the_later_one_counts():
    program = Program()
    x = program.add_columns("x", 3, upper=[1, 2, 3])
    program.fix(x, 1.0)
    program.fix(x[1], 2.0)
    assert program.arrays().lower.tolist() == program.arrays().upper.tolist() == [1, 2, 1]


@pytest.mark.parametrize("column", [-1, 3])
def test_a_column_that_is_not_there_cannot_be_fixed(column):
    program = Program()
    program.add_columns("x", 3)
    with pytest.raises(IndexError, match=f"3 columns.*{column}"):
        program.fix(column, 0.0)


def test_later_changes_of_what_was_given_change_nothing():
    program = Program()
    upper, lower, coefficients = np.ones(2), np.zeros(2), np.ones(2)
    x = program.add_columns("x", 2, upper=upper)
    program.add_rows("r", 2, [(np.arange(2), x, coefficients)], lower=lower)
    for array in (upper, lower, coefficients):
        array[:] = 7.0
    arrays = program.arrays()
    assert arrays.upper.tolist() == arrays.matrix.data.tolist() == [1, 1]
    assert arrays.row_lower.tolist() == [0, 0]


def test_a_program_can_grow_after_its_arrays_were_asked_for():
    program = Program()
    x = program.add_columns("x", 1)
    program.add_row("a", Linear.of(x, 2.0), upper=1.0)
    before = program.arrays()
    y = program.add_columns("y", 1)
    program.add_row("b", Linear.of(y, 3.0) + Linear.of(x, 1.0), upper=1.0)
    assert before.matrix.toarray().tolist() == [[2]]
    assert program.arrays().matrix.toarray().tolist() == [[2, 0], [1, 3]]


def test_a_name_is_taken_once():
    program = Program()
    x = program.add_columns("x", 1)
    program.add_row("x", Linear.of(x), upper=1)
    with pytest.raises(ValueError, match="columns named 'x'"):
        program.add_columns("x", 1)
    with pytest.raises(ValueError, match="rows named 'x'"):
        program.add_row("x", Linear.of(x), upper=1)
    for names in ([("new", 1), ("x", 1)], [("new", 1), ("new", 1)]):
        with pytest.raises(ValueError, match=f"columns named '{names[1][0]}'"):
            program.add_columns(names, 2)
    assert program.columns == 1
    assert [*program.column_blocks] == ["x"]


def test_a_row_without_effect_is_refused():
    program = Program()
    x = program.add_columns("x", 1)
    with pytest.raises(ValueError, match="row 'free' has neither a lower nor an upper bound"):
        program.add_row("free", Linear.of(x))
    with pytest.raises(ValueError, match="upper of row 'text' must be a number \\(got '3'\\)"):
        program.add_row("text", Linear.of(x), upper="3")
    assert program.rows == 0


def test_columns_and_rows_are_named_by_block_and_place():
    program = Program()
    program.add_columns("x", (2, 3))
    program.add_columns("r")
    program.add_rows("limit", 2, [])
    program.add_rows("most", 3, [])
    assert [program.column_name(c) for c in (0, 5, 6)] == ["x[0,0]", "x[1,2]", "r"]
    assert [program.row_name(r) for r in range(5)] == ["limit[0]", "limit[1]", "most[0]", "most[1]", "most[2]"]
    program.add_rows([("one", 1), ("two", 2)], 3, [([0, 2], [0, 6], 1.0)])
    assert [program.row_name(r) for r in range(5, 8)] == ["one[0]", "two[0]", "two[1]"]
    with pytest.raises(IndexError, match="7 columns, not 8"):
        program.column_name(7)
    with pytest.raises(IndexError, match="8 rows, not 9"):
        program.row_name(8)
