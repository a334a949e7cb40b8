"""One answer among equals: SSM with deterministic ties, down to the interval of each node.

Among all assignments that move the least state, the one with the least maximal load; among these the one with the fewest moves
(a move is a run of neighbouring tasks that goes from one old node to one other node); of these the one whose interval
boundaries, read from the first task on and without empty intervals, are smallest (the first interval ends as early as
possible, then the second, …); and within that partition the matching that `matching.match` describes.

The least maximal load is found by bisection: a trial is SSM with a smaller load limit, which must keep the gain.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.core.kernels import inner_loop, kernel
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS
from edrp.mdp.matching import assign, match_into, room_for_matching
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks
from edrp.mdp.single_step.bands import Bands, narrow, room_for_bands, set_bands
from edrp.mdp.single_step.layers import Layer, LayerWorkspace, OrderedTasks, layer_workspace, mirrored, order_tasks
from edrp.mdp.single_step.partition import STORED_CELLS, largest_gain, partition_into, room_for_layers
from edrp.migration.intervals import Assignment, load_limit

SINGLE_STEP_UNITS, CELL_UNITS = 1e-5, 4e-8
"""Units of work of a single step: fixed, and per task and node, all trial loads included."""


def best_migration(
    tasks: Tasks, old: OldNodes, nodes_before: int, nodes: int, tolerance: float, allow_empty: bool
) -> tuple[float, Assignment] | None:
    """Find the migration that moves the least state, in O(m·n′) per trial load.

    Parameters
    ----------
    tolerance
        Tolerance of the load, τ in state migration, Definition 3.1.

    Returns
    -------
    tuple or None
        Gain (bytes that stay), and the interval of each node as `matching.assign` gives it; None where no assignment
        keeps to the load limit.
    """
    boundaries, matched = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
    limit = load_limit(tasks.work_before[-1], nodes, tolerance)
    spend(SINGLE_STEP_UNITS + CELL_UNITS * tasks.work.size * nodes)
    gain = break_ties(tasks.work_before, tasks.state_before, old.boundaries, limit, allow_empty, boundaries, matched, True)
    if np.isnan(gain):
        return None
    return gain, assign(old, nodes_before, boundaries, matched, nodes)


@kernel
def break_ties(
    work_before: Floats,
    state_before: Floats,
    old_boundaries: Boundaries,
    limit: float,
    allow_empty: bool,
    boundaries: Boundaries,
    matched: Boundaries,
    least_load: bool,
) -> float:
    """Choose partition and matching, with all ties broken, on arrays.

    Parameters
    ----------
    work_before, state_before, old_boundaries, limit, allow_empty
        As for `edrp.mdp.single_step.ssm.ssm`.
    boundaries, matched : shape (n′ + 1,), (n′,)
        Filled in: the partition, empty intervals last, and the old interval that keeps each new one, or −1.
    least_load
        Whether the maximal load decides between equal gains, before the moves.

    Returns
    -------
    float
        State that stays; NaN where no partition keeps to the limit.
    """
    tasks, nodes = work_before.size - 1, matched.size
    line, bands, room = (
        order_tasks(work_before, state_before, old_boundaries),
        room_for_bands(tasks, nodes),
        layer_workspace(tasks),
    )
    slack = EQUAL_GAINS * state_before[-1]
    if not set_bands(bands, work_before, limit, allow_empty):
        return np.nan
    if least_load:
        _lower_the_limit(line, bands, limit, allow_empty, slack, room)
    partition_into(line, bands, allow_empty, slack, room, boundaries, STORED_CELLS)
    match_into(state_before, old_boundaries, boundaries, *room_for_matching(nodes + old_boundaries.size + 1), matched)
    gain = 0.0
    for new in range(nodes):
        if matched[new] >= 0:
            first = max(boundaries[new], old_boundaries[matched[new]])
            end = min(boundaries[new + 1], old_boundaries[matched[new] + 1])
            gain += state_before[end] - state_before[first]
    return gain


@kernel
def _lower_the_limit(
    line: OrderedTasks, bands: Bands, limit: float, allow_empty: bool, slack: float, room: LayerWorkspace
) -> None:
    """Narrow the bands to the least load limit under which the gain is as large as under `limit`."""
    tasks, nodes = line.old_node.size, bands.low.size - 1
    work, equal = line.work_before, EQUAL_LOADS * line.work_before[-1]
    layers = room_for_layers(2, tasks)
    best = largest_gain(line, bands, allow_empty, slack, room, layers, np.inf)
    max_lost = line.state_before[-1] - best + 2 * slack
    set_bands(bands, work, limit, allow_empty)
    low, high = _needed(line, bands, limit + equal, allow_empty, slack, room, layers, max_lost)
    heaviest = 0.0
    for task in range(tasks):
        heaviest = max(heaviest, work[task + 1] - work[task])
    fails, holds = max(heaviest, work[-1] / nodes) - 2 * equal, limit
    while True:
        trial = _load_between(work, fails + equal, holds - equal)
        load = holds if np.isnan(trial) else trial
        keeps_gain = set_bands(bands, work, min(load + equal, limit), allow_empty) and narrow(bands, low, high)
        keeps_gain = keeps_gain and largest_gain(line, bands, allow_empty, slack, room, layers, max_lost) >= best - slack
        if np.isnan(trial):
            return
        if keeps_gain:
            holds = trial
        else:
            fails = trial


@kernel
def _needed(
    line: OrderedTasks,
    bands: Bands,
    limit: float,
    allow_empty: bool,
    slack: float,
    room: LayerWorkspace,
    layers: Layer,
    max_lost: float,
) -> tuple[Boundaries, Boundaries]:
    """Compute the range of boundaries of each layer that lose no more than `max_lost`.

    A smaller limit loses no less, so these hold for all trials. The mirror image knows how much is lost before a boundary.
    """
    tasks = line.old_node.size
    largest_gain(line, bands, allow_empty, slack, room, layers, max_lost)
    image, back = mirrored(line), room_for_bands(tasks, bands.low.size - 1)
    set_bands(back, image.work_before, limit, allow_empty)
    narrow(back, tasks - bands.high[::-1], tasks - bands.low[::-1])
    largest_gain(image, back, allow_empty, slack, room, layers, max_lost)
    narrow(bands, tasks - back.high[::-1], tasks - back.low[::-1])
    return bands.low.copy(), bands.high.copy()


@inner_loop
def _load_between(work_before: Floats, above: float, below: float) -> float:
    """Find an attainable load strictly between two, next to their middle; NaN if there is none. O(m)."""
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
