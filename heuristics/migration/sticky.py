"""Sticky assignment: nodes keep what they hold as far as balance allows; tasks need not be neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.migration.node_change import NodeCountChange, Reassignment, newest_leave

UNASSIGNED = -1
"""In place of a node: its own node has given the task up."""


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
        """Keep, give up, fill."""
        tasks, nodes = change.work.size, change.nodes_after
        kept = np.where(change.node_of_task < nodes, change.node_of_task, UNASSIGNED)
        held = np.bincount(kept[kept != UNASSIGNED], minlength=nodes)
        share = np.full(nodes, tasks // nodes)
        share[np.argsort(-held, kind="stable")[: tasks % nodes]] += 1
        for node in np.flatnonzero(held > share):
            kept[np.flatnonzero(kept == node)[share[node] :]] = UNASSIGNED
        missing = share - np.minimum(held, share)
        kept[kept == UNASSIGNED] = np.repeat(np.arange(nodes), missing)
        return Reassignment(kept, newest_leave(change.nodes_before, nodes))


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
        """Keep, give up, hand out."""
        nodes, work = change.nodes_after, change.work
        kept = np.where(change.node_of_task < nodes, change.node_of_task, UNASSIGNED)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(work > 0, change.state_size / work, np.inf)
        load = np.bincount(kept[kept != UNASSIGNED], work[kept != UNASSIGNED], minlength=nodes)
        for node in np.flatnonzero(load > change.limit):
            own = np.flatnonzero(kept == node)
            own = own[np.argsort(worth[own], kind="stable")]
            left = load[node] - np.cumsum(work[own])
            kept[own[: int(np.argmax(left <= change.limit)) + 1]] = UNASSIGNED
        return Reassignment(_to_the_least_loaded(kept, work, nodes), newest_leave(change.nodes_before, nodes))


def _to_the_least_loaded(kept: Ints, work: Floats, nodes: int) -> Ints:
    """Free tasks, heaviest first, each to the node with the least work (the longest-processing-time rule)."""
    owner = kept.copy()
    load = np.bincount(kept[kept != UNASSIGNED], work[kept != UNASSIGNED], minlength=nodes)
    queue = list(zip(load.tolist(), range(nodes), strict=True))
    heapify(queue)
    free = np.flatnonzero(kept == UNASSIGNED)
    for task in free[np.argsort(-work[free], kind="stable")]:
        least, node = queue[0]
        owner[task] = node
        heapreplace(queue, (least + float(work[task]), node))
    return owner
