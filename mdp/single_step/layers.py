"""The dynamic program of SSM, one layer at a time: layer k knows the best ways to cover the last tasks with k intervals.

A target interval [a, b) is kept by the old node that holds task a, by the one that holds task b − 1, by one that lies
inside, or by none. So a cell needs two values only: the best that the tasks from boundary a on can give, once where the
old node that holds task a may still be used (`OPEN`), and once where an interval before a uses it (`TAKEN`; the same
where that node begins at a). All transitions into a cell read windows of the layer before that slide monotonically:

- *near*, b within the old node of task a: three windows, each a queue that holds candidates in falling order;
- *far*, b beyond it: the best cell, and the best pair of a cell and an old node that lies before it. The window ends at
  the old node's end, so pairs are aggregated in two stacks.

A layer therefore costs O(m), all of them O(m·n′). Values are pairs: gain, then moves (pieces that change their node);
gains that differ by no more than `slack` are equal. `Bands` says which boundaries a layer has to know at all.

Bands of boundaries that a layer of SSM has to compute, limited by loads and by a given cost.

Layer k holds boundaries which are followed by k intervals. The loads leave those from which k intervals reach the last task
and to which n′ − k intervals reach from the first: neighbours, from `low[k]` to `high[k]`. Once the least cost is known, those
at both ends of a layer drop out behind which more state is lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints32
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.mdp.partitions import Boundaries


class Bands(NamedTuple):
    """Range of boundaries of each layer.

    Attributes
    ----------
    reach : shape (m + 1,), greatest end of an interval that begins at a boundary.
    low, high : shape (n′ + 1,), least and greatest boundary in layer k.
    """

    reach: Boundaries
    low: Boundaries
    high: Boundaries


@kernel
def room_for_bands(tasks: int, nodes: int) -> Bands:
    """Allocate the arrays that `set_bands` fills."""
    return Bands(np.empty(tasks + 1, np.int64), np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64))


@inner_loop
def set_bands(bands: Bands, work_before: Floats, limit: float, allow_empty: bool) -> bool:
    """Fill the bands for a load limit, in O(m + n′); return False where no partition keeps it."""
    reach, low, high = bands
    tasks, nodes = work_before.size - 1, low.size - 1
    end = 0
    for first in range(tasks + 1):
        while end < tasks and work_before[end + 1] - work_before[first] <= limit:
            end += 1
        if end <= first < tasks:
            return False
        reach[first] = end
    high[nodes] = 0
    for k in range(nodes - 1, -1, -1):
        high[k] = reach[high[k + 1]]
    low[0] = tasks
    for k in range(nodes):
        first = low[k]
        while first > 0 and reach[first - 1] >= low[k]:
            first -= 1
        low[k + 1] = first
    for k in range(nodes + 1):
        if not allow_empty:
            low[k], high[k] = max(low[k], nodes - k), min(high[k], tasks - k)
        if low[k] > high[k]:
            return False
    return True


@inner_loop
def narrow(bands: Bands, low: Boundaries, high: Boundaries) -> bool:
    """Intersect the bands with others; return False where a layer becomes empty."""
    feasible = True
    for k in range(low.size):
        bands.low[k], bands.high[k] = max(bands.low[k], low[k]), min(bands.high[k], high[k])
        feasible = feasible and bands.low[k] <= bands.high[k]
    return feasible


@inlined
def tighten(bands: Bands, k: int) -> bool:
    """Drop boundaries that no longer reach the previous layer; return False where none is left."""
    reach, low, high = bands
    behind = high[k - 1]
    high[k] = min(high[k], behind if behind == reach.size - 1 else behind - 1)
    while low[k] <= high[k] and reach[low[k]] < low[k - 1]:
        low[k] += 1
    return bool(low[k] <= high[k])


@inlined
def trim(bands: Bands, k: int, state_before: Floats, gain: Floats, max_lost: float) -> bool:
    """Drop boundaries at both ends that lose more than `max_lost`; `gain` is the layer's best; False if none is left."""
    low, high, total = bands.low, bands.high, state_before[-1]
    while low[k] <= high[k] and total - state_before[low[k]] - gain[low[k]] > max_lost:
        low[k] += 1
    while low[k] <= high[k] and total - state_before[high[k]] - gain[high[k]] > max_lost:
        high[k] -= 1
    return bool(low[k] <= high[k])


