"""Changes of a deployment with replicas: which an operator has, and how they are made."""

from __future__ import annotations

from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_moves import may_replicate, may_retire, put, replicate, retire
from edrp.heuristics.placement.replica_state import ReplicaState, fits
from edrp.heuristics.placement.search.replica_memory import OVERLOADED, STAMP, ReplicaMemory

MOVE, MOVE_ALL, REPLICATE, RETIRE, SWAP, MERGE, EXCHANGE = range(7)
"""Kinds of changes: the first four have a replica and a node of one operator, SWAP also the other operator and its replica,
MERGE and EXCHANGE two nodes."""

FEW_NODES = 32
"""Candidates up to which an operator looks at all of them; beyond, at those near its replicas and its neighbours'."""


@inlined
def list_changes(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, i: int) -> int:
    """List the changes of operator i that fit; while some node is overloaded, moves and swaps need not. Their number."""
    overloaded = m.counters[OVERLOADED] > 0
    count = _list_targets(t, s, m, i)
    listed = 0
    if may_retire(t, s, i):
        for p in range(s.degree[i]):
            listed = _list(m, listed, i, RETIRE, p, 0) if _is_first(s, i, p) else listed
    for k in range(count):
        v = m.targets[k]
        room = fits(t, s.used, i, v)
        if room and may_replicate(t, s, i):
            listed = _list(m, listed, i, REPLICATE, 0, v)
        for p in range(s.degree[i]):
            if s.place[i, p] != v and (room or overloaded) and _is_first(s, i, p):
                listed = _list(m, listed, i, MOVE, p, v)
        if s.degree[i] > 1 and (overloaded or _all_fit(t, s, i, v)):
            listed = _list(m, listed, i, MOVE_ALL, 0, v)
    for p in range(s.degree[i]):
        if _is_first(s, i, p):
            listed = _list_whole_node(t, s, m, listed, i, s.place[i, p])
            listed = _list_swaps(t, s, m, listed, i, p)
    return listed


@inlined
def _list(m: ReplicaMemory, listed: int, i: int, kind: int, a: int, b: int) -> int:
    if listed < m.changes.shape[0]:
        m.changes[listed, 0], m.changes[listed, 1], m.changes[listed, 2], m.changes[listed, 3] = kind, i, a, b
        return listed + 1
    return listed


@inlined
def _is_first(s: ReplicaState, i: int, p: int) -> bool:
    """Whether replica p is the first of its operator on its node, which stands for all: they are interchangeable."""
    for q in range(p):
        if s.place[i, q] == s.place[i, p]:
            return False
    return True


@inlined
def _list_targets(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, i: int) -> int:
    """Nodes for operator i; their number. Those listed carry the latest stamp."""
    m.counters[STAMP] += 1
    count, start, end = 0, t.candidate_start[i], t.candidate_start[i + 1]
    if end - start <= FEW_NODES or m.counters[OVERLOADED] > 0:
        for k in range(start, end):
            count = _add_target(t, m, count, i, t.candidate_list[k])
        return count
    for p in range(s.degree[i]):
        for k in range(t.near.shape[1]):
            count = _add_target(t, m, count, i, t.near[s.place[i, p], k])
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        j = t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i
        for q in range(s.degree[j]):
            for near in range(t.near.shape[1]):
                count = _add_target(t, m, count, i, t.near[s.place[j, q], near])
    if t.has_current:
        for k in range(start, end):
            if t.current[i, t.candidate_list[k]] > 0:
                count = _add_target(t, m, count, i, t.candidate_list[k])
    return count


@inlined
def _add_target(t: PlacementArrays, m: ReplicaMemory, count: int, i: int, v: int) -> int:
    if m.stamped[v] == m.counters[STAMP] or not t.candidate[i, v]:
        return count
    m.stamped[v] = m.counters[STAMP]
    m.targets[count] = v
    return count + 1


