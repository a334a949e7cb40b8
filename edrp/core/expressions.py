"""Arrays of linear expressions, and rows as people write them: `2 * model.on["parser"] + model.replicas["counter"] <= 3`.

All coefficients of an array are one sparse matrix, so that 400,000 cells cost a few array operations and no object each.
Shapes broadcast as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import EdrpError
from edrp.core.late_imports import sparse
from edrp.core.wording import suggestion

CHAINED = (
    "a comparison of expressions is a row of the program, which is neither true nor false: write one row for each side, "
    "`add(x >= 1)` and `add(x <= 3)`, or `add(x, lower=1, upper=3)`, "
    "instead of `1 <= x <= 3`; and leave out `if`, `and`, `or` and `not`"
)
NOT_LINEAR = "a product or quotient of columns is not linear; multiply and divide an expression by numbers"
JOINED = "`any` joins cells of `on`, which are 0 or 1; give a part of that block"
NEITHER = "{!r} is neither a number nor an expression over columns of the program"
NO_VALUES = "an expression has no values before the program is solved; write it with +, -, *, /, @ and its own `sum`"


class Comparable:
    """Comparisons of linear expressions are rows of a program: `x <= 3`."""

    __slots__ = ()
    __array_ufunc__ = None  # so that `array * expression` and `array <= expression` are ours, and no arrays of objects
    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: Any) -> Rows:
        cells, bound = self._compared(other)
        return Rows.between(cells, -np.inf, bound)

    def __ge__(self, other: Any) -> Rows:
        cells, bound = self._compared(other)
        return Rows.between(cells, bound, np.inf)

    def __eq__(self, other: Any) -> Rows:  # type: ignore[override]
        cells, bound = self._compared(other)
        return Rows.between(cells, bound, bound)

    def _compared(self, other: Any) -> tuple[Expression, Any]:
        """Expressions, and the numbers that they are compared with."""
        if isinstance(other, (Comparable, Rows)):
            return Expression.of(self) - other, 0.0
        return Expression.of(self), _numbers(other, NEITHER)

    def __lt__(self, other: Any) -> NoReturn:
        raise TypeError("rows of a program hold with equality, too: write <= or >=, with the nearest number that is allowed")

    __gt__ = __lt__

    def __ne__(self, other: object) -> NoReturn:
        raise TypeError("`!=` is no linear row; write two rows, or a binary column that chooses between them")

    def __bool__(self) -> NoReturn:
        raise TypeError(CHAINED)

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(NO_VALUES)


class Expression(Comparable):
    """An array of linear expressions over the columns of a program.

    Attributes
    ----------
    matrix : shape (cells, columns), coefficients of each cell in the flat array.
    constant : of the array's shape, what is added to each cell.
    binary : whether every cell is 0 or 1 at any feasible point.

    Examples
    --------
    >>> x = Expression.of_columns(np.arange(6).reshape(2, 3))
    >>> (x.sum(axis=1) + [10.0, 20.0]).values(np.ones(6)).tolist()
    [13.0, 23.0]
    >>> (x[:, :2] * [[1], [2]] - x[:, 2:]).values(np.arange(6.0)).tolist()
    [[-2.0, -1.0], [1.0, 3.0]]
    """

    __slots__ = ("binary", "constant", "matrix")

    def __init__(self, matrix: sparse.csr_array, constant: Floats, binary: bool = False) -> None:
        self.matrix, self.constant, self.binary = matrix, constant, binary

    @classmethod
    def of_columns(cls, columns: ArrayLike, *, binary: bool = False) -> Expression:
        """One column of the program in each cell."""
        index = np.asarray(columns, np.int64)
        parts = (np.ones(index.size), index.ravel(), np.arange(index.size + 1))
        return cls(sparse.csr_array(parts, shape=(index.size, int(index.max(initial=-1)) + 1)), np.zeros(index.shape), binary)

    @classmethod
    def of(cls, value: Any) -> Expression:
        """An expression as it is, a `Linear` (`edrp.core.program`) or numbers as an expression.

        Raises
        ------
        TypeError
            For anything else, a row among it.
        """
        if isinstance(value, Expression):
            return value
        if callable(convert := getattr(value, "as_expression", None)):
            return cast(Expression, convert())
        if isinstance(value, Rows):
            raise TypeError(CHAINED)
        constant = _numbers(value, NEITHER)
        return cls(sparse.csr_array((constant.size, 0)), constant)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array; () for a single expression."""
        return self.constant.shape

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.constant.size

    def values(self, point: Floats) -> Floats:
        """The value of each cell at a point, shape `shape`."""
        sums = self.matrix @ point[: self.matrix.shape[1]]
        return np.asarray(sums.reshape(self.shape) + self.constant)

    def broadcast_to(self, shape: tuple[int, ...]) -> Expression:
        """The same cells repeated as NumPy repeats those of an array."""
        return self if shape == self.shape else self._gathered(np.broadcast_to(self._positions(), shape))

    def sum(self, axis: int | tuple[int, ...] | None = None, out: None = None) -> Expression:
        """Sums over some axes, or over all cells; `numpy.sum`, which gives `out`, does the same."""
        matrix, total = self.matrix, np.asarray(self.constant.sum(axis))
        row = np.repeat(sum_positions(self.shape, axis), np.diff(matrix.indptr))
        return Expression(sparse.csr_array((matrix.data, (row, matrix.indices)), shape=(total.size, matrix.shape[1])), total)

    def __getitem__(self, key: Any) -> Expression:
        return self._gathered(self._positions()[key])

    def __len__(self) -> int:
        return len(self.constant)

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self)))

    def _positions(self) -> Ints:
        """Position of each cell in the flat array, shape `shape`."""
        return np.arange(self.size).reshape(self.shape)

    def _gathered(self, source: Any) -> Expression:
        """The cells at these positions of the flat array, in their shape."""
        source = np.asarray(source)
        return Expression(self.matrix[source.ravel()], np.asarray(self.constant.ravel()[source]), self.binary)

    def __add__(self, other: Any) -> Expression:
        if not isinstance(other, (Comparable, Rows)):
            numbers = _numbers(other, NEITHER)
            whole = self.broadcast_to(_broadcast(self.shape, numbers.shape))
            return Expression(whole.matrix, np.asarray(whole.constant + numbers))
        other = Expression.of(other)
        shape = _broadcast(self.shape, other.shape)
        one, two = self.broadcast_to(shape), other.broadcast_to(shape)
        width = max(one.matrix.shape[1], two.matrix.shape[1])
        total = sparse.csr_array(widened(one.matrix, width) + widened(two.matrix, width))
        return Expression(total, np.asarray(one.constant + two.constant))

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return self * -1.0

    def __sub__(self, other: Any) -> Expression:
        return self + -(Expression.of(other) if isinstance(other, (Comparable, Rows)) else _numbers(other, NEITHER))

    def __rsub__(self, other: Any) -> Expression:
        return Expression.__add__(-self, other)

    def __mul__(self, factor: Any) -> Expression:
        numbers = _numbers(factor, NOT_LINEAR)
        whole = self.broadcast_to(_broadcast(self.shape, numbers.shape))
        matrix, factors = whole.matrix, np.broadcast_to(numbers, whole.shape)
        scaled = matrix.data * np.repeat(factors.ravel(), np.diff(matrix.indptr))
        scaled_matrix = sparse.csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape)
        return Expression(scaled_matrix, np.asarray(whole.constant * factors))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Expression:
        return self * (1.0 / _numbers(divisor, NOT_LINEAR))

    def __rtruediv__(self, dividend: Any) -> NoReturn:
        raise TypeError(NOT_LINEAR)

    def __matmul__(self, numbers: Any) -> Expression:
        numbers = _numbers(numbers, NOT_LINEAR)
        constant = np.asarray(self.constant @ numbers)  # refuses shapes that do not fit
        cells = (self * numbers).sum(-1) if numbers.ndim == 1 else (self[..., None] * numbers).sum(-2)
        return Expression(cells.matrix, constant)

    def __rmatmul__(self, numbers: Any) -> Expression:
        numbers = _numbers(numbers, NOT_LINEAR)
        constant = np.asarray(numbers @ self.constant)
        cells = (self * numbers).sum(-1) if len(self.shape) == 1 else (self * numbers[..., None]).sum(-2)
        return Expression(cells.matrix, constant)

    def __repr__(self) -> str:
        what = "1 linear expression" if not self.shape else f"{'×'.join(map(str, self.shape))} linear expressions"
        return f"<{what} of {self.matrix.nnz} terms>"


