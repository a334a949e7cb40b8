"""The plan of a migration: which nodes keep, send and receive which tasks, in which steps, and when (section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.transfer.schedules import NodeRoles, TransferSchedule, nodes_of_tasks, roles, schedule_transfers, traffic_of
from edrp.migration.intervals import Interval, Move

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
    spend(COLOURED_TASK_UNITS * moved.size * (steps + RECOLOURINGS_PER_TASK))
    step = _native.edge_colours(leaving, coming, steps)
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


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A mini-migration, one step of a plan.

    Attributes
    ----------
    moves : in the order of the tasks.
    schedule : when each transfer runs, counted from the begin of the step.
    largest_load : work of the fullest node after the step.
    """

    moves: tuple[Move, ...]
    schedule: TransferSchedule
    largest_load: float


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The plan of a whole migration.

    Attributes
    ----------
    roles : by node, tasks to stay, to move out, to move in.
    steps : in order; a single one unless move-ins are limited.
    """

    roles: tuple[NodeRoles, ...]
    steps: tuple[PlanStep, ...]

    @property
    def total_seconds(self) -> float:
        """Time that all transfers take, one step after the other."""
        return sum(step.schedule.total_seconds for step in self.steps)


def plan_migration(
    before: Sequence[Interval | None],
    after: Sequence[Interval | None],
    work: ArrayLike,
    state_size: ArrayLike,
    *,
    uplink: ArrayLike,
    downlink: ArrayLike | None = None,
    max_move_ins: int | None = None,
) -> MigrationPlan:
    """Plan how to get from one assignment to another (state migration, section 5).

    Parameters
    ----------
    before, after
        Interval of each node, None for one that does not exist.
    work, state_size : shape (m,)
        Amount of work, and bytes, of each task.
    uplink, downlink : scalar or shape (nodes,)
        Bytes per second that each node can send and receive; downlinks default to the uplinks.
    max_move_ins
        Tasks that may move in per node and step, so that few are suspended at a time; None for no limit.

    Raises
    ------
    InvalidInstanceError
        When a task is held by no node or by several, and for links without a positive bandwidth.

    Examples
    --------
    >>> plan = plan_migration([(0, 4)], [(0, 2), (2, 4)], [1] * 4, [8.0] * 4, uplink=4.0, max_move_ins=1)
    >>> [[str(move) for move in step.moves] for step in plan.steps], plan.total_seconds
    ([['task 2 from node 0 to node 1, 8 B'], ['task 3 from node 0 to node 1, 8 B']], 4.0)
    """
    sizes, amounts = np.asarray(state_size, np.float64), np.asarray(work, np.float64)
    nodes = max(len(before), len(after))
    old, new = nodes_of_tasks(before, sizes.size), nodes_of_tasks(after, sizes.size)
    on_the_way = np.stack([old, new]) if max_move_ins is None else mini_migrations(old, new, max_move_ins, sizes, amounts)
    steps = []
    for before_step, after_step in pairwise(on_the_way):
        moves = _moves(before_step, after_step, sizes)
        schedule = schedule_transfers(traffic_of(moves, nodes), uplink, downlink)
        steps.append(PlanStep(moves, schedule, float(node_loads(after_step[np.newaxis], amounts, nodes).max())))
    return MigrationPlan(roles(old, new, nodes), tuple(steps))


def _moves(before_step: np.ndarray, after_step: np.ndarray, sizes: np.ndarray) -> tuple[Move, ...]:
    """List the runs of neighbouring tasks that move from one node to another."""
    code = np.where(before_step == after_step, -1, before_step * (1 + int(after_step.max())) + after_step)
    starts = np.flatnonzero(np.diff(code, prepend=-2))
    ends = np.append(starts[1:], code.size)
    return tuple(
        Move(first=int(a), end=int(b), source=int(before_step[a]), target=int(after_step[a]), size=float(sizes[a:b].sum()))
        for a, b in zip(starts, ends, strict=True)
        if code[a] >= 0
    )
