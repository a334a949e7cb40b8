"""Policies followed through a sequence of node counts, and what can be said of them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import thread_time
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.migration.node_change import (
    BalancedPacking,
    ConsistentHashing,
    NodeCountChange,
    ReassignmentRule,
    least_largest_load,
    reassignment_outcome,
)
from edrp.mdp.partitions import Boundaries, Tasks, gain_between, layers
from edrp.migration.intervals import load_limit


class MigrationTask(NamedTuple):
    """One migration of a course: the tasks as they are then, the number of nodes to come, and the tolerance."""

    tasks: Tasks
    nodes: int
    tolerance: float

    @property
    def limit(self) -> float:
        """Most work that a node may hold."""
        return load_limit(float(self.tasks.work_before[-1]), self.nodes, self.tolerance)


ActionRule = Callable[[Boundaries, MigrationTask], Boundaries]
"""From a partition and the migration to come, the partition to take."""


class NodeCountCourse(NamedTuple):
    """Node counts to go through, and the load at each change.

    Attributes
    ----------
    tasks : work and state at the start and at each migration, length p + 1.
    counts : shape (p + 1,), the first is held at the start.
    tolerances : shape (p,), τ of each migration.
    """

    tasks: tuple[Tasks, ...]
    counts: Ints
    tolerances: Floats

    @classmethod
    def of(cls, tasks: Tasks | Sequence[Tasks], counts: Ints, tolerance: float) -> NodeCountCourse:
        """Create a course with constant loads, or with those at each count; τ is widened where no partition keeps the limit.

        The least τ that a partition into intervals with at least one task each keeps takes its place: all policies then
        have to balance as well as can be.

        >>> course = NodeCountCourse.of(Tasks.of([3, 1, 1, 1], [1, 1, 1, 1]), np.array([3, 2, 3]), 0.2)
        >>> course.tolerances.round(3).tolist(), course.widened(0.2)
        ([0.2, 0.5], 1)
        """
        loads = (tasks,) * counts.size if isinstance(tasks, Tasks) else tuple(tasks)
        steps = zip(loads[1:], counts[1:].tolist(), strict=True)
        return cls(loads, counts, np.array([_possible_tolerance(load, nodes, tolerance) for load, nodes in steps]))

    def widened(self, tolerance: float) -> int:
        """Number of migrations whose τ had to be larger than this one."""
        return int((self.tolerances > tolerance).sum())

    @property
    def migrations(self) -> tuple[MigrationTask, ...]:
        """The migrations, length p."""
        steps = zip(self.tasks[1:], self.counts[1:].tolist(), self.tolerances.tolist(), strict=True)
        return tuple(MigrationTask(*step) for step in steps)

    def start(self) -> Boundaries:
        """Partition to start from: equal shares of the work, with the least largest load."""
        nodes = int(self.counts[0])
        node_of_task = BalancedPacking(allow_empty=False).initial(self.tasks[0].work, nodes)
        return np.searchsorted(node_of_task, np.arange(nodes + 1)).astype(np.int64)


def _possible_tolerance(tasks: Tasks, nodes: int, tolerance: float) -> float:
    """The tolerance, or the least one that some partition keeps."""
    total = float(tasks.work_before[-1])
    if layers(tasks.work_before, nodes, load_limit(total, nodes, tolerance), allow_empty=False).feasible:
        return tolerance
    return least_largest_load(tasks.work, nodes) * nodes / total - 1


@dataclass(frozen=True, slots=True)
class Followed:
    """Costs of a policy on a course, migration by migration; means over the runs of a random one.

    Attributes
    ----------
    name : name of the policy.
    moved_share : shape (p,), state that moved, as a share of all.
    broken : shape (p,), 1 where the load limit was broken, 0 where not.
    seconds : shape (p,), processor time to decide.
    path : the p + 1 partitions that it went through; empty for rules on tasks.
    """

    name: str
    moved_share: Floats
    broken: Floats
    seconds: Floats
    path: tuple[Boundaries, ...] = ()

    @property
    def mean(self) -> float:
        """Share of the state that a migration moves."""
        return float(self.moved_share.mean())

    @property
    def broken_share(self) -> float:
        """Share of the migrations that break the load limit."""
        return float(self.broken.mean())

    @property
    def median_seconds(self) -> float:
        """Median time of one decision (s)."""
        return float(np.median(self.seconds))


def follow_rule(rule: ReassignmentRule, course: NodeCountCourse) -> Followed:
    """A rule on tasks, from its own initial assignment."""
    node_of_task = rule.initial(course.tasks[0].work, int(course.counts[0]))
    moved, broken, seconds = [], [], []
    for before, (tasks, after, tolerance) in zip(course.counts[:-1].tolist(), course.migrations, strict=True):
        change = NodeCountChange(node_of_task, before, after, tasks.work, tasks.state_size, tolerance)
        began = thread_time()
        answer = rule(change)
        seconds.append(thread_time() - began)
        result = reassignment_outcome(change, answer)
        moved.append(result.moved_share)
        broken.append(float(result.breaks_limit))
        node_of_task = answer.node_of_task
    return Followed(rule.name, np.array(moved), np.array(broken), np.array(seconds))


def follow_hashing(course: NodeCountCourse, runs: int = 100) -> Followed:
    """Consistent hashing, averaged over hash functions as the paper does."""
    each = [follow_rule(ConsistentHashing(seed=seed), course) for seed in range(runs)]
    means = (np.mean([getattr(run, name) for run in each], axis=0) for name in ("moved_share", "broken", "seconds"))
    return Followed(each[0].name, *means)


def follow_policy(name: str, action: ActionRule, course: NodeCountCourse) -> Followed:
    """A policy on partitions, which are all that later costs depend on (state migration, Lemma 4.1)."""
    boundaries = course.start()
    path, seconds = [boundaries], []
    for migration in course.migrations:
        began = thread_time()
        boundaries = np.asarray(action(boundaries, migration), dtype=np.int64)
        seconds.append(thread_time() - began)
        path.append(boundaries)
    return judge_path(name, path, course, np.array(seconds))


def judge_path(name: str, path: Sequence[Boundaries], course: NodeCountCourse, seconds: Floats) -> Followed:
    """A sequence of partitions, the start first; shares are those of the state at each migration."""
    changes = list(zip(course.migrations, pairwise(path), strict=True))
    moved = [1 - gain_between(step.tasks.state_before, a, b) / step.tasks.state_before[-1] for step, (a, b) in changes]
    broken = [float(np.diff(step.tasks.work_before[after]).max() > step.limit) for step, (_, after) in changes]
    return Followed(name, np.array(moved), np.array(broken), seconds, tuple(path))
