"""Kicks of a deployment with replicas; the sums of streams are stale until the operators touched are refreshed."""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.annealing_moves import FEW_REPLICAS, may_replicate, may_retire, pick_node
from edrp.heuristics.placement.deployment_state import shift
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, room, variable
from edrp.heuristics.placement.search.deployment_memory import OVERLOADED, STRAYS, DeploymentMemory

NODE_TRIES = 6
"""Number of draws of a node that has room."""

TRADES = 3
"""Number of pairs of replicas that are drawn to trade places."""

MAX_KICKED_OPERATORS = 4
"""Maximum number of operators along streams that one kick changes."""


@inlined
def return_home(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, stay: bool) -> None:
    """Return to the deployment before the kick, or with `stay` make the present one the home of later kicks."""
    for x in range(m.counters[STRAYS]):
        i = m.strays[x]
        m.stray[i] = False
        m.touched[i] |= not stay
        for u in range(m.home.shape[1]):
            if stay:
                m.home[i, u] = c.replicas[i, u]
            elif m.home[i, u] != c.replicas[i, u]:
                shift(t, c, i, variable(-1), u, m.home[i, u] - c.replicas[i, u])
    m.counters[STRAYS] = 0


@inlined
def collect_touched(m: DeploymentMemory) -> int:
    """Move the operators that are marked as touched to `changed`; return their number."""
    count = 0
    for i in range(m.touched.size):
        if m.touched[i]:
            m.touched[i] = False
            m.changed[count] = i
            count += 1
    return count


@inlined
def disturb(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, random: np.ndarray) -> int:
    """Apply one of four kicks: empty a node, or scatter, resize or gather operators along a walk over streams.

    Where that moves nothing, because nodes are full, replicas trade places. The operators that this or a return home touches go
    to `changed`, their number is returned.
    """
    kind = uniform(random)
    i = below(random, c.degree.size)
    u = c.hosts[i, below(random, c.number[i])]
    v = t.candidate_list[t.candidate_start[i] + below(random, t.candidate_start[i + 1] - t.candidate_start[i])]
    moved, fixed = (
        variable(0),
        t.instance_paths,
    )  # of latency-aware placement, whose numbers of replicas are given: more is gathered instead
    for step in range(
        c.degree.size if kind < 0.25 else 1 + below(random, 2 * MAX_KICKED_OPERATORS if fixed else MAX_KICKED_OPERATORS)
    ):
        if kind < 0.25:
            i = step
            if c.replicas[i, u] == 0:
                continue
        if kind < 0.5:
            moved += _scatter(t, c, random, i, u, kind < 0.25)
        elif kind < 0.75 and not fixed:
            moved += _resize(t, c, random, i)
        else:
            moved += _gather(t, c, i, v)
        m.touched[i] = True
        i = _neighbour(t, random, i)
    if moved == 0:
        _trade(t, c, m, random)
    m.counters[OVERLOADED] = 1
    return collect_touched(m)


@inlined
def _neighbour(t: PlacementArrays, random: np.ndarray, i: int) -> int:
    """Draw an operator that shares a stream with operator i; i itself if there is none."""
    start, end = t.adjacent_start[i], t.adjacent_start[i + 1]
    if start == end:
        return i
    e = t.adjacent[start + below(random, end - start)]
    return t.source[e] + t.target[e] - i


@inlined
def _trade(t: PlacementArrays, c: ReplicaCounts, m: DeploymentMemory, random: np.ndarray) -> None:
    """Let some pairs of replicas of different operators trade their nodes, whether there is room or not."""
    for _ in range(TRADES):
        i, j = below(random, c.degree.size), below(random, c.degree.size)
        u, v = c.hosts[i, below(random, c.number[i])], c.hosts[j, below(random, c.number[j])]
        if i != j and u != v and t.candidate[i, v] and t.candidate[j, u]:
            shift(t, c, i, u, v, variable(1))
            shift(t, c, j, v, u, variable(1))
            m.touched[i], m.touched[j] = True, True


@inlined
def _scatter(t: PlacementArrays, c: ReplicaCounts, random: np.ndarray, i: int, node: int, only: bool) -> int:
    """Move each replica of operator i (on node `only`, or on all) to another node with room, if one is drawn; return how many."""
    moved = 0
    for k in range(c.number[i] - 1, -1, -1):  # from the end: a node left is replaced by the last one
        u = c.hosts[i, k]
        for _ in range(c.replicas[i, u] if u == node or not only else 0):
            for _ in range(NODE_TRIES):
                v = pick_node(t, c, FEW_REPLICAS, random, i, u)
                if v != u and room(t.demand, t.capacity, c.used, i, v, variable(1), LIMIT_SLACK) > 0:
                    shift(t, c, i, u, v, variable(1))
                    moved += 1
                    break
    return moved


@inlined
def _resize(t: PlacementArrays, c: ReplicaCounts, random: np.ndarray, i: int) -> int:
    """Add or remove one replica of operator i; return 0 where it can do neither."""
    u = c.hosts[i, below(random, c.number[i])]
    if uniform(random) < 0.5:
        if may_retire(t, c, i):
            shift(t, c, i, u, variable(-1), variable(1))
            return 1
        return 0
    for _ in range(NODE_TRIES):
        v = pick_node(t, c, FEW_REPLICAS, random, i, u)
        if may_replicate(t, c, i) and room(t.demand, t.capacity, c.used, i, v, variable(1), LIMIT_SLACK) > 0:
            shift(t, c, i, variable(-1), v, variable(1))
            return 1
    return 0


@inlined
def _gather(t: PlacementArrays, c: ReplicaCounts, i: int, v: int) -> int:
    """Move all replicas of operator i to node v, or near it where that is full; return how many."""
    moved = 0
    for k in range(t.near.shape[1]):
        w = t.near[v, k]
        for a in range(c.number[i] - 1 if t.candidate[i, w] else -1, -1, -1):
            u = c.hosts[i, a]
            nearer = False
            for x in range(k + 1):
                nearer |= t.near[v, x] == u
            free = 0 if nearer else room(t.demand, t.capacity, c.used, i, w, c.replicas[i, u], LIMIT_SLACK)
            if free > 0:
                shift(t, c, i, u, w, free)
                moved += free
    return moved
