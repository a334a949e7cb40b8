"""Roles of nodes in a change of assignment, and schedules of the transfers between them (state migration, section 5.1).

A schedule consists of phases that load every up- and downlink evenly: a preemptive open shop, by the rule of Gonzalez and Sahni
(edrp/native/mdp/transfer/schedules.cpp). Times are whole ticks, so that sums, ties and "done" are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp import _native
from edrp.core.arrays import Floats, Ints, entries
from edrp.core.budget import spend
from edrp.core.errors import Fault, InvalidInstanceError, first_faults
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


MIN_TICKS = 2.0**50
"""Minimum number of ticks of a schedule, which has at most twice as many; transfers are timed to within one tick."""

PHASE_EDGE_UNITS = 1e-9
"""Units of work per phase and transfer."""


class Transfer(NamedTuple):
    """Bytes sent from one node to another during a phase."""

    source: int
    target: int
    size: float


class Phase(NamedTuple):
    """Transfers that run at the same time; `start` and `duration` in seconds."""

    start: float
    duration: float
    transfers: tuple[Transfer, ...]


class TransferSchedule(NamedTuple):
    """A schedule: phases that follow each other.

    Attributes
    ----------
    phases : in order of time.
    total_seconds : when the last phase ends.
    bound_seconds : no schedule of this kind can be shorter.
    fluid_seconds : max over nodes of (bytes out / uplink, bytes in / downlink): no schedule of any kind can be shorter.
    """

    phases: tuple[Phase, ...]
    total_seconds: float
    bound_seconds: float
    fluid_seconds: float

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per phase and transfer, for tables and data frames.

        >>> schedule_transfers([[0, 4], [2, 0]], 1.0).to_rows()[0]
        {'phase': 0, 'start': 0.0, 'duration': 2.0, 'source': 0, 'target': 1, 'size': 2.0}
        """
        return [
            {"phase": number, "start": phase.start, "duration": phase.duration, **transfer._asdict()}
            for number, phase in enumerate(self.phases)
            for transfer in phase.transfers
        ]


def schedule_transfers(
    traffic: ArrayLike, uplink: ArrayLike, downlink: ArrayLike | None = None, *, exclusive: bool = True
) -> TransferSchedule:
    """Build a shortest schedule of all transfers.

    With `exclusive`, every node sends to at most one and receives from at most one other node at a time,
    each transfer at the full rate min(uplink of the sender, downlink of the receiver): connections are few and
    disks are read in one place. This is an open shop with preemption; its optimum is exactly
    `bound_seconds`, the largest sum of transfer times over the rows and columns of `traffic`.

    Otherwise links are shared: all transfers run together, in one phase, each at the constant rate that ends
    it with the schedule. This takes `fluid_seconds`.

    Equal links make both times the same, and the exclusive schedule is the better one to run. Where they
    differ, a fast link waits for slow partners in the exclusive schedule, so `fluid_seconds` ≤ `bound_seconds`.

    Parameters
    ----------
    traffic : shape (n, n)
        Bytes from row to column, as of `traffic_of` or `traffic_between`.
    uplink, downlink : scalar or shape (n,)
        Bytes per second that each node can send and receive; downlinks default to the uplinks.

    Raises
    ------
    InvalidInstanceError
        For negative or infinite traffic, traffic from a node to itself, and links without a positive bandwidth.

    Examples
    --------
    >>> schedule = schedule_transfers([[0, 4, 2], [3, 0, 1], [0, 0, 0]], 1.0)
    >>> schedule.total_seconds, len(schedule.phases)
    (6.0, 3)
    >>> slow_receivers = schedule_transfers([[0, 6, 6], [0, 0, 0], [0, 0, 0]], 2.0, 1.0)
    >>> slow_receivers.total_seconds, slow_receivers.fluid_seconds
    (12.0, 6.0)
    """
    sizes = _checked_traffic(traffic)
    sending, receiving = _checked_links(uplink, downlink, len(sizes))
    source, target = entries(sizes)
    size = sizes[source, target]
    fluid = float(max((sizes.sum(axis=1) / sending).max(initial=0.0), (sizes.sum(axis=0) / receiving).max(initial=0.0)))
    if not exclusive:
        together = tuple(Transfer(*transfer) for transfer in zip(source.tolist(), target.tolist(), size.tolist(), strict=True))
        return TransferSchedule((Phase(0.0, fluid, together),) if together else (), fluid, fluid, fluid)
    seconds = size / np.minimum(sending[source], receiving[target])
    busy = np.concatenate([np.bincount(source, seconds), np.bincount(target, seconds)])
    bound = busy.max(initial=0.0)
    # A power of two: times that are whole numbers of seconds stay whole.
    tick = 2.0 ** math.floor(math.log2(bound / MIN_TICKS)) if bound > 0 else 1.0
    ticks = np.maximum(np.rint(seconds / tick), 1).astype(np.int64)
    spend(PHASE_EDGE_UNITS * source.size * (source.size + 2 * len(sizes)))
    durations, first, active = _native.open_shop_phases(source, target, ticks, len(sizes))
    parts = _parts(size, ticks, np.repeat(durations, np.diff(first)), active)
    ends = np.cumsum(durations)
    listed = [
        Transfer(*transfer) for transfer in zip(source[active].tolist(), target[active].tolist(), parts.tolist(), strict=True)
    ]
    phases = tuple(
        Phase(float((end - duration) * tick), float(duration * tick), tuple(listed[a:b]))
        for end, duration, a, b in zip(ends, durations, first[:-1], first[1:], strict=True)
    )
    return TransferSchedule(phases, float(ends[-1] * tick) if phases else 0.0, float(bound), float(fluid))


