"""Compiled: in which order labels are looked at, and which make others needless.

Helpers take the arrays that they need one by one: a whole `Labels` in each of them takes long to compile.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined
from edrp.formulations.mapping.label_arrays import HEAP, Labels


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
    """Take the label of least bound off the heap; of equal ones that which has mapped the most."""
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
def admitted(labels: Labels, new: int) -> bool:
    """Enter a label among those of its place, unless one that costs no more leaves no less; those that it so beats go out."""
    costs, after, heads = labels.cost, labels.next, labels.heads[labels.leaving[new], labels.mapped[new]]
    marks, plenty, left, residual = labels.marks, labels.plenty, labels.left, labels.residual
    u, cost = labels.server[new], costs[new]
    other, last = heads[u], -1
    while other >= 0 and costs[other] <= cost:
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
        if _leaves_no_less(marks, plenty, left, residual, new, other):
            labels.alive[other] = 0
            after[last] = after[other]
        else:
            last = other
        other = after[other]
    return True
