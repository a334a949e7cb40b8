"""Compiled: an exact search for nodes of blocks and boxes of other operators, whose replicas all need equally much.

With nodes and boxes chosen, the replicas are a flow from operators to nodes. Before all are chosen, each operator has the hull of
its boxes, and blocks that have no node yet are left out: where that has no flow, no choice that follows does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernel_helpers import copy_matrix
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import QUOTIENT_USE_SLACK

GAVE_UP, NONE, PLACED = -1, 0, 1
"""Outcomes: too many choices were tried, there is no placement, and there is one."""

MAX_FLOWS = 20_000
"""Flows that a search computes before it gives up."""


class ItemsToPlace(NamedTuple):
    """Blocks, and operators that are in none.

    Attributes
    ----------
    free : shape (nodes, resources), capacity.
    unit : shape (resources,), load of one replica of every operator.
    kind : shape (nodes,), equal numbers of nodes that may be exchanged for one another.
    load : shape (blocks, resources).
    allowed : shape (blocks, nodes), whether a block may be there.
    total : shape (operators,), replicas.
    first : shape (operators + 1,), first box of each operator.
    fewest, most : shape (boxes, nodes), replicas.
    """

    free: Floats
    unit: Floats
    kind: Ints
    load: Floats
    allowed: Bools
    total: Ints
    first: Ints
    fewest: Ints
    most: Ints


@inlined
def _bounds(items: ItemsToPlace, box: Ints, fewest: Ints, most: Ints) -> None:
    """Fill in the replicas of each operator by node: those of its box, or the hull of all where none is chosen (-1)."""
    for i in range(items.total.size):
        for v in range(items.kind.size):
            if box[i] >= 0:
                fewest[i, v], most[i, v] = items.fewest[box[i], v], items.most[box[i], v]
                continue
            fewest[i, v], most[i, v] = items.total[i] + 1, -1
            for b in range(items.first[i], items.first[i + 1]):
                fewest[i, v] = min(fewest[i, v], items.fewest[b, v])
                most[i, v] = max(most[i, v], items.most[b, v])


@inlined
def _flows(
    items: ItemsToPlace, free: Floats, fewest: Ints, most: Ints, counts: Ints, slots: Ints, came: Ints, line: Ints
) -> bool:
    """Whether all replicas find room, in `counts`; operators give up nodes for others along augmenting paths."""
    nodes = items.kind.size
    for v in range(nodes):
        slots[v] = items.total.sum()
        for m in range(items.unit.size):
            if items.unit[m] > 0 and np.isfinite(free[v, m]):
                slots[v] = min(slots[v], int(np.floor((free[v, m] + QUOTIENT_USE_SLACK) / items.unit[m])))
    copy_matrix(fewest, counts)
    for v in range(nodes):
        for i in range(items.total.size):
            slots[v] -= counts[i, v]
        if slots[v] < 0:
            return False
    for i in range(items.total.size):
        left = items.total[i]
        for v in range(nodes):
            left -= counts[i, v]
        if left < 0:
            return False
        for v in range(nodes):
            more = max(0, min(left, slots[v], most[i, v] - counts[i, v]))
            counts[i, v] += more
            slots[v] -= more
            left -= more
        for _ in range(left):
            if not _augment(i, fewest, most, counts, slots, came, line):
                return False
    return True


@inlined
def _augment(i: int, fewest: Ints, most: Ints, counts: Ints, slots: Ints, came: Ints, line: Ints) -> bool:
    """Place one more replica of an operator along a shortest path; `came` is the operator and node from which each is reached."""
    operators, nodes = counts.shape
    head, tail = 0, 0
    for v in range(nodes):
        came[0, v] = -1
        if counts[i, v] < most[i, v]:
            came[0, v], came[1, v] = i, -1
            line[tail] = v
            tail += 1
    while head < tail:
        u = line[head]
        head += 1
        if slots[u] > 0:
            slots[u] -= 1
            while u >= 0:
                k, before = came[0, u], came[1, u]
                counts[k, u] += 1
                if before >= 0:
                    counts[k, before] -= 1
                u = before
            return True
        for k in range(operators):
            if counts[k, u] <= fewest[k, u]:
                continue
            for v in range(nodes):
                if came[0, v] < 0 and counts[k, v] < most[k, v]:
                    came[0, v], came[1, v] = k, u
                    line[tail] = v
                    tail += 1
    return False


@inlined
def _next_node(items: ItemsToPlace, block: int, node: int, free: Floats) -> int:
    """The next node after one on which a block fits, unlike those before it; the number of nodes where there is none."""
    resources = items.unit.size
    for v in range(node + 1, items.kind.size):
        possible = items.allowed[block, v]
        for m in range(resources):
            possible = possible and items.load[block, m] <= free[v, m] + QUOTIENT_USE_SLACK
        for u in range(v):
            alike = possible and items.kind[u] == items.kind[v]
            for m in range(resources):
                alike = alike and free[u, m] == free[v, m]
            possible = possible and not alike
        if possible:
            return v
    return items.kind.size


@inlined
def _next_choice(items: ItemsToPlace, level: int, free: Floats, node: Ints, box: Ints) -> int:
    """Take the next choice of the last level that has one, and give back those after it; returns the level, 0 for none."""
    blocks, resources = items.load.shape[0], items.unit.size
    while level > 0:
        i = level - 1
        if i < blocks:
            for m in range(resources if node[i] >= 0 else 0):
                free[node[i], m] += items.load[i, m]
            node[i] = _next_node(items, i, node[i], free)
            if node[i] < items.kind.size:
                for m in range(resources):
                    free[node[i], m] -= items.load[i, m]
                return level
            node[i] = -1
        else:
            i -= blocks
            box[i] = items.first[i] if box[i] < 0 else box[i] + 1
            if box[i] < items.first[i + 1]:
                return level
            box[i] = -1
        level -= 1
    return 0


@kernel
def place(items: ItemsToPlace, most_flows: int, node: Ints, counts: Ints) -> int:
    """Fill in the node of each block and the replicas of each operator and node; returns the outcome."""
    blocks, operators, nodes = items.load.shape[0], items.total.size, items.kind.size
    free = items.free.copy()
    box = np.full(operators, -1)
    fewest, most = np.empty((operators, nodes), np.int64), np.empty((operators, nodes), np.int64)
    slots, came, line = np.empty(nodes, np.int64), np.empty((2, nodes), np.int64), np.empty(nodes, np.int64)
    for i in range(blocks):
        node[i] = -1
    level = 0
    for _ in range(most_flows):
        _bounds(items, box, fewest, most)
        if _flows(items, free, fewest, most, counts, slots, came, line):
            if level == blocks + operators:
                return PLACED
            level += 1
        level = _next_choice(items, level, free, node, box)
        if level == 0:
            return NONE
    return GAVE_UP
