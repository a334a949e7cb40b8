"""Consistent hashing: tasks and nodes on a ring, each task with the next node (Karger et al. 1997)."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts
from edrp.heuristics.migration.node_change import NodeCountChange, Reassignment, newest_leave, reassignment_outcome
from edrp.migration.intervals import Assignment, Interval
from edrp.migration.single_step import MigrationProblem


def ring_assignment(problem: MigrationProblem, seed: int = 0) -> Assignment:
    """Assignment of nodes that stand on a ring of tasks, each with the tasks up to its point.

    Old nodes stand where their intervals end, so that nothing moves that need not. The newest nodes leave, that is
    those with the highest numbers, and each leaves its tasks to the next node on the ring. New nodes are hashed to
    points, and take from the node in whose interval they come to stand what lies before their point. The ring is cut
    before the first task, since an interval cannot hold both ends: tasks behind the last point go to the node there.
    Neither work nor state is looked at.

    Returns
    -------
    Assignment
        Intervals of the old nodes, None for those that leave, then of the new ones.
    """
    before, after, tasks = len(problem.intervals), problem.nodes, len(problem.work)
    standing = [(point, node) for point, node in _old_points(problem.intervals) if node < after]
    standing += [(new_point(node, tasks, seed), node) for node in range(before, after)]
    # Of nodes on the same point the old ones keep their order, the new ones follow and hold nothing.
    standing.sort(key=itemgetter(0))
    assignment: list[Interval | None] = [None] * max(before, after)
    reached = 0
    for point, node in [*standing[:-1], (tasks, standing[-1][1])]:
        assignment[node] = (reached, point)
        reached = point
    return tuple(assignment)


def new_point(node: int, tasks: int, seed: int = 0) -> int:
    """Point of a new node: behind one of the tasks, at the same share of the ring however many tasks there are.

    >>> new_point(2, 8), new_point(2, 8000)
    (8, 7458)
    """
    hashed = int(np.random.SeedSequence([seed, node]).generate_state(1, np.uint64)[0])
    return 1 + (hashed * tasks >> 64)


def _old_points(intervals: tuple[Interval, ...]) -> list[tuple[int, int]]:
    """Points of the old nodes along the ring, with their numbers; an empty node shares the point of the one before it."""
    points = []
    reached = 0
    for (_, end), node in sorted((interval, node) for node, interval in enumerate(intervals)):
        reached = max(reached, end)
        points.append((reached, node))
    return points


@dataclass(frozen=True, slots=True)
class ConsistentHashing:
    """Puts every node at several points of a ring; every task goes to the next node on it.

    Adding a node takes tasks from all others and moves nothing else; removing one (the newest) spreads its
    tasks among the others. Neither work nor state is looked at.

    Attributes
    ----------
    virtual_nodes : places of each node on the ring; more even out the number of tasks per node.

    Examples
    --------
    >>> rule = ConsistentHashing(seed=1)
    >>> before = rule.initial(np.ones(64), 8)
    >>> answer = rule(NodeCountChange(before, 8, 9, np.ones(64), np.ones(64), 0.2))
    >>> set(answer.node_of_task[answer.node_of_task != before].tolist())
    {8}
    """

    virtual_nodes: int = 100
    seed: int = 0

    name = "consistent hashing"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,)."""
        points, owners = self._ring(nodes)
        return owners[np.searchsorted(points, _hashes(np.arange(work.size), self.seed, 1)) % points.size]

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Assign the tasks by the ring of the new number of nodes; their old nodes play no part."""
        return Reassignment(self.initial(change.work, change.nodes_after), newest_leave(change.nodes_before, change.nodes_after))

    def _ring(self, nodes: int) -> tuple[UInts, Ints]:
        owners = np.repeat(np.arange(nodes), self.virtual_nodes)
        copies = np.tile(np.arange(self.virtual_nodes), nodes)
        points = _hashes((owners << 32) + copies, self.seed, 2)
        order = np.argsort(points, kind="stable")
        return points[order], owners[order]


class Expectation(NamedTuple):
    """Expected cost of consistent hashing over random hash functions.

    Attributes
    ----------
    moved_share, standard_error : mean share of the state that moves, and its standard error.
    broken_share : share of the runs that break the load limit.
    """

    moved_share: float
    standard_error: float
    broken_share: float


def expected_hashing(change: NodeCountChange, runs: int = 100, virtual_nodes: int = 100, seed: int = 0) -> Expectation:
    """Mean cost of consistent hashing over `runs` hash functions, each of which begins with its own assignment.

    Parameters
    ----------
    change
        The change; its `node_of_task` plays no part.
    runs
        At least 2.

    Examples
    --------
    >>> change = NodeCountChange(np.zeros(64, np.int64), 8, 9, np.ones(64), np.ones(64), 0.2)
    >>> round(expected_hashing(change).moved_share, 2)
    0.11
    """
    outcomes = []
    for run in range(runs):
        rule = ConsistentHashing(virtual_nodes, seed + run)
        before = rule.initial(change.work, change.nodes_before)
        started = NodeCountChange(
            before, change.nodes_before, change.nodes_after, change.work, change.state_size, change.tolerance
        )
        outcomes.append(reassignment_outcome(started, rule(started)))
    shares = np.array([outcome.moved_share for outcome in outcomes])
    broken = float(np.mean([outcome.breaks_limit for outcome in outcomes]))
    return Expectation(float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(runs)), broken)


def _hashes(keys: Ints, seed: int, kind: int) -> UInts:
    """Well-mixed 64-bit hashes: the finalizer of SplitMix64 (Steele, Lea, Flood 2014) over keys, seed and kind."""
    mixed = keys.astype(np.uint64)
    salts = (np.array([kind, seed % 2**64], dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for salt in salts:
        mixed = mixed + salt
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
