"""Policies followed through a sequence of node counts, and what can be said of them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.migration import BalancedPacking, ConsistentHashing, NodeCountChange, ReassignmentRule, reassignment_outcome
from edrp.mdp.matching import gain_between
from edrp.mdp.partitions import Boundaries, Tasks
from edrp.migration.intervals import load_limit

ActionRule = Callable[[Boundaries, int], Boundaries]
"""From a partition and the number of nodes to come, the partition to take."""


class NodeCountCourse(NamedTuple):
    """Node counts to go through.

    Attributes
    ----------
    tasks : work and state; they stay the same.
    counts : shape (p + 1,), the first is held at the start.
    tolerance : τ of every migration.
    """

    tasks: Tasks
    counts: Ints
    tolerance: float

    def start(self) -> Boundaries:
        """Partition to start from: equal shares of the work, with the least largest load."""
        nodes = int(self.counts[0])
        node_of_task = BalancedPacking(allow_empty=False).initial(self.tasks.work, nodes)
        return np.searchsorted(node_of_task, np.arange(nodes + 1)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Followed:
    """Costs of a policy on a course, migration by migration; means over the runs of a random one.

    Attributes
    ----------
    name : name of the policy.
    moved_share : shape (p,), state that moved, as a share of all.
    broken : shape (p,), 1 where the load limit was broken, 0 where not.
    seconds : shape (p,), to decide.
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
    work, state_size = course.tasks.work, course.tasks.state_size
    node_of_task = rule.initial(work, int(course.counts[0]))
    moved, broken, seconds = [], [], []
    for before, after in zip(course.counts[:-1].tolist(), course.counts[1:].tolist(), strict=True):
        change = NodeCountChange(node_of_task, before, after, work, state_size, course.tolerance)
        began = perf_counter()
        answer = rule(change)
        seconds.append(perf_counter() - began)
        result = reassignment_outcome(change, answer)
        moved.append(result.moved_share)
        broken.append(float(result.breaks_limit))
        node_of_task = answer.node_of_task
    return Followed(rule.name, np.array(moved), np.array(broken), np.array(seconds))


def follow_hashing(course: NodeCountCourse, runs: int = 100) -> Followed:
    """Consistent hashing, averaged over hash functions as the paper does."""
    each = [follow_rule(ConsistentHashing(seed=seed), course) for seed in range(runs)]
    return Followed(
        each[0].name,
        np.mean([run.moved_share for run in each], axis=0),
        np.mean([run.broken for run in each], axis=0),
        np.mean([run.seconds for run in each], axis=0),
    )


def follow_policy(name: str, action: ActionRule, course: NodeCountCourse) -> Followed:
    """A policy on partitions, which are all that later costs depend on (state migration, Lemma 4.1)."""
    boundaries = course.start()
    path, seconds = [boundaries], []
    for nodes in course.counts[1:].tolist():
        began = perf_counter()
        boundaries = np.asarray(action(boundaries, nodes), dtype=np.int64)
        seconds.append(perf_counter() - began)
        path.append(boundaries)
    return judge_path(name, path, course, np.array(seconds))


def judge_path(name: str, path: Sequence[Boundaries], course: NodeCountCourse, seconds: Floats) -> Followed:
    """A sequence of partitions, the start first; for plans that know the future."""
    tasks = course.tasks
    total = float(tasks.state_before[-1])
    gains = [gain_between(tasks.state_before, a, b) for a, b in pairwise(path)]
    broken = [
        float(
            np.diff(tasks.work_before[after]).max() > load_limit(float(tasks.work_before[-1]), after.size - 1, course.tolerance)
        )
        for after in path[1:]
    ]
    return Followed(name, 1 - np.array(gains) / total, np.array(broken), seconds, tuple(path))
