"""Policies as small objects: from a partition and the number of nodes to come, the partition to take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.core.kernels import kernel
from edrp.mdp.best_response import PRICED_ARC_UNITS
from edrp.mdp.fitted.features import Features
from edrp.mdp.fitted.priced_class import PricedClass
from edrp.mdp.matching import gain_between
from edrp.mdp.partitions import Boundaries
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.single_step.tie_breaking import CELL_UNITS, SINGLE_STEP_UNITS, break_ties

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
        chosen, matched = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
        spend(SINGLE_STEP_UNITS + CELL_UNITS * tasks.work.size * nodes)
        break_ties(
            tasks.work_before,
            tasks.state_before,
            np.unique(before),
            self.model.limit(nodes),
            self.model.allow_empty,
            chosen,
            matched,
            True,
        )
        return chosen


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
        gains = np.empty(len(self.partitions[target]))
        gains_to(self.model.tasks.state_before, before, self.partitions[target], gains)
        return self.partitions[target][int(np.argmin(self.model.discount * self.values[target] - gains))]


@kernel
def gains_to(state_before: np.ndarray, before: np.ndarray, partitions: np.ndarray, gains: np.ndarray) -> None:
    """Fill `gains`, shape (rows,), with the bytes that stay in a migration from one partition to each of many."""
    for row in range(partitions.shape[0]):
        gains[row] = gain_between(state_before, before, partitions[row])
