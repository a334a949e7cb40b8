"""The plan of a migration: which nodes keep, send and receive which tasks, in which steps, and when (section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from edrp.mdp.transfer.mini_migrations import mini_migrations, node_loads
from edrp.mdp.transfer.schedules import NodeRoles, TransferSchedule, nodes_of_tasks, roles, schedule_transfers, traffic_of
from edrp.migration.intervals import Interval, Move


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
