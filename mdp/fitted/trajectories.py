"""Trajectories of a policy through random migrations."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look
from edrp.mdp.fitted.policies import PartitionPolicy, SingleStepPolicy
from edrp.mdp.matching import gain_between
from edrp.mdp.partitions import Boundaries, sample_partitions
from edrp.mdp.policy.process import PolicyModel


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
