"""Compiled: in which order labels are looked at, and which make others needless."""

from __future__ import annotations

from edrp.formulations.mapping.labels import HEAP, Labels
from edrp.kernels import inlined


@inlined
def _before(labels: Labels, a: int, b: int) -> bool:
    if labels.bound[a] != labels.bound[b]:
        return labels.bound[a] < labels.bound[b]
    return labels.mapped[a] > labels.mapped[b]


@inlined
def push(labels: Labels, label: int) -> None:
    """Put a label on the heap."""
    heap, place = labels.heap, labels.counters[HEAP]
    labels.counters[HEAP] += 1
    while place > 0:
        above = (place - 1) >> 1
        if not _before(labels, label, heap[above]):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = label


@inlined
def pop(labels: Labels) -> int:
    """Take the label of least bound off the heap; of equal ones that which has mapped the most."""
    heap = labels.heap
    labels.counters[HEAP] -= 1
    size = labels.counters[HEAP]
    best, label, place = heap[0], heap[size], 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _before(labels, heap[below + 1], heap[below]):
            below += 1
        if not _before(labels, heap[below], label):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = label
    return best


@inlined
def _leaves_no_less(labels: Labels, a: int, b: int) -> bool:
    if labels.marks[b] & ~labels.marks[a] or labels.plenty[a] < labels.plenty[b] or labels.left[a] < labels.left[b]:
        return False
    slot, slots = 0, labels.residual.shape[1]
    while slot < slots and labels.residual[a, slot] >= labels.residual[b, slot]:
        slot += 1
    return slot == slots


@inlined
def admitted(labels: Labels, new: int) -> bool:
    """Enter a label among those of its place, unless one that costs no more leaves no less; those that it so beats go out."""
    kind, j, u, cost = labels.leaving[new], labels.mapped[new], labels.server[new], labels.cost[new]
    other, last = labels.heads[kind, j, u], -1
    while other >= 0 and labels.cost[other] <= cost:
        if _leaves_no_less(labels, other, new):
            return False
        last, other = other, labels.next[other]
    labels.next[new] = other
    if last < 0:
        labels.heads[kind, j, u] = new
    else:
        labels.next[last] = new
    last = new
    while other >= 0:
        if _leaves_no_less(labels, new, other):
            labels.alive[other] = 0
            labels.next[last] = labels.next[other]
        else:
            last = other
        other = labels.next[other]
    return True