def _parts(size: Floats, ticks: Ints, durations: Ints, active: Ints) -> Floats:
    """Compute the bytes that each use of an edge sends; the last use sends the remainder."""
    parts = size[active] * (durations / ticks[active])
    last = active.size - 1 - np.unique(active[::-1], return_index=True)[1]
    sent = np.bincount(active, parts, minlength=size.size)
    parts[last] += (size - sent)[active[last]]
    return parts


def _checked_traffic(traffic: ArrayLike) -> Floats:
    sizes = np.asarray(traffic, dtype=np.float64)
    if sizes.ndim != 2 or sizes.shape[0] != sizes.shape[1]:
        why = "must have one row and one column per node"
        raise InvalidInstanceError([Fault("traffic", f"an array of shape {sizes.shape}", why)])
    wrong = np.argwhere(~((sizes >= 0) & np.isfinite(sizes)))
    why = "must be a finite number of bytes, at least 0"
    faults = first_faults((Fault(f"traffic[{i}][{j}]", str(sizes[i, j]), why) for i, j in wrong), len(wrong))
    why, self_sending = "a node sends nothing to itself; give 0", np.flatnonzero(np.diag(sizes) > 0)
    faults += first_faults((Fault(f"traffic[{i}][{i}]", str(sizes[i, i]), why) for i in self_sending), self_sending.size)
    InvalidInstanceError.raise_if_any(faults)
    return sizes


def _checked_links(uplink: ArrayLike, downlink: ArrayLike | None, nodes: int) -> tuple[Floats, Floats]:
    links = []
    faults: list[Fault] = []
    for name, values in (("uplink", uplink), ("downlink", uplink if downlink is None else downlink)):
        bandwidth = np.asarray(values, dtype=np.float64)
        if bandwidth.shape not in ((), (nodes,)):
            why = f"must be one number, or one for each of the {nodes} nodes"
            faults.append(Fault(name, f"an array of shape {bandwidth.shape}", why))
            continue
        why = "must be a finite number of bytes per second above 0"
        wrong, where = np.flatnonzero(~((bandwidth > 0) & np.isfinite(bandwidth))), "{}[{}]" if bandwidth.ndim else "{}"
        faults += first_faults((Fault(where.format(name, i), str(bandwidth.flat[i]), why) for i in wrong), wrong.size)
        links.append(np.broadcast_to(bandwidth, (nodes,)))
    InvalidInstanceError.raise_if_any(faults)
    return links[0], links[1]
