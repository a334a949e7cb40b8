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

TRIES = 4
"""Operators that are drawn for one to trade places with, and nodes for a near one."""


class MoveMix(NamedTuple):
    """How likely changes and nodes are, as cumulated shares.

    Attributes
    ----------
    exchange, replicate, retire, move : kinds of changes; what is left are trades of two operators.
    gather : share of the moves that take all of an operator's replicas.
    neighbour, own, near, nearer : nodes of a neighbour operator, of the operator itself, near the node left by the list
        of near nodes, and the nearest of some; what is left are any nodes.
    """

    exchange: float
    replicate: float
    retire: float
    move: float
    gather: float
    neighbour: float
    own: float
    near: float
    nearer: float


FEW_REPLICAS = MoveMix(0.05, 0.15, 0.25, 0.75, 0.25, 0.3, 0.3, 0.55, 0.55)
"""For operators of a few replicas, which mostly move one by one or all together."""

MANY_REPLICAS = MoveMix(0.08, 0.13, 0.18, 0.7, 0.0, 0.35, 0.6, 0.6, 0.85)
"""For operators of many replicas, and clusters: batches move."""


@inlined
def pick_node(t: PlacementArrays, c: ReplicaCounts, mix: MoveMix, random: np.ndarray, i: int, u: int) -> int:
    """A node for operator i, now on u, drawn by the shares of the mix; u itself where what is drawn is no candidate."""
    start, end = t.candidate_start[i], t.candidate_start[i + 1]
    choice = uniform(random)
    v = t.candidate_list[start + below(random, end - start)]
    if choice < mix.neighbour:
        streams = t.adjacent_start[i + 1] - t.adjacent_start[i]
        if streams > 0:
            e = t.adjacent[t.adjacent_start[i] + below(random, streams)]
            j = t.source[e] + t.target[e] - i
            v = c.hosts[j, below(random, c.number[j])]
    elif choice < mix.own:
        v = c.hosts[i, below(random, c.number[i])]
    elif choice < mix.near:
        if t.near.shape[1] > 1:
            v = t.near[u, 1 + below(random, t.near.shape[1] - 1)]
    elif choice < mix.nearer:
        for _ in range(TRIES):
            w = t.candidate_list[start + below(random, end - start)]
            if t.delay[u, w] < t.delay[u, v] or v == u:
                v = w
    return v if t.candidate[i, v] else u


@inlined
def propose(t: PlacementArrays, d: DeploymentState, mix: MoveMix, random: np.ndarray) -> int:
    """Plan a change; the number of its parts, 0 where there is none."""
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
        return 0 if v == u else _plan_exchange(t, d, u, v)
    if kind >= mix.move and uniform(random) < 0.5:
        j = below(random, c.degree.size)
        v = c.hosts[j, below(random, c.number[j])]
    if v == u or not t.candidate[i, v]:
        return 0
    if kind < mix.move and c.degree[i] > 1 and uniform(random) < mix.gather:
        return _plan_gathering(t, d, i, v)
    q = c.held[i, u]
    if q > 1 and uniform(random) < 0.5:
        q = 1 + below(random, q)
    if kind < mix.move:
        free = room(t.demand, t.capacity, c.used, i, v, q, LIMIT_SLACK)
        if free > 0:
            plan(d, variable(0), i, u, v, free)
            return 1
    return _plan_swap(t, d, random, i, u, v, q)


@inlined
def _replicate_or_retire(t: PlacementArrays, d: DeploymentState, random: np.ndarray, i: int, u: int, v: int, more: bool) -> int:
    """Operator i gets one replica more, on node v or u, or one less on node u."""
    c, first, none, one = d.counts, variable(0), variable(-1), variable(1)
    r = c.degree[i]
    if more:
        w = u if uniform(random) < 0.5 else v
        if r >= t.max_replicas[i] or not np.isfinite(t.latency[i, r + 1]):
            return 0
        if room(t.demand, t.capacity, c.used, i, w, r, LIMIT_SLACK) == 0:
            return 0
        plan(d, first, i, none, w, one)
    else:
        if r == 1 or not np.isfinite(t.latency[i, r - 1]):
            return 0
        plan(d, first, i, u, none, one)
    return 1


@inlined
def _plan_gathering(t: PlacementArrays, d: DeploymentState, i: int, v: int) -> int:
    """All replicas of operator i go to node v, if they fit there together."""
    c = d.counts
    others = c.degree[i] - c.held[i, v]
    if others == 0 or room(t.demand, t.capacity, c.used, i, v, others, LIMIT_SLACK) < others:
        return 0
    changes = 0
    for k in range(c.number[i]):
        u = c.hosts[i, k]
        if u != v:
            plan(d, changes, i, u, v, c.held[i, u])
            changes += 1
    return changes


@inlined
def _plan_swap(t: PlacementArrays, d: DeploymentState, random: np.ndarray, i: int, u: int, v: int, q: int) -> int:
    """q replicas of operator i go from u to v, and about as much of another operator comes back, if both fit."""
    c = d.counts
    for _ in range(TRIES):
        j = below(random, c.degree.size)
        if j == i or c.held[j, v] == 0 or not t.candidate[j, u]:
            continue
        back = 1.0
        for m in range(t.demand.shape[1]):
            if t.demand[j, m] > 0:
                back = max(back, np.ceil(q * t.demand[i, m] / t.demand[j, m] - WHOLE_NUMBER_SLACK))
        returning = min(c.held[j, v], int(min(back, 1e9)))
        for m in range(t.demand.shape[1]):
            more = q * t.demand[i, m] - returning * t.demand[j, m]
            if more > 0 and c.used[v, m] + more > t.capacity[v, m] * (1 + LIMIT_SLACK):
                return 0
            if more < 0 and c.used[u, m] - more > t.capacity[u, m] * (1 + LIMIT_SLACK):
                return 0
        plan(d, variable(0), i, u, v, q)
        plan(d, variable(1), j, v, u, returning)
        return 2
    return 0


@inlined
def _plan_exchange(t: PlacementArrays, d: DeploymentState, u: int, v: int) -> int:
    """Everything on u goes to v, and everything on v to u, if both fit."""
    c = d.counts
    for m in range(c.used.shape[1]):
        if c.used[u, m] > t.capacity[v, m] * (1 + LIMIT_SLACK) or c.used[v, m] > t.capacity[u, m] * (1 + LIMIT_SLACK):
            return 0
    changes = 0
    for i in range(c.degree.size):
        here, there = c.held[i, u], c.held[i, v]
        if (here > 0 and not t.candidate[i, v]) or (there > 0 and not t.candidate[i, u]):
            return 0
        if here > there:
            plan(d, changes, i, u, v, here - there)
            changes += 1
        elif there > here:
            plan(d, changes, i, v, u, there - here)
            changes += 1
    return changes
