"""Changes of a deployment under search; each is made in place if it fits, and says whether it was.

A change updates places, degrees and resources. The parts of the evaluation follow with `refresh` of each operator that
was changed, and `accept_or_undo` makes them permanent or takes everything back.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_state import ReplicaState, accept_or_undo, fits, occupy, refresh


@inlined
def pick_node(t: PlacementArrays, s: ReplicaState, random: np.ndarray, i: int, u: int) -> int:
    """A node for operator i, now on u: one of a neighbour operator, one near u, or any; -1 where that is no candidate."""
    start, end = t.candidate_start[i], t.candidate_start[i + 1]
    choice = uniform(random)
    v = t.candidate_list[start + below(random, end - start)]
    if choice < 0.3 and t.adjacent_start[i + 1] > t.adjacent_start[i]:
        e = t.adjacent[t.adjacent_start[i] + below(random, t.adjacent_start[i + 1] - t.adjacent_start[i])]
        j = t.source[e] + t.target[e] - i
        v = s.place[j, below(random, s.degree[j])]
    elif choice < 0.55:
        v = t.near[u, 1 + below(random, t.near.shape[1] - 1)] if t.near.shape[1] > 1 else u
    return v if t.candidate[i, v] else -1


@inlined
def put(t: PlacementArrays, s: ReplicaState, i: int, p: int, v: int) -> None:
    """Replica p of operator i moves to node v, whether it fits there or not."""
    occupy(t, s.used, i, s.place[i, p], -1.0)
    occupy(t, s.used, i, v, 1.0)
    s.place[i, p] = v


@inlined
def move(t: PlacementArrays, s: ReplicaState, i: int, p: int, v: int) -> bool:
    """Replica p of operator i moves to node v, if it fits there."""
    if not fits(t, s.used, i, v):
        return False
    put(t, s, i, p, v)
    return True


@inlined
def swap(t: PlacementArrays, s: ReplicaState, i: int, p: int, j: int, q: int) -> bool:
    """Replica p of operator i and replica q of operator j trade places, if both fit."""
    u, v = s.place[i, p], s.place[j, q]
    if i == j or u == v or not t.candidate[i, v] or not t.candidate[j, u]:
        return False
    occupy(t, s.used, i, u, -1.0)
    occupy(t, s.used, j, v, -1.0)
    if fits(t, s.used, i, v) and fits(t, s.used, j, u):
        occupy(t, s.used, i, v, 1.0)
        occupy(t, s.used, j, u, 1.0)
        s.place[i, p], s.place[j, q] = v, u
        return True
    occupy(t, s.used, i, u, 1.0)
    occupy(t, s.used, j, v, 1.0)
    return False


@inlined
def may_replicate(t: PlacementArrays, s: ReplicaState, i: int) -> bool:
    """Whether operator i may have one more replica."""
    return bool(s.degree[i] < t.max_replicas[i] and np.isfinite(t.latency[i, s.degree[i] + 1]))


@inlined
def replicate(t: PlacementArrays, s: ReplicaState, i: int, v: int) -> bool:
    """Operator i gets one more replica, on node v, if it may and fits; -1 is no node."""
    if v < 0 or not may_replicate(t, s, i) or not fits(t, s.used, i, v):
        return False
    occupy(t, s.used, i, v, 1.0)
    s.place[i, s.degree[i]] = v
    s.degree[i] += 1
    return True


@inlined
def may_retire(t: PlacementArrays, s: ReplicaState, i: int) -> bool:
    """Whether operator i can do with one replica less."""
    return bool(s.degree[i] > 1 and np.isfinite(t.latency[i, s.degree[i] - 1]))


@inlined
def retire(t: PlacementArrays, s: ReplicaState, i: int, p: int) -> bool:
    """Replica p of operator i goes, if the rest keep the operator stable and suffice."""
    if not may_retire(t, s, i):
        return False
    occupy(t, s.used, i, s.place[i, p], -1.0)
    s.degree[i] -= 1
    s.place[i, p] = s.place[i, s.degree[i]]
    return True


@inlined
def move_all(t: PlacementArrays, s: ReplicaState, i: int, v: int) -> bool:
    """All replicas of operator i move to node v, if they fit there together."""
    for p in range(s.degree[i]):
        occupy(t, s.used, i, s.place[i, p], -1.0)
    placed = 0
    while placed < s.degree[i] and fits(t, s.used, i, v):
        occupy(t, s.used, i, v, 1.0)
        placed += 1
    if placed == s.degree[i]:
        for p in range(placed):
            s.place[i, p] = v
        return True
    for p in range(s.degree[i]):
        occupy(t, s.used, i, s.place[i, p], 1.0)
        if p < placed:
            occupy(t, s.used, i, v, -1.0)
    return False


@inlined
def exchange_nodes(t: PlacementArrays, s: ReplicaState, u: int, v: int) -> bool:
    """All replicas on u move to v, and those on v to u; marks the operators that this touches."""
    if u == v:
        return False
    for m in range(s.used.shape[1]):
        if s.used[u, m] > t.capacity[v, m] * (1 + 1e-9) or s.used[v, m] > t.capacity[u, m] * (1 + 1e-9):
            return False
    for i in range(s.degree.size):
        for p in range(s.degree[i]):
            if (s.place[i, p] == u and not t.candidate[i, v]) or (s.place[i, p] == v and not t.candidate[i, u]):
                return False
    for i in range(s.degree.size):
        for p in range(s.degree[i]):
            if s.place[i, p] == u:
                s.place[i, p] = v
                s.touched[i] = True
            elif s.place[i, p] == v:
                s.place[i, p] = u
                s.touched[i] = True
    for m in range(s.used.shape[1]):
        s.used[u, m], s.used[v, m] = s.used[v, m], s.used[u, m]
    return True


@inlined
def refresh_touched(t: PlacementArrays, s: ReplicaState) -> None:
    """Recompute the parts that the marked operators touch."""
    for i in range(s.degree.size):
        if s.touched[i]:
            refresh(t, s, i)


@inlined
def accept_or_undo_touched(t: PlacementArrays, accepted: bool, now: ReplicaState, old: ReplicaState) -> None:
    """Apply `accept_or_undo` to every marked operator, and remove the marks."""
    for i in range(now.degree.size):
        if now.touched[i]:
            accept_or_undo(t, i, accepted, now, old)
            now.touched[i] = False
