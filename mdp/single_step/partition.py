"""The partition with the largest gain: forward through the layers of SSM, then back to the boundaries."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.mdp.partitions import Boundaries
from edrp.mdp.single_step.bands import Bands, tighten, trim
from edrp.mdp.single_step.layers import OPEN, TAKEN, Layer, LayerWorkspace, OrderedTasks, set_layer

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
