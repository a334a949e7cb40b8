"""Policies as small objects: from a partition and the number of nodes to come, the partition to take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import solve

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.mdp.best_response import PRICED_ARC_UNITS
from edrp.mdp.partitions import Boundaries, Partitions, as_boundaries, gain_between, sample_partitions
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.single_step.ssm import ssm
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
        _native.best_priced_responses(self.graph, self.price, state_before, partitions, values, chosen)
        return values + self.constant, chosen


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


KEPT_STATE_UNITS = 3e-9
"""Units of work per interval of two partitions, to compute the state that stays."""


class PartitionPolicy(Protocol):
    """A policy: maps a partition and the next node count to the partition to take."""

    def action(self, before: Boundaries, target: int) -> Boundaries:
        """The partition to go to from `before`, with the node count of index `target`."""


@dataclass(frozen=True)
class SingleStepPolicy:
    """The policy of SSM: moves the least state now, whatever comes later."""

    model: PolicyModel

    def action(self, before: Boundaries, target: int) -> Boundaries:
        """Return the optimum of the single step."""
        tasks, nodes = self.model.tasks, self.model.counts[target]
        best = ssm(tasks, np.unique(before), nodes, self.model.limit(nodes), self.model.allow_empty, least_load=True)
        assert best is not None, "there is a partition for every node count"
        return best[1]


@dataclass(frozen=True)
class FittedPolicy:
    """A policy that minimises state moved now plus γ times a fitted, additive projected cost.

    Attributes
    ----------
    weights : by node count, shape (features,)
        Weights of C, in bytes.
    """

    model: PolicyModel
    weights: tuple[Floats, ...]

    @cached_property
    def classes(self) -> tuple[PricedClass, ...]:
        """γ·C of each class as prices of arcs."""
        priced = []
        for nodes, graph, weights in zip(self.model.counts, self.model.graphs, self.weights, strict=True):
            price, constant = Features(self.model.tasks.work_before, self.model.limit(nodes)).prices(graph, weights)
            priced.append(PricedClass(graph, self.model.discount * price, self.model.discount * constant))
        return tuple(priced)

    def action(self, before: Boundaries, target: int) -> Boundaries:
        """Return the partition that is optimal for the fitted cost."""
        spend(PRICED_ARC_UNITS * self.model.graphs[target].arc_target.size)
        return np.asarray(self.classes[target].best_responses(self.model.tasks.state_before, before[np.newaxis])[1][0])

    def backups(self, source: int, partitions: Boundaries) -> Floats:
        """Compute the right-hand side of the Bellman equation at partitions of class `source`, shape (rows,), in bytes."""
        values = np.zeros(len(partitions))
        for target in self.model.successors(source):
            spend(PRICED_ARC_UNITS * len(partitions) * self.model.graphs[target].arc_target.size)
            costs, _ = self.classes[target].best_responses(self.model.tasks.state_before, partitions)
            values += self.model.transitions[source, target] * costs
        return values


@dataclass(frozen=True)
class RestrictedPolicy:
    """A policy over a few good partitions of each node count, with exact projected costs among them.

    Attributes
    ----------
    partitions : by node count, shape (kept, n + 1)
    values : by node count, shape (kept,)
        C in bytes.
    """

    model: PolicyModel
    partitions: tuple[Boundaries, ...]
    values: tuple[Floats, ...]

    def action(self, before: Boundaries, target: int) -> Boundaries:
        """Return the best of the kept partitions."""
        spend(KEPT_STATE_UNITS * (before.size * len(self.partitions[target]) + self.partitions[target].size))
        gains = gains_between_all(self.model.tasks.state_before, before[np.newaxis], self.partitions[target])[0]
        return self.partitions[target][int(np.argmin(self.model.discount * self.values[target] - gains))]


def gains_between_all(state_before: Floats, before: Boundaries, after: Boundaries) -> Floats:
    """Compute the bytes that stay in a migration from each row of `before` to each of `after`, shape (rows, rows)."""
    gains = np.empty((len(before), len(after)))
    _native.gains_between_all(state_before, as_boundaries(before), as_boundaries(after), gains)
    return gains


def draw_node_counts(model: PolicyModel, start: int, steps: int, generator: np.random.Generator) -> Ints:
    """Draw a random sequence of classes after `start`, shape (steps,)."""
    cumulative = np.cumsum(model.transitions, axis=1)
    drawn, state = np.empty(steps, np.int64), start
    for step, chance in enumerate(generator.random(steps)):
        # Rounding may leave the last sum below 1: the last class that can follow takes what is left.
        state = min(int(np.searchsorted(cumulative[state], chance, side="right")), int(model.successors(state)[-1]))
        drawn[step] = state
    return drawn


def follow(policy: PartitionPolicy, model: PolicyModel, start: Boundaries, classes: Ints) -> tuple[list[Boundaries], Floats]:
    """Follow a policy along a sequence of classes; return partitions and costs in bytes."""
    visited, costs = [], np.empty(len(classes))
    before, state = start, model.tasks.state_before
    for step, target in enumerate(classes):
        look("the simulation of policies")
        after = policy.action(before, int(target))
        costs[step] = state[-1] - gain_between(state, before, after)
        visited.append(after)
        before = after
    return visited, costs


def visit(
    policy: PartitionPolicy, model: PolicyModel, per_count: int, noise: float, generator: np.random.Generator
) -> tuple[Boundaries, ...]:
    """Sample partitions of each node count along trajectories of a policy, shape (per_count, n + 1) each.

    At each step, with probability `noise`, a partition drawn uniformly is taken instead of the policy's. All classes are
    visited equally often; the order of visits follows the chain.
    """
    visited: list[list[Boundaries]] = [[] for _ in model.counts]
    reserve = [iter(random_partitions(model, target, per_count, generator)) for target in range(len(model.counts))]
    before = next(reserve[0], None)
    assert before is not None, "a node count without partitions has no policy"
    current = 0
    while min(map(len, visited)) < per_count:
        look("the samples of partitions")
        short = [target for target in model.successors(current) if len(visited[target]) < per_count]
        weights = model.transitions[current, short] if short else np.zeros(0)
        if weights.sum() <= 0:  # all that may follow are full: go on from a node count that is not
            current = int(np.argmin([len(rows) for rows in visited]))
            before = random_partitions(model, current, 1, generator)[0]
        else:
            current = int(generator.choice(short, p=weights / weights.sum()))
            drawn = next(reserve[current], None) if generator.random() < noise else None
            before = policy.action(before, current) if drawn is None else drawn
        visited[current].append(before)
    return tuple(np.array(rows[:per_count]) for rows in visited)


def random_partitions(model: PolicyModel, target: int, size: int, generator: np.random.Generator) -> Boundaries:
    """Draw partitions of a node count uniformly, shape (size, n + 1)."""
    nodes = model.counts[target]
    drawn = sample_partitions(model.tasks.work_before, nodes, model.limit(nodes), model.allow_empty, size, generator)
    return drawn.astype(np.int64)


def single_step_start(model: PolicyModel, source: int, generator: np.random.Generator) -> Boundaries:
    """Draw a partition of class `source` that SSM reaches from a random one after a few migrations."""
    before = random_partitions(model, source, 1, generator)[0]
    classes = draw_node_counts(model, source, 5, generator)
    return follow(SingleStepPolicy(model), model, before, np.append(classes, source))[0][-1]


def distinct(partitions: Boundaries) -> Boundaries:
    """Remove repetitions from partitions of one class; return them in lexicographic order."""
    return np.unique(partitions, axis=0)