def _numbers(value: Any, otherwise: str) -> Floats:
    """Numbers as an array; `otherwise` says of another value what is wrong."""
    if not isinstance(value, (Comparable, Rows)):
        with suppress(TypeError, ValueError):
            array = np.asarray(value)
            if array.dtype.kind in "biuf" or not array.size:
                return array.astype(float, copy=False)
    raise TypeError(otherwise.format(value))


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        what = " and ".join(map(str, shapes))
        raise ValueError(f"arrays of the shapes {what} do not fit together; axes must be equally long, or of length 1") from None


def sum_positions(shape: tuple[int, ...], axis: int | tuple[int, ...] | None) -> Ints:
    """Position of each cell of a flat array among the sums along some axes of the array."""
    kept = np.empty(shape, bool).any(axis, keepdims=True).shape
    return np.broadcast_to(np.arange(prod(kept)).reshape(kept), shape).ravel()


def widened(matrix: sparse.csr_array, columns: int) -> sparse.csr_array:
    """The same matrix over more columns."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Rows `lower ≤ expression ≤ upper`, one per cell, as a comparison makes them.

    Attributes
    ----------
    expression : without constants.
    lower, upper : shape of the expression; infinite for none.
    shared : whether the rows have one violation together, the largest of them, where they may be violated at a price.
    """

    expression: Expression
    lower: Floats
    upper: Floats
    shared: bool = False

    @classmethod
    def between(cls, expression: Expression, lower: ArrayLike, upper: ArrayLike) -> Rows:
        """Rows between bounds, which broadcast with the expression; its constants go to the bounds.

        Raises
        ------
        TypeError, ValueError
            For a bound or coefficient that is no number, an infinite coefficient, and shapes that do not fit together.
        """
        low, high = (_numbers(bound, "bounds of rows must be numbers (got {!r})") for bound in (lower, upper))
        if np.isnan(low).any() or np.isnan(high).any() or (low == np.inf).any() or (high == -np.inf).any():
            raise ValueError(f"bounds of rows must be numbers, infinite only where there is none (got {lower!r} and {upper!r})")
        if not (np.isfinite(expression.matrix.data).all() and np.isfinite(expression.constant).all()):
            raise ValueError("coefficients and constants of rows must be finite numbers (got NaN or infinity)")
        whole = expression.broadcast_to(_broadcast(expression.shape, low.shape, high.shape))
        low, high = (np.asarray(np.broadcast_to(bound, whole.shape) - whole.constant) for bound in (low, high))
        return cls(Expression(whole.matrix, np.zeros(whole.shape)), low, high)

    @classmethod
    def jointly(cls, rows: Sequence[Rows]) -> Rows:
        """Several rows as one array that has a single violation, the largest."""
        width = max(part.expression.matrix.shape[1] for part in rows)
        matrix = sparse.vstack([widened(part.expression.matrix, width) for part in rows], format="csr")
        lower, upper = (np.concatenate([np.ravel(getattr(part, side)) for part in rows]) for side in ("lower", "upper"))
        return cls(Expression(matrix, np.zeros(lower.size)), lower, upper, shared=True)

    def __bool__(self) -> NoReturn:
        raise TypeError(CHAINED)

    def __le__(self, other: object) -> NoReturn:
        raise TypeError(CHAINED)

    __ge__ = __lt__ = __gt__ = __le__

    def __repr__(self) -> str:
        return f"<rows over {self.expression!r}>"


