"""Changes that annealing draws: replicas move, trade places, come or go, and nodes exchange all that they run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK, WHOLE_NUMBER_SLACK
from edrp.heuristics.placement.deployment_state import DeploymentState, plan
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, room, variable

PARTNER_TRIES = 4
"""Number of draws of a partner operator for a trade, and of a near node."""


class MoveMix(NamedTuple):
    """Probabilities of changes and nodes, as cumulated shares.

    Attributes
    ----------
    exchange, replicate, retire, move : kinds of changes; the rest are trades of two operators.
    gather : share of the moves that take all of an operator's replicas.
    neighbour_nodes, own_nodes, near_nodes, nearest_nodes : nodes of a neighbour operator, of the operator itself, of the list
        of near nodes, and the nearest of several draws; the rest are any nodes.
    """

    exchange: float
    replicate: float
    retire: float
    move: float
    gather: float
    neighbour_nodes: float
    own_nodes: float
    near_nodes: float
    nearest_nodes: float


FEW_REPLICAS = MoveMix(0.05, 0.15, 0.25, 0.75, 0.25, 0.3, 0.3, 0.55, 0.55)
"""Mix of changes for operators of a few replicas, which mostly move one by one or all together."""

MANY_REPLICAS = MoveMix(0.08, 0.13, 0.18, 0.7, 0.0, 0.35, 0.6, 0.6, 0.85)
"""Mix of changes for operators of many replicas, and for clusters: batches move."""


@inlined
def pick_node(t: PlacementArrays, c: ReplicaCounts, mix: MoveMix, random: np.ndarray, i: int, u: int) -> int:
    """Draw a node for operator i, now on u, by the shares of the mix; u itself where the drawn node is no candidate."""
    start, end = t.candidate_start[i], t.candidate_start[i + 1]
    choice = uniform(random)
    v = t.candidate_list[start + below(random, end - start)]
    if choice < mix.neighbour_nodes:
        streams = t.adjacent_start[i + 1] - t.adjacent_start[i]
        if streams > 0:
            e = t.adjacent[t.adjacent_start[i] + below(random, streams)]
            j = t.source[e] + t.target[e] - i
            v = c.hosts[j, below(random, c.number[j])]
    elif choice < mix.own_nodes:
        v = c.hosts[i, below(random, c.number[i])]
    elif choice < mix.near_nodes:
        if t.near.shape[1] > 1:
            v = t.near[u, 1 + below(random, t.near.shape[1] - 1)]
    elif choice < mix.nearest_nodes:
        for _ in range(PARTNER_TRIES):
            w = t.candidate_list[start + below(random, end - start)]
            if t.delay[u, w] < t.delay[u, v] or v == u:
                v = w
    return v if t.candidate[i, v] else u


@inlined
def propose(t: PlacementArrays, d: DeploymentState, mix: MoveMix, random: np.ndarray) -> int:
    """Draw and plan a change; return the number of its parts, 0 where none fits."""
    c = d.counts
    i = below(random, c.degree.size)
    u = c.hosts[i, below(random, c.number[i])]
    v = pick_node(t, c, mix, random, i, u)
    kind = uniform(random)
    if mix.exchange <= kind < mix.retire:
        return _replicate_or_retire(t, d, random, i, u, v, kind < mix.replicate)
    if kind < mix.exchange:
        if t.near.shape[1] > 1 and uniform(random) < 0.5:
            v = t.near[u, 1 + below(random, t.near.shape[1] - 1)]
        return plan_node(t, d, u, v, True) if v != u and may_exchange(t, c, u, v) else 0
    if kind >= mix.move and uniform(random) < 0.5:
        j = below(random, c.degree.size)
        v = c.hosts[j, below(random, c.number[j])]
    if v == u or not t.candidate[i, v]:
        return 0
    if kind < mix.move and c.degree[i] > 1 and uniform(random) < mix.gather:
        others = c.degree[i] - c.replicas[i, v]
        fit = others > 0 and room(t.demand, t.capacity, c.used, i, v, others, LIMIT_SLACK) == others
        return plan_gathering(d, i, v) if fit else 0
    q = c.replicas[i, u]
    if q > 1 and uniform(random) < 0.5:
        q = 1 + below(random, q)
    if kind < mix.move:
        free = room(t.demand, t.capacity, c.used, i, v, q, LIMIT_SLACK)
        if free > 0:
            plan(d, variable(0), i, u, v, free)
            return 1
    return _plan_swap(t, d, random, i, u, v, q)


@inlined
def may_replicate(t: PlacementArrays, c: ReplicaCounts, i: int) -> bool:
    """Whether operator i may have one more replica."""
    return bool(c.degree[i] < t.max_replicas[i] and np.isfinite(t.latency[i, c.degree[i] + 1]))


@inlined
def may_retire(t: PlacementArrays, c: ReplicaCounts, i: int) -> bool:
    """Whether operator i can do with one replica less."""
    return bool(c.degree[i] > 1 and np.isfinite(t.latency[i, c.degree[i] - 1]))


@inlined
def _replicate_or_retire(t: PlacementArrays, d: DeploymentState, random: np.ndarray, i: int, u: int, v: int, more: bool) -> int:
    """Plan one more replica of operator i, on node v or u, or one less on node u."""
    c, first, none, one = d.counts, variable(0), variable(-1), variable(1)
    if more:
        w = u if uniform(random) < 0.5 else v
        if not may_replicate(t, c, i) or room(t.demand, t.capacity, c.used, i, w, one, LIMIT_SLACK) == 0:
            return 0
        plan(d, first, i, none, w, one)
    else:
        if not may_retire(t, c, i):
            return 0
        plan(d, first, i, u, none, one)
    return 1


@inlined
def plan_gathering(d: DeploymentState, i: int, v: int) -> int:
    """Plan to move all replicas of operator i to node v; return the number of parts."""
    parts = 0
    for k in range(d.counts.number[i]):
        u = d.counts.hosts[i, k]
        if u != v:
            plan(d, parts, i, u, v, d.counts.replicas[i, u])
            parts += 1
    return parts


@inlined
def trade_fits(t: PlacementArrays, c: ReplicaCounts, i: int, u: int, q: int, j: int, v: int, back: int) -> bool:
    """Whether both nodes have room when q replicas of operator i go from u to v, and `back` of j from v to u."""
    for m in range(t.demand.shape[1]):
        more = q * t.demand[i, m] - back * t.demand[j, m]
        if (more > 0 and c.used[v, m] + more > t.capacity[v, m] * (1 + LIMIT_SLACK)) or (
            more < 0 and c.used[u, m] - more > t.capacity[u, m] * (1 + LIMIT_SLACK)
        ):
            return False
    return True


@inlined
def _plan_swap(t: PlacementArrays, d: DeploymentState, random: np.ndarray, i: int, u: int, v: int, q: int) -> int:
    """Plan a trade: q replicas of operator i go from u to v, about as much of another comes back, if both fit."""
    c = d.counts
    for _ in range(PARTNER_TRIES):
        j = below(random, c.degree.size)
        if j == i or c.replicas[j, v] == 0 or not t.candidate[j, u]:
            continue
        back = 1.0
        for m in range(t.demand.shape[1]):
            if t.demand[j, m] > 0:
                back = max(back, np.ceil(q * t.demand[i, m] / t.demand[j, m] - WHOLE_NUMBER_SLACK))
        returning = min(c.replicas[j, v], int(min(back, 1e9)))
        if not trade_fits(t, c, i, u, q, j, v, returning):
            return 0
        plan(d, variable(0), i, u, v, q)
        plan(d, variable(1), j, v, u, returning)
        return 2
    return 0


@inlined
def may_exchange(t: PlacementArrays, c: ReplicaCounts, u: int, v: int) -> bool:
    """Whether everything on nodes u and v may run on the other one, and has room there."""
    for m in range(c.used.shape[1]):
        if c.used[u, m] > t.capacity[v, m] * (1 + LIMIT_SLACK) or c.used[v, m] > t.capacity[u, m] * (1 + LIMIT_SLACK):
            return False
    for i in range(c.degree.size):
        if (c.replicas[i, u] > 0 and not t.candidate[i, v]) or (c.replicas[i, v] > 0 and not t.candidate[i, u]):
            return False
    return True


@inlined
def plan_node(t: PlacementArrays, d: DeploymentState, u: int, v: int, back: bool) -> int:
    """Plan to move everything allowed from node u to node v, and with `back` from v to u; return the number of parts."""
    parts = 0
    for i in range(d.counts.degree.size):
        replicas_on_u, replicas_on_v = d.counts.replicas[i, u], d.counts.replicas[i, v] if back else 0
        if replicas_on_u > replicas_on_v and t.candidate[i, v]:
            plan(d, parts, i, u, v, replicas_on_u - replicas_on_v)
            parts += 1
        elif replicas_on_v > replicas_on_u and t.candidate[i, u]:
            plan(d, parts, i, v, u, replicas_on_v - replicas_on_u)
            parts += 1
    return parts
