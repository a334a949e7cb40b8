"""Consistent hashing with one point per node, which gives each node neighbouring tasks (Karger et al. 1997)."""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from edrp.migration.intervals import Assignment, Interval
from edrp.migration.single_step import MigrationProblem


def ring_assignment(problem: MigrationProblem, seed: int = 0) -> Assignment:
    """Assignment of nodes that stand on a ring of tasks, each with the tasks up to its point.

    Old nodes stand where their intervals end, so that nothing moves that need not. The newest nodes leave, that is
    those with the highest numbers, and each leaves its tasks to the next node on the ring. New nodes are hashed to
    points, and take from the node in whose interval they come to stand what lies before their point. The ring is cut
    before the first task, since an interval cannot hold both ends: tasks behind the last point go to the node there.
    Neither work nor state is looked at.

    Parameters
    ----------
    problem
        The migration.
    seed
        Seed of the hash.

    Returns
    -------
    Assignment
        Intervals of the old nodes, None for those that leave, then of the new ones.

    Examples
    --------
    >>> tasks = {"work": [1] * 8, "state_size": [1] * 8, "tolerance": 0.5}
    >>> ring_assignment(MigrationProblem(**tasks, intervals=[(0, 3), (3, 8)], nodes=1))
    ((0, 8), None)
    >>> ring_assignment(MigrationProblem(**tasks, intervals=[(0, 3), (3, 8)], nodes=3), seed=1)
    ((0, 3), (7, 8), (3, 7))
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
    """Point of each old node, with its number, along the ring; one that holds nothing stands with the node before it."""
    points = []
    reached = 0
    for (_, end), node in sorted((interval, node) for node, interval in enumerate(intervals)):
        reached = max(reached, end)
        points.append((reached, node))
    return points