OPEN, TAKEN = 0, 1


class OrderedTasks(NamedTuple):
    """The tasks in order with their old nodes, as the kernels read them.

    Attributes
    ----------
    work_before, state_before : shape (m + 1,), sums before each boundary.
    old_boundaries : shape (k + 1,), boundaries of the old intervals that hold tasks.
    old_node : shape (m,), which of these intervals holds each task.
    """

    work_before: Floats
    state_before: Floats
    old_boundaries: Boundaries
    old_node: Boundaries


@kernel
def order_tasks(work_before: Floats, state_before: Floats, old_boundaries: Boundaries) -> OrderedTasks:
    """Put the tasks in order, with the old intervals that are not empty."""
    old_node = np.empty(work_before.size - 1, np.int64)
    old = np.zeros(old_boundaries.size, np.int64)
    count = 0
    for j in range(old_boundaries.size - 1):
        if old_boundaries[j + 1] > old_boundaries[j]:
            for task in range(old_boundaries[j], old_boundaries[j + 1]):
                old_node[task] = count
            count += 1
            old[count] = old_boundaries[j + 1]
    return OrderedTasks(work_before, state_before, old[: count + 1], old_node)


class Layer(NamedTuple):
    """Values of the cells of a layer, or of several.

    Attributes
    ----------
    gain, moves : shape (…, 2, m + 1), first `OPEN`, then `TAKEN`.
    """

    gain: Floats
    moves: Ints32


class LayerWorkspace(NamedTuple):
    """Working arrays of one layer.

    Attributes
    ----------
    boundary, gain, moves : shape (3, m + 1), candidates in the queues of the near window.
    cell_gain, cell_moves, pair_gain, pair_moves : shape (m + 2,), best cell and best pair of the far window: up to each boundary
        in the stack that shrinks, and last in the one that grows. Moves are counted from the first old node on.
    node_gain : shape (1,), most state of an old node that lies in the growing stack.
    """

    boundary: Boundaries
    gain: Floats
    moves: Ints32
    cell_gain: Floats
    cell_moves: Ints32
    pair_gain: Floats
    pair_moves: Ints32
    node_gain: Floats


@kernel
def mirrored(line: OrderedTasks) -> OrderedTasks:
    """Return the same tasks and nodes in reverse order."""
    work, state = line.work_before[-1] - line.work_before[::-1], line.state_before[-1] - line.state_before[::-1]
    return order_tasks(work, state, line.old_node.size - line.old_boundaries[::-1])


@kernel
def layer_workspace(tasks: int) -> LayerWorkspace:
    """Allocate working arrays for a number of tasks."""
    size = tasks + 2
    return LayerWorkspace(
        np.empty((3, size), np.int64),
        np.empty((3, size)),
        np.empty((3, size), np.int32),
        np.empty(size),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size, np.int32),
        np.empty(1),
    )


@inlined
def better(gain: float, moves: int, than_gain: float, than_moves: int, slack: float) -> bool:
    """Whether a gain is larger than another, or equal with fewer moves."""
    return gain > than_gain + slack or (gain >= than_gain - slack and moves < than_moves)


@inlined
def _best(gain: float, moves: int, other_gain: float, other_moves: int, slack: float) -> tuple[float, int]:
    return (other_gain, other_moves) if better(other_gain, other_moves, gain, moves, slack) else (gain, moves)


