"""A migration in several smaller ones, each of which suspends few tasks per node (state migration, section 5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.kernels import interpreted_first, kernel

COLOURED_TASK_UNITS, RECOLOURINGS_PER_TASK = 1e-9, 50
"""Units of work per moved task and step, or per recolouring; and the approximate number of recolourings per task."""


def mini_migrations(
    before: ArrayLike, after: ArrayLike, max_move_ins: int, state_size: ArrayLike, work: ArrayLike | None = None
) -> Ints:
    """Split a migration into steps that each move at most `max_move_ins` tasks to any node.

    The number of steps S is the least possible: the most tasks that come to one node, divided by
    `max_move_ins` and rounded up. The steps are even: for every node, the tasks that come in any two steps
    differ by at most one in number, and so do those that leave; their bytes differ by at most its largest such
    task. So each step loads every link about as much as the others.

    To get there, the tasks that come to a node are sorted by size and cut into groups of S, likewise those that
    leave it, and the tasks are coloured with S colours so that no group holds a colour twice. That always works
    (Kőnig 1916), and the colours are the steps.

    With `work`, the steps are put in an order that keeps down the work of nodes which receive before
    they give: the next step is the one that exceeds the larger of a node's work before and after the
    whole migration the least. A little excess may be unavoidable.

    Parameters
    ----------
    before, after : shape (m,)
        Node of each task, as of `nodes_of_tasks`.
    max_move_ins
        Tasks to move in, per node and step; at least 1.
    state_size, work : shape (m,)
        Bytes, and amount of work, of each task.

    Returns
    -------
    numpy.ndarray
        Shape (S + 1, m): node of each task before the first step, after it, …, after the last. Any two
        neighbouring rows can be given to `roles` and `traffic_between`. S is 0 if nothing moves.

    Raises
    ------
    InvalidInstanceError
        For arrays of different lengths, and fewer than one move-in per step.

    Examples
    --------
    >>> mini_migrations([0, 0, 0, 0], [0, 1, 1, 1], 2, [1.0, 1.0, 5.0, 1.0]).tolist()
    [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 1]]
    """
    old, new, size = np.asarray(before, np.int64), np.asarray(after, np.int64), np.asarray(state_size, np.float64)
    load = None if work is None else np.asarray(work, np.float64)
    _check(old, new, size, load, max_move_ins)
    moved = np.flatnonzero(old != new)
    steps = -(-int(np.bincount(new[moved]).max(initial=0)) // max_move_ins)
    if not steps:
        return old[None].copy()
    leaving, coming = _groups(old[moved], size[moved], steps), _groups(new[moved], size[moved], steps)

    def coloured() -> Ints:
        spend(COLOURED_TASK_UNITS * moved.size * (steps + RECOLOURINGS_PER_TASK))
        return _edge_colours(leaving, coming, steps)

    step = interpreted_first(coloured)
    if load is not None:
        step = np.argsort(_order(step, old, new, moved, load))[step]
    rank = np.full(old.size, steps)
    rank[moved] = step
    return np.where(np.arange(steps + 1)[:, None] > rank, new, old)


def node_loads(assignments: ArrayLike, work: ArrayLike, nodes: int) -> Floats:
    """Compute the work of each node in several assignments, shape (assignments, nodes)."""
    return np.stack([np.bincount(row, np.asarray(work, np.float64), minlength=nodes) for row in np.asarray(assignments)])


def _groups(node: Ints, size: Floats, group_size: int) -> Ints:
    """Group of each task: the tasks of a node, largest first, in groups of `group_size`; groups count from 0."""
    order = np.lexsort((-size, node))
    sorted_node = node[order]
    place_in_node = np.arange(node.size) - np.searchsorted(sorted_node, sorted_node)
    begins = place_in_node % group_size == 0
    group = np.empty(node.size, np.int64)
    group[order] = np.cumsum(begins) - 1
    return group


@kernel
def _edge_colours(left: Ints, right: Ints, colours: int) -> Ints:
    """Colour the edges (left[e], right[e]) of a bipartite graph properly; degrees are at most `colours`.

    Edge after edge takes a colour that is free on its left; if that is taken on its right, the path that
    alternates between it and a colour free there is recoloured. O(edges · longest path).
    """
    left_edge = np.full((left.max() + 1, colours), -1, np.int64)
    right_edge = np.full((right.max() + 1, colours), -1, np.int64)
    colour = np.empty(left.size, np.int64)
    for e in range(left.size):
        free_left, free_right = 0, 0
        while left_edge[left[e], free_left] >= 0:
            free_left += 1
        while right_edge[right[e], free_right] >= 0:
            free_right += 1
        along, at_right, first, second = right_edge[right[e], free_left], True, free_left, free_right
        right_edge[right[e], free_left] = e
        left_edge[left[e], free_left] = e
        colour[e] = free_left
        # `along` had colour `first` and lost its place on one side: it takes `second`, and so on from its far end.
        while along >= 0:
            if at_right:
                right_edge[right[along], second] = along
                left_edge[left[along], first] = -1
                following = left_edge[left[along], second]
                left_edge[left[along], second] = along
            else:
                left_edge[left[along], second] = along
                right_edge[right[along], first] = -1
                following = right_edge[right[along], second]
                right_edge[right[along], second] = along
            colour[along] = second
            along, at_right = following, not at_right
            first, second = second, first
    return colour


def _order(step: Ints, old: Ints, new: Ints, moved: Ints, work: Floats) -> Ints:
    """Order the steps greedily to keep every node below the larger of its work before and after."""
    nodes = int(max(old.max(), new.max())) + 1
    change = np.zeros((int(step.max()) + 1, nodes))
    np.add.at(change, (step, new[moved]), work[moved])
    np.subtract.at(change, (step, old[moved]), work[moved])
    load = np.bincount(old, work, minlength=nodes)
    allowed_load = np.maximum(load, np.bincount(new, work, minlength=nodes))
    waiting = list(range(len(change)))
    order = []
    while waiting:
        excess = (load + change[waiting] - allowed_load).max(axis=1)
        order.append(waiting.pop(int(np.argmin(excess))))
        load = load + change[order[-1]]
    return np.array(order, np.int64)


def _check(old: Ints, new: Ints, size: Floats, work: Floats | None, max_move_ins: int) -> None:
    faults = []
    named = {"after": new, "state_size": size} if work is None else {"after": new, "state_size": size, "work": work}
    for name, array in named.items():
        if array.shape != old.shape or array.ndim != 1:
            why = f"must be a flat list with one entry for each of the {old.size} tasks"
            faults.append(Fault(name, f"an array of shape {array.shape}", why))
    if max_move_ins < 1:
        faults.append(Fault("max_move_ins", str(max_move_ins), "must be at least 1, or nothing can move"))
    InvalidInstanceError.raise_if_any(faults)
