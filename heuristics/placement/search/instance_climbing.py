"""Hill climbing (latency-aware placement, 4.3.1): the best of all changes, each valued in constant time.

Move one instance, swap two that are apart, move all of a node. The effect of a change on co-location, events and nodes is
a difference of pulls; path latency is computed only where it decides.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import copy_vector
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.acceptance import NOISE, OBJECTIVE, OVERLOAD, VIOLATIONS, compare_strain
from edrp.heuristics.placement.search.instance_arrays import InstanceArrays, InstanceState, PathArrays
from edrp.heuristics.placement.search.instance_state import excess, lift, longest_path, put

NOTHING, MOVE, SWAP, MOVE_ALL = 0, 1, 2, 3
"""Kinds of a change (kind, a, b): instance a to node b; instances a and b; all on node a to node b."""

UNKNOWN = np.nan
"""Objective of a change whose path latency has not been needed."""


@inlined
def hopeless(t: InstanceArrays, s: InstanceState, base: float, u: int, v: int) -> bool:
    """Whether a change between two nodes cannot be the best one, whatever it does to limits and path latency."""
    if s.value[VIOLATIONS] == 0:
        return base >= s.chosen_base[0] + t.span
    return s.relieved[0] and not (s.heavy[u] or s.heavy[v])


@inlined
def consider_move(t: InstanceArrays, s: InstanceState, p: int, v: int, overload_rule: int) -> None:
    """Instance p goes to node v."""
    o, u = t.operator[p], s.place[p]
    base = s.base[0] + s.hold[p] - s.pull[o, v] + s.opening[v]
    if hopeless(t, s, base, u, v) or u == v:
        return
    violations, overload = s.value[VIOLATIONS], s.value[OVERLOAD]
    for m in range(t.demand.shape[1]):
        demand = t.demand[o, m]
        left, after = excess(t, u, m, s.used[u, m] - demand), excess(t, v, m, s.used[v, m] + demand)
        violations += (left > 0) + (after > 0) - (s.over[u, m] > 0) - (s.over[v, m] > 0)
        overload += overload_rule * (left + after - s.over[u, m] - s.over[v, m])
    offer(t, s, MOVE, p, v, violations, overload, base)


@inlined
def consider_swap(t: InstanceArrays, s: InstanceState, p: int, q: int, overload_rule: int) -> None:
    """Instances p and q, of different operators on different nodes, trade places where both may."""
    a, b, u, v = t.operator[p], t.operator[q], s.place[p], s.place[q]
    base = s.base[0] + s.remain[p] + s.remain[q] - s.pull[a, v] - s.pull[b, u] + 2.0 * t.weight[a, b]
    if hopeless(t, s, base, u, v) or u == v or a == b or not (t.candidate[a, v] and t.candidate[b, u]):
        return
    violations, overload = s.value[VIOLATIONS], s.value[OVERLOAD]
    for m in range(t.demand.shape[1]):
        more = t.demand[b, m] - t.demand[a, m]
        here, there = excess(t, u, m, s.used[u, m] + more), excess(t, v, m, s.used[v, m] - more)
        violations += (here > 0) + (there > 0) - (s.over[u, m] > 0) - (s.over[v, m] > 0)
        overload += overload_rule * (here + there - s.over[u, m] - s.over[v, m])
    offer(t, s, SWAP, p, q, violations, overload, base)


@inlined
def consider_move_all(t: InstanceArrays, s: InstanceState, u: int, v: int, overload_rule: int) -> None:
    """All on node u go to node v; `joined` says what that is worth."""
    base = s.base[0] - s.joined[u, v] - t.price[u] + s.opening[v]
    if hopeless(t, s, base, u, v):
        return
    violations, overload = s.value[VIOLATIONS], s.value[OVERLOAD]
    for m in range(t.demand.shape[1]):
        after = excess(t, v, m, s.used[v, m] + s.used[u, m])
        violations += (after > 0) - (s.over[u, m] > 0) - (s.over[v, m] > 0)
        overload += overload_rule * (after - s.over[u, m] - s.over[v, m])
    offer(t, s, MOVE_ALL, u, v, violations, overload, base)


@inlined
def offer(
    t: InstanceArrays, s: InstanceState, kind: int, a: int, b: int, violations: float, overload: float, base: float
) -> None:
    """Keep a change as the best one found if it is; path latency is computed only for what differs by less than it could."""
    objective = UNKNOWN
    comparison = compare_strain(violations, overload, s.chosen)
    if comparison < 0 or (comparison == 0 and base >= s.chosen_base[0] + t.span):
        return
    if comparison == 0 and base > s.chosen_base[0] - t.span:
        if np.isnan(s.chosen[OBJECTIVE]):
            s.chosen[OBJECTIVE] = s.chosen_base[0] + t.pace * latency_after(t, s, s.change[0], s.change[1], s.change[2])
        objective = base + (t.pace * latency_after(t, s, kind, a, b) if t.pace > 0 else 0.0)
        if objective >= s.chosen[OBJECTIVE] - NOISE:
            return
    s.relieved[0] |= comparison > 0
    s.change[0], s.change[1], s.change[2] = kind, a, b
    s.chosen[VIOLATIONS], s.chosen[OVERLOAD], s.chosen[OBJECTIVE] = violations, overload, objective
    s.chosen_base[0] = base


@inlined
def latency_after(t: InstanceArrays, s: InstanceState, kind: int, a: int, b: int) -> float:
    """Path latency with a change made; only `place` is changed, and changed back."""
    return float(latency_with(t.paths, s.place, s.arrival, s.moved, kind, a, b))


@inner_loop  # needed seldom, and too long to be compiled into every place that may need it
def latency_with(
    paths: PathArrays, place: np.ndarray, arrival: np.ndarray, moved: np.ndarray, kind: int, a: int, b: int
) -> float:
    """Path latency with a change made, on the arrays that it needs."""
    u = place[a]
    if kind == MOVE:
        place[a] = b
    elif kind == SWAP:
        place[a], place[b] = place[b], u
    elif kind == MOVE_ALL:
        for p in range(place.size):
            moved[p] = place[p] == a
            place[p] = b if moved[p] else place[p]
    latency = longest_path(paths, place, arrival)
    if kind == MOVE:
        place[a] = u
    elif kind == SWAP:
        place[a], place[b] = u, place[a]
    elif kind == MOVE_ALL:
        for p in range(place.size):
            place[p] = a if moved[p] else place[p]
    return latency


@inlined
def perform(t: InstanceArrays, s: InstanceState) -> None:
    """Make the change that a scan found."""
    kind, a, b = s.change[0], s.change[1], s.change[2]
    here, there = (a, b) if kind == MOVE_ALL else (s.place[a], b if kind == MOVE else s.place[b])
    for p in range(s.place.size):
        if (kind == MOVE_ALL and s.place[p] == here) or (kind != MOVE_ALL and p == a):
            shift(t, s, p, there)
        elif kind == SWAP and p == b:
            shift(t, s, p, here)
    copy_vector(s.chosen, s.value)
    s.base[0] = s.chosen_base[0]


@inlined
def shift(t: InstanceArrays, s: InstanceState, p: int, v: int) -> None:
    """Instance p goes to node v."""
    lift(t, s, p)
    put(t, s, p, v)


@inner_loop
def scan(t: InstanceArrays, s: InstanceState, overload_rule: int) -> None:
    """Look at every change; the best one that is better than what stands goes to `change`, `chosen` and `chosen_base`."""
    count = prepare(t, s)
    for i in range(count):
        p = s.leaders[i]
        o = t.operator[p]
        for k in range(t.node_start[o], t.node_start[o + 1]):
            consider_move(t, s, p, t.node_list[k], overload_rule)
        for j in range(i + 1, count):
            consider_swap(t, s, p, s.leaders[j], overload_rule)
    for u in range(s.total.size):
        if s.total[u] > 0:
            for v in range(s.total.size):
                if u != v and not s.barred[u, v]:
                    consider_move_all(t, s, u, v, overload_rule)


@inlined
def prepare(t: InstanceArrays, s: InstanceState) -> int:
    """Collect what a scan needs; the number of instances to look at.

    Instances of one operator on one node are interchangeable: the first speaks for all.
    """
    s.change[0] = NOTHING
    s.relieved[0] = False
    copy_vector(s.value, s.chosen)
    s.chosen_base[0] = s.base[0]
    for u in range(s.total.size):
        s.stamp[u] = -1
        s.opening[u] = t.price[u] if s.total[u] == 0 else 0.0
        s.heavy[u] = False
        for m in range(s.over.shape[1]):
            s.over[u, m] = excess(t, u, m, s.used[u, m])
            s.heavy[u] |= s.over[u, m] > 0
    s.joined[:] = 0.0
    s.barred[:] = False
    count = 0
    for p in range(s.place.size):
        o, u = t.operator[p], s.place[p]
        s.remain[p] = s.pull[o, u] - t.weight[o, o]
        s.hold[p] = s.remain[p] - (t.price[u] if s.total[u] == 1 else 0.0)
        if s.stamp[u] != o:
            s.stamp[u] = o
            s.leaders[count] = p
            count += 1
            for v in range(s.total.size):
                s.joined[u, v] += s.number[o, u] * s.pull[o, v]
                s.barred[u, v] |= not t.candidate[o, v]
    return count


@inner_loop
def climb_scans(t: InstanceArrays, s: InstanceState, overload_rule: int, scans: int) -> bool:
    """Take the best change at most `scans` times; True while there may be another."""
    for _ in range(scans):
        scan(t, s, overload_rule)
        if s.change[0] == NOTHING:
            return False
        perform(t, s)
    return True
