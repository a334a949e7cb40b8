"""SSM: the target assignment that moves the least state, exactly, in O(m·n′) (state migration, sections 3.2 and 3.3).

Ties are settled, down to the interval of each node. Among all assignments that move the least state, the one with the least
maximal load; among these the one with the fewest moves (a move is a run of neighbouring tasks that goes from one old node to one
other node); of these the one whose interval boundaries, read from the first task on and without empty intervals, are smallest
(the first interval ends as early as possible, then the second, …); and within that partition the matching that
`partitions.match` describes.

The least maximal load is found by bisection: a trial is SSM with a smaller load limit, which must keep the gain.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from edrp.core.arrays import Floats
from edrp.core.budget import look, spend
from edrp.core.certificates import NotCertifiedError, RawCertificate
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS, LIMIT_SLACK
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks, assign, match_into, room_for_matching
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
from edrp.migration.intervals import Assignment, load_limit, moves_between
from edrp.migration.single_step import MigrationProblem, MigrationSolution

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
        Gain (bytes that stay), and the interval of each node as `partitions.assign` gives it; None where no assignment
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


Integers = np.ndarray[Any, Any]
"""Exact integers: int64 where all sums fit, else Python's own in an array of objects."""

MAX_CERTIFICATE_CELLS = 20_000_000
"""Maximum number of cells (boundaries × longest interval) of a certificate; each takes a number in eight arrays."""


POTENTIAL_UNITS, EXACT_POTENTIAL_UNITS = 1e-8, 3e-7
"""Units of work per arc and node, where 64 bits hold all sums, and where Python's integers have to."""


class IntervalArcs(NamedTuple):
    """Gain of every interval, by its end b and its length, longest first; shape (m + 1, longest interval) each.

    By whether the old node at its begin is free or used before, and the one at its end afterwards; far below 0 where that
    cannot be.
    """

    free_free: Integers
    used_free: Integers
    free_used: Integers
    used_used: Integers


def certify_ssm(problem: MigrationProblem, solution: MigrationSolution) -> RawCertificate:
    """Write an unchecked certificate of the least state that moves, or that no assignment keeps the load limit.

    Raises
    ------
    NotCertifiedError
        When intervals have too many tasks for the arcs to fit into memory.
    """
    states = [Fraction(repr(size)) for size in problem.state_size]
    scale = lcm(*(size.denominator for size in states))
    state = exact_integers([0, *accumulate(int(size * scale) for size in states)])
    old = OldNodes.of(problem.intervals).boundaries
    first = first_tasks(problem.work, problem.nodes, problem.tolerance)
    tasks, nodes, never = len(first) - 1, problem.nodes, -2 * int(state[-1]) - 1
    arcs = _arcs(state, old, first, never)
    first_boundaries = [tasks, *(0 for _ in range(nodes))]
    for k in range(nodes):
        first_boundaries[k + 1] = int(first[first_boundaries[k]])
    free, used = np.full_like(state, never), np.full_like(state, never)
    free[0] = 0
    lines = []
    for k in range(1, nodes + 1):
        look("the potentials")
        spend((POTENTIAL_UNITS if state.dtype == np.int64 else EXACT_POTENTIAL_UNITS) * arcs.free_free.size)
        free, used = _layer(arcs, free, used, old, never)
        begin = max(1, first_boundaries[nodes - k])
        reached = np.flatnonzero(free >= 0)
        end = max(begin, int(reached[-1]) + 1 if reached.size else 0)
        lines.append([begin, *([max(-1, int(gain)) for gain in row[begin:end]] for row in (free, used))])
        free[:begin] = used[:begin] = never
        free[0] = 0 if problem.allow_empty else never
    header = {"bound": str(Fraction(int(state[-1] - free[-1]), scale))} if solution.status == "optimal" else {}
    return RawCertificate("ssm", lines, header)


def exact_integers(values: list[int]) -> Integers:
    """Convert integers to int64 where sums of a few of them fit, else to Python objects."""
    return np.array(values, np.int64 if 16 * (values[-1] + 1) < 2**63 else object)


def first_tasks(work: tuple[float, ...], nodes: int, tolerance: float) -> Integers:
    """Find, for each boundary, the first task of the longest interval within the load limit that ends there; exact."""
    amounts = [Fraction(repr(amount)) for amount in work]
    scale = lcm(*(amount.denominator for amount in amounts))
    before = [0, *accumulate(int(amount * scale) for amount in amounts)]
    limit = (1 + Fraction(repr(tolerance))) * before[-1] * (1 + Fraction(repr(LIMIT_SLACK))) / nodes
    first, a = [], 0
    for load in before:
        while load - before[a] > limit:
            a += 1
        first.append(a)
    return np.array(first)


