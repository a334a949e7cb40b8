"""Placements to begin with: first fit in a few orders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.formulations.placement.column_generation.model import Model


def first_fits(model: Model) -> Iterator[Ints]:
    """Counts per operator and node, shape (operators, nodes), of every first fit that finds room for all.

    Operators in topological order, or those with the greatest needs first; supervisors largest first, or smallest first;
    those with the fewest choices before all others.
    """
    classes = [(u, supervisors.capacity, supervisors.max_instances) for supervisors in model.classes for u in supervisors.members]
    choices = np.sum([limit > 0 for _, _, limit in classes], axis=0)
    scarce = np.array([capacity for _, capacity, _ in classes])
    total = np.maximum(model.instances @ model.demand, 1e-300)
    need = (model.demand / total).max(axis=1, initial=0.0)
    size = (scarce / total).min(axis=1, initial=1.0)
    operators = np.arange(model.instances.size)
    for order in (np.lexsort((operators, choices)), np.lexsort((-need, choices)), np.lexsort((choices, -need))):
        for sign in (-1, 1):
            nodes = [classes[i] for i in np.argsort(sign * size, kind="stable")]
            counts = _fill(model, order, nodes)
            if counts is not None:
                yield counts


def _fill(model: Model, order: Ints, nodes: list[tuple[int, Floats, Ints]]) -> Ints | None:
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    room = {u: capacity.copy() for u, capacity, _ in nodes}
    for a in order:
        left = int(model.instances[a])
        for u, _, limit in nodes:
            while left and counts[a, u] < limit[a] and (model.demand[a] <= room[u]).all():
                room[u] -= model.demand[a]
                counts[a, u] += 1
                left -= 1
        if left:
            return None
    return counts
