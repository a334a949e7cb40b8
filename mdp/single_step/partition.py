"""Layer by layer to the largest gain, and back along the layers to the partition that attains it."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints32
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.mdp.single_step.bands import Bands, tighten, trim
from edrp.mdp.single_step.layers import OPEN, TAKEN, Line, Room, set_layer
from edrp.mdp.tasks import Boundaries

STORED_CELLS = 5_000_000
"""Cells of all layers that are kept for reading the partition back (24 bytes each); beyond, layers are computed twice."""


@inlined
def _set_first_layer(bands: Bands, gain: Floats, moves: Ints32) -> None:
    tasks = bands.reach.size - 1
    for state in range(2):
        for boundary in range(bands.low[1], tasks):
            gain[state, boundary] = -np.inf
        gain[state, tasks], moves[state, tasks] = 0.0, 0


@inner_loop
def largest_gain(
    line: Line, bands: Bands, allow_empty: bool, slack: float, room: Room, gain: Floats, moves: Ints32, most_lost: float
) -> float:
    """Gain of the best partition, or minus infinity where each loses more state than `most_lost`.

    The bands are trimmed to what partitions that lose no more need. `gain` and `moves` are room of shape (2, 2, m + 1),
    for two layers.
    """
    nodes = bands.low.size - 1
    _set_first_layer(bands, gain[0], moves[0])
    nothing_left = 0.0 if allow_empty else -np.inf
    for k in range(1, nodes + 1):
        old, new = (k - 1) % 2, k % 2
        if not tighten(bands, k):
            return -np.inf
        set_layer(line, bands, k, gain[old], moves[old], gain[new], moves[new], nothing_left, slack, room)
        if not trim(bands, k, line.state_before, gain[new, OPEN], most_lost):
            return -np.inf
    return gain[nodes % 2, OPEN, 0]


@kernel
def partition_into(
    line: Line, bands: Bands, allow_empty: bool, slack: float, room: Room, boundaries: Boundaries, stored_cells: int
) -> float:
    """Fill in the boundaries of the best partition; returns its gain.

    All layers are kept if they have no more than `stored_cells`; else about √n′ of them, and the layers between two of
    these are computed again on the way back.
    """
    nodes, size = bands.low.size - 1, bands.reach.size
    nothing_left = 0.0 if allow_empty else -np.inf
    step = nodes if (nodes + 1) * size <= stored_cells else int(np.ceil(np.sqrt(nodes)))
    blocks = (nodes + step - 1) // step
    kept_gain, kept_moves = np.empty((blocks, 2, size)), np.empty((blocks, 2, size), np.int32)
    gain, moves = np.empty((step + 1, 2, size)), np.empty((step + 1, 2, size), np.int32)
    _set_first_layer(bands, kept_gain[0], kept_moves[0])
    boundaries[0] = 0
    alive_open, alive_taken = True, False
    best = 0.0
    for turn in range(2 * blocks - 1):
        block = turn if turn < blocks else 2 * blocks - 2 - turn
        base, top = block * step, min((block + 1) * step, nodes)
        _copy(kept_gain[block], kept_moves[block], gain[0], moves[0])
        for k in range(base + 1, top + 1):
            r = k - base
            set_layer(line, bands, k, gain[r - 1], moves[r - 1], gain[r], moves[r], nothing_left, slack, room)
        if turn < blocks - 1:
            _copy(gain[step], moves[step], kept_gain[block + 1], kept_moves[block + 1])
            continue
        if turn == blocks - 1:
            best = gain[top - base, OPEN, 0]
        for k in range(top, base, -1):
            first, r = boundaries[nodes - k], k - base
            boundaries[nodes - k + 1], alive_open, alive_taken = _next_boundary(
                line, bands, k, first, alive_open, alive_taken, gain[r], moves[r], gain[r - 1], moves[r - 1], slack
            )
    return best


@inlined
def _copy(gain: Floats, moves: Ints32, to_gain: Floats, to_moves: Ints32) -> None:
    """Copy a layer; a loop compiles in a tenth of the time of an assignment of arrays."""
    for state in range(2):
        for boundary in range(gain.shape[1]):
            to_gain[state, boundary], to_moves[state, boundary] = gain[state, boundary], moves[state, boundary]


@inner_loop
def _next_boundary(
    line: Line,
    bands: Bands,
    k: int,
    first: int,
    alive_open: bool,
    alive_taken: bool,
    gain: Floats,
    moves: Ints32,
    after_gain: Floats,
    after_moves: Ints32,
    slack: float,
) -> tuple[int, bool, bool]:
    """The smallest end that the interval from `first` has in any best partition, and the states that go on from it.

    Different matchings of the intervals so far may leave the node at a boundary open or taken: as long as both lead to
    the optimum, both are alive.
    """
    old, tasks = line.old, line.own.size
    if first == tasks:
        return tasks, True, False
    node = line.own[first]
    last, largest = node, -np.inf
    for end in range(first + 1, min(bands.reach[first], bands.high[k - 1]) + 1):
        while old[last + 1] < end:
            last += 1
        if last > node and old[last + 1] == end:
            largest = max(largest, line.state_before[end] - line.state_before[old[last]])
        to_open = to_taken = False
        for state in range(2):
            if (alive_open, alive_taken)[state]:
                wanted, fewest = gain[state, first], moves[state, first] - (last - node + 1)
                opens, takes = _leads(line, first, end, last, largest, state, wanted, fewest, after_gain, after_moves, slack)
                to_open, to_taken = to_open or opens, to_taken or takes
        if to_open or to_taken:
            begins = end == tasks or old[last + 1] == end  # nothing before can use a node that begins here
            return end, to_open or begins, to_taken and not begins
    return -1, False, False


@inlined
def _leads(
    line: Line,
    first: int,
    end: int,
    last: int,
    largest: float,
    state: int,
    wanted: float,
    fewest: int,
    gain: Floats,
    moves: Ints32,
    slack: float,
) -> tuple[bool, bool]:
    """Whether an interval attains the wanted gain and moves with the node at its end left open, and with it taken.

    `last` is the node of its last task, `largest` the most state of a node inside it; `fewest` is without its pieces.
    """
    before, old = line.state_before, line.old
    far = old[line.own[first] + 1]
    open_gain, open_moves, taken_gain, taken_moves = gain[OPEN, end], moves[OPEN, end], gain[TAKEN, end], moves[TAKEN, end]
    if end <= far and state == TAKEN:
        return False, _equal(taken_gain, taken_moves, wanted, fewest, slack)
    opens = _equal(open_gain, open_moves, wanted, fewest, slack)
    if end <= far:
        kept = taken_gain + before[end] - before[first]
    else:
        kept = taken_gain + before[end] - before[old[last]]
        opens = opens or _equal(open_gain + largest, open_moves - 1, wanted, fewest, slack)
        if state == OPEN:
            opens = opens or _equal(open_gain + before[far] - before[first], open_moves - 1, wanted, fewest, slack)
    return opens, _equal(kept, taken_moves - 1, wanted, fewest, slack)


@inlined
def _equal(gain: float, moves: int, other_gain: float, other_moves: int, slack: float) -> bool:
    return moves == other_moves and abs(gain - other_gain) <= slack
