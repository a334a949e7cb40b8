"""Deployments over periods as one program: a program of `edrp` for each period, and rows that price the changes between them.

A replica started on a node, a share of state that reaches it, and whether anything changes are each pressed down to a positive
part of a difference between periods. Downtime depends on pairs of configurations: where it has a price or a limit, the
literal program is used, and columns for pairs say which configuration of an operator follows which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import UnsupportedProblemError
from edrp.core.methods import alternative
from edrp.core.program import Linear, Program
from edrp.formulations.formulation import Formulation
from edrp.formulations.placement.builder import PlacementExpressions, breaks_limit
from edrp.formulations.placement.compact import build_compact
from edrp.formulations.placement.literal import LiteralExpressions, build_literal
from edrp.placement.deployment import Deployment
from edrp.placement.reconfiguration import operator_downtimes
from edrp.placement.sequence import EdrpSequence
from edrp.placement.sequence_arrays import SequenceArrays, compile_sequence

Cells = list[tuple[Ints, Ints, Any]]
"""Entries of rows over operators × nodes: row, column and coefficient."""

MAX_PERIODS = 1000
"""Periods beyond which no program is built: one takes milliseconds and megabytes for each."""


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
    part.count_building()
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


@dataclass(frozen=True, slots=True)
class SequenceFormulation(Formulation):
    """Deployments over periods formulated as a program.

    Attributes
    ----------
    arrays : the problem as arrays.
    periods : program of each period by itself.
    first : its first column in the whole.

    Examples
    --------
    >>> problem = EdrpSequence(
    ...     application={"operators": [{"name": "work", "cost": 1.0, "max_replicas": 2, "external_rate": 1.0}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0},
    ...     periods=[{"duration": 60.0}, {"duration": 60.0}],
    ...     initial={"work": ["a", "b"]},
    ... )
    >>> from edrp.formulations.methods import solve_formulation
    >>> solve_formulation(formulate_sequence(problem, "periods")).objective
    30.0
    """

    arrays: SequenceArrays
    periods: tuple[PlacementExpressions, ...]
    first: tuple[int, ...]

    def decode(self, values: Floats) -> tuple[Deployment, ...]:
        """The deployment of each period."""
        parts = zip(self.periods, self.first, strict=True)
        return tuple(part.compiled.deployment(part.counts(values[at : at + part.program.columns])) for part, at in parts)

    def encode(self, decision: Sequence[Deployment]) -> Floats | None:
        """Replicas of each period; everything else is left to the solver. None where the program cannot express some."""
        values = np.full(self.program.columns, np.nan)
        for part, at, deployment in zip(self.periods, self.first, decision, strict=True):
            try:
                known = part.start(part.compiled.counts(deployment))
            except KeyError:
                return None
            if known is None:
                return None
            values[at : at + known.size] = known
        return values


def formulate_sequence(problem: EdrpSequence, name: str) -> SequenceFormulation:
    """Formulate a sequence as the program "periods".

    Raises
    ------
    UnsupportedProblemError
        Where Storm's downtime has a price or a limit: that of an operator depends on all others.
    ProblemTooLargeError
        Where a period's program would not fit in memory.
    """
    started = perf_counter()
    if why := refusal(problem):
        raise UnsupportedProblemError(why, alternative(problem, "highs"))
    arrays = compile_sequence(problem)
    build: Callable[[Any], PlacementExpressions] = build_literal if arrays.times_downtime else build_compact
    periods = tuple(build(compiled) for compiled in arrays.periods)
    program, total, first = Program(), Linear.zero(), []
    for number, part in enumerate(periods):
        at, objective = include(program, part.program, f"period {number}")
        first.append(at)
        total += objective
    changes = _Changes(program, arrays, periods, first)
    for number in range(0 if arrays.initial is not None else 1, len(periods)):
        total += changes.price(number)
    program.minimise(total)
    return SequenceFormulation(problem, name, program, total, perf_counter() - started, arrays, periods, tuple(first))


def refusal(problem: EdrpSequence) -> str | None:
    """Why the program cannot express a problem; None if it can."""
    limits = [problem.limits, *(period.limits for period in problem.periods if period.limits is not None)]
    if len(problem.periods) > MAX_PERIODS:
        return f"{len(problem.periods)} periods are too many for a program, which takes {MAX_PERIODS}; join periods"
    timed = problem.changes.downtime > 0 or any(limit.downtime is not None for limit in limits)
    if timed and problem.reconfiguration == "storm":
        return "programs do not express Storm's downtime over periods, where operators wait for each other"
    return None


class _Changes:
    """Adds the rows and columns of changes to a program."""

    def __init__(
        self, program: Program, arrays: SequenceArrays, periods: tuple[PlacementExpressions, ...], first: list[int]
    ) -> None:
        self.program, self.arrays, self.periods, self.first = program, arrays, periods, first
        self.operators, self.nodes = arrays.periods[0].candidate.shape

    def price(self, number: int) -> Linear:
        """The price of the change at the beginning of a period."""
        arrays, total = self.arrays, Linear.zero()
        if arrays.started.any():
            total += self._risen(f"started {number}", number, np.repeat(arrays.started, self.nodes), shares=False)
        if arrays.moved.any():
            total += self._risen(f"moved {number}", number, np.repeat(arrays.moved, self.nodes), shares=True)
        if arrays.change:
            total += self._changed(number) * arrays.change
        if arrays.times_downtime:
            total += self._downtime(number) * arrays.downtime
        return total

    def _cells(self, number: int, *, shares: bool) -> Cells:
        """Replicas, or shares of them, of every operator on every node in a period."""
        cells = []
        for i in range(self.operators):
            held = self.periods[number].holdings(i)
            cells.append((i * self.nodes + held.nodes, self.first[number] + held.columns, held.shares if shares else held.counts))
        return cells

    def _before(self, *, shares: bool) -> Floats:
        """The same for the initial deployment, by cell."""
        assert self.arrays.initial is not None
        counts = self.arrays.initial.astype(float)
        return (counts / counts.sum(axis=1, keepdims=True) if shares else counts).ravel()

    def _risen(self, name: str, number: int, prices: Floats, *, shares: bool) -> Linear:
        """Price of what is more on nodes than before: columns y ≥ now − before."""
        size = self.operators * self.nodes
        more = self.program.add_columns(name, size)
        entries: list[tuple[Any, Any, Any]] = [(np.arange(size), more, 1.0)]
        entries += [(row, column, -held) for row, column, held in self._cells(number, shares=shares)]
        if number:
            entries += self._cells(number - 1, shares=shares)
        self.program.add_rows(name, size, entries, lower=0.0 if number else -self._before(shares=shares))
        return Linear.of(more, prices)

    def _changed(self, number: int) -> Linear:
        """1 where anything changes: at least what any column of replicas gains."""
        changed = self.program.add_columns(f"changed {number}", 1, upper=1.0)
        for i in range(self.operators):
            now, at = self.periods[number].holdings(i), self.first[number]
            columns = np.unique(now.columns)
            rows = np.arange(columns.size)
            entries: list[tuple[Any, Any, Any]] = [(rows, changed, 1.0), (rows, at + columns, -1.0)]
            known: Floats = np.zeros(columns.size)
            if number:
                entries.append((rows, self.first[number - 1] + columns, 1.0))
            else:
                assert self.arrays.initial is not None
                point = self.periods[0].start(self.arrays.initial)
                known = known if point is None else np.nan_to_num(point[columns])
            self.program.add_rows(f"changed {number}: {self._name(i)}", columns.size, entries, lower=-known)
        return Linear.of(changed)

    def _downtime(self, number: int) -> Linear:
        """Seconds of downtime: at least those of every operator, by the pair of its configurations."""
        seconds = self.program.add_columns(f"downtime {number}", 1)
        limit = float(self.arrays.downtime_limit[number])
        for i in range(self.operators):
            part = self.periods[number]
            assert isinstance(part, LiteralExpressions)
            if number:
                times = np.array([self._times(i, row, part) for row in self._rows(i, part)])
                columns = self._pairs(number, i, part, times.shape)
            else:
                assert self.arrays.initial is not None
                times = self._times(i, self.arrays.initial[i], part)
                columns = self.first[0] + part.place[i]
            self.program.add_row(f"downtime {number}: {self._name(i)}", Linear.of(seconds) - Linear.of(columns, times), lower=0.0)
            self.program.fix(columns[breaks_limit(times, limit)], 0.0)
        return Linear.of(seconds)

    def _pairs(self, number: int, operator: int, part: LiteralExpressions, shape: tuple[int, ...]) -> Ints:
        """Columns that say which configuration follows which."""
        name = f"change {number}: {self._name(operator)}"
        pairs = self.program.add_columns(name, shape, upper=1.0)
        rows = np.arange(shape[0])[:, None]
        for end, at, columns in (("from", number - 1, pairs), ("to", number, pairs.T)):
            place = self.first[at] + part.place[operator]
            entries = [(rows, columns, 1.0), (rows[:, 0], place, -1.0)]
            self.program.add_rows(f"{name} {end}", shape[0], entries, lower=0.0, upper=0.0)
        return pairs

    def _rows(self, operator: int, part: LiteralExpressions) -> Ints:
        """Replicas by node of an operator's configurations, shape (configurations, nodes)."""
        members = part.members[operator]
        return np.asarray((members[:, :, None] == np.arange(self.nodes)).sum(axis=1), np.int64)

    def _times(self, operator: int, before: Ints, part: LiteralExpressions) -> Floats:
        """Downtime of an operator's change from one configuration to all."""
        current = np.zeros((self.operators, self.nodes), np.int64)
        current[operator] = before
        compiled = replace(part.compiled, current=current)
        return operator_downtimes(compiled, operator, part.members[operator])

    def _name(self, operator: int) -> str:
        return self.arrays.periods[0].operators[operator]
