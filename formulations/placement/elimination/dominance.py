"""Dominance between labels: those that another one is nowhere worse than are removed.

Labels are compared where the operators with open streams have the same configurations. Of two of them, the better one must
leave later operators as much room: it takes no more of a node, or so little that whatever they may need still fits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import EQUAL_AMOUNTS
from edrp.formulations.placement.elimination.beam import (
    DOWNTIME,
    FIXED,
    MONEY,
    SINK,
    USAGE,
    AllConfigurations,
    BeamLabels,
    count_taken,
)

MAX_COMPARED = 100
"""Labels that each label is compared with: marking fewer is slower later, never wrong."""


class Comparison(NamedTuple):
    """What matters of labels after an operator, and room for the kernel.

    `frontier`: operators with open streams. `pending`: sums of rules that still matter. `nodes`: those that later operators may
    use, `free` (nodes, resources) how much may be taken there without being in their way. `taken`: what one label takes, shape
    (all nodes, resources). `recent` (`MAX_COMPARED`,), `recent_taken` (`MAX_COMPARED`, nodes, resources): labels that others
    are compared with, and what they take of `nodes`.
    """

    operators: int
    frontier: Ints
    pending: Ints
    nodes: Ints
    free: Floats
    taken: Floats
    recent: Ints
    recent_taken: Floats

    @classmethod
    def after(cls, operators: int, frontier: Ints, pending: Ints, capacity: Floats, later: Floats) -> Comparison:
        """Comparison of labels of so many operators; `later` (nodes, resources) is the most that others may add."""
        nodes = np.flatnonzero((later > 0).any(axis=1))
        recent_taken = np.zeros((MAX_COMPARED, nodes.size, capacity.shape[1]))
        free = (capacity - later)[nodes]
        return cls(
            operators, frontier, pending, nodes, free, np.zeros_like(capacity), np.zeros(MAX_COMPARED, np.int64), recent_taken
        )


@inner_loop
def hash_labels(labels: BeamLabels, comparison: Comparison, keys: np.ndarray) -> None:
    """One number per label from its frontier configurations and its sums of rules that still matter."""
    for row in range(keys.size):
        key = np.uint64(1469598103934665603)
        for k in range(comparison.frontier.size):
            key = (key ^ np.uint64(labels.chosen[row, comparison.frontier[k]] + 1)) * np.uint64(1099511628211)
        for k in range(comparison.pending.size):
            key = (key ^ np.uint64(np.int64(labels.rules[row, comparison.pending[k]] * 1e6 + 0.5))) * np.uint64(1099511628211)
        keys[row] = key


@inlined
def _dominates(labels: BeamLabels, comparison: Comparison, a: int, b: int, slot: int, own: int) -> bool:
    """Whether label a, whose use stands at `slot`, is nowhere worse than label b, whose use stands at `own`."""
    for k in (FIXED, MONEY, USAGE, DOWNTIME, SINK):
        if labels.sums[a, k] > labels.sums[b, k]:
            return False
    for k in range(comparison.frontier.size):
        i = comparison.frontier[k]
        if labels.chosen[a, i] != labels.chosen[b, i]:
            return False
        for p in range(labels.finish.shape[2]):
            if labels.finish[a, i, p] > labels.finish[b, i, p]:
                return False
    for k in range(comparison.nodes.size):
        for m in range(comparison.free.shape[1]):
            mine, other = comparison.recent_taken[slot, k, m], comparison.recent_taken[own, k, m]
            if mine > other * (1 + EQUAL_AMOUNTS) and mine > comparison.free[k, m]:
                return False
    for k in range(comparison.pending.size):
        mine, other = labels.rules[a, comparison.pending[k]], labels.rules[b, comparison.pending[k]]
        if abs(mine - other) > EQUAL_AMOUNTS * abs(other):
            return False
    return True


@inner_loop
def mark_dominated(
    configurations: AllConfigurations,
    labels: BeamLabels,
    order: np.ndarray,
    keys: np.ndarray,
    comparison: Comparison,
    dominated: np.ndarray,
) -> None:
    """Mark labels that another of equal key is nowhere worse than; `order` sorts by key, then objective.

    Each is compared with the last that were not dominated.
    """
    recent, room = comparison.recent, comparison.recent.size
    begin = count = 0
    for k in range(order.size):
        row = order[k]
        if keys[row] != keys[order[begin]]:
            begin, count = k, 0
        count_taken(configurations, labels, row, comparison.operators, comparison.taken)
        own = count % room
        for a in range(comparison.nodes.size):
            for m in range(comparison.free.shape[1]):
                comparison.recent_taken[own, a, m] = comparison.taken[comparison.nodes[a], m]
        for slot in range(min(count, room)):
            if slot != own and _dominates(labels, comparison, recent[slot], row, slot, own):
                dominated[row] = True
                break
        if not dominated[row]:
            recent[own] = row
            count += 1
