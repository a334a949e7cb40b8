"""Kernels: all splits of an operator that cost at most so much under prices, by depth-first search with exact costs to go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.formulations.migration.rescale.decomposition.split_kernel import SplitLayer, SplitWork


class ListedSplits(NamedTuple):
    """Memory for the splits that are found, and for the search.

    Attributes
    ----------
    host, end : shape (splits, replicas), node and last place of each replica.
    number : shape (splits,), replicas.
    place, node, level, spent : shape (replicas + 1,)
        On the way to the current split: where each replica ends, on which node, the level and the cost so far.
    next_place, next_node : shape (replicas + 1,), what is tried next.
    """

    host: Ints
    end: Ints
    number: Ints
    place: Ints
    node: Ints
    level: Ints
    spent: Floats
    next_place: Ints
    next_node: Ints

    @classmethod
    def empty(cls, splits: int, replicas: int) -> ListedSplits:
        """Memory for so many splits of at most so many replicas."""
        host, end = (np.zeros((splits, replicas), np.int64) for _ in range(2))
        place, node, level, next_place, next_node = (np.zeros(replicas + 1, np.int64) for _ in range(5))
        spent, number = np.zeros(replicas + 1), np.zeros(splits, np.int64)
        return cls(host, end, number, place, node, level, spent, next_place, next_node)


@inner_loop
def costs_to_go(layer: SplitLayer, unit: Floats, q: Floats, on: Bools, price: float, w: SplitWork, togo: Floats) -> None:
    """Least costs of the tasks from each place on, latency included, where no level below a given one is left to choose.

    `togo` has shape (levels, places). It is filled from the last place to the first. The deque of each node keeps the places
    where a replica that begins here may end: the lower of two is left behind later, so that a higher one stays only where it is
    cheaper, and the cheapest of all is in front.
    """
    last, levels = layer.share.size - 1, layer.seconds.size
    mean = layer.range_seconds.shape[0] > 0
    for level in range(levels):
        togo[level, last] = 0.0
        for u in range(unit.size):
            w.front[u], w.back[u] = 0, 0
        for a in range(last - 1, -1, -1):
            best = np.inf
            for u in range(unit.size):
                if not on[u]:
                    continue
                if np.isfinite(togo[level, a + 1]):
                    key = q[u, a + 1] + togo[level, a + 1]
                    if not mean:  # where latency is no part of the price, a dearer place that is left behind sooner is of no use
                        while w.back[u] > w.front[u]:
                            b = w.queue[u, w.back[u] - 1]
                            if q[u, b] + togo[level, b] < key:
                                break
                            w.back[u] -= 1
                    w.queue[u, w.back[u]] = a + 1
                    w.back[u] += 1
                while w.front[u] < w.back[u]:
                    b = w.queue[u, w.front[u]]
                    if layer.share[b] - layer.share[a] <= layer.caps[level, u] and b - a <= layer.longest:
                        break
                    w.front[u] += 1
                end = w.back[u] if mean else min(w.back[u], w.front[u] + 1)
                for k in range(w.front[u], end):
                    b = w.queue[u, k]
                    value = unit[u] + q[u, b] - q[u, a] + togo[level, b]
                    if mean:
                        value += price * layer.range_seconds[a, b] / layer.speedup[u]
                    best = min(best, value)
            togo[level, a] = best
    for level in range(levels - 1, -1, -1):
        for a in range(last + 1):
            togo[level, a] += price * layer.seconds[level]
            if level + 1 < levels:
                togo[level, a] = min(togo[level, a], togo[level + 1, a])


@inlined
def _widest_share(layer: SplitLayer, on: Bools) -> float:
    """The largest share that a replica may have on any of the nodes, on the level that permits most."""
    widest = 0.0
    for u in range(on.size):
        if on[u]:
            widest = max(widest, layer.caps[layer.seconds.size - 1, u])
    return widest


@inlined
def _level_for(layer: SplitLayer, share: float, u: int, level: int) -> int:
    """The lowest level from the given one on that permits a share on node u; the number of levels where none does."""
    while level < layer.seconds.size and share > layer.caps[level, u]:
        level += 1
    return level


@inlined
def _inside_one(node: Ints, number: int, sets: Ints) -> bool:
    """Whether the nodes of so many replicas, from `node[1]` on, are all in one of the sets (bits)."""
    used = 0
    for k in range(1, number + 1):
        used |= 1 << node[k]
    inside = False
    for k in range(sets.size):
        inside = inside or (used & ~sets[k]) == 0
    return inside


@inlined
def _keep(w: ListedSplits, row: int, number: int) -> None:
    """Copy the current split, of so many replicas, into a row of those that are found."""
    w.number[row] = number
    for k in range(number):
        w.host[row, k], w.end[row, k] = w.node[k + 1], w.place[k + 1]


@inner_loop
def list_splits(
    layer: SplitLayer,
    unit: Floats,
    q: Floats,
    on: Bools,
    price: float,
    togo: Floats,
    most: float,
    number: tuple[int, int],
    smaller: Ints,
    steps: int,
    found: ListedSplits,
) -> int:
    """Fill `found` with all splits into a number of replicas within a range that cost at most `most`; returns how many.

    Those whose nodes are all in one of the sets `smaller` (bits) are left out. Returns -1 where there are more than fit, or the
    search takes more steps.
    """
    last, levels, nodes = layer.share.size - 1, layer.seconds.size, unit.size
    mean = layer.range_seconds.shape[0] > 0
    w, depth, splits = found, 0, 0
    widest = _widest_share(layer, on)
    w.place[0], w.level[0], w.spent[0], w.next_place[0], w.next_node[0] = 0, 0, 0.0, 1, 0
    while depth >= 0:
        a, b, u = w.place[depth], w.next_place[depth], w.next_node[depth]
        if b > min(last, a + layer.longest) or layer.share[b] - layer.share[a] > widest:
            depth -= 1
            continue
        w.next_node[depth] = u + 1
        if u + 1 == nodes:
            w.next_place[depth], w.next_node[depth] = b + 1, 0
        steps -= 1
        if steps < 0:
            return -1
        if not on[u]:
            continue
        level = _level_for(layer, layer.share[b] - layer.share[a], u, w.level[depth])
        if level == levels:
            continue
        spent = w.spent[depth] + unit[u] + q[u, b] - q[u, a]
        if mean:
            spent += price * layer.range_seconds[a, b] / layer.speedup[u]
        if not spent + togo[level, b] <= most:
            continue
        w.node[depth + 1], w.place[depth + 1] = u, b
        if b < last:
            if depth + 1 < number[1]:
                depth += 1
                w.level[depth], w.spent[depth] = level, spent
                w.next_place[depth], w.next_node[depth] = b + 1, 0
            continue
        if depth + 1 < number[0] or _inside_one(w.node, depth + 1, smaller):
            continue
        if splits == w.number.size:
            return -1
        _keep(w, splits, depth + 1)
        splits += 1
    return splits