@inlined
def _push(room: LayerWorkspace, queue: int, head: int, tail: int, boundary: int, gain: float, moves: int, slack: float) -> int:
    """Add a candidate behind all that are better and drop those that are not; returns the queue's new tail."""
    while tail > head and not better(room.gain[queue, tail - 1], room.moves[queue, tail - 1], gain, moves, slack):
        tail -= 1
    room.boundary[queue, tail], room.gain[queue, tail], room.moves[queue, tail] = boundary, gain, moves
    return tail + 1


@inlined
def _drop(room: LayerWorkspace, queue: int, head: int, tail: int, end: int) -> int:
    """Drop candidates beyond the window's end; returns the queue's new head."""
    while head < tail and room.boundary[queue, head] > end:
        head += 1
    return head


@inner_loop
def _turn_over(line: OrderedTasks, gain: Floats, moves: Ints32, node: int, end: int, room: LayerWorkspace, slack: float) -> None:
    """Put the far window, from the end of `node` to `end`, into the stack that shrinks, and empty the other."""
    state, old = line.state_before, line.old_boundaries
    cell, cell_moves, pair, pair_moves, largest = -np.inf, 0, -np.inf, 0, -np.inf
    begin = old[node + 1]
    for b in range(begin + 1, end + 1):
        while old[node + 1] < b:
            node += 1
        cell, cell_moves = _best(cell, cell_moves, gain[OPEN, b], moves[OPEN, b] + node, slack)
        kept_gain = gain[TAKEN, b] + state[b] - state[old[node]]
        pair, pair_moves = _best(pair, pair_moves, kept_gain, moves[TAKEN, b] + node - 1, slack)
        pair, pair_moves = _best(pair, pair_moves, largest + gain[OPEN, b], moves[OPEN, b] + node - 1, slack)
        if old[node + 1] == b:
            largest = max(largest, state[b] - state[old[node]])
        room.cell_gain[b], room.cell_moves[b], room.pair_gain[b], room.pair_moves[b] = cell, cell_moves, pair, pair_moves
    room.cell_gain[-1], room.cell_moves[-1], room.pair_gain[-1], room.pair_moves[-1] = -np.inf, 0, -np.inf, 0
    room.node_gain[0] = -np.inf


@inner_loop
def _grow(line: OrderedTasks, gain: Floats, moves: Ints32, node: int, room: LayerWorkspace, slack: float) -> None:
    """Add the boundaries of `node`, which lies before all that it holds, to the stack that grows."""
    state, begin, end = line.state_before, line.old_boundaries[node], line.old_boundaries[node + 1]
    cell, cell_moves, pair, pair_moves = room.cell_gain[-1], room.cell_moves[-1], room.pair_gain[-1], room.pair_moves[-1]
    size = state[end] - state[begin]
    for b in range(end, begin, -1):
        cell, cell_moves = _best(cell, cell_moves, gain[OPEN, b], moves[OPEN, b] + node, slack)
        kept_gain = gain[TAKEN, b] + state[b] - state[begin]
        pair, pair_moves = _best(pair, pair_moves, kept_gain, moves[TAKEN, b] + node - 1, slack)
        if b == end:
            pair, pair_moves = _best(pair, pair_moves, size + cell, cell_moves - 1, slack)
    room.cell_gain[-1], room.cell_moves[-1], room.pair_gain[-1], room.pair_moves[-1] = cell, cell_moves, pair, pair_moves
    room.node_gain[0] = max(room.node_gain[0], size)


@inlined
def _far(room: LayerWorkspace, node: int, end: int, slack: float) -> tuple[float, int, float, int]:
    """Best cell of the far window up to `end`, and best pair of a cell with an old node before it or none."""
    cell, moves, pair, pair_moves = room.cell_gain[end], room.cell_moves[end], room.pair_gain[end], room.pair_moves[end]
    pair, pair_moves = _best(pair, pair_moves, room.node_gain[0] + cell, moves - 1, slack)
    cell, moves = _best(cell, moves, room.cell_gain[-1], room.cell_moves[-1], slack)
    pair, pair_moves = _best(pair, pair_moves, room.pair_gain[-1], room.pair_moves[-1], slack)
    pair, pair_moves = _best(pair, pair_moves, cell, moves, slack)
    return cell, moves - node + 1, pair, pair_moves - node + 1


