"""Schedules of transfers between nodes: phases that load every up- and downlink evenly (state migration, section 5.1)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints, entries
from edrp.core.budget import spend
from edrp.core.errors import Fault, InvalidInstanceError, first_faults
from edrp.core.kernels import interpreted_first
from edrp.mdp.transfer.open_shop import open_shop_phases

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

    def planned() -> tuple[Ints, Ints, Ints]:
        spend(PHASE_EDGE_UNITS * source.size * (source.size + 2 * len(sizes)))
        return open_shop_phases(source, target, ticks, len(sizes))

    durations, first, active = interpreted_first(planned)
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
