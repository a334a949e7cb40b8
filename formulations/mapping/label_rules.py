"""Compiled rules of labels: their order, dominance between them, and their use of resources.

Helpers take the arrays that they need one by one: a whole `MapLabels` in each of them takes long to compile.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import LABEL_SUM_SLACK, LABEL_USE_SLACK, MAP_USE_SLACK
from edrp.formulations.mapping.label_arrays import COMPARED, HEAP, MapLabels, Tracked
from edrp.formulations.mapping.layered_graph import LayeredGraph


@inlined
def _before(bound: np.ndarray, mapped: np.ndarray, a: int, b: int) -> bool:
    return bound[a] < bound[b] or (bound[a] == bound[b] and mapped[a] > mapped[b])


@inlined
def push(heap: np.ndarray, counters: np.ndarray, bound: np.ndarray, mapped: np.ndarray, label: int) -> None:
    """Put a label on the heap."""
    place = counters[HEAP]
    counters[HEAP] += 1
    while place > 0:
        above = (place - 1) >> 1
        if not _before(bound, mapped, label, heap[above]):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = label


@inlined
def pop(heap: np.ndarray, counters: np.ndarray, bound: np.ndarray, mapped: np.ndarray) -> int:
    """Take the label of least bound off the heap; of equal labels the one with most components mapped."""
    counters[HEAP] -= 1
    size = counters[HEAP]
    best, label, place = heap[0], heap[size], 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _before(bound, mapped, heap[below + 1], heap[below]):
            below += 1
        if not _before(bound, mapped, heap[below], label):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = label
    return best


@inlined
def _leaves_no_less(marks: np.ndarray, plenty: np.ndarray, left: np.ndarray, residual: np.ndarray, a: int, b: int) -> bool:
    if marks[b] & ~marks[a] or plenty[a] < plenty[b] or left[a] < left[b]:
        return False
    slot, slots = 0, residual.shape[1]
    while slot < slots and residual[a, slot] >= residual[b, slot]:
        slot += 1
    return slot == slots


@inlined
def admitted(labels: MapLabels, new: int) -> bool:
    """Add a label to those of its place unless another dominates it (costs no more, leaves no less); drop dominated ones."""
    costs, after, heads = labels.cost, labels.next, labels.heads[labels.leaving[new], labels.mapped[new]]
    marks, plenty, left, residual = labels.marks, labels.plenty, labels.left, labels.residual
    u, cost = labels.server[new], costs[new]
    other, last = heads[u], -1
    while other >= 0 and costs[other] <= cost:
        labels.counters[COMPARED] += 1
        if _leaves_no_less(marks, plenty, left, residual, other, new):
            return False
        last, other = other, after[other]
    after[new] = other
    if last < 0:
        heads[u] = new
    else:
        after[last] = new
    last = new
    while other >= 0:
        labels.counters[COMPARED] += 1
        if _leaves_no_less(marks, plenty, left, residual, new, other):
            labels.alive[other] = 0
            after[last] = after[other]
        else:
            last = other
        other = after[other]
    return True


@inner_loop
def used(graph: LayeredGraph, labels: MapLabels, label: int, resource: int) -> float:
    """Return the amount of a resource that a label's map uses."""
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
def _within(graph: LayeredGraph, labels: MapLabels, label: int, resource: int) -> bool:
    limit = graph.limit[resource]
    return limit == np.inf or used(graph, labels, label, resource) <= limit * (1 + MAP_USE_SLACK)


@inner_loop
def within_limits(graph: LayeredGraph, labels: MapLabels, label: int) -> bool:
    """Tell whether a label's map keeps to every limit."""
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
def room(graph: LayeredGraph, tracked: Tracked, labels: MapLabels, label: int, resource: int, checked: bool) -> float:
    """Return the amount of a resource that may still be taken; without `checked`, only tracked resources are limited."""
    limit = graph.limit[resource]
    if checked:
        return limit if limit == np.inf else limit - used(graph, labels, label, resource)
    slot = tracked.slot[resource]
    return np.inf if slot < 0 else labels.residual[label, slot] + LABEL_USE_SLACK * limit


@inlined
def take(slots: np.ndarray, residual: np.ndarray, resource: int, amount: float) -> None:
    """Enter the use of a resource in a label's row, if it is tracked."""
    slot = slots[resource]
    if slot >= 0:
        residual[slot] = max(0.0, residual[slot] - amount)


@inlined
def rounded(start: np.ndarray, sums: np.ndarray, j: int, value: float) -> float:
    """Return the maximum that components and hops from j on can take of the remaining amount of a resource."""
    low, high = start[j], start[j + 1]
    if low == high:
        return value
    value += LABEL_SUM_SLACK * sums[high - 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if sums[middle] <= value:
            low = middle
        else:
            high = middle
    return sums[low]
