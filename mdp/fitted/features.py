"""Features that explain projected costs: where a partition has its boundaries, and how its intervals are loaded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.kernels import inner_loop
from edrp.mdp.best_response import SearchWorkspace, bound_from_the_right, span_gains
from edrp.mdp.partitions import Boundaries, Partitions
from edrp.mdp.trie import Trie


@dataclass(frozen=True)
class PricedClass:
    """All partitions Q of a class, each valued at `constant` plus the prices of its intervals.

    Attributes
    ----------
    graph : places and arcs of the class.
    price : shape (arcs,), in bytes.
    constant : in bytes.
    """

    graph: Trie
    price: Floats
    constant: float = 0.0

    def best_responses(self, state_before: Floats, partitions: Partitions | Boundaries) -> tuple[Floats, Boundaries]:
        """Find, for each partition P, the least c(P, Q) + value(Q), and the Q that attains it; O(arcs) each.

        Parameters
        ----------
        state_before
            Shape (m + 1,), bytes of state before each boundary.
        partitions
            Shape (rows, k + 1).

        Returns
        -------
        tuple of arrays
            Values in bytes, shape (rows,), and boundaries, shape (rows, n + 1).
        """
        values = np.empty(len(partitions))
        chosen = np.empty((len(partitions), self.graph.nodes + 1), np.int64)
        _best_priced_responses(self.graph, self.price, state_before, partitions, values, chosen, SearchWorkspace.of(self.graph))
        return values + self.constant, chosen


@inner_loop
def _best_priced_responses(
    graph: Trie,
    price: np.ndarray,
    state_before: np.ndarray,
    partitions: np.ndarray,
    values: np.ndarray,
    chosen: np.ndarray,
    space: SearchWorkspace,
) -> None:
    total, everything = state_before[-1], state_before.size
    gains, free, whatever = space.gains, space.free_after, space.any_after
    for row in range(partitions.shape[0]):
        span_gains(graph, state_before, partitions[row], everything, gains)
        bound_from_the_right(graph, price, everything, space)
        values[row] = total - free[0]
        v, owner_free = 0, True
        chosen[row, 0] = 0
        for k in range(graph.nodes):
            best, follow, next_free = -np.inf, graph.arc_start[v], False
            for e in range(graph.arc_start[v], graph.arc_start[v + 1]):
                s, w = graph.arc_span[e], graph.arc_target[e]
                to_free = (gains.free_free[s] if owner_free else gains.any_free[s]) + free[w] - price[e]
                to_any = (gains.free_any[s] if owner_free else gains.any_any[s]) + whatever[w] - price[e]
                if to_free > best:
                    best, follow, next_free = to_free, e, True
                if to_any > best:
                    best, follow, next_free = to_any, e, False
            v, owner_free = graph.arc_target[follow], next_free
            chosen[row, k + 1] = graph.boundary[v]


def arc_intervals(graph: Trie) -> tuple[Ints, Ints]:
    """First task and end of the interval that each arc stands for, both of shape (arcs,)."""
    source = np.repeat(np.arange(graph.boundary.size), np.diff(graph.arc_start))
    return graph.boundary[source], graph.boundary[graph.arc_target]


LOAD_BINS = 12
"""Number of bins of interval loads, as shares of the load limit."""

SMOOTHING_STRENGTHS = (0.3, 3.0, 30.0, 300.0)
"""Strengths of the smoothing of prices of neighbouring boundaries; cross-validation chooses one."""

CROSS_VALIDATION_FOLDS = 4

REGRESSION_UNITS = 1.4e-9
"""Units of work per two columns, and row or column, of a regression with cross-validation."""


@dataclass(frozen=True)
class Features:
    """Features of one class of partitions: boundaries and load bins.

    Attributes
    ----------
    work_before : shape (m + 1,)
    limit : maximum work of an interval.
    """

    work_before: Floats
    limit: float

    @property
    def count(self) -> int:
        """Number of columns of the design matrix: a constant, one per boundary, one per load bin."""
        return 1 + self.work_before.size + LOAD_BINS

    def of(self, partitions: Boundaries) -> Floats:
        """Design matrix of partitions, shape (rows, count)."""
        rows = np.repeat(np.arange(len(partitions)), partitions.shape[1] - 1)
        first, end = partitions[:, :-1].ravel(), partitions[:, 1:].ravel()
        design = np.zeros((len(partitions), self.count))
        design[:, 0] = 1.0
        np.add.at(design, (rows, 1 + end), 1.0)
        np.add.at(design, (rows, 1 + self.work_before.size + self._bins(first, end)), 1.0)
        return design

    def prices(self, graph: Trie, weights: Floats) -> tuple[Floats, float]:
        """Convert weights of shape (count,) into a price per arc of the class, and a constant."""
        first, end = arc_intervals(graph)
        boundary, load = weights[1 : 1 + self.work_before.size], weights[1 + self.work_before.size :]
        return boundary[end] + load[self._bins(first, end)], float(weights[0])

    def fit(self, partitions: Boundaries, targets: Floats) -> Floats:
        """Weights of a ridge regression whose smoothing is chosen by cross-validation.

        Parameters
        ----------
        partitions
            Shape (rows, n + 1).
        targets
            Shape (rows,), bytes.

        Returns
        -------
        numpy.ndarray
            Shape (count,).
        """
        look("the fitted costs")
        spend(REGRESSION_UNITS * self.count**2 * (len(targets) + self.count))
        design, centre = self.of(partitions), float(targets.mean())
        fold = np.arange(len(targets)) % CROSS_VALIDATION_FOLDS
        errors = []
        for smoothing in SMOOTHING_STRENGTHS:
            missed = 0.0
            for held_out in range(CROSS_VALIDATION_FOLDS):
                train = fold != held_out
                weights = self._ridge(design[train], targets[train] - centre, smoothing)
                missed += float(((design[~train] @ weights - targets[~train] + centre) ** 2).sum())
            errors.append(missed)
        weights = self._ridge(design, targets - centre, SMOOTHING_STRENGTHS[int(np.argmin(errors))])
        weights[0] += centre
        return weights

    def _ridge(self, design: Floats, targets: Floats, smoothing: float) -> Floats:
        tasks = self.work_before.size
        penalty = np.zeros((self.count, self.count))
        for first, size in ((1, tasks), (1 + tasks, LOAD_BINS)):
            step = np.diff(np.eye(size), axis=0)
            penalty[first : first + size, first : first + size] = smoothing * step.T @ step
        penalty[np.diag_indices(self.count)] += 1e-3 * len(targets) / self.count
        return np.asarray(solve(design.T @ design + penalty, design.T @ targets, assume_a="pos"))

    def _bins(self, first: Boundaries, end: Boundaries) -> Boundaries:
        share = (self.work_before[end] - self.work_before[first]) / self.limit if self.limit else np.zeros(first.shape)
        return np.minimum((share * LOAD_BINS).astype(np.int64), LOAD_BINS - 1)
