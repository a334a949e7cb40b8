"""Mixed-integer linear programs as named blocks of columns and of ranged rows.

`minimise c·x` subject to `lower ≤ A·x ≤ upper` and bounds on x: ranges, not senses. Builders add whole
blocks as arrays. Each block of rows is compressed as it comes, while it fits in the processor's cache; the whole
matrix is their concatenation, for every backend alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import prod
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import look, refuse_beyond_memory, spend
from edrp.core.errors import EdrpError
from edrp.core.expressions import CHAINED, Comparable, Expression, Rows
from edrp.core.late_imports import sparse
from edrp.core.wording import suggestion

BYTES_PER_ENTRY, BYTES_PER_COLUMN = 60, 200
"""Memory of an entry of the matrix, and of a column or row, on the way to a solver and in it; measured with HiGHS."""

BLOCK_WORK, ENTRY_WORK = 1e-4, 8e-8
"""Units of work of building a block of columns or rows, beyond the look at the clock; and for an entry of the matrix that is
added, and looked through before it is handed over."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear(Comparable):
    """A linear expression `coefficients · x[columns] + constant`; builders of programs are faster with it than with arrays.

    Examples
    --------
    >>> expression = Linear.of([0, 2], [1.0, 3.0]) + 5.0
    >>> expression.value(np.array([1.0, 9.0, 2.0]))
    12.0
    """

    columns: Ints
    coefficients: Floats
    constant: float = 0.0

    @classmethod
    def zero(cls) -> Linear:
        """The expression 0."""
        return cls(np.zeros(0, np.int64), np.zeros(0))

    @classmethod
    def of(cls, columns: ArrayLike, coefficients: ArrayLike = 1.0, constant: float = 0.0) -> Linear:
        """Expression over `columns` with `coefficients`, broadcast to their shape."""
        index = np.asarray(columns, np.int64)
        values = np.broadcast_to(np.asarray(coefficients, float), index.shape)
        return cls(index.ravel(), values.ravel().astype(float), float(constant))

    @classmethod
    def total(cls, terms: Iterable[Linear]) -> Linear:
        """Sum of many expressions, each copied once.

        >>> Linear.total([Linear.of([0, 2], [1.0, 3.0]), Linear.of(1, 4.0, constant=5.0)]).columns.tolist()
        [0, 2, 1]
        """
        known = list(terms)
        used = [term for term in known if term.columns.size]
        constant = sum(term.constant for term in known)
        if len(used) == 1:  # nothing to concatenate; arrays of expressions are never written to
            return cls(used[0].columns, used[0].coefficients, constant)
        columns, coefficients = [term.columns for term in used], [term.coefficients for term in used]
        return cls(stacked(columns, np.int64), stacked(coefficients, np.float64), constant)

    def __add__(self, other: Linear | float) -> Linear:
        if isinstance(other, Linear):
            return Linear.total([self, other])
        if isinstance(other, (Expression, np.ndarray)):
            return self.as_expression() + other  # type: ignore[return-value]
        return Linear(self.columns, self.coefficients, self.constant + float(other))

    __radd__ = __add__  # `sum` begins with 0

    def __neg__(self) -> Linear:
        return self * -1.0

    def __sub__(self, other: Linear | float) -> Linear:
        return self + other * -1.0

    def __rsub__(self, other: float) -> Linear:
        return -self + other

    def __mul__(self, factor: float) -> Linear:
        if isinstance(factor, (Comparable, np.ndarray)):
            return self.as_expression() * factor  # type: ignore[return-value]
        return Linear(self.columns, self.coefficients * factor, self.constant * factor)

    __rmul__ = __mul__

    def as_expression(self) -> Expression:
        """The same as an array of a single expression."""
        rows, width = np.zeros(self.columns.size, np.int64), int(self.columns.max(initial=-1)) + 1
        return Expression(sparse.csr_array((self.coefficients, (rows, self.columns)), shape=(1, width)), np.array(self.constant))

    def value(self, x: Floats) -> float:
        """The expression at the point `x`."""
        return float(self.coefficients @ x[self.columns] + self.constant)


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """A named block of columns: `columns` holds their indices in the block's shape."""

    name: str
    columns: Ints


@dataclass(frozen=True, slots=True)
class RowBlock:
    """A named block of rows: the first row's index and their number."""

    name: str
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Arrays:
    """A whole program as flat arrays, the form that backends receive.

    `matrix` is CSR of shape (rows, columns) without explicit zeros; `integer` marks integral columns.
    """

    objective: Floats
    constant: float
    lower: Floats
    upper: Floats
    integer: Bools
    matrix: sparse.csr_array
    row_lower: Floats
    row_upper: Floats

    @property
    def size(self) -> int:
        """Columns, rows and nonzeros, by which the work of solvers is reckoned."""
        return int(self.matrix.nnz) + sum(self.matrix.shape)