def _arcs(state: Integers, old: Integers, first: Integers, never: int) -> IntervalArcs:
    """Compute the arcs into every boundary."""
    size = state.size
    longest = max(1, int((np.arange(size) - first).max()))
    if size * longest > MAX_CERTIFICATE_CELLS:
        raise NotCertifiedError(f"intervals of up to {longest} of {size - 1} tasks have too many potentials for a certificate")
    end = np.arange(size)[:, None]
    begin = end - np.arange(longest, 0, -1)[None]
    allowed = begin >= first[:, None]
    begin = np.maximum(begin, 0)
    begin_node = np.searchsorted(old, begin, side="right") - 1
    begin_node = np.minimum(begin_node, old.size - 2)
    end_node = np.maximum(np.searchsorted(old, end, side="left") - 1, 0)
    near = begin_node == end_node
    shared = np.where(near, state[end] - state[begin], state[end] - state[old[end_node]])
    inner = _largest_between(state, old)[begin_node, end_node]
    begins = state[old[begin_node + 1]] - state[begin]
    return IntervalArcs(
        np.where(allowed, np.where(near, 0, np.maximum(inner, begins)), never),
        np.where(allowed & ~near, inner, never),
        np.where(allowed, shared, never),
        np.where(allowed, np.where(near, 0, shared), never),
    )


def _largest_between(state: Integers, old: Integers) -> Integers:
    """Largest state of an old node strictly between two others, shape (old nodes, old nodes); 0 where there is none."""
    nodes = old.size - 1
    sizes = state[old[1:]] - state[old[:-1]]
    largest = np.zeros((nodes, nodes), state.dtype)
    for left in range(nodes - 2):
        largest[left, left + 2 :] = np.maximum.accumulate(sizes[left + 1 : -1])
    return largest


def _layer(arcs: IntervalArcs, free: Integers, used: Integers, old: Integers, never: int) -> tuple[Integers, Integers]:
    """Largest state kept with one more interval, by boundary, with the old node there free and used."""
    longest = arcs.free_free.shape[1]
    padding = np.full(longest, never, free.dtype)
    before_free, before_used = (sliding_window_view(np.concatenate([padding, row[:-1]]), longest) for row in (free, used))
    new_free = np.maximum(before_free + arcs.free_free, before_used + arcs.used_free).max(axis=1)
    new_used = np.maximum(before_free + arcs.free_used, before_used + arcs.used_used).max(axis=1)
    new_free[old] = np.maximum(new_free[old], new_used[old])
    new_used[old] = never
    return np.where(new_free < 0, never, new_free), np.where(new_used < 0, never, new_used)


def ssm(
    tasks: Tasks, old_boundaries: Boundaries, nodes: int, limit: float, allow_empty: bool
) -> tuple[float, Boundaries, Boundaries] | None:
    """Find the partition that lets the most state stay.

    Parameters
    ----------
    old_boundaries : shape (n + 1,)
        Current partition.
    nodes
        Intervals of the target, n′.

    Returns
    -------
    tuple or None
        Gain (bytes that stay), boundaries of shape (n′ + 1,) with empty intervals last, and the old interval that keeps
        each new one, −1 for none, of shape (n′,). None where no partition keeps to the limit. Among several, the one with
        the fewest moves, then the one whose boundaries, read from the first, are smallest.
    """
    boundaries, matched = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
    spend(SINGLE_STEP_UNITS + CELL_UNITS * tasks.work.size * nodes)
    work, state = tasks.work_before, tasks.state_before
    gain = break_ties(work, state, old_boundaries, limit, allow_empty, boundaries, matched, False)
    return None if np.isnan(gain) else (gain, boundaries, matched)


class Ssm(Method):
    """SSM, exact in O(tasks × nodes) per trial load (state migration, section 3.3)."""

    name = "ssm"
    kinds = ("migration",)
    interpreted_first = True
    exact = True
    summary = "dynamic program for the migration that moves the least state"

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Solve the problem exactly; never stops early."""
        self.read_parameters(options)
        tasks = Tasks.of(problem.work, problem.state_size)
        old = OldNodes.of(problem.intervals)
        before = len(problem.intervals)
        best = best_migration(tasks, old, before, problem.nodes, problem.tolerance, problem.allow_empty)
        size = {"tasks": len(problem.work), "nodes": problem.nodes}
        if best is None:
            return Answer("infeasible", "finished", size=size)
        # What moves, summed by itself: as a difference of sums over all state it would lose what is small relative to them.
        _, assignment = best
        moved = sum((move.size for move in moves_between(problem.intervals, assignment, problem.state_size)), 0.0)
        return Answer("optimal", "finished", assignment, moved, moved, size)


METHODS = (Ssm(),)
"""Methods for problems of kind `migration`."""
