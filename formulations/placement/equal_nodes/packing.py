"""Packing of a placement over classes onto nodes: blocks first, then all other replicas into the remaining capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import QUOTIENT_USE_SLACK
from edrp.formulations.placement.equal_nodes.labels import Pattern
from edrp.formulations.placement.equal_nodes.model import Quotient

MAX_TRIALS = 2_000
"""Nodes that an exact search for a packing tries before it gives up."""

Contents = tuple[tuple[int, int], ...]
"""Operators, and how many replicas of each."""


@dataclass(frozen=True)
class PackedItem:
    """A block or a replica, which has to be on one node.

    Attributes
    ----------
    load : shape (resources,).
    classes : set of classes of which the node may be.
    contents : operators and how many of their replicas.
    """

    load: Floats
    classes: int
    contents: Contents


def find_blocks(quotient: Quotient, pattern: Pattern) -> tuple[list[PackedItem], list[int]]:
    """The blocks of a placement: operators joined by streams that stay on a node; and the operators that are in none."""
    model, choices = quotient.model, quotient.choices
    block = np.full(quotient.operators, -1)
    for j, row in enumerate(pattern.rows):
        if not choices.single[row]:
            continue
        block[j] = j
        for number, stream in enumerate(model.incoming[j]):
            if pattern.local[j] >> number & 1:
                block[block == block[model.source[stream]]] = j
    items = []
    for number in np.unique(block[block >= 0]):
        inside = np.flatnonzero(block == number)
        rows = pattern.rows[inside]
        contents = tuple((int(j), int(choices.replicas[row])) for j, row in zip(inside, rows, strict=True))
        items.append(PackedItem(choices.load[rows].sum(axis=0), int(choices.classes[rows[0]]), contents))
    return items, np.flatnonzero(block < 0).tolist()


def realise(quotient: Quotient, pattern: Pattern) -> Ints | None:
    """Replicas per operator of the compiled problem and node; None where no packing was found.

    A replica that runs elsewhere than its operator's classes ask for only makes delays shorter, so that items may go to any
    node of any of the classes.
    """
    choices = quotient.choices
    items, free = find_blocks(quotient, pattern)
    for j, row in zip(free, pattern.rows[free], strict=True):
        item = PackedItem(choices.unit[row], int(choices.classes[row]), ((j, 1),))
        items += [item] * int(choices.replicas[row])
    node = np.concatenate(quotient.members)
    owner = quotient.owner[node]
    room = quotient.capacity[owner]
    # Items with few classes first, and the largest first; then the largest first whatever their classes.
    scale = quotient.capacity.max(axis=0, initial=1.0, where=np.isfinite(quotient.capacity))
    size = {id(item): float((item.load / scale).max(initial=0.0)) for item in items}
    first = sorted(items, key=lambda item: (item.classes.bit_count(), -size[id(item)]))
    for order in [sorted(items, key=lambda item: -size[id(item)]), first]:
        places = _packed(order, owner, room)
        if places is not None:
            return count_replicas(quotient, [item.contents for item in order], node[places][:, None] == np.arange(node.size))
    return None


def _packed(items: list[PackedItem], owner: Ints, capacity: Floats) -> Ints | None:
    """A node of `owner` for each item, by a depth-first search that fills the fullest node first; None where none was found."""
    nodes = np.arange(owner.size)
    free = capacity.copy()
    places = np.full(len(items), -1)
    tried: list[list[int]] = [[] for _ in items]
    trials, position = 0, 0
    fresh = True
    while position < len(items):
        item = items[position]
        if fresh:
            fits = (item.load <= free + QUOTIENT_USE_SLACK).all(axis=1) & ((item.classes >> owner & 1) == 1)
            # Nodes that differ in class or room, the fullest first.
            room = np.where(np.isfinite(free), free, 0.0)
            positions: dict[tuple[int, bytes], int] = {}
            for node in nodes[fits]:
                positions.setdefault((int(owner[node]), np.round(room[node], 9).tobytes()), int(node))
            tried[position] = sorted(positions.values(), key=lambda node: (float(room[node].sum()), node))
        if not tried[position]:
            position -= 1
            if position < 0:
                return None
            free[places[position]] += items[position].load
            fresh = False
            continue
        trials += 1
        if trials > MAX_TRIALS:
            return None
        node = tried[position].pop(0)
        places[position] = node
        free[node] -= item.load
        position += 1
        fresh = True
    return places


def count_replicas(quotient: Quotient, contents: Sequence[Contents], placed: Ints | Bools) -> Ints:
    """Replicas per operator of the compiled problem and node, with items of these contents `placed`, shape (items, nodes)."""
    model = quotient.model
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    for content, row in zip(contents, placed, strict=True):
        for j, replicas in content:
            counts[model.order[j]] += replicas * row
    return counts
