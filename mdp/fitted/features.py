"""Features that explain projected costs: where a partition has its boundaries, and how its intervals are loaded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from edrp.core.arrays import Floats
from edrp.core.budget import look, spend
from edrp.mdp.fitted.priced_class import arc_intervals
from edrp.mdp.partitions import Boundaries
from edrp.mdp.trie import Trie

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
