"""One answer among equals: SSM with deterministic ties, down to the interval of each node.

Of all assignments that move the least state, the one with the least maximal load; of these the one with the fewest moves
(a move is a run of neighbouring tasks that goes from one old node to one other node); of these the one whose interval
boundaries, read from the first task on and without empty intervals, are smallest (the first interval ends as early as
possible, then the second, …); and within that partition the matching that `matching.match` describes.

The least maximal load is found by bisection: a trial is SSM with a smaller load limit, which must keep the gain.
"""

from __future__ import annotations

import numpy as np

from edrp.documents.intervals import Assignment, load_limit
from edrp.kernels import inner_loop, kernel
from edrp.mdp.matching import EQUAL_GAINS, assign, match_into, room_for_matching
from edrp.mdp.ssm import STORED_CELLS, gain_of, largest_gain, partition_into
from edrp.mdp.ssm_layers import line_of, room_for, room_for_bands, set_bands
from edrp.mdp.tasks import Boundaries, OldNodes, Tasks, Values

EQUAL_LOADS = 1e-12
"""Loads that differ by less than this share of all work are equal."""


def best_migration(
    tasks: Tasks, old: OldNodes, nodes_before: int, nodes: int, tolerance: float, allow_empty: bool
) -> tuple[float, Assignment] | None:
    """The migration that moves the least state, in O(m·n′) per trial load.

    Parameters
    ----------
    tasks
        Work and state.
    old
        Current assignment of `nodes_before` nodes.
    nodes
        Number of nodes afterwards, n′.
    tolerance
        Of the load, τ in state migration, Definition 3.1.
    allow_empty
        Whether nodes may hold no task afterwards.

    Returns
    -------
    tuple or None
        Gain (bytes that stay), and the interval of each node as `matching.assign` gives it; None where no assignment
        keeps to the load limit.

    Examples
    --------
    >>> tasks, old = Tasks.of([1] * 20, [1] * 20), OldNodes.of([(0, 13), (13, 20)])
    >>> best_migration(tasks, old, 2, 3, 0.4, True)
    (16.0, ((4, 13), (13, 20), (0, 4)))
    """
    boundaries, matched = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
    limit = load_limit(tasks.work_before[-1], nodes, tolerance)
    gain = settle(tasks.work_before, tasks.state_before, old.boundaries, limit, allow_empty, boundaries, matched)
    if np.isnan(gain):
        return None
    return gain, assign(old, nodes_before, boundaries, matched, nodes)


@kernel
def settle(
    work_before: Values,
    state_before: Values,
    old_boundaries: Boundaries,
    limit: float,
    allow_empty: bool,
    boundaries: Boundaries,
    matched: Boundaries,
) -> float:
    """The whole decision on arrays: fills `boundaries` (n′ + 1,) and `matched` (n′,), returns the gain, or NaN if infeasible.

    `old_boundaries` must be strictly ascending.
    """
    tasks, nodes = work_before.size - 1, matched.size
    line, bands, room = line_of(work_before, state_before, old_boundaries), room_for_bands(tasks, nodes), room_for(tasks)
    gain, moves = np.empty((2, 2, tasks + 1)), np.empty((2, 2, tasks + 1), np.int32)
    if not set_bands(bands, work_before, limit, allow_empty):
        return np.nan
    slack, equal = EQUAL_GAINS * state_before[-1], EQUAL_LOADS * work_before[-1]
    wanted = largest_gain(line, bands, allow_empty, slack, room, gain, moves) - slack
    fails, holds = max(np.diff(work_before).max(), work_before[-1] / nodes) - 2 * equal, limit
    while True:
        trial = _load_between(work_before, fails + equal, holds - equal)
        if np.isnan(trial):
            break
        feasible = set_bands(bands, work_before, min(trial + equal, limit), allow_empty)
        if feasible and largest_gain(line, bands, allow_empty, slack, room, gain, moves) >= wanted:
            holds = trial
        else:
            fails = trial
    set_bands(bands, work_before, min(holds + equal, limit), allow_empty)
    partition_into(line, bands, allow_empty, slack, room, boundaries, STORED_CELLS)
    match_into(state_before, old_boundaries, boundaries, *room_for_matching(nodes + old_boundaries.size + 1), matched)
    return gain_of(state_before, old_boundaries, boundaries, matched)


@inner_loop
def _load_between(work_before: Values, above: float, below: float) -> float:
    """An attainable load strictly between two, next to their middle; NaN if there is none. O(m)."""
    middle = (above + below) / 2
    lower, upper = -np.inf, np.inf
    last_below = first_above = 0
    size = work_before.size
    for first in range(size):
        while last_below + 1 < size and work_before[last_below + 1] - work_before[first] <= middle:
            last_below += 1
        lower = max(lower, work_before[last_below] - work_before[first])
        first_above = min(last_below + 1, size - 1)
        upper_here = work_before[first_above] - work_before[first]
        if upper_here > middle:
            upper = min(upper, upper_here)
    if above < lower and (middle - lower <= upper - middle or not upper < below):
        return lower
    return upper if upper < below else np.nan
