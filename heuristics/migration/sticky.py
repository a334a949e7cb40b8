"""Sticky assignment: nodes keep what they hold as far as balance allows; tasks need not be neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.migration.node_change import NodeCountChange, Reassignment, newest_leave

UNASSIGNED = -1
"""Value that stands for the node of a task that its old node has given up."""


@dataclass(frozen=True, slots=True)
class Sticky:
    """Kafka's sticky assignment: numbers of tasks that differ by one at most, and as few moves as that allows.

    The newest nodes leave. Nodes with the most tasks get the larger shares; a node with more than its share
    keeps its first tasks and gives up the others, which fill the nodes that have too few. Neither work nor
    state is looked at. (The same number of tasks everywhere, the fewest moved: this is what section 6 of the
    state-migration paper takes consistent hashing to aim for. A hash ring comes close to it.)

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 1, 1, 1, 1]), 2, 3, np.ones(7), np.ones(7), 0.2)
    >>> Sticky()(change).node_of_task.tolist()
    [0, 0, 2, 1, 1, 1, 2]
    """

    name = "sticky"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,): as many neighbouring tasks for each."""
        return np.arange(work.size) * nodes // work.size

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Keep tasks up to the share of each node, and fill the nodes that have too few."""
        tasks, nodes = change.work.size, change.nodes_after
        assignment = np.where(change.node_of_task < nodes, change.node_of_task, UNASSIGNED)
        counts = np.bincount(assignment[assignment != UNASSIGNED], minlength=nodes)
        share = np.full(nodes, tasks // nodes)
        share[np.argsort(-counts, kind="stable")[: tasks % nodes]] += 1
        for node in np.flatnonzero(counts > share):
            assignment[np.flatnonzero(assignment == node)[share[node] :]] = UNASSIGNED
        missing = share - np.minimum(counts, share)
        assignment[assignment == UNASSIGNED] = np.repeat(np.arange(nodes), missing)
        return Reassignment(assignment, newest_leave(change.nodes_before, nodes))


@dataclass(frozen=True, slots=True)
class StickyByWork:
    """Nodes keep their tasks up to the load limit; what they give up, heaviest first, goes to the least loaded node.

    The newest nodes leave. A node above the limit gives up the tasks with the least state for their work until
    it is within. The limit may still be broken where the tasks are too coarse.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 1]), 2, 2, np.ones(4), np.array([5.0, 1.0, 5.0, 1.0]), 0.2)
    >>> StickyByWork()(change).node_of_task.tolist()
    [0, 1, 0, 1]
    """

    name = "sticky by work"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,): heaviest first to the least loaded node."""
        return _to_the_least_loaded(np.full(work.size, UNASSIGNED), work, nodes)

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Keep tasks up to the load limit, and give the rest to the least loaded nodes."""
        nodes, work = change.nodes_after, change.work
        assignment = np.where(change.node_of_task < nodes, change.node_of_task, UNASSIGNED)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(work > 0, change.state_size / work, np.inf)
        load = np.bincount(assignment[assignment != UNASSIGNED], work[assignment != UNASSIGNED], minlength=nodes)
        for node in np.flatnonzero(load > change.limit):
            tasks = np.flatnonzero(assignment == node)
            tasks = tasks[np.argsort(worth[tasks], kind="stable")]
            remaining_work = load[node] - np.cumsum(work[tasks])
            assignment[tasks[: int(np.argmax(remaining_work <= change.limit)) + 1]] = UNASSIGNED
        return Reassignment(_to_the_least_loaded(assignment, work, nodes), newest_leave(change.nodes_before, nodes))


def _to_the_least_loaded(assignment: Ints, work: Floats, nodes: int) -> Ints:
    """Assign free tasks, heaviest first, each to the least loaded node (longest-processing-time rule)."""
    owner = assignment.copy()
    load = np.bincount(assignment[assignment != UNASSIGNED], work[assignment != UNASSIGNED], minlength=nodes)
    queue = list(zip(load.tolist(), range(nodes), strict=True))
    heapify(queue)
    free = np.flatnonzero(assignment == UNASSIGNED)
    for task in free[np.argsort(-work[free], kind="stable")]:
        smallest_load, node = queue[0]
        owner[task] = node
        heapreplace(queue, (smallest_load + float(work[task]), node))
    return owner