@dataclass
class Program:
    """A program under construction; builders and users add to it, backends read `arrays()`.

    Examples
    --------
    Two items of weight 3 and 4 in a bag of 5, maximising the value 2 and 3:

    >>> program = Program()
    >>> take = program.add_columns("take", 2, upper=1, integer=True)
    >>> program.add_row("bag", Linear.of(take, [3, 4]), upper=5)
    >>> program.minimise(Linear.of(take, [-2, -3]))
    >>> program.columns, program.rows, program["take"].tolist()
    (2, 1, [0, 1])
    """

    columns: int = 0
    rows: int = 0
    column_blocks: dict[str, ColumnBlock] = field(default_factory=dict)
    row_blocks: dict[str, RowBlock] = field(default_factory=dict)
    objective: Linear = field(default_factory=Linear.zero)
    nonzeros: int = 0
    """Number of matrix entries added so far, before cells are merged."""
    _bounds: list[tuple[Floats, Floats, Bools]] = field(default_factory=list)
    _fixed: list[tuple[Ints, float]] = field(default_factory=list)
    _row_bounds: list[tuple[Floats, Floats]] = field(default_factory=list)
    _matrices: list[CompressedRows] = field(default_factory=list)

    def __getitem__(self, name: str) -> Ints:
        """Indices of a block of columns, in the block's shape."""
        return self.column_blocks[name].columns

    def block(self, name: str) -> Expression:
        """A block of columns as an array of expressions, in the block's shape.

        Raises
        ------
        EdrpError
            For an unknown name.
        """
        if name not in self.column_blocks:
            raise EdrpError(f"the program has no columns named {name!r}{suggestion(name, self.column_blocks)}")
        return Expression.of_columns(self[name])

    def add_columns(
        self,
        name: str | Sequence[tuple[str, int]],
        shape: int | tuple[int, ...] = (),
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: ArrayLike = False,
    ) -> Ints:
        """Add a block of columns and return their indices in `shape`; bounds broadcast to it.

        Names and numbers of columns, instead of a name, make it several flat blocks, one after another.
        """
        look("the program")
        count = prod(shape) if isinstance(shape, tuple) else shape
        named = _named_blocks(name, count, self.column_blocks, "columns")
        self._refuse_beyond_memory(named[0].name, columns=count)
        index = np.arange(self.columns, self.columns + count, dtype=np.int64).reshape(shape)
        least, most = (np.broadcast_to(np.array(bound, float), index.shape) for bound in (lower, upper))
        self._bounds.append((least, most, np.broadcast_to(np.array(integer), index.shape)))
        for block in named:
            part = index if isinstance(name, str) else index.ravel()[block.start : block.start + block.count]
            self.column_blocks[block.name] = ColumnBlock(block.name, part)
        self.columns += count
        return index

    def add_rows(
        self,
        name: str | Sequence[tuple[str, int]],
        count: int,
        entries: Sequence[tuple[Any, Any, Any]],
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add a block of `count` rows.

        Parameters
        ----------
        name
            Name of the block; or names and numbers of rows of several, one after another.
        count
            Number of rows in all.
        entries
            Triplets of array-likes (row within the block, column, coefficient), each broadcast to a common shape;
            entries of one cell add up. Quickest where rows ascend, and columns within each.
        lower, upper
            Range of each row, broadcast to (count,).
        """
        look("the program")
        named = _named_blocks(name, count, self.row_blocks, "rows")
        shapes = [common_shape(entry) for entry in entries]
        self._refuse_beyond_memory(named[0].name, rows=count, nonzeros=sum(prod(shape) for shape in shapes))
        rows, columns = (stacked([entry[part] for entry in entries], np.int32, shapes) for part in range(2))
        values = stacked([entry[2] for entry in entries], np.float64, shapes)
        self._matrices.append(CompressedRows.of(rows, columns, values, (count, self.columns)))
        self.nonzeros += values.size
        spend(ENTRY_WORK * values.size)
        self._row_bounds.append((stacked([lower], np.float64, [(count,)]), stacked([upper], np.float64, [(count,)])))
        for block in named:
            self.row_blocks[block.name] = replace(block, start=self.rows + block.start)
        self.rows += count

    def count_building(self) -> None:
        """Count the work of building all blocks, where many programs are built and little else is done."""
        spend(BLOCK_WORK * (len(self.column_blocks) + len(self.row_blocks)))

    def _refuse_beyond_memory(self, name: str, *, columns: int = 0, rows: int = 0, nonzeros: int = 0) -> None:
        """Refuse a block with which the program would not fit into memory, before any of it is built."""
        columns, rows, nonzeros = self.columns + columns, self.rows + rows, self.nonzeros + nonzeros
        if columns + rows + nonzeros > 1_000_000:  # otherwise not worth a look at the machine
            what = f"the program's {columns:,} columns, {rows:,} rows and {nonzeros:,} nonzeros, block {name!r} included,"
            needed = float(nonzeros) * BYTES_PER_ENTRY + float(columns + rows) * BYTES_PER_COLUMN
            refuse_beyond_memory(needed, what, "try a smaller problem, or a method that builds no program")

    def add_row(self, name: str, expression: Linear, *, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add one row `lower ≤ expression ≤ upper`.

        Raises
        ------
        ValueError
            A bound is not a number, or there is none: the row would have no effect.
        """
        for side, bound in (("lower", lower), ("upper", upper)):
            if not isinstance(bound, Real):
                raise ValueError(f"{side} of row {name!r} must be a number (got {bound!r})")
        _refuse_unbounded(name, lower, upper)
        shift = expression.constant
        entries = [(0, expression.columns, expression.coefficients)]
        self.add_rows(name, 1, entries, lower=lower - shift, upper=upper - shift)

    def add(self, rows: Any, name: str, *, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> None:
        """Add rows as a comparison of expressions makes them, one per cell, or an expression with its bounds.

        Raises
        ------
        TypeError
            For anything else; a chain of comparisons, which Python has made one truth value of, among it.
        ValueError
            Where the rows have no bound at all, or a bound that is not a number.

        Examples
        --------
        >>> program = Program()
        >>> program.add_columns("take", 3, upper=1, integer=True).tolist()
        [0, 1, 2]
        >>> take = program.block("take")
        >>> program.add(take[0] + 2 * take[1:] <= [1, 2], name="licences")
        >>> program.add(take.sum(), name="one or two", lower=1, upper=2)
        >>> program.rows, program.nonzeros
        (3, 7)
        """
        if isinstance(rows, Comparable):
            low, high = (default if bound is None else bound for bound, default in ((lower, -np.inf), (upper, np.inf)))
            rows = Rows.between(Expression.of(rows), low, high)
        elif isinstance(rows, (bool, np.bool_)):
            raise TypeError(f"row {name!r}: {CHAINED}")
        elif not isinstance(rows, Rows):
            raise TypeError(f"row {name!r} is {rows!r}; give a comparison of expressions over columns, such as `x <= 3`")
        elif lower is not None or upper is not None:
            raise ValueError(f"row {name!r} is a comparison already; give no further bounds")
        _refuse_unbounded(name, rows.lower, rows.upper)
        matrix = rows.expression.matrix.tocoo()
        entries = [(matrix.row, matrix.col, matrix.data)]
        self.add_rows(name, matrix.shape[0], entries, lower=rows.lower.ravel(), upper=rows.upper.ravel())

    def fix(self, columns: ArrayLike, value: float) -> None:
        """Fix columns to a value through their bounds; a later value counts.

        Raises
        ------
        IndexError
            For a column that is not there.
        """
        index = np.array(columns, np.int64).ravel()
        if index.size and not 0 <= index.min() <= index.max() < self.columns:
            raise IndexError(f"the program has {self.columns} columns; cannot fix number {index.min()} to {index.max()}")
        self._fixed.append((index, value))

    @property
    def fixes(self) -> tuple[tuple[Ints, float], ...]:
        """Columns and value of each call of `fix`."""
        return tuple(self._fixed)

    def column_name(self, column: int) -> str:
        """Name of a column: its block and its place within, as in `take[1]`."""
        for block in self.column_blocks.values():
            first = int(block.columns.flat[0]) if block.columns.size else self.columns
            if first <= column < first + block.columns.size:
                place = np.unravel_index(column - first, block.columns.shape)
                return f"{block.name}[{','.join(str(int(part)) for part in place)}]" if place else block.name
        raise IndexError(f"the program has {self.columns} columns, not {column + 1}")

    def row_name(self, row: int) -> str:
        """Name of a row: its block and its place within, as in `bag[0]`."""
        for block in self.row_blocks.values():
            if block.start <= row < block.start + block.count:
                return f"{block.name}[{row - block.start}]"
        raise IndexError(f"the program has {self.rows} rows, not {row + 1}")

    def minimise(self, expression: Linear | Expression) -> None:
        """Set the objective; `program.objective` holds it for further terms to be added."""
        if isinstance(expression, Expression):
            if expression.size != 1:
                raise ValueError(f"the objective is one expression, not an array of shape {expression.shape}; write `.sum()`")
            expression = Linear.of(expression.matrix.indices, expression.matrix.data, expression.constant.item())
        self.objective = expression

    def arrays(self, *, without_fixes: Collection[int | None] = ()) -> Arrays:
        """Stack all blocks; cells are merged and hold no zeros. Calls of `fix` at these positions are left out."""
        look("the program")
        objective = np.bincount(self.objective.columns, self.objective.coefficients, minlength=self.columns)
        *first, end = accumulate((block.values.size for block in self._matrices), initial=0)
        starts = [block.starts[:-1] + offset for block, offset in zip(self._matrices, first, strict=True)]
        parts = (
            stacked([block.values for block in self._matrices], np.float64),
            stacked([block.columns for block in self._matrices], np.int32),
            stacked([*starts, [end]], np.int32),
        )
        lower, upper = (stacked([bounds[part] for bounds in self._bounds], np.float64) for part in range(2))
        for position, (index, value) in enumerate(self._fixed):
            if position not in without_fixes:
                lower[index] = upper[index] = value
        integer = stacked([bounds[2] for bounds in self._bounds], np.bool_)
        row_lower, row_upper = (stacked([bounds[part] for bounds in self._row_bounds], np.float64) for part in range(2))
        costs, matrix = objective.astype(float, copy=False), sparse.csr_array(parts, shape=(self.rows, self.columns))
        return Arrays(costs, self.objective.constant, lower, upper, integer, matrix, row_lower, row_upper)


def _named_blocks(name: str | Sequence[tuple[str, int]], count: int, known: Collection[str], what: str) -> list[RowBlock]:
    """Blocks of these names, counted from 0; refuses a name that is known already."""
    parts = [(name, count)] if isinstance(name, str) else name
    names = set[str]()
    for part, _ in parts:
        if part in known or part in names:
            raise ValueError(f"the program already has {what} named {part!r}")
        names.add(part)
    starts = accumulate((size for _, size in parts), initial=0)
    return [RowBlock(part, start, size) for (part, size), start in zip(parts, starts, strict=False)]


def _refuse_unbounded(name: str, lower: Floats | float, upper: Floats | float) -> None:
    """Refuse rows none of which has any bound."""
    if np.size(lower) and np.isneginf(lower).all() and np.isposinf(upper).all():
        raise ValueError(f"row {name!r} has neither a lower nor an upper bound and would have no effect; give at least one")


FEW_ENTRIES = 2_000
"""Entries of a block up to which NumPy sorts them sooner than SciPy counts them."""


class CompressedRows(NamedTuple):
    """Rows of a matrix one behind the other, without zeros: where each one starts, and its columns, ascending, with values."""

    starts: Ints32
    columns: Ints32
    values: Floats

    @classmethod
    def of(cls, rows: Ints32, columns: Ints32, values: Floats, shape: tuple[int, int]) -> CompressedRows:
        """Compress entries in any order; those of one cell are added up by SciPy, which takes longer to begin than most blocks.

        Raises
        ------
        ValueError
            For a row that is not there.
        """
        cells = rows * np.int64(shape[1]) + columns
        if not (cells[1:] > cells[:-1]).all():
            order = np.argsort(cells, kind="stable") if cells.size <= FEW_ENTRIES else slice(None)
            if (cells[order][1:] > cells[order][:-1]).all():
                rows, columns, values = rows[order], columns[order], values[order]
            else:
                matrix = sparse.csr_array((values, (rows, columns)), shape=shape)
                matrix.sum_duplicates()
                rows = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(matrix.indptr))
                columns, values = matrix.indices, matrix.data
        if not (there := values != 0.0).all():
            rows, columns, values = rows[there], columns[there], values[there]
        starts = np.searchsorted(rows, np.arange(shape[0] + 1, dtype=np.int32)).astype(np.int32)
        if starts[0] or starts[-1] < values.size:
            raise ValueError(f"rows {rows.min()} to {rows.max()} of a block of {shape[0]}")
        return cls(starts, columns, values)


def common_shape(parts: Sequence[Any]) -> tuple[int, ...]:
    """The shape to which parts are broadcast; mostly all that are arrays have the same."""
    shapes = {np.shape(part) for part in parts} - {()}
    return np.broadcast_shapes(*shapes) if len(shapes) > 1 else next(iter(shapes), ())


def stacked(parts: Sequence[Any], kind: type, shapes: Sequence[tuple[int, ...]] | None = None) -> NDArray[Any]:
    """One flat array of all parts, each broadcast to its shape and converted as it is copied."""
    shapes = [np.shape(part) for part in parts] if shapes is None else shapes
    ends = list(accumulate(map(prod, shapes), initial=0))
    result: NDArray[Any] = np.empty(ends[-1], kind)
    for part, shape, (start, end) in zip(parts, shapes, pairwise(ends), strict=True):
        result[start:end].reshape(shape)[...] = part
    return result
