"""A placement without streams in whole numbers: rows over replicas, and goals as multiples of their steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import UnsupportedProblemError
from edrp.core.expressions import widened
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
"""Steps that a goal of its own may have, so that its values are within 64 bits."""


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
    matrix : shape (rows, columns), in int64; a row for the replicas of each operator first, one for each expression last.
    lower, upper : shape (rows,); ±`UNBOUNDED` for no bound.
    most : shape (columns,), upper bounds of columns; the lower ones are 0.
    goals : by priority.
    largest : of each expression, the column that is the largest of its group.
    """

    compiled: Compiled
    matrix: sparse.csr_array
    lower: Ints
    upper: Ints
    most: Ints
    goals: tuple[Goal, ...]
    largest: Ints

    def point(self, counts: Ints) -> Ints:
        """All columns for replicas, shape (operators, nodes)."""
        point, expressions = np.zeros(self.most.size, np.int64), slice(self.lower.size - self.largest.size, None)
        point[: counts.size] = counts.ravel()
        np.maximum.at(point, self.largest, self.lower[expressions] - self.matrix[expressions] @ point)
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
    rows, lower, upper, most = _rows(compiled)
    size = columns = most.size
    blocks = [(rows[:0], np.zeros(0, np.int64), np.zeros(0, np.int64))]
    goals = []
    for name in goal_names(problem):
        metric = problem.metrics[name]
        assert isinstance(metric, OwnMetric)
        written = metric.written(problem)
        step, cells, constant = _whole_cells(compiled, most, name, written)
        least = cells.minimum(0) @ most.astype(float) + constant
        alone = (np.bincount(written.group)[written.group] == 1) & (not written.as_rows or least >= 0)
        groups, largest = np.unique(written.group[~alone], return_inverse=True)
        blocks.append((cells[~alone], constant[~alone], columns + largest))
        goals.append((name, step, cells[alone].sum(axis=0), slice(columns, columns + groups.size), int(constant[alone].sum())))
        columns += groups.size
    cells = sparse.vstack([block[0] for block in blocks], format="csr")
    constant, largest = (np.concatenate([block[index] for block in blocks]) for index in (1, 2))
    column = sparse.csr_array((np.ones(largest.size), largest, np.arange(largest.size + 1)), shape=(largest.size, columns))
    most = np.concatenate([most, np.zeros(columns - size, np.int64)])
    ceilings = np.minimum(cells.maximum(0) @ most[:size].astype(float) + constant, float(MAX_SPAN))
    np.maximum.at(most, largest, ceilings.astype(np.int64))
    return IntegerProgram(
        compiled=compiled,
        matrix=sparse.vstack([widened(rows, columns), column - widened(cells, columns)], format="csr").astype(np.int64),
        lower=np.concatenate([lower, constant]),
        upper=np.concatenate([upper, np.full(largest.size, UNBOUNDED)]),
        most=most,
        goals=tuple(_goal(compiled, most, *goal) for goal in goals),
        largest=largest,
    )


def _rows(compiled: Compiled) -> tuple[sparse.csr_array, Ints, Ints, Ints]:
    """Rows over replicas, their bounds, and the most replicas: all have a node, nodes have room for them, and rules are met."""
    rules, (operators, nodes) = compiled.rules, compiled.candidate.shape
    size, hard, limited = operators * nodes, np.flatnonzero(rules.hard), np.isfinite(compiled.capacity).T
    blocks = [sparse.kron(sparse.eye_array(operators), np.ones((1, nodes)), format="csr")]
    for demand, kept in zip(compiled.demand.T, limited, strict=True):
        blocks.append(sparse.kron(demand[None, :], sparse.eye_array(nodes), format="csr")[np.flatnonzero(kept)])
    own = widened(sparse.csr_array(sparse.vstack(blocks, format="csr")), rules.matrix.shape[1])
    unit = np.array([getattr(rules.rules[rule], "unit", 1.0) for rule in rules.rule[hard].tolist()])
    stated = sparse.csr_array(rules.matrix[hard])
    stated.data *= np.repeat(unit, np.diff(stated.indptr))
    matrix = sparse.csr_array(sparse.vstack([own, stated], format="csr"))
    matrix.eliminate_zeros()
    replicas, room = compiled.min_replicas.astype(float), compiled.capacity.T[limited] * (1 + LIMIT_SLACK)
    lower = np.concatenate([replicas, np.full(room.size, -np.inf), rules.lower[hard] * unit])
    matrix, low, high = _whole_rows(matrix, lower, np.concatenate([replicas, room, rules.upper[hard] * unit]))
    # Rows over replicas alone, without coefficients below 0, bound these.
    row = np.repeat(np.arange(high.size), np.diff(matrix.indptr))
    plain = np.bincount(row, (matrix.data < 0) | (matrix.indices >= size), high.size) == 0
    used = (plain & (high < UNBOUNDED))[row] & (matrix.data > 0)
    most = np.where(compiled.candidate, compiled.min_replicas[:, None], 0).ravel()
    np.minimum.at(most, matrix.indices[used], high[row[used]] // matrix.data[used].astype(np.int64))
    most = np.maximum(most, 0)
    return _over_replicas(matrix, most, "a rule"), low, high, most


def _whole_rows(matrix: sparse.csr_array, lower: Floats, upper: Floats) -> tuple[sparse.csr_array, Ints, Ints]:
    """Rows times what makes their coefficients whole, and their bounds rounded to the whole numbers between them."""
    factor, filled = np.ones(matrix.shape[0]), np.flatnonzero(np.diff(matrix.indptr))
    common = np.gcd.reduceat(np.abs(np.rint(matrix.data)).astype(np.int64), matrix.indptr[filled])
    factor[filled] /= np.maximum(common, 1)
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
    step, numbers = written.step, np.concatenate([written.counted.matrix.data, written.counted.constant])
    if step is None:
        if (numbers != np.rint(numbers)).any() or np.abs(numbers).max(initial=0.0) >= MAX_EXACT:
            raise UnsupportedProblemError(f"the values of {name} are no whole multiples of a step that doubles tell apart")
        step = Fraction(math.gcd(*numbers.astype(np.int64).tolist()) or 1)
    matrix, _ = cell_matrices(written.model, compiled.operators, compiled.nodes, written.counted.matrix)
    cells = _over_replicas(matrix, most, name)
    whole = sparse.csr_array((np.rint(cells.data / float(step)), cells.indices, cells.indptr), shape=cells.shape)
    return step, whole, np.rint(written.counted.constant / float(step)).astype(np.int64)


def _goal(compiled: Compiled, most: Ints, name: str, step: Fraction, plain: Floats, largest: slice, constant: int) -> Goal:
    """A goal over all columns; its span follows from what each operator may add, and from the largest of other columns."""
    size, cost = compiled.candidate.size, np.zeros(most.size, np.int64)
    cost[:size], cost[largest] = np.rint(plain).astype(np.int64), 1
    costs, where = cost[:size].reshape(compiled.candidate.shape), compiled.candidate
    ends = costs.min(axis=1, where=where, initial=MAX_EXACT), costs.max(axis=1, where=where, initial=-MAX_EXACT)
    least, dearest = (int(end.astype(object) @ compiled.min_replicas) for end in ends)
    span = dearest + sum(most[largest].tolist()) - least
    if span >= MAX_SPAN:
        raise UnsupportedProblemError(f"the values of {name} may be {span:.3g} steps, more than 64 bits are safe for")
    return Goal(name, step, cost, constant, least, span)
