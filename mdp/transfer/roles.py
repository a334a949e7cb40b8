"""Effect of a change of assignment on each node, and on each pair of nodes (state migration, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.migration.intervals import Interval, Move, uncovered


class NodeRoles(NamedTuple):
    """Tasks of one node in a migration, each array ascending.

    `to_stay` are not touched, `to_move_out` leave for another node, `to_move_in` come from another node.
    """

    to_stay: Ints
    to_move_out: Ints
    to_move_in: Ints


def nodes_of_tasks(assignment: Sequence[Interval | None], tasks: int) -> Ints:
    """Find the node that holds each task, shape (tasks,), from one half-open interval per node (None: removed).

    Raises
    ------
    InvalidInstanceError
        When some task is held by no node or by several.

    Examples
    --------
    >>> nodes_of_tasks([(2, 5), None, (0, 2)], 5).tolist()
    [2, 2, 0, 0, 0]
    """
    if wrong := uncovered(assignment, tasks):
        faults = [
            Fault("assignment", f"tasks {first} to {end - 1}", f"some tasks are {why}; it must hold each task once")
            for first, end, why in wrong
        ]
        raise InvalidInstanceError(faults)
    nodes = np.empty(tasks, dtype=np.int64)
    for node, interval in enumerate(assignment):
        if interval is not None:
            nodes[interval[0] : interval[1]] = node
    return nodes


def roles(before: ArrayLike, after: ArrayLike, nodes: int | None = None) -> tuple[NodeRoles, ...]:
    """Find the tasks that stay on, leave, and come to each node.

    Parameters
    ----------
    before, after : shape (m,)
        Node of each task.
    nodes
        How many nodes there are, old and new; default: up to the last that holds a task.

    Examples
    --------
    >>> [[tasks.tolist() for tasks in role] for role in roles([0, 0, 1, 1], [0, 1, 1, 2])]
    [[[0], [1], []], [[2], [3], [1]], [[], [], [3]]]
    """
    old, new = np.asarray(before, dtype=np.int64), np.asarray(after, dtype=np.int64)
    count = int(max(old.max(initial=-1), new.max(initial=-1))) + 1 if nodes is None else nodes
    return tuple(
        NodeRoles(
            np.flatnonzero((old == node) & (new == node)),
            np.flatnonzero((old == node) & (new != node)),
            np.flatnonzero((old != node) & (new == node)),
        )
        for node in range(count)
    )


def traffic_between(before: ArrayLike, after: ArrayLike, state_size: ArrayLike, nodes: int | None = None) -> Floats:
    """Compute the bytes from each node (row) to each other node (column), shape (nodes, nodes); the diagonal is 0.

    Examples
    --------
    >>> traffic_between([0, 0, 1], [0, 1, 0], [5.0, 6.0, 7.0]).tolist()
    [[0.0, 6.0], [7.0, 0.0]]
    """
    old, new = np.asarray(before, dtype=np.int64), np.asarray(after, dtype=np.int64)
    count = int(max(old.max(initial=-1), new.max(initial=-1))) + 1 if nodes is None else nodes
    moved = old != new
    traffic = np.zeros((count, count))
    np.add.at(traffic, (old[moved], new[moved]), np.asarray(state_size, dtype=np.float64)[moved])
    return traffic


def traffic_of(moves: Iterable[Move], nodes: int | None = None) -> Floats:
    """Compute the bytes from each node (row) to each other one (column), from the moves of a plan.

    Examples
    --------
    >>> traffic_of([Move(first=2, end=3, source=0, target=1, size=8)]).tolist()
    [[0.0, 8.0], [0.0, 0.0]]
    """
    listed = list(moves)
    count = max((max(move.source, move.target) + 1 for move in listed), default=0) if nodes is None else nodes
    traffic = np.zeros((count, count))
    for move in listed:
        traffic[move.source, move.target] += move.size
    return traffic
