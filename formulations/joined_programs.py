"""Programs within a larger one."""

from __future__ import annotations

from edrp.core.program import Linear, Program


def include(program: Program, part: Program, name: str) -> tuple[int, Linear]:
    """Add the columns and rows of a program to another one; names of its blocks get a word in front.

    Returns
    -------
    tuple
        Its first column there, and its objective over the columns there.

    Examples
    --------
    >>> part = Program()
    >>> take = part.add_columns("take", 2, upper=1, integer=True)
    >>> part.add_row("bag", Linear.of(take, [3, 4]), upper=5)
    >>> part.minimise(Linear.of(take, [-2, -3]))
    >>> program = Program()
    >>> for day in ("monday", "tuesday"):
    ...     first, objective = include(program, part, day)
    >>> program["tuesday take"].tolist(), objective.columns.tolist(), program.rows
    ([2, 3], [2, 3], 2)
    """
    arrays, first = part.arrays(), program.columns
    for block in part.column_blocks.values():
        at = block.columns
        # Blocks are of one kind each, or their cells are mixed, which bounds and kinds by cell express as well.
        program.add_columns(
            f"{name} {block.name}", at.shape, lower=arrays.lower[at], upper=arrays.upper[at], integer=arrays.integer[at]
        )
    for rows in part.row_blocks.values():
        within = slice(rows.start, rows.start + rows.count)
        matrix = arrays.matrix[within].tocoo()
        bounds = {"lower": arrays.row_lower[within], "upper": arrays.row_upper[within]}
        program.add_rows(f"{name} {rows.name}", rows.count, [(matrix.row, matrix.col + first, matrix.data)], **bounds)
    objective = part.objective
    return first, Linear(objective.columns + first, objective.coefficients, objective.constant)