@inlined
def _all_fit(t: PlacementArrays, s: ReplicaState, i: int, v: int) -> bool:
    """Whether all replicas of operator i fit on node v, and some are elsewhere."""
    others = 0
    for p in range(s.degree[i]):
        others += s.place[i, p] != v
    for m in range(t.demand.shape[1]):
        if s.used[v, m] + others * t.demand[i, m] > t.capacity[v, m] * (1 + 1e-9):
            return False
    return others > 0


@inlined
def _list_whole_node(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, listed: int, i: int, u: int) -> int:
    """Everything on node u goes to a node near it or, where that is too much, trades places with what is there."""
    for k in range(1, t.near.shape[1]):
        v = t.near[u, k]
        merge, exchange = True, True
        for r in range(s.used.shape[1]):
            merge &= s.used[u, r] + s.used[v, r] <= t.capacity[v, r] * (1 + 1e-9)
            exchange &= s.used[u, r] <= t.capacity[v, r] * (1 + 1e-9) and s.used[v, r] <= t.capacity[u, r] * (1 + 1e-9)
        if t.candidate[i, v] and (merge or (exchange and _all_may(t, s, u, v))):
            listed = _list(m, listed, i, MERGE if merge else EXCHANGE, u, v)
    return listed


@inlined
def _all_may(t: PlacementArrays, s: ReplicaState, u: int, v: int) -> bool:
    """Whether everything on nodes u and v may run on the other one."""
    for i in range(s.degree.size):
        for p in range(s.degree[i]):
            if (s.place[i, p] == u and not t.candidate[i, v]) or (s.place[i, p] == v and not t.candidate[i, u]):
                return False
    return True


@inlined
def _list_swaps(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, listed: int, i: int, p: int) -> int:
    """Replica p of operator i trades places with a replica of another one on one of the listed nodes."""
    u = s.place[i, p]
    for j in range(s.degree.size):
        if j == i or not t.candidate[j, u]:
            continue
        for q in range(s.degree[j]):
            v = s.place[j, q]
            if v == u or m.stamped[v] != m.counters[STAMP] or not _is_first(s, j, q):
                continue
            if m.counters[OVERLOADED] > 0 or _trade_fits(t, s, i, u, j, v):
                listed = _list(m, listed, i, SWAP, p, j * s.place.shape[1] + q)
    return listed


@inlined
def _trade_fits(t: PlacementArrays, s: ReplicaState, i: int, u: int, j: int, v: int) -> bool:
    for m in range(t.demand.shape[1]):
        more = t.demand[i, m] - t.demand[j, m]
        if s.used[v, m] + more > t.capacity[v, m] * (1 + 1e-9) or s.used[u, m] - more > t.capacity[u, m] * (1 + 1e-9):
            return False
    return True


@inlined
def make(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, k: int) -> int:
    """Make the k-th change; the operators that it touches go to `changed`, their number is returned."""
    kind, i, a, b = m.changes[k, 0], m.changes[k, 1], m.changes[k, 2], m.changes[k, 3]
    m.changed[0] = i
    if kind == MOVE:
        put(t, s, i, a, b)
        return 1
    if kind == MOVE_ALL:
        for p in range(s.degree[i]):
            put(t, s, i, p, b)
        return 1
    if kind == REPLICATE:
        replicate(t, s, i, b)
        return 1
    if kind == RETIRE:
        retire(t, s, i, a)
        return 1
    if kind == SWAP:
        j, q = b // s.place.shape[1], b % s.place.shape[1]
        u, v = s.place[i, a], s.place[j, q]
        put(t, s, i, a, v)
        put(t, s, j, q, u)
        m.changed[1] = j
        return 2
    return _move_node(t, s, m, a, b, kind == EXCHANGE)


@inlined
def _move_node(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, u: int, v: int, back: bool) -> int:
    """Everything that may goes from node u to node v, and with `back` from v to u."""
    count = 0
    for i in range(s.degree.size):
        touched = False
        for p in range(s.degree[i]):
            w = s.place[i, p]
            if w == u and t.candidate[i, v]:
                put(t, s, i, p, v)
                touched = True
            elif back and w == v and t.candidate[i, u]:
                put(t, s, i, p, u)
                touched = True
        if touched:
            m.changed[count] = i
            count += 1
    return count
