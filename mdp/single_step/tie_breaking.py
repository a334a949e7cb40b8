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
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS
from edrp.mdp.matching import assign, match_into, room_for_matching
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks
from edrp.mdp.single_step.layers import (
    OPEN,
    TAKEN,
    Bands,
    Layer,
    LayerWorkspace,
    OrderedTasks,
    layer_workspace,
    mirrored,
    narrow,
    order_tasks,
    room_for_bands,
    set_bands,
    set_layer,
    tighten,
    trim,
)
from edrp.migration.intervals import Assignment, load_limit

STORED_CELLS = 5_000_000
"""Maximum number of cells stored to read the partition back (24 bytes each); beyond, layers are computed twice."""


@kernel
def room_for_layers(count: int, tasks: int) -> Layer:
    """Allocate the arrays of several layers; the first index is the layer."""
    return Layer(np.empty((count, 2, tasks + 1)), np.empty((count, 2, tasks + 1), np.int32))


@inlined
def _set_first_layer(bands: Bands, layer: Layer) -> None:
    tasks = bands.reach.size - 1
    for state in range(2):
        for boundary in range(bands.low[1], tasks):
            layer.gain[state, boundary] = -np.inf
        layer.gain[state, tasks], layer.moves[state, tasks] = 0.0, 0


@inner_loop
def largest_gain(
    line: OrderedTasks, bands: Bands, allow_empty: bool, slack: float, room: LayerWorkspace, layers: Layer, max_lost: float
) -> float:
    """Compute the gain of the best partition; minus infinity where each loses more state than `max_lost`.

    The bands are trimmed to partitions that lose no more. `layers` are working arrays of two layers.
    """
    nodes = bands.low.size - 1
    _set_first_layer(bands, Layer(layers.gain[0], layers.moves[0]))
    nothing_left = 0.0 if allow_empty else -np.inf
    for k in range(1, nodes + 1):
        new = k % 2
        if not tighten(bands, k):
            return -np.inf
        before, layer = Layer(layers.gain[1 - new], layers.moves[1 - new]), Layer(layers.gain[new], layers.moves[new])
        set_layer(line, bands, k, before, layer, nothing_left, slack, room)
        if not trim(bands, k, line.state_before, layers.gain[new, OPEN], max_lost):
            return -np.inf
    return layers.gain[nodes % 2, OPEN, 0]


@kernel
def partition_into(
    line: OrderedTasks,
    bands: Bands,
    allow_empty: bool,
    slack: float,
    room: LayerWorkspace,
    boundaries: Boundaries,
    stored_cells: int,
) -> float:
    """Fill in the boundaries of the best partition; return its gain.

    All layers are kept if they have no more than `stored_cells`; else about √n′ of them, and the layers between two of
    these are computed again on the way back.
    """
    nodes, size = bands.low.size - 1, bands.reach.size
    nothing_left = 0.0 if allow_empty else -np.inf
    step = nodes if (nodes + 1) * size <= stored_cells else int(np.ceil(np.sqrt(nodes)))
    blocks = (nodes + step - 1) // step
    block_layers, layers = room_for_layers(blocks, size - 1), room_for_layers(step + 1, size - 1)
    _set_first_layer(bands, Layer(block_layers.gain[0], block_layers.moves[0]))
    boundaries[0] = 0
    alive = (True, False)
    best = 0.0
    for turn in range(2 * blocks - 1):
        block = turn if turn < blocks else 2 * blocks - 2 - turn
        base, top = block * step, min((block + 1) * step, nodes)
        _copy(Layer(block_layers.gain[block], block_layers.moves[block]), Layer(layers.gain[0], layers.moves[0]))
        for k in range(base + 1, top + 1):
            r = k - base
            before, layer = Layer(layers.gain[r - 1], layers.moves[r - 1]), Layer(layers.gain[r], layers.moves[r])
            set_layer(line, bands, k, before, layer, nothing_left, slack, room)
        if turn < blocks - 1:
            _copy(
                Layer(layers.gain[step], layers.moves[step]), Layer(block_layers.gain[block + 1], block_layers.moves[block + 1])
            )
            continue
        if turn == blocks - 1:
            best = layers.gain[top - base, OPEN, 0]
        for k in range(top, base, -1):
            first, r = boundaries[nodes - k], k - base
            furthest = min(bands.reach[first], bands.high[k - 1])
            layer, after = Layer(layers.gain[r], layers.moves[r]), Layer(layers.gain[r - 1], layers.moves[r - 1])
            boundaries[nodes - k + 1], alive = _next_boundary(line, first, furthest, alive, layer, after, slack)
    return best


