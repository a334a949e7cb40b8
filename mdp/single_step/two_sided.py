"""The partition between two others: least state moved on the way into it and out of it together, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.core.tolerances import EQUAL_GAINS
from edrp.mdp.partitions import Boundaries
from edrp.mdp.single_step.layers import OPEN, TAKEN, Bands, OrderedTasks, order_tasks, room_for_bands, set_bands


class NeighbourMigration(NamedTuple):
    """The migration to the partition P, or the one from it.

    Attributes
    ----------
    line : tasks, with the nodes of the neighbouring partition.
    stay : shape (m + 1, 2, 2), working array for `_list_gains`.
    """

    line: OrderedTasks
    stay: Floats


def two_sided(
    work_before: Floats,
    left_state: Floats,
    left: Boundaries,
    right_state: Floats,
    right: Boundaries,
    nodes: int,
    limit: float,
    allow_empty: bool,
) -> tuple[float, Boundaries] | None:
    """Find the partition P that minimises the cost from `left` to P and from P to `right`, in O(m²·n′).

    Parameters
    ----------
    work_before : shape (m + 1,)
        Work before each boundary.
    left_state, right_state : shape (m + 1,)
        Bytes of state before each boundary, as the migration to P and the one from P move them; multiplied by a
        factor where one of the two is to count more.
    left, right
        Partitions before and after; intervals may be empty.
    nodes, limit, allow_empty
        Intervals of P, most work of each, and whether they may hold no task.

    Returns
    -------
    tuple or None
        Cost of both migrations in bytes, and boundaries of shape (n′ + 1,), empty intervals last; of several, those that
        are smallest, read from the first. None where no partition keeps to the limit.
    """
    boundaries = np.empty(nodes + 1, np.int64)
    gain = two_sided_into(work_before, left_state, left, right_state, right, limit, allow_empty, boundaries)
    return None if np.isnan(gain) else (float(left_state[-1] + right_state[-1] - gain), boundaries)


@kernel
def two_sided_into(
    work_before: Floats,
    left_state: Floats,
    left: Boundaries,
    right_state: Floats,
    right: Boundaries,
    limit: float,
    allow_empty: bool,
    boundaries: Boundaries,
) -> float:
    """Fill `boundaries` as `two_sided`, for kernels; return the state that stays in both migrations, NaN if infeasible.

    A cell (k, a) holds the best that k intervals from boundary a on can give, for both neighbours open or taken as in
    `layers`: index 2·(left taken) + (right taken).
    """
    tasks, nodes = work_before.size - 1, boundaries.size - 1
    bands = room_for_bands(tasks, nodes)
    if not set_bands(bands, work_before, limit, allow_empty):
        return np.nan
    before = NeighbourMigration(order_tasks(work_before, left_state, left), np.empty((tasks + 1, 2, 2)))
    after = NeighbourMigration(order_tasks(work_before, right_state, right), np.empty((tasks + 1, 2, 2)))
    best = np.full((nodes + 1, tasks + 1, 4), -np.inf)
    for k in range(nodes + 1 if allow_empty else 1):
        for state in range(4):
            best[k, tasks, state] = 0.0
    for first in range(tasks - 1, -1, -1):
        _list_gains(before, first, bands.reach[first])
        _list_gains(after, first, bands.reach[first])
        for k in range(1, nodes + 1):
            if bands.low[k] <= first <= bands.high[k]:
                for end in range(max(first + 1, bands.low[k - 1]), min(bands.reach[first], bands.high[k - 1]) + 1):
                    _improve_cell(best[k, first], best[k - 1, end], before.stay[end], after.stay[end])
    slack = EQUAL_GAINS * (left_state[-1] + right_state[-1])
    _read_back(before, after, bands, best, np.empty((2, 4)), slack, boundaries)
    return best[nodes, 0, 0]


@inner_loop
def _list_gains(side: NeighbourMigration, first: int, furthest: int) -> None:
    """Compute the state that stays of an interval [first, end): side.stay[end, state at first, state at end]."""
    line, gains = side.line, side.stay
    state, old, node = line.state_before, line.old_boundaries, line.old_node[first]
    far, last, largest = old[node + 1], node, 0.0
    for end in range(first + 1, furthest + 1):
        while old[last + 1] < end:
            last += 1
        if end <= far:
            gains[end, OPEN, OPEN], gains[end, OPEN, TAKEN] = 0.0, state[end] - state[first]
            gains[end, TAKEN, OPEN], gains[end, TAKEN, TAKEN] = -np.inf, 0.0
        else:
            if old[last + 1] == end:
                largest = max(largest, state[end] - state[old[last]])
            gains[end, OPEN, OPEN], gains[end, TAKEN, OPEN] = max(largest, state[far] - state[first]), largest
            gains[end, OPEN, TAKEN] = gains[end, TAKEN, TAKEN] = state[end] - state[old[last]]
        if first == old[node]:  # no interval before takes the node that begins here
            gains[end, TAKEN, OPEN], gains[end, TAKEN, TAKEN] = gains[end, OPEN, OPEN], gains[end, OPEN, TAKEN]


@inlined
def _improve_cell(cell: Floats, after: Floats, stay_left: Floats, stay_right: Floats) -> None:
    for left in range(2):
        for right in range(2):
            through_open = max(after[0] + stay_right[right, 0], after[1] + stay_right[right, 1])
            through_taken = max(after[2] + stay_right[right, 0], after[3] + stay_right[right, 1])
            through = max(stay_left[left, 0] + through_open, stay_left[left, 1] + through_taken)
            cell[2 * left + right] = max(cell[2 * left + right], through)


@inner_loop
def _read_back(
    before: NeighbourMigration,
    after: NeighbourMigration,
    bands: Bands,
    best: Floats,
    reached: Floats,
    slack: float,
    boundaries: Boundaries,
) -> None:
    """Read the boundaries back, each as small as the optimum allows; `reached` (2, 4) is a working array of gains."""
    nodes, tasks = boundaries.size - 1, before.line.old_node.size
    target = best[nodes, 0, 0] - slack
    for position in range(1, nodes + 1):
        boundaries[position] = tasks
    boundaries[0] = 0
    for state in range(4):
        reached[0, state] = 0.0 if state == 0 else -np.inf
    for k in range(nodes, 0, -1):
        first = boundaries[nodes - k]
        if first == tasks:
            return
        furthest = min(bands.reach[first], bands.high[k - 1])
        _list_gains(before, first, furthest)
        _list_gains(after, first, furthest)
        for end in range(max(first + 1, bands.low[k - 1]), furthest + 1):
            total = -np.inf
            for end_state in range(4):
                gain = -np.inf
                for begin_state in range(4):
                    stays = before.stay[end, begin_state // 2, end_state // 2] + after.stay[end, begin_state % 2, end_state % 2]
                    gain = max(gain, reached[0, begin_state] + stays)
                reached[1, end_state] = gain
                total = max(total, gain + best[k - 1, end, end_state])
            if total >= target:
                boundaries[nodes - k + 1] = end
                for end_state in range(4):
                    reached[0, end_state] = reached[1, end_state]
                break
