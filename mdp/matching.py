"""Matching of old nodes with the intervals of a new partition, so that the most state stays.

Overlaps of two partitions never cross: ordered along the tasks, each shares its new or its old interval with the
next one at most. The best one-to-one matching is therefore one walk along both, which remembers what is still free.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.core.tolerances import EQUAL_GAINS
from edrp.mdp.partitions import Boundaries, OldNodes
from edrp.migration.intervals import Assignment, give_out


@inner_loop
def gain_between(state_before: Floats, old_boundaries: Boundaries, new_boundaries: Boundaries) -> float:
    """Compute the bytes that can stay in a migration from one partition to another, in O(n + n′).

    It is symmetric in both partitions, and all state minus it, the cost, is a metric on partitions.

    Parameters
    ----------
    state_before : shape (m + 1,)
        Bytes of state before each boundary.
    old_boundaries, new_boundaries
        Partitions of the m tasks; intervals may be empty.

    Returns
    -------
    float
        Bytes that stay, with the best one-to-one matching of old to new intervals (state migration, section 3.2).
    """
    old = new = 0
    first = old_boundaries[0]
    # Best so far: with anything used, with the new interval at hand unused, with the old one unused, with both unused.
    best = new_free = old_free = both_free = 0.0
    while new < new_boundaries.size - 1 and old < old_boundaries.size - 1:
        new_end, old_end = new_boundaries[new + 1], old_boundaries[old + 1]
        end = min(new_end, old_end)
        best = max(best, both_free + state_before[end] - state_before[first])
        first = end
        if new_end == end:
            new += 1
            new_free, both_free = best, old_free
        if old_end == end:
            old += 1
            old_free, both_free = best, new_free
    return best


def match(state_before: Floats, old_boundaries: Boundaries, new_boundaries: Boundaries) -> Boundaries:
    """Find the old interval whose node keeps each new interval.

    Among matchings that keep the most state, those in which the most pieces stay (a piece is the overlap of an old
    and a new interval; one without state counts too), and among these the one that, from the first task on, lets a
    piece stay as soon as possible.

    Parameters
    ----------
    state_before : shape (m + 1,)
        Bytes of state before each boundary.
    old_boundaries, new_boundaries
        Partitions of the m tasks; intervals may be empty.

    Returns
    -------
    array of shape (n′,)
        Index of the old interval, −1 where no old node keeps the new interval.
    """
    matched = np.empty(new_boundaries.size - 1, np.int64)
    room = room_for_matching(new_boundaries.size + old_boundaries.size)
    match_into(state_before, old_boundaries, new_boundaries, *room, matched)
    return matched


@kernel
def room_for_matching(pieces: int) -> tuple[Boundaries, Floats, Boundaries]:
    """Allocate the working arrays of `match_into` for partitions with that many boundaries in total."""
    return np.empty((pieces, 2), np.int64), np.empty((pieces + 1, 4)), np.empty((pieces + 1, 4), np.int64)


@inner_loop
def match_into(
    state_before: Floats,
    old_boundaries: Boundaries,
    new_boundaries: Boundaries,
    pieces: Boundaries,
    gains: Floats,
    stays: Boundaries,
    matched: Boundaries,
) -> None:
    """`match` for kernels, into `matched`; `pieces`, `gains` and `stays` are its working arrays.

    `gains[p, used]` is the most state that piece p and those after it can keep, `stays[p, used]` the number of
    pieces; `used` is 1 if the piece's new interval is taken by an earlier piece, plus 2 if its old one is.
    """
    slack = EQUAL_GAINS * state_before[-1]
    count = _list_pieces(old_boundaries, new_boundaries, pieces)
    for used in range(4):
        gains[count, used], stays[count, used] = 0.0, 0
    for p in range(count - 1, -1, -1):
        new, old = pieces[p]
        size = _overlap(state_before, old_boundaries, new_boundaries, old, new)
        shared = _shared(pieces, p, count)
        for used in range(4):
            gains[p, used], stays[p, used] = gains[p + 1, used & shared], stays[p + 1, used & shared]
        gain, staying = size + gains[p + 1, shared], 1 + stays[p + 1, shared]
        if gain > gains[p, 0] + slack or (gain >= gains[p, 0] - slack and staying > stays[p, 0]):
            gains[p, 0], stays[p, 0] = gain, staying
    for new in range(matched.size):
        matched[new] = -1
    used = 0
    for p in range(count):
        new, old = pieces[p]
        size = _overlap(state_before, old_boundaries, new_boundaries, old, new)
        shared = _shared(pieces, p, count)
        if used == 0 and size + gains[p + 1, shared] >= gains[p, 0] - slack and 1 + stays[p + 1, shared] == stays[p, 0]:
            matched[new] = old
            used = 3
        used &= shared


@inlined
def _list_pieces(old_boundaries: Boundaries, new_boundaries: Boundaries, pieces: Boundaries) -> int:
    """New and old interval of each overlap that holds a task, in the order of the tasks; returns their number."""
    count = old = new = 0
    first = old_boundaries[0]
    while new < new_boundaries.size - 1 and old < old_boundaries.size - 1:
        end = min(new_boundaries[new + 1], old_boundaries[old + 1])
        if end > first:
            pieces[count, 0], pieces[count, 1] = new, old
            count += 1
            first = end
        ends_new, ends_old = new_boundaries[new + 1] == end, old_boundaries[old + 1] == end
        new, old = new + ends_new, old + ends_old
    return count


@inlined
def _overlap(state_before: Floats, old_boundaries: Boundaries, new_boundaries: Boundaries, old: int, new: int) -> float:
    first, end = max(old_boundaries[old], new_boundaries[new]), min(old_boundaries[old + 1], new_boundaries[new + 1])
    return float(state_before[end] - state_before[first])


@inlined
def _shared(pieces: Boundaries, p: int, count: int) -> int:
    """Tell which interval the next piece shares with this one: 1 for the new, 2 for the old one, 0 for neither."""
    if p + 1 == count:
        return 0
    return int(pieces[p + 1, 0] == pieces[p, 0]) + 2 * int(pieces[p + 1, 1] == pieces[p, 1])


def assign(old: OldNodes, nodes_before: int, boundaries: Boundaries, matched: Boundaries, nodes_after: int) -> Assignment:
    """Assign the intervals of a partition to nodes after a migration.

    Parameters
    ----------
    nodes_before, nodes_after
        Number of nodes before and after; new nodes are numbered after the old ones.
    boundaries
        Target partition, at most `nodes_after` intervals of which hold tasks.
    matched
        Old interval per new interval, −1 for none, as from `match`.

    Returns
    -------
    tuple of (first, end) or None
        `max(nodes_before, nodes_after)` entries, `nodes_after` of them intervals; None for a node that is removed.
    """
    intervals = list(pairwise(boundaries.tolist()))
    owners = matched.tolist()
    kept_intervals = {int(old.nodes[owner]): interval for interval, owner in zip(intervals, owners, strict=True) if owner >= 0}
    others = [interval for interval, owner in zip(intervals, owners, strict=True) if owner < 0 and interval[0] < interval[1]]
    return give_out(kept_intervals, others, nodes_before, nodes_after, int(boundaries[-1]))
