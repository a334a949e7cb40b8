"""Arrays of linear expressions, and rows as people write them: `2 * model.on["parser"] + model.replicas["counter"] <= 3`.

All entries of an array are three flat arrays (cell, column, coefficient), so that 400,000 cells cost a few array operations and
no object each. Shapes broadcast as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import EdrpError
from edrp.core.wording import suggestion

CHAINED = (
    "a comparison of expressions is a row of the program, which is neither true nor false: write one row for each side, "
    "`add(x >= 1)` and `add(x <= 3)`, or `add(x, lower=1, upper=3)`, "
    "instead of `1 <= x <= 3`; and leave out `if`, `and`, `or` and `not`"
)


class Expression:
    """An array of linear expressions over the columns of a program.

    Attributes
    ----------
    shape : of the array; () for a single expression.
    cell, column, coefficient : shape (entries,), position in the flat array, column of the program, coefficient; entries of
        one cell and column add up.
    constant : shape `shape`, what is added to each cell.

    Examples
    --------
    >>> x = Expression.of_columns(np.arange(6).reshape(2, 3))
    >>> (x.sum(axis=1) + [10.0, 20.0]).values(np.ones(6)).tolist()
    [13.0, 23.0]
    >>> (x[:, :2] * [[1], [2]] - x[:, 2:]).values(np.arange(6.0)).tolist()
    [[-2.0, -1.0], [1.0, 3.0]]
    """

    __slots__ = ("cell", "coefficient", "column", "constant", "shape")
    __array_ufunc__ = None  # so that `array * expression` is ours, and not an array of objects
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: tuple[int, ...], cell: Ints, column: Ints, coefficient: Floats, constant: Floats) -> None:
        self.shape, self.cell, self.column, self.coefficient, self.constant = shape, cell, column, coefficient, constant

    @classmethod
    def of_columns(cls, columns: ArrayLike) -> Expression:
        """One column of the program in each cell."""
        index = np.asarray(columns, np.int64)
        return cls(index.shape, np.arange(index.size), index.ravel(), np.ones(index.size), np.zeros(index.shape))

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
        try:
            constant = np.asarray(value, float)
        except (TypeError, ValueError):
            raise TypeError(f"{value!r} is neither a number nor an expression over columns of the program") from None
        nothing = np.zeros(0, np.int64)
        return cls(constant.shape, nothing, nothing, np.zeros(0), constant)

    @property
    def size(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    def values(self, point: Floats) -> Floats:
        """The value of each cell at a point, shape `shape`."""
        sums = np.bincount(self.cell, self.coefficient * point[self.column], minlength=self.size)
        return np.asarray(sums.reshape(self.shape) + self.constant)

    def broadcast_to(self, shape: tuple[int, ...]) -> Expression:
        """The same cells repeated as NumPy repeats those of an array."""
        if shape == self.shape:
            return self
        return self._gathered(np.broadcast_to(np.arange(self.size).reshape(self.shape), shape))

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Expression:
        """Sums over some axes, or over all cells."""
        axes = tuple(range(len(self.shape))) if axis is None else (axis,) if isinstance(axis, int) else axis
        left = tuple(size for k, size in enumerate(self.shape) if k not in {a % len(self.shape) for a in axes})
        target = np.empty(self.shape, np.int64)
        kept = [1 if k in {a % len(self.shape) for a in axes} else size for k, size in enumerate(self.shape)]
        target[...] = np.arange(prod(left)).reshape(kept)
        return Expression(
            left, target.ravel()[self.cell], self.column, self.coefficient, np.asarray(self.constant.sum(axis=axes))
        )

    def __getitem__(self, key: Any) -> Expression:
        return self._gathered(np.arange(self.size).reshape(self.shape)[key])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single expression has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self)))

    def _gathered(self, source: Any) -> Expression:
        """The cells at these positions of the flat array, in their shape."""
        source = np.asarray(source)
        order = np.argsort(self.cell, kind="stable") if (np.diff(self.cell) < 0).any() else np.arange(self.cell.size)
        start = np.searchsorted(self.cell[order], np.arange(self.size + 1))
        count = np.diff(start)[source.ravel()]
        first = np.repeat(start[source.ravel()], count)
        entry = order[first + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)]
        cell = np.repeat(np.arange(source.size), count)
        constant = np.asarray(self.constant.ravel()[source])
        return Expression(source.shape, cell, self.column[entry], self.coefficient[entry], constant)

    def __add__(self, other: Any) -> Expression:
        other = Expression.of(other)
        shape = np.broadcast_shapes(self.shape, other.shape)
        one, two = self.broadcast_to(shape), other.broadcast_to(shape)
        return Expression(
            shape,
            np.concatenate([one.cell, two.cell]),
            np.concatenate([one.column, two.column]),
            np.concatenate([one.coefficient, two.coefficient]),
            np.asarray(one.constant + two.constant),
        )

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return self * -1.0

    def __sub__(self, other: Any) -> Expression:
        return self + Expression.of(other) * -1.0

    def __rsub__(self, other: Any) -> Expression:
        return self * -1.0 + other

    def __mul__(self, factor: Any) -> Expression:
        try:
            numbers = np.asarray(factor, float)
        except (TypeError, ValueError):
            raise TypeError("a product of columns is not linear; multiply an expression by numbers") from None
        shape = np.broadcast_shapes(self.shape, numbers.shape)
        whole, numbers = self.broadcast_to(shape), np.broadcast_to(numbers, shape)
        return Expression(
            shape, whole.cell, whole.column, whole.coefficient * numbers.ravel()[whole.cell], np.asarray(whole.constant * numbers)
        )

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Expression:
        return self * (1.0 / np.asarray(divisor, float))

    def __le__(self, other: Any) -> Rows:
        return self._compared(other, -np.inf, 0.0)

    def __ge__(self, other: Any) -> Rows:
        return self._compared(other, 0.0, np.inf)

    def __eq__(self, other: Any) -> Rows:  # type: ignore[override]
        return self._compared(other, 0.0, 0.0)

    def __lt__(self, other: Any) -> NoReturn:
        raise TypeError("rows of a program hold with equality, too: write <= or >=, with the nearest number that is allowed")

    __gt__ = __lt__

    def __ne__(self, other: object) -> NoReturn:
        raise TypeError("`!=` is no linear row; write two rows, or a binary column that chooses between them")

    def __bool__(self) -> NoReturn:
        raise TypeError(CHAINED)

    def _compared(self, other: Any, lower: float, upper: float) -> Rows:
        """`lower ≤ self − other ≤ upper`, with the numbers on the right-hand side."""
        return Rows.between(self - Expression.of(other), lower, upper)

    def __repr__(self) -> str:
        what = "1 linear expression" if not self.shape else f"{'×'.join(map(str, self.shape))} linear expressions"
        return f"<{what} of {self.cell.size} terms>"


@dataclass(frozen=True, slots=True, eq=False)
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
        ValueError
            For a bound that is not a number.
        """
        try:
            bounds = [np.asarray(bound, float) for bound in (lower, upper)]
        except (TypeError, ValueError):
            raise ValueError(f"bounds of rows must be numbers (got {lower!r} and {upper!r})") from None
        if any(np.isnan(bound).any() for bound in bounds):
            raise ValueError(f"bounds of rows must be numbers (got {lower!r} and {upper!r})")
        whole = expression.broadcast_to(np.broadcast_shapes(expression.shape, *(bound.shape for bound in bounds)))
        low, high = (np.broadcast_to(bound, whole.shape) - whole.constant for bound in bounds)
        zero = np.zeros(whole.shape)
        return cls(Expression(whole.shape, whole.cell, whole.column, whole.coefficient, zero), low, high)

    @classmethod
    def jointly(cls, rows: Sequence[Rows]) -> Rows:
        """Several rows as one array that has a single violation, the largest."""
        cells = [part.expression for part in rows]
        first = np.cumsum([0, *(part.size for part in cells)])
        joined = Expression(
            (int(first[-1]),),
            np.concatenate([part.cell + offset for part, offset in zip(cells, first, strict=False)]),
            np.concatenate([part.column for part in cells]),
            np.concatenate([part.coefficient for part in cells]),
            np.zeros(first[-1]),
        )
        lower, upper = (np.concatenate([np.ravel(getattr(part, side)) for part in rows]) for side in ("lower", "upper"))
        return cls(joined, lower, upper, shared=True)

    def __bool__(self) -> NoReturn:
        raise TypeError(CHAINED)

    def __le__(self, other: object) -> NoReturn:
        raise TypeError(CHAINED)

    __ge__ = __lt__ = __gt__ = __le__


