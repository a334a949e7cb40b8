"""Lists of the changes of an operator in a deployment with replicas, and the parts of each change."""

from __future__ import annotations

from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.annealing_moves import (
    may_exchange,
    may_replicate,
    may_retire,
    plan_gathering,
    plan_node,
    trade_fits,
)
from edrp.heuristics.placement.deployment_state import DeploymentState, plan
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, room, variable
from edrp.heuristics.placement.search.deployment_memory import OVERLOADED, STAMP, DeploymentMemory

MOVE, MOVE_ALL, REPLICATE, RETIRE, SWAP, MERGE, EXCHANGE = range(7)
"""Kinds of changes: each has a node left and a node taken, MOVE also a number of replicas and SWAP the other operator."""

MAX_LISTED_CANDIDATES = 32
"""Number of candidates up to which all are considered; above it, those near the replicas of the operator and its neighbours."""


@inlined
def list_changes(t: PlacementArrays, d: DeploymentState, m: DeploymentMemory, i: int) -> int:
    """List the changes of operator i that fit (any move or swap while a node is overloaded); return their number."""
    c, overloaded = d.counts, m.counters[OVERLOADED] > 0
    count = _list_targets(t, c, m, i)
    listed = 0
    if may_retire(t, c, i):
        for a in range(c.number[i]):
            listed = _list(m, listed, i, RETIRE, c.hosts[i, a], 0, 1)
    for k in range(count):
        v = m.targets[k]
        free = room(t.demand, t.capacity, c.used, i, v, c.degree[i], LIMIT_SLACK)
        if free > 0 and may_replicate(t, c, i):
            listed = _list(m, listed, i, REPLICATE, 0, v, 1)
        for a in range(c.number[i] if free > 0 or overloaded else 0):
            u = c.hosts[i, a]
            for part in range((1 if c.replicas[i, u] == 1 else 2) if u != v else 0):
                q = 1 if part == 0 else c.replicas[i, u]
                if free >= q or overloaded:
                    listed = _list(m, listed, i, MOVE, u, v, q)
        if c.number[i] > 1 and (free >= c.degree[i] - c.replicas[i, v] or overloaded):
            listed = _list(m, listed, i, MOVE_ALL, 0, v, 0)
    for a in range(c.number[i]):
        listed = _list_whole_node(t, c, m, listed, i, c.hosts[i, a])
        listed = _list_swaps(t, c, m, listed, i, c.hosts[i, a])
    return listed


@inlined
def _list(m: DeploymentMemory, listed: int, i: int, kind: int, u: int, v: int, x: int) -> int:
    if listed == m.changes.shape[0]:
        return listed
    change = m.changes[listed]
    change[0], change[1], change[2], change[3], change[4] = kind, i, u, v, x
    return listed + 1


@inlined
def _list_targets(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, i: int) -> int:
    """List target nodes of operator i and mark them with the latest stamp; return their number."""
    m.counters[STAMP] += 1
    count, start, end = 0, t.candidate_start[i], t.candidate_start[i + 1]
    if end - start <= MAX_LISTED_CANDIDATES or m.counters[OVERLOADED] > 0:
        for k in range(start, end):
            count = _add_target(t, m, count, i, t.candidate_list[k])
        return count
    # Neighbours last, and the operator itself first.
    for k in range(t.adjacent_start[i] - 1, t.adjacent_start[i + 1]):
        j = i if k < t.adjacent_start[i] else t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i
        for b in range(c.number[j]):
            for near in range(t.near.shape[1]):
                count = _add_target(t, m, count, i, t.near[c.hosts[j, b], near])
    for k in range(start, end if t.has_current else start):
        if t.current[i, t.candidate_list[k]] > 0:
            count = _add_target(t, m, count, i, t.candidate_list[k])
    return count


@inlined
def _add_target(t: PlacementArrays, m: DeploymentMemory, count: int, i: int, v: int) -> int:
    if m.stamped[v] == m.counters[STAMP] or not t.candidate[i, v]:
        return count
    m.stamped[v] = m.counters[STAMP]
    m.targets[count] = v
    return count + 1


@inlined
def _list_whole_node(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, listed: int, i: int, u: int) -> int:
    """List changes that move everything on node u to a near node or, where it does not fit, exchange both nodes."""
    for k in range(1, t.near.shape[1]):
        v = t.near[u, k]
        merge = True
        for r in range(c.used.shape[1]):
            merge &= c.used[u, r] + c.used[v, r] <= t.capacity[v, r] * (1 + LIMIT_SLACK)
        if t.candidate[i, v] and (merge or may_exchange(t, c, u, v)):
            listed = _list(m, listed, i, MERGE if merge else EXCHANGE, u, v, 0)
    return listed


@inlined
def _list_swaps(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, listed: int, i: int, u: int) -> int:
    """List trades of a replica of operator i on node u with one of another operator on a listed node."""
    for j in range(c.degree.size):
        if j == i or not t.candidate[j, u]:
            continue
        for b in range(c.number[j]):
            v = c.hosts[j, b]
            if v == u or m.stamped[v] != m.counters[STAMP]:
                continue
            if m.counters[OVERLOADED] > 0 or trade_fits(t, c, i, u, variable(1), j, v, variable(1)):
                listed = _list(m, listed, i, SWAP, u, v, j)
    return listed


@inlined
def plan_change(t: PlacementArrays, d: DeploymentState, m: DeploymentMemory, k: int) -> int:
    """Plan the k-th change of the list; return the number of its parts."""
    kind, i, u, v, x = m.changes[k, 0], m.changes[k, 1], m.changes[k, 2], m.changes[k, 3], m.changes[k, 4]
    if kind >= MERGE:
        return plan_node(t, d, u, v, kind == EXCHANGE)
    if kind == MOVE_ALL:
        return plan_gathering(d, i, v)
    none, one = variable(-1), variable(1)
    plan(d, variable(0), i, none if kind == REPLICATE else u, none if kind == RETIRE else v, x if kind == MOVE else one)
    if kind != SWAP:
        return 1
    plan(d, one, x, v, u, one)
    return 2
