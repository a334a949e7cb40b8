"""Balance first, then move the boundaries back towards where the state is, as far as the load limit allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS
from edrp.heuristics.migration.node_change import NodeCountChange, Reassignment, matched, newest_leave
from edrp.migration.intervals import sums_before

LOAD_HALVINGS = 60
"""Halvings of the range of the least largest load: more than the precision of a float."""

MAX_BOUNDARY_ROUNDS = 100
"""Rounds in which every boundary is moved once."""


@dataclass(frozen=True, slots=True)
class BalancedPacking:
    """Splits the work into equal shares, then moves each boundary to where the most state stays.

    The start is the split of neighbouring tasks into equal shares of the work, boundaries moved as little as
    the load limit asks for; where no split keeps to the limit, the one with the least largest load is the
    answer. Shares are matched with old nodes at the least cost. A boundary is then put where its two nodes keep
    the most of their state while both stay within the limit; this goes on, with new matchings in between,
    until nothing improves. That is a local optimum, seldom the best there is.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 0, 1, 1]), 2, 2, np.ones(6), np.ones(6), 0.4)
    >>> BalancedPacking()(change).node_of_task.tolist()
    [0, 0, 0, 0, 1, 1]
    """

    allow_empty: bool = True

    name = "balanced packing"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,): equal shares of the work."""
        limit = least_largest_load(work, nodes) * (1 + EQUAL_LOADS)
        return _groups(_packed(work, nodes, limit, self._least(work, nodes)))

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Pack, match, move boundaries."""
        min_tasks = self._least(change.work, change.nodes_after)
        possible = least_largest_load(change.work, change.nodes_after) * (1 + EQUAL_LOADS)
        boundaries = _packed(change.work, change.nodes_after, max(change.limit, possible), min_tasks)
        answer = matched(change, _groups(boundaries))
        if possible > change.limit:
            return answer
        for _ in range(MAX_BOUNDARY_ROUNDS):
            if not _improve(change, boundaries, answer.former, min_tasks):
                break
            answer = matched(change, _groups(boundaries))
        return answer

    def _least(self, work: Floats, nodes: int) -> int:
        """Minimum number of tasks of each node; 0 where there are more nodes than tasks."""
        return 0 if self.allow_empty or nodes > work.size else 1


def least_largest_load(work: Floats, nodes: int) -> float:
    """Work of the busiest node when neighbouring tasks are split among nodes as evenly as possible."""
    before = sums_before(work)
    low, high = max(float(work.max()), float(before[-1]) / nodes), float(before[-1])
    for _ in range(LOAD_HALVINGS):
        middle = (low + high) / 2
        fits = _farthest(before, nodes, middle)[-1] == work.size
        low, high = (low, middle) if fits else (middle, high)
    return float(np.diff(before[_farthest(before, nodes, high)]).max())


def _packed(work: Floats, nodes: int, limit: float, min_tasks: int) -> Ints:
    """Boundaries as near to equal shares of the work as the limit allows, with at least `min_tasks` tasks each."""
    before = sums_before(work)
    tasks = work.size
    earliest = np.empty(nodes + 1, dtype=np.int64)
    earliest[nodes] = tasks
    for node in range(nodes - 1, -1, -1):
        earliest[node] = np.searchsorted(before, before[earliest[node + 1]] - limit, side="left")
    shares = np.searchsorted(before, before[-1] * np.arange(nodes + 1) / nodes, side="left")
    boundaries = np.full(nodes + 1, tasks, dtype=np.int64)
    boundaries[0] = 0
    for node in range(1, nodes):
        first = max(earliest[node], boundaries[node - 1] + min_tasks)
        last = min(_reach(before, boundaries[node - 1], limit), tasks - (nodes - node) * min_tasks)
        boundaries[node] = min(max(shares[node], first), last)
    return boundaries


def _improve(change: NodeCountChange, boundaries: Ints, former: Ints, min_tasks: int) -> bool:
    """Move each boundary in place to where its two nodes keep the most state; return whether any moved."""
    before = sums_before(change.work)
    moved = False
    for node in range(1, change.nodes_after):
        previous, boundary, following = boundaries[node - 1 : node + 2]
        first = max(previous + min_tasks, int(np.searchsorted(before, before[following] - change.limit, side="left")))
        last = min(following - min_tasks, _reach(before, previous, change.limit))
        owners = change.node_of_task[first:last]
        gain = change.state_size[first:last] * ((owners == former[node - 1]).astype(np.float64) - (owners == former[node]))
        kept_before = sums_before(gain)
        best = int(np.argmax(kept_before))
        if kept_before[best] > kept_before[boundary - first] + EQUAL_GAINS * change.state_size.sum():
            boundaries[node] = first + best
            moved = True
    return moved


def _reach(before: Floats, first: int, limit: float) -> int:
    """Farthest end of an interval from `first` within the limit."""
    return int(np.searchsorted(before, before[first] + limit, side="right")) - 1


def _farthest(before: Floats, nodes: int, limit: float) -> Ints:
    boundaries = [0]
    for _ in range(nodes):
        boundaries.append(_reach(before, boundaries[-1], limit))
    return np.array(boundaries, dtype=np.int64)


def _groups(boundaries: Ints) -> Ints:
    return np.repeat(np.arange(boundaries.size - 1), np.diff(boundaries))


@dataclass(frozen=True, slots=True)
class EvenSplit:
    """Gives each node ⌊m/n′⌋ or ⌈m/n′⌉ neighbouring tasks, whatever their work and old node.

    Attributes
    ----------
    matching : False: the first tasks go to the first node and so on, as Storm does. True: each share goes to the old node that
        holds most of its state, all shares together at the least cost.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 1, 1, 1]), 2, 3, np.ones(6), np.ones(6), 0.2)
    >>> EvenSplit()(change).node_of_task.tolist()
    [0, 0, 1, 1, 2, 2]
    """

    matching: bool = False

    @property
    def name(self) -> str:
        """Name of the rule in tables."""
        return "even split, matched" if self.matching else "even split"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,)."""
        return np.arange(work.size) * nodes // work.size

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Give the same number of tasks to each node."""
        groups = self.initial(change.work, change.nodes_after)
        if self.matching:
            return matched(change, groups)
        return Reassignment(groups, newest_leave(change.nodes_before, change.nodes_after))