@inner_loop
def set_layer(
    line: OrderedTasks, bands: Bands, k: int, before: Layer, layer: Layer, nothing_left: float, slack: float, room: LayerWorkspace
) -> None:
    """Fill layer k from layer k − 1, `before`.

    `nothing_left` is the gain of k intervals for no task: 0 where intervals may be empty, else minus infinity.
    """
    before_gain, before_moves, gain, moves = before.gain, before.moves, layer.gain, layer.moves
    state, old = line.state_before, line.old_boundaries
    reach, low, high = bands.reach, bands.low[k], bands.high[k]
    furthest, tasks = bands.high[k - 1], line.old_node.size
    for boundary in range(bands.low[min(k + 1, bands.low.size - 1)], low):  # the next layer looks here too
        gain[OPEN, boundary] = gain[TAKEN, boundary] = -np.inf
    if high == tasks:
        gain[OPEN, tasks] = gain[TAKEN, tasks] = nothing_left
        moves[OPEN, tasks] = moves[TAKEN, tasks] = 0
    high = min(high, tasks - 1)
    node = line.old_node[high]
    near = min(reach[high], furthest, old[node + 1])  # last boundary that is not yet in the queues
    turned = tasks + 1  # far boundaries beyond this one are in the stack that shrinks
    h0 = t0 = h1 = t1 = h2 = t2 = 0  # heads and tails of the queues
    for first in range(high, low - 1, -1):
        end = min(reach[first], furthest)
        if first < old[node]:
            if end > turned:
                _grow(line, before_gain, before_moves, node, room, slack)
            node -= 1
            near = old[node + 1]
            h0 = t0 = h1 = t1 = h2 = t2 = 0
        for b in range(near, first, -1):
            open_moves, taken_gain, taken_moves = before_moves[OPEN, b], before_gain[TAKEN, b], before_moves[TAKEN, b]
            t0 = _push(room, 0, h0, t0, b, before_gain[OPEN, b], open_moves + 1, slack)
            t1 = _push(room, 1, h1, t1, b, taken_gain + state[b], taken_moves, slack)
            t2 = _push(room, 2, h2, t2, b, taken_gain, taken_moves + 1, slack)
        near = first
        h0, h1, h2 = _drop(room, 0, h0, t0, end), _drop(room, 1, h1, t1, end), _drop(room, 2, h2, t2, end)
        open_gain, fewest_moves = _best(
            room.gain[0, h0], room.moves[0, h0], room.gain[1, h1] - state[first], room.moves[1, h1], slack
        )
        taken_gain, taken_moves = room.gain[2, h2], room.moves[2, h2]
        if end > old[node + 1]:
            if end <= turned:
                _turn_over(line, before_gain, before_moves, node, end, room, slack)
                turned = old[node + 1]
            cell, cell_moves, pair, pair_moves = _far(room, node, end, slack)
            kept_gain = cell + state[old[node + 1]] - state[first]
            taken_gain, taken_moves = _best(taken_gain, taken_moves, pair, pair_moves, slack)
            open_gain, fewest_moves = _best(open_gain, fewest_moves, pair, pair_moves, slack)
            open_gain, fewest_moves = _best(open_gain, fewest_moves, kept_gain, cell_moves - 1, slack)
        if first == old[node]:
            taken_gain, taken_moves = open_gain, fewest_moves
        gain[OPEN, first], moves[OPEN, first] = open_gain, fewest_moves
        gain[TAKEN, first], moves[TAKEN, first] = taken_gain, taken_moves