class Block(Expression):
    """An array of expressions whose axes have names: an index may be a name, several names, or what NumPy takes.

    Each index chooses along its own axis, so that two lists choose a rectangle.

    Examples
    --------
    >>> replicas = Block(Expression.of_columns([[0, 1], [2, 3]]), operator=("parser", "counter"), node=("edge", "cloud"))
    >>> replicas["counter", "edge"].values(np.arange(4.0)).tolist()
    2.0
    >>> replicas[:, "cloud"].values(np.arange(4.0)).tolist(), replicas["parser"].shape
    ([1.0, 3.0], (2,))
    >>> replicas["parser", "clout"]
    Traceback (most recent call last):
    edrp.core.errors.EdrpError: no node 'clout'; did you mean 'cloud'?
    """

    __slots__ = ("axes",)

    def __init__(self, cells: Expression, **axes: Sequence[str]) -> None:
        super().__init__(cells.matrix, cells.constant, cells.binary)
        self.axes = {what: {name: index for index, name in enumerate(names)} for what, names in axes.items()}

    def __getitem__(self, key: Any) -> Expression:
        return self._gathered(self.positions(key))

    def positions(self, key: Any) -> Ints:
        """Positions in the flat array of the cells that an index chooses, in their shape."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(self.axes):
            raise EdrpError(f"{len(keys)} indices for a block over {' and '.join(self.axes)}")
        chosen = self._positions()
        for axis, (part, names) in reversed(list(enumerate(zip(keys, self.axes.items(), strict=False)))):
            chosen = chosen[(slice(None),) * axis + (_position(part, *names),)]
        return np.asarray(chosen)


def _position(part: Any, what: str, names: dict[str, int]) -> Any:
    """Position of a name, or of several, on an axis; what NumPy takes as it is. Sets are in the order of the axis."""
    if isinstance(part, str):
        if part not in names:
            raise EdrpError(f"no {what} {part!r}{suggestion(part, names)}")
        return names[part]
    if not isinstance(part, Iterable) or (isinstance(part, np.ndarray) and part.dtype.kind in "biu"):
        return part
    positions = [_position(name, what, names) for name in part]
    return np.array(sorted(positions) if isinstance(part, (set, frozenset)) else positions, None if positions else np.int64)