@inlined
def _copy(layer: Layer, to: Layer) -> None:
    """Copy a layer; a loop compiles in a tenth of the time of an assignment of arrays."""
    for state in range(2):
        for boundary in range(layer.gain.shape[1]):
            to.gain[state, boundary], to.moves[state, boundary] = layer.gain[state, boundary], layer.moves[state, boundary]


@inner_loop
def _next_boundary(
    line: OrderedTasks, first: int, furthest: int, alive: tuple[bool, bool], layer: Layer, after: Layer, slack: float
) -> tuple[int, tuple[bool, bool]]:
    """Find the smallest end of the interval from `first` in any best partition, and the states that continue from it.

    `alive` says which states of `layer` are part of an optimum, first `OPEN`, then `TAKEN`; `after` is the layer of the end.

    Different matchings of the intervals so far may leave the node at a boundary open or taken: as long as both lead to
    the optimum, both are alive.
    """
    old, tasks = line.old_boundaries, line.old_node.size
    if first == tasks:
        return tasks, (True, False)
    node = line.old_node[first]
    last, largest = node, -np.inf
    for end in range(first + 1, furthest + 1):
        while old[last + 1] < end:
            last += 1
        if last > node and old[last + 1] == end:
            largest = max(largest, line.state_before[end] - line.state_before[old[last]])
        to_open = to_taken = False
        for state in range(2):
            if alive[state]:
                cell = state, layer.gain[state, first], layer.moves[state, first] - (last - node + 1)
                opens, takes = _attains_value(line, first, end, last, largest, cell, after, slack)
                to_open, to_taken = to_open or opens, to_taken or takes
        if to_open or to_taken:
            begins = end == tasks or old[last + 1] == end  # nothing before can use a node that begins here
            return end, (to_open or begins, to_taken and not begins)
    return -1, (False, False)


@inlined
def _attains_value(
    line: OrderedTasks, first: int, end: int, last: int, largest: float, cell: tuple[int, float, int], after: Layer, slack: float
) -> tuple[bool, bool]:
    """Whether an interval attains the value of a cell with the node at its end left open, and with it taken.

    `last` is the node of its last task, `largest` the most state of a node inside it; `cell` is the state at `first`, its
    gain, and its moves without those of the interval's pieces.
    """
    before, old = line.state_before, line.old_boundaries
    far = old[line.old_node[first] + 1]
    state, target_gain, target_moves = cell
    open_gain, open_moves = after.gain[OPEN, end], after.moves[OPEN, end]
    taken_gain, taken_moves = after.gain[TAKEN, end], after.moves[TAKEN, end]
    if end <= far and state == TAKEN:
        return False, _equal(taken_gain, taken_moves, target_gain, target_moves, slack)
    opens = _equal(open_gain, open_moves, target_gain, target_moves, slack)
    if end <= far:
        kept_gain = taken_gain + before[end] - before[first]
    else:
        kept_gain = taken_gain + before[end] - before[old[last]]
        opens = opens or _equal(open_gain + largest, open_moves - 1, target_gain, target_moves, slack)
        if state == OPEN:
            opens = opens or _equal(open_gain + before[far] - before[first], open_moves - 1, target_gain, target_moves, slack)
    return opens, _equal(kept_gain, taken_moves - 1, target_gain, target_moves, slack)


@inlined
def _equal(gain: float, moves: int, other_gain: float, other_moves: int, slack: float) -> bool:
    return moves == other_moves and abs(gain - other_gain) <= slack


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
