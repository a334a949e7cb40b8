"""Changes of one or two operators' replicas: boundaries, nodes, and how many there are."""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined
from edrp.heuristics.migration.rescale.range_arrays import RangeArrays
from edrp.heuristics.migration.rescale.range_state import RangeState

NO_OPERATOR = -1
"""Value that stands for an operator where none was changed."""


@inlined
def first_task(s: RangeState, i: int, k: int) -> int:
    """First task of the range of replica k."""
    return s.end[i, k - 1] if k > 0 else 0


@inlined
def split_point(t: RangeArrays, i: int, first: int, end: int) -> int:
    """Boundary inside [first, end) that best halves its work from below, with at least one task on either side."""
    at = t.offset[i]
    half = (t.work[at + first] + t.work[at + end]) / 2
    low, high = first + 1, end - 1
    while low < high:
        middle = (low + high + 1) // 2
        if t.work[at + middle] <= half:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def make_even(t: RangeArrays, s: RangeState, i: int) -> None:
    """Set the boundaries of operator i to ⌈k·m/r⌉: equal numbers of tasks."""
    for k in range(s.number[i]):
        s.end[i, k] = -((-(k + 1) * t.tasks[i]) // s.number[i])


@inlined
def make_balanced(t: RangeArrays, s: RangeState, i: int) -> None:
    """Set the boundaries of operator i so that all replicas have about equal work."""
    m, at, n, before = t.tasks[i], t.offset[i], s.number[i], 0
    for k in range(n):
        target = t.work[at + m] * (k + 1) / n
        low, high = before + 1, m - (n - 1 - k)
        while low < high:
            middle = (low + high) // 2
            if t.work[at + middle] < target:
                low = middle + 1
            else:
                high = middle
        if low > before + 1 and t.work[at + low] - target > target - t.work[at + low - 1]:
            low -= 1
        s.end[i, k] = before = low if k < n - 1 else m


@inlined
def random_node(t: RangeArrays, s: RangeState, random: np.ndarray, i: int, k: int) -> int:
    """Draw a node for a replica: a neighbour operator's, one that holds a task of its range now, or any."""
    draw = uniform(random)
    if draw < 0.35 and t.adjacent_start[i + 1] > t.adjacent_start[i]:
        e = t.adjacent[t.adjacent_start[i] + below(random, t.adjacent_start[i + 1] - t.adjacent_start[i])]
        j = t.source[e] + t.target[e] - i
        u = s.node[j, below(random, s.number[j])]
        if t.candidate[i, u]:
            return u
    if draw < 0.6 and t.current_number[i] > 0:
        q = below(random, t.current_number[i])
        if t.tasks[i] > 0:
            task = first_task(s, i, k) + below(random, s.end[i, k] - first_task(s, i, k))
            q = 0
            while t.current_end[i, q] <= task:
                q += 1
        if t.candidate[i, t.current_node[i, q]]:
            return t.current_node[i, q]
    first = t.candidate_start[i]
    return t.candidate_list[first + below(random, t.candidate_start[i + 1] - first)]


@inlined
def move_boundary(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Shift a boundary, set it to a current one, or balance the two replicas on either side of it."""
    if t.tasks[i] == 0 or t.even_ranges or s.number[i] < 2:
        return False
    k = below(random, s.number[i] - 1)
    first, end, boundary = first_task(s, i, k), s.end[i, k + 1], s.end[i, k]
    draw = uniform(random)
    if draw < 0.6 or (draw < 0.8 and t.current_number[i] < 2):
        step = 1 + int((end - first) * 0.5 * uniform(random) ** 4)
        boundary += step if uniform(random) < 0.5 else -step
    elif draw < 0.8:
        boundary = t.current_end[i, below(random, t.current_number[i] - 1)]
    else:
        boundary = split_point(t, i, first, end) if end - first > 1 else boundary
    if boundary <= first or boundary >= end or boundary == s.end[i, k]:
        return False
    s.end[i, k] = boundary
    return True


@inlined
def split(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Split a replica: a new one takes half of its range, on the same or another node."""
    n, k = s.number[i], below(random, s.number[i])
    if n >= t.max_replicas[i] or n >= s.node.shape[1]:
        return False
    m, cut = t.tasks[i], 0
    if m > 0 and not t.even_ranges:
        first, end = first_task(s, i, k), s.end[i, k]
        if end - first < 2:
            return False
        cut = split_point(t, i, first, end) if uniform(random) < 0.7 else first + 1 + below(random, end - first - 1)
    u = random_node(t, s, random, i, k)
    for p in range(n, k, -1):
        s.node[i, p], s.end[i, p] = s.node[i, p - 1], s.end[i, p - 1]
    s.number[i] = n + 1
    s.end[i, k] = cut
    s.node[i, k + below(random, 2)] = u
    if m > 0 and t.even_ranges:
        make_even(t, s, i)
    elif m > 0 and uniform(random) < 0.25:
        make_balanced(t, s, i)
    return True


@inlined
def merge(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Merge a replica into the one before it, which may take over its node."""
    n = s.number[i]
    if n <= t.min_replicas[i] or n < 2:
        return False
    k = below(random, n - 1)
    if uniform(random) < 0.5:
        s.node[i, k] = s.node[i, k + 1]
    for p in range(k, n - 1):
        s.end[i, p] = s.end[i, p + 1]
        if p > k:
            s.node[i, p] = s.node[i, p + 1]
    s.number[i] = n - 1
    if t.tasks[i] > 0 and t.even_ranges:
        make_even(t, s, i)
    elif t.tasks[i] > 0 and uniform(random) < 0.25:
        make_balanced(t, s, i)
    return True


@inlined
def rotate(t: RangeArrays, s: RangeState, random: np.ndarray, i: int) -> bool:
    """Rotate the nodes of some neighbouring replicas by one position."""
    n = s.number[i]
    if n < 2:
        return False
    k = below(random, n - 1)
    last = k + 1 + below(random, n - 1 - k)
    u = s.node[i, last]
    for p in range(last, k, -1):
        s.node[i, p] = s.node[i, p - 1]
    s.node[i, k] = u
    return True


@inlined
def restore_current(t: RangeArrays, s: RangeState, i: int) -> bool:
    """Restore the current replicas of an operator, as far as they are allowed."""
    n = t.current_number[i]
    if n < max(1, t.min_replicas[i]) or n > t.max_replicas[i]:
        return False
    for k in range(n):
        if not t.candidate[i, t.current_node[i, k]]:
            return False
    s.number[i] = n
    for k in range(n):
        s.node[i, k], s.end[i, k] = t.current_node[i, k], t.current_end[i, k]
    if t.tasks[i] > 0 and t.even_ranges:
        make_even(t, s, i)
    return True


@inlined
def swap(t: RangeArrays, s: RangeState, random: np.ndarray, i: int, j: int) -> bool:
    """Exchange the nodes of two replicas, of two operators or of one."""
    k, p = below(random, s.number[i]), below(random, s.number[j])
    u, v = s.node[i, k], s.node[j, p]
    if u == v or not t.candidate[i, v] or not t.candidate[j, u]:
        return False
    s.node[i, k], s.node[j, p] = v, u
    return True


@inlined
def propose(t: RangeArrays, s: RangeState, random: np.ndarray) -> tuple[int, int]:
    """Change replicas in place; return the one or two changed operators, `NO_OPERATOR` where nothing changed."""
    i = below(random, t.load.size)
    draw = uniform(random)
    if draw < 0.4 and move_boundary(t, s, random, i):
        return i, NO_OPERATOR
    if draw < 0.65:
        k = below(random, s.number[i])
        u = random_node(t, s, random, i, k)
        if u == s.node[i, k]:
            return NO_OPERATOR, NO_OPERATOR
        s.node[i, k] = u
        return i, NO_OPERATOR
    if draw < 0.75:
        j = below(random, t.load.size)
        return (i, j if j != i else NO_OPERATOR) if swap(t, s, random, i, j) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.84:
        return (i, NO_OPERATOR) if split(t, s, random, i) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.92:
        return (i, NO_OPERATOR) if merge(t, s, random, i) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.96:
        return (i, NO_OPERATOR) if rotate(t, s, random, i) else (NO_OPERATOR, NO_OPERATOR)
    if draw < 0.98:
        return (i, NO_OPERATOR) if restore_current(t, s, i) else (NO_OPERATOR, NO_OPERATOR)
    if t.tasks[i] == 0 or t.even_ranges:
        return NO_OPERATOR, NO_OPERATOR
    make_balanced(t, s, i)
    return i, NO_OPERATOR
