"""Policies as small objects: from a partition and the number of nodes to come, the partition to take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.kernels import kernel
from edrp.mdp.best_response import PRICED_ARC_UNITS
from edrp.mdp.fitted.features import Features, PricedClass
from edrp.mdp.matching import gain_between
from edrp.mdp.partitions import Boundaries, sample_partitions
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
