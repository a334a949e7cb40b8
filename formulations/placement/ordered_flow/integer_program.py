"""A placement without streams in whole numbers: rows over replicas, and goals as multiples of their steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import UnsupportedProblemError
from edrp.core.late_imports import sparse
from edrp.core.problem import derived
from edrp.core.tolerances import LIMIT_SLACK, WHOLE_NUMBER_SLACK
from edrp.core.whole_numbers import common_step
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics.own import OwnMetric, WrittenMetric
from edrp.placement.rules.arrays import cell_matrices

UNBOUNDED = 1 << 60
"""Stands for the infinite end of a row."""

MAX_EXACT = 1 << 53
"""Whole numbers up to which doubles tell them apart: of coefficients, and of the values of several goals in one sum."""

MAX_SPAN = 1 << 62
"""Steps that a goal of its own may have, so that the sums of its bounds stay within 64 bits."""


class Goal(NamedTuple):
    """A metric as `step` × (cost · columns + constant), where the product is from `least` to `least + span`; cost by column."""

    metric: str
    step: Fraction
    cost: Ints
    constant: int
    least: int
    span: int

    def steps(self, point: Ints) -> int:
        """The value at a point, in steps."""
        return int(self.cost @ point) + self.constant


@dataclass(frozen=True)
class IntegerProgram:
    """Rows `lower ≤ matrix · columns ≤ upper` in whole numbers, and goals.

    Columns are replicas by operator and node, and after them the largest of some expressions over these, which goals are made of.

    Attributes
    ----------
    compiled : arrays of the problem, whose operators and nodes are meant.
    matrix : shape (rows, columns), in int64; a row for the replicas of each operator first, one for each of `cells` last.
    lower, upper : shape (rows,); ±`UNBOUNDED` for no bound.
    most : shape (columns,), upper bounds of columns; the lower ones are 0.
    goals : by priority.
    cells, constant, column : expressions over replicas, their constants, and the column that is the largest of each one's group.
    """

    compiled: Compiled
    matrix: sparse.csr_array
    lower: Ints
    upper: Ints
    most: Ints
    goals: tuple[Goal, ...]
    cells: sparse.csr_array
    constant: Ints
    column: Ints

    def point(self, counts: Ints) -> Ints:
        """All columns for replicas, shape (operators, nodes)."""
        point = np.zeros(self.most.size, np.int64)
        point[: counts.size] = counts.ravel()
        np.maximum.at(point, self.column, (self.cells @ counts.ravel().astype(float)).astype(np.int64) + self.constant)
        return point

    def counts(self, point: Ints) -> Ints:
        """Replicas, shape (operators, nodes), of a point."""
        return point[: self.compiled.candidate.size].reshape(self.compiled.candidate.shape)


def goal_names(problem: EdrpProblem) -> list[str]:
    """The priorities, or without any the metrics that have a weight."""
    return [priority.metric for priority in problem.priorities] or [term.metric for term in problem.terms if term.weight]


@derived
def integer_program(problem: EdrpProblem) -> IntegerProgram:
    """The program of a problem without streams whose numbers of replicas are fixed, with its priorities or weights as goals.

    Raises
    ------
    UnsupportedProblemError
        A rule joins nodes, a goal is no sum over replicas, or their coefficients are no multiples of a common step.
    """
    compiled = compile_problem(problem)
    rules, size = compiled.rules, compiled.candidate.size
    hard = np.flatnonzero(rules.hard)
    rows, lower, upper = _own_rows(compiled)
    matrix = sparse.vstack([_widened(rows, 2 * size + rules.members.shape[0]), rules.matrix[hard]], format="csr")
    ends = np.concatenate([lower, rules.lower[hard]]), np.concatenate([upper, rules.upper[hard]])
    most = np.where(compiled.candidate, compiled.min_replicas[:, None], 0).ravel()
    rows, lower_steps, upper_steps = _whole_rows(matrix, *ends)
    most = _tightened(most, rows[:, :size], upper_steps, np.diff(rows[:, size:].indptr) == 0)
    rows = _over_replicas(rows, most, "a rule")
    groups: list[tuple[sparse.csr_array, Ints, Ints]] = []
    goals, columns = [], size
    for name in goal_names(problem):
        metric = problem.metrics[name]
        assert isinstance(metric, OwnMetric)
        written = metric.written(problem)
        step, cells, constant = _whole_cells(compiled, most, name, written)
        alone = (np.bincount(written.group)[written.group] == 1) & (not written.as_rows or _least(cells, constant, most) >= 0)
        column = columns + np.unique(written.group[~alone], return_inverse=True)[1]
        groups.append((cells[~alone], constant[~alone], column))
        end = int(column.max(initial=columns - 1)) + 1
        goals.append((name, step, cells[alone].sum(axis=0), slice(columns, end), int(constant[alone].sum())))
        columns = end
    none = np.zeros(0, np.int64)
    cells = sparse.vstack([sparse.csr_array((0, size)), *(part[0] for part in groups)], format="csr")
    constant, column = (np.concatenate([none, *(part[index] for part in groups)]) for index in (1, 2))
    largest = sparse.csr_array(
        (np.ones(column.size), (np.arange(column.size), column - size)), shape=(column.size, columns - size)
    )
    matrix = sparse.vstack(
        [_widened(rows, columns), sparse.hstack([-cells, largest], format="csr")], format="csr"
    )  # a largest cell is at least each
    ceilings = np.zeros(columns - size, np.int64)
    np.maximum.at(ceilings, column - size, (cells.maximum(0) @ most.astype(float)).astype(np.int64) + constant)
    most = np.concatenate([most, ceilings])
    return IntegerProgram(
        compiled=compiled,
        matrix=matrix.astype(np.int64),
        lower=np.concatenate([lower_steps, constant]),
        upper=np.concatenate([upper_steps, np.full(column.size, UNBOUNDED)]),
        most=most,
        goals=tuple(_goal(compiled, most, *goal) for goal in goals),
        cells=cells,
        constant=constant,
        column=column,
    )


def _own_rows(compiled: Compiled) -> tuple[sparse.csr_array, Floats, Floats]:
    """Every replica has a node, and nodes have room for what they run."""
    operators, nodes = compiled.candidate.shape
    limited = np.isfinite(compiled.capacity).T
    blocks = [sparse.kron(sparse.eye_array(operators), np.ones((1, nodes)), format="csr")]
    for demand, kept in zip(compiled.demand.T, limited, strict=True):
        blocks.append(sparse.kron(demand[None, :], sparse.eye_array(nodes), format="csr")[np.flatnonzero(kept)])
    matrix = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    matrix.eliminate_zeros()
    room = compiled.capacity.T[limited] * (1 + LIMIT_SLACK)
    replicas = compiled.min_replicas.astype(float)
    return matrix, np.concatenate([replicas, np.full(room.size, -np.inf)]), np.concatenate([replicas, room])


def _widened(matrix: sparse.csr_array, columns: int) -> sparse.csr_array:
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


def _whole_rows(matrix: sparse.csr_array, lower: Floats, upper: Floats) -> tuple[sparse.csr_array, Ints, Ints]:
    """Rows times what makes their coefficients whole, and their bounds rounded to the whole numbers between them."""
    factor = np.ones(matrix.shape[0])
    row = np.repeat(np.arange(factor.size), np.diff(matrix.indptr))
    for broken in np.unique(row[matrix.data != np.rint(matrix.data)]):
        step = common_step(matrix.data[matrix.indptr[broken] : matrix.indptr[broken + 1]])
        if step is None:
            raise UnsupportedProblemError("needs of replicas, or a rule, are no whole multiples of a common step")
        factor[broken] = 1 / step
    whole = sparse.csr_array((np.rint(matrix.data * factor[row]), matrix.indices, matrix.indptr), shape=matrix.shape)
    ends = []
    for bound, sign in ((lower * factor, -1.0), (upper * factor, 1.0)):
        near = np.floor(sign * bound + WHOLE_NUMBER_SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(bound), bound, 0.0))))
        ends.append((sign * np.clip(near, -UNBOUNDED, UNBOUNDED)).astype(np.int64))
    return whole, ends[0], ends[1]


def _tightened(most: Ints, replicas: sparse.csr_array, upper: Ints, plain: Ints) -> Ints:
    """Upper bounds of replicas by rows without coefficients below 0 that are over replicas alone."""
    row = np.repeat(np.arange(upper.size), np.diff(replicas.indptr))
    negative = np.bincount(row, replicas.data < 0, upper.size) > 0
    used = (plain & ~negative & (upper < UNBOUNDED))[row] & (replicas.data > 0)
    tight = most.copy()
    np.minimum.at(tight, replicas.indices[used], upper[row[used]] // replicas.data[used].astype(np.int64))
    return np.maximum(tight, 0)


def _over_replicas(matrix: sparse.csr_array, most: Ints, what: str) -> sparse.csr_array:
    """Rows over replicas: presence on a node is their number where there is at most one.

    Raises
    ------
    UnsupportedProblemError
        Where presence is something else.
    """
    size, wide = most.size, matrix.indices
    if (wide >= 2 * size).any() or (most[wide[wide >= size] - size] > 1).any():
        raise UnsupportedProblemError(f"{what} counts whether there are any replicas where there may be several")
    narrow = sparse.csr_array((matrix.data, wide % size, matrix.indptr), shape=(matrix.shape[0], size))
    narrow.sum_duplicates()
    return narrow


def _whole_cells(compiled: Compiled, most: Ints, name: str, written: WrittenMetric) -> tuple[Fraction, sparse.csr_array, Ints]:
    """The step of a goal, and its cells and their constants in steps."""
    numbers = np.concatenate([written.counted.matrix.data, written.counted.constant])
    step = written.step or Fraction(math.gcd(*np.where(numbers == np.rint(numbers), numbers, 1.0).astype(np.int64).tolist()) or 1)
    matrix, _ = cell_matrices(written.model, compiled.operators, compiled.nodes, written.counted.matrix)
    cells = _over_replicas(matrix, most, name)
    steps, constant = cells.data / float(step), written.counted.constant / float(step)
    if written.step is None and ((numbers != np.rint(numbers)).any() or np.abs(numbers).max(initial=0.0) >= MAX_EXACT):
        raise UnsupportedProblemError(f"the values of {name} are no whole multiples of a step that doubles tell apart")
    whole = sparse.csr_array((np.rint(steps), cells.indices, cells.indptr), shape=cells.shape)
    return step, whole, np.rint(constant).astype(np.int64)


def _least(cells: sparse.csr_array, constant: Ints, most: Ints) -> Ints:
    """What expressions are at least, whatever the replicas."""
    return np.asarray(np.rint(cells.minimum(0) @ most.astype(float))).astype(np.int64) + constant


def _goal(compiled: Compiled, most: Ints, name: str, step: Fraction, plain: Floats, largest: slice, constant: int) -> Goal:
    """A goal over all columns; its span follows from what each operator may add, and from the largest of other columns."""
    size, cost = compiled.candidate.size, np.zeros(most.size, np.int64)
    cost[:size], cost[largest] = np.rint(plain).astype(np.int64), 1
    costs = cost[:size].reshape(compiled.candidate.shape)
    ends = [
        costs.min(axis=1, where=compiled.candidate, initial=MAX_EXACT),
        costs.max(axis=1, where=compiled.candidate, initial=-MAX_EXACT),
    ]
    least, dearest = (sum(int(a) * int(b) for a, b in zip(end, compiled.min_replicas, strict=True)) for end in ends)
    span = dearest + int(most[largest].sum()) - least
    if span >= MAX_SPAN:
        raise UnsupportedProblemError(f"the values of {name} may be {span:.3g} steps, more than 64 bits are safe for")
    return Goal(name, step, cost, constant, least, span)
