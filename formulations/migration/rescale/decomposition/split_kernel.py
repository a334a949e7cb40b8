"""Kernel: the cheapest split of an operator among the nodes of every state, over all levels of latency.

A replica on node u that holds the tasks [a, b) costs unit[u] + q[u,b] − q[u,a]; its share of the work is limited by node and
level. Along the tasks a deque for each node keeps the places where the last replica may begin, the cheapest in front.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop

MAX_WAITING_RANGES = 64
"""Ranges of levels that may wait; halving leaves one for each time that the number of levels can be halved."""


class SplitLayer(NamedTuple):
    """Bounds on what replicas may hold when there are `exact` of them.

    Attributes
    ----------
    share : shape (tasks + 1,), share of the work before each task.
    caps : shape (levels, nodes), largest share of a replica, levels ascending.
    seconds : shape (levels,), no operator on a level takes less; ascending.
    range_seconds : shape (tasks + 1, tasks + 1), of the mean over tuples the part of a range on the reference node; else empty.
    speedup : shape (nodes,)
    exact : number of replicas; 0 for any.
    longest : most tasks of a replica.
    """

    share: Floats
    caps: Floats
    seconds: Floats
    range_seconds: Floats
    speedup: Floats
    exact: int
    longest: int


class SplitWork(NamedTuple):
    """Scratch memory of the kernel that splits ranges.

    Attributes
    ----------
    cost, first, host : least costs by place, and where and on which node the last replica begins.
    queue, front, back : deques by node, and their ends.
    levels, floors : ranges of levels that are left, and the cost without latency on the level above each.
    """

    cost: Floats
    queue: Ints
    front: Ints
    back: Ints
    first: Ints
    host: Ints
    levels: Ints
    floors: Floats

    @classmethod
    def empty(cls, tasks: int, nodes: int, rounds: int) -> SplitWork:
        """Memory for `tasks` tasks and `nodes` nodes, and up to `rounds` replicas that are counted."""
        places = (rounds + 1, tasks + 1)
        deques = np.zeros((nodes, tasks + 1), np.int64)
        ends = (np.zeros(nodes, np.int64), np.zeros(nodes, np.int64))
        began = (np.zeros(places, np.int64), np.zeros(places, np.int64))
        return cls(
            np.zeros(places), deques, *ends, *began, np.zeros((MAX_WAITING_RANGES, 2), np.int64), np.zeros(MAX_WAITING_RANGES)
        )


@inlined
def _sweep(
    layer: SplitLayer, unit: Floats, q: Floats, on: Bools, level: int, price: float, rows: tuple[int, int], w: SplitWork
) -> None:
    """Least cost of the tasks before each place, the last replica added to `rows[0]`, in `rows[1]` (which may be the same)."""
    before, after = rows
    mean = layer.range_seconds.shape[0] > 0
    w.cost[after, 0] = 0.0 if before == after else np.inf
    for u in range(unit.size):
        w.front[u], w.back[u] = 0, 0
    for b in range(1, layer.share.size):
        best, first, host = np.inf, -1, -1
        for u in range(unit.size):
            if not on[u]:
                continue
            if np.isfinite(w.cost[before, b - 1]):
                key = w.cost[before, b - 1] - q[u, b - 1]
                if not mean:  # where latency is no part of the price, a dearer place that is left behind sooner is of no use
                    while w.back[u] > w.front[u]:
                        a = w.queue[u, w.back[u] - 1]
                        if w.cost[before, a] - q[u, a] < key:
                            break
                        w.back[u] -= 1
                w.queue[u, w.back[u]] = b - 1
                w.back[u] += 1
            while w.front[u] < w.back[u]:
                a = w.queue[u, w.front[u]]
                if layer.share[b] - layer.share[a] <= layer.caps[level, u] and b - a <= layer.longest:
                    break
                w.front[u] += 1
            end = w.back[u] if mean else min(w.back[u], w.front[u] + 1)
            for k in range(w.front[u], end):
                a = w.queue[u, k]
                value = w.cost[before, a] - q[u, a] + q[u, b] + unit[u]
                if mean:
                    value += price * layer.range_seconds[a, b] / layer.speedup[u]
                if value < best:
                    best, first, host = value, a, u
        w.cost[after, b], w.first[after, b], w.host[after, b] = best, first, host


@inlined
def _split(layer: SplitLayer, unit: Floats, q: Floats, on: Bools, level: int, price: float, w: SplitWork) -> float:
    """Least cost of all tasks, latency by level left out."""
    last = layer.share.size - 1
    if layer.exact == 0:
        _sweep(layer, unit, q, on, level, price, (0, 0), w)
        return w.cost[0, last]
    for b in range(last + 1):
        w.cost[0, b] = np.inf if b > 0 else 0.0
    for k in range(layer.exact):
        _sweep(layer, unit, q, on, level, price, (k, k + 1), w)
    return w.cost[layer.exact, last]


@inner_loop
def split_values(
    layer: SplitLayer, unit: Floats, q: Floats, inside: Bools, price: float, w: SplitWork, values: Floats, levels: Ints
) -> None:
    """The least cost in every state, infinite where there is none, and the level that has it.

    Higher levels permit more and charge more. Between two of them nothing costs less than what is permitted by the upper and
    charged by the lower one: ranges where that is too much are left out, others halved.
    """
    top = layer.seconds.size - 1
    for s in range(inside.shape[0]):
        values[s], levels[s] = np.inf, top
        floor = _split(layer, unit, q, inside[s], top, price, w)
        if not np.isfinite(floor):
            continue
        values[s] = floor + price * layer.seconds[top]
        w.levels[0, 0], w.levels[0, 1], w.floors[0] = 0, top, floor
        waiting = 1
        while waiting > 0:
            waiting -= 1
            low, high, floor = w.levels[waiting, 0], w.levels[waiting, 1], w.floors[waiting]
            if low >= high or floor + price * layer.seconds[low] >= values[s]:
                continue
            level = (low + high) // 2
            least = _split(layer, unit, q, inside[s], level, price, w)
            value = least + price * layer.seconds[level]
            if value < values[s]:
                values[s], levels[s] = value, level
            w.levels[waiting, 0], w.levels[waiting, 1], w.floors[waiting] = level + 1, high, floor
            if np.isfinite(least):
                w.levels[waiting + 1, 0], w.levels[waiting + 1, 1], w.floors[waiting + 1] = low, level, least
                waiting += 1
            waiting += 1


@inner_loop
def trace_split(layer: SplitLayer, unit: Floats, q: Floats, on: Bools, level: int, price: float, w: SplitWork, held: Ints) -> int:
    """Replicas (node, first task, end) of the cheapest split, last one first, in `held`; returns how many."""
    _split(layer, unit, q, on, level, price, w)
    b, row, number = layer.share.size - 1, layer.exact, 0
    while b > 0:
        a = w.first[row, b]
        held[number, 0], held[number, 1], held[number, 2] = w.host[row, b], a, b
        b, number = a, number + 1
        if layer.exact > 0:
            row -= 1
    return number