class Block(Expression):
    """An array of expressions whose axes have names: an index may be a name, a list of names, or what NumPy takes.

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
        super().__init__(cells.shape, cells.cell, cells.column, cells.coefficient, cells.constant)
        self.axes = {what: {name: index for index, name in enumerate(names)} for what, names in axes.items()}

    def __getitem__(self, key: Any) -> Expression:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(self.axes):
            raise EdrpError(f"{len(keys)} indices for a block over {' and '.join(self.axes)}")
        places = [_position(part, *axis) for part, axis in zip(keys, self.axes.items(), strict=False)]
        if sum(isinstance(place, list) for place in places) < 2:
            return super().__getitem__(tuple(places))
        chosen: Expression = self
        for axis in reversed(range(len(places))):  # lists choose a rectangle, not pairs
            chosen = Expression.__getitem__(chosen, (slice(None),) * axis + (places[axis],))
        return chosen


def _position(part: Any, what: str, names: dict[str, int]) -> Any:
    """Position of a name, or of a list of names, on an axis; anything else as it is."""
    if isinstance(part, str):
        if part not in names:
            raise EdrpError(f"no {what} {part!r}{suggestion(part, names)}")
        return names[part]
    if isinstance(part, (list, tuple, set, frozenset)) or type(part).__name__ in ("dict_keys", "generator"):
        return [_position(name, what, names) for name in part]
    return part
