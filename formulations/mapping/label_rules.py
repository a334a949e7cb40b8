"""Compiled: what a label's map uses of resources, and what is left of those that are tracked."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.formulations.mapping.label_arrays import Labels, Tracked
from edrp.formulations.mapping.layered_graph import Graph
from edrp.formulations.mapping.map_moves import CLOSE

NEAR = 1e-11
"""Relative excess over what is left that counts as rounding; below `CLOSE`."""

SAME = 1e-13
"""Relative difference at which two sums count as equal."""


@inner_loop
def used(graph: Graph, labels: Labels, label: int, resource: int) -> float:
    """What a label's map uses of a resource."""
    servers, arcs = graph.first.size - 1, graph.target.size
    amount = 0.0
    while labels.parent[label] >= 0:
        before = labels.parent[label]
        j, move = labels.mapped[before], labels.move[label]
        if resource < servers:
            if labels.server[label] == resource:
                for i in range(j, labels.mapped[label]):
                    amount += graph.needs[i]
        elif resource < servers + arcs:
            if move == resource - servers:
                amount += graph.rates[j]
        elif move >= arcs:
            end = resource - servers - arcs
            if end == labels.server[before] or end - servers == labels.server[label]:
                amount += graph.rates[j]
        label = before
    return amount


@inner_loop
def _within(graph: Graph, labels: Labels, label: int, resource: int) -> bool:
    limit = graph.limit[resource]
    return limit == np.inf or used(graph, labels, label, resource) <= limit * (1 + CLOSE)


@inner_loop
def within_limits(graph: Graph, labels: Labels, label: int) -> bool:
    """Whether a label's map keeps to every limit."""
    servers, arcs = graph.first.size - 1, graph.target.size
    step = label
    while labels.parent[step] >= 0:
        before, move = labels.parent[step], labels.move[step]
        if labels.mapped[step] > labels.mapped[before] and not _within(graph, labels, label, labels.server[step]):
            return False
        if move >= arcs:
            if not _within(graph, labels, label, servers + arcs + labels.server[before]):
                return False
            if not _within(graph, labels, label, 2 * servers + arcs + labels.server[step]):
                return False
        elif move >= 0 and not _within(graph, labels, label, servers + move):
            return False
        step = before
    return True


@inlined
def room(graph: Graph, tracked: Tracked, labels: Labels, label: int, resource: int, checked: bool) -> float:
    """What may still be taken of a resource: of every one where all are checked, else of those that are tracked."""
    limit = graph.limit[resource]
    if checked:
        return limit if limit == np.inf else limit - used(graph, labels, label, resource)
    slot = tracked.slot[resource]
    return np.inf if slot < 0 else labels.residual[label, slot] + NEAR * limit


@inlined
def take(slots: np.ndarray, residual: np.ndarray, resource: int, amount: float) -> None:
    """Enter the use of a resource in a label's row, if it is tracked."""
    slot = slots[resource]
    if slot >= 0:
        residual[slot] = max(0.0, residual[slot] - amount)


@inlined
def rounded(start: np.ndarray, sums: np.ndarray, j: int, value: float) -> float:
    """The most that components and hops from j on can take of what is left of a resource."""
    low, high = start[j], start[j + 1]
    if low == high:
        return value
    value += SAME * sums[high - 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if sums[middle] <= value:
            low = middle
        else:
            high = middle
    return sums[low]
