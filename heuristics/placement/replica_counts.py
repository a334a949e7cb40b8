"""A deployment of operators with many replicas under search: counts per node instead of a place per replica.

A stream between 4,000 and 3,000 replicas has 12 million pairs. Kept as counts per node, moving any number of
replicas from one node to another changes its sums by one walk over the nodes of the other end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import Tables
from edrp.heuristics.placement.replica_state import BREACH, PENALTY

BROKEN = 5
"""Place in `Crowd.values` that is 1 where a limit or capacity is broken."""


class Crowd(NamedTuple):
    """A deployment as counts, and the parts of its evaluation.

    `held` (operators, nodes) replicas; `hosts[i, :number[i]]` the nodes that operator i uses and `slot` (operators, nodes)
    where each stands there; `degree` (operators,) replicas; `used` (nodes, resources). `pairs` (streams, 3): longest delay,
    and price and delay summed over all pairs of replicas; `before` is its copy. `plan` (changes, 4) holds the change that
    is tried: operator, node left (-1 for none), node taken (-1 for none), replicas. `values` (6,) are the metrics.
    """

    held: Ints
    hosts: Ints
    number: Ints
    slot: Ints
    degree: Ints
    used: Floats
    pairs: Floats
    before: Floats
    plan: Ints
    finish: Floats
    values: Floats

    @classmethod
    def of_counts(cls, tables: Tables, counts: Ints) -> Crowd:
        """From replicas per operator and node; the evaluation is stale until `refresh_all`."""
        operators = len(counts)
        hosts, slot = np.zeros_like(counts), np.full_like(counts, -1)
        number = (counts > 0).sum(axis=1)
        for i, row in enumerate(counts):
            hosts[i, : number[i]] = np.flatnonzero(row)
            slot[i, hosts[i, : number[i]]] = np.arange(number[i])
        pairs = np.zeros((tables.source.size, 3))
        return cls(
            held=counts.astype(np.int64),
            hosts=hosts,
            number=number,
            slot=slot,
            degree=counts.sum(axis=1),
            used=counts.T @ tables.demand,
            pairs=pairs,
            before=pairs.copy(),
            plan=np.zeros((2 * operators, 4), np.int64),
            finish=np.zeros(operators),
            values=np.zeros(6),
        )


@inlined
def refresh_all(t: Tables, c: Crowd) -> None:
    """Recompute sums and usage from the counts, which removes what rounding has added up."""
    for u in range(c.used.shape[0]):
        for m in range(c.used.shape[1]):
            total = 0.0
            for i in range(c.degree.size):
                total += c.held[i, u] * t.demand[i, m]
            c.used[u, m] = total
    for e in range(t.source.size):
        i, j = t.source[e], t.target[e]
        longest, price, delay = 0.0, 0.0, 0.0
        for a in range(c.number[i]):
            u = c.hosts[i, a]
            for b in range(c.number[j]):
                v = c.hosts[j, b]
                weight = c.held[i, u] * c.held[j, v]
                longest = max(longest, t.delay[u, v])
                price += weight * t.link_cost[u, v]
                delay += weight * t.delay[u, v]
        c.pairs[e, 0], c.pairs[e, 1], c.pairs[e, 2] = longest, price, delay


@inlined
def _transfer(t: Tables, c: Crowd, i: int, u: int, v: int, q: int) -> None:
    """Take q replicas of operator i from node u to node v; -1 for no node."""
    for side in range(2):
        node = u if side == 0 else v
        if node < 0:
            continue
        change = -q if side == 0 else q
        held = c.held[i, node]
        c.held[i, node] = held + change
        c.degree[i] += change
        for m in range(t.demand.shape[1]):
            c.used[node, m] += change * t.demand[i, m]
        if held == 0:
            c.slot[i, node] = c.number[i]
            c.hosts[i, c.number[i]] = node
            c.number[i] += 1
        elif held + change == 0:
            last = c.hosts[i, c.number[i] - 1]
            c.hosts[i, c.slot[i, node]] = last
            c.slot[i, last] = c.slot[i, node]
            c.slot[i, node] = -1
            c.number[i] -= 1


@inlined
def _add_up(t: Tables, c: Crowd, i: int, u: int, v: int, q: int) -> None:
    """Change the sums of operator i's streams by taking q replicas from u to v; the counts are still the old ones."""
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        e = t.adjacent[k]
        sends = t.source[e] == i
        j = t.target[e] if sends else t.source[e]
        price, delay = 0.0, 0.0
        for b in range(c.number[j]):
            w = c.hosts[j, b]
            share = q * c.held[j, w]
            if v >= 0:
                delay += share * (t.delay[v, w] if sends else t.delay[w, v])
                price += share * (t.link_cost[v, w] if sends else t.link_cost[w, v])
            if u >= 0:
                delay -= share * (t.delay[u, w] if sends else t.delay[w, u])
                price -= share * (t.link_cost[u, w] if sends else t.link_cost[w, u])
        c.pairs[e, 1] += price
        c.pairs[e, 2] += delay


@inlined
def _longest(t: Tables, c: Crowd, e: int, known: float) -> float:
    """Longest delay between the nodes of stream e's ends; the walk ends where `known`, an upper bound, is met."""
    i, j = t.source[e], t.target[e]
    longest = 0.0
    for a in range(c.number[i]):
        u = c.hosts[i, a]
        for b in range(c.number[j]):
            longest = max(longest, t.delay[u, c.hosts[j, b]])
        if longest >= known:
            return longest
    return longest


@inlined
def _reach(t: Tables, c: Crowd, e: int, i: int, node: int) -> float:
    """Longest delay of stream e from or to operator i's replicas on a node."""
    sends = t.source[e] == i
    j = t.target[e] if sends else t.source[e]
    longest = 0.0
    for b in range(c.number[j]):
        w = c.hosts[j, b]
        longest = max(longest, t.delay[node, w] if sends else t.delay[w, node])
    return longest


@inlined
def perform(t: Tables, c: Crowd, changes: int) -> None:
    """Make the planned changes; `undo` takes them back."""
    for e in range(c.pairs.shape[0]):
        for k in range(3):
            c.before[e, k] = c.pairs[e, k]
    for k in range(changes):
        i, u, v, q = c.plan[k, 0], c.plan[k, 1], c.plan[k, 2], c.plan[k, 3]
        _add_up(t, c, i, u, v, q)
        _transfer(t, c, i, u, v, q)
    # Nodes taken first: then every longest delay known is an upper bound for those that lose a node.
    for k in range(changes):
        i, v = c.plan[k, 0], c.plan[k, 2]
        for a in range(t.adjacent_start[i], t.adjacent_start[i + 1] if v >= 0 else 0):
            e = t.adjacent[a]
            c.pairs[e, 0] = max(c.pairs[e, 0], _reach(t, c, e, i, v))
    for k in range(changes):
        i, u = c.plan[k, 0], c.plan[k, 1]
        if u < 0 or c.held[i, u] > 0:
            continue
        for a in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
            e = t.adjacent[a]
            if changes > 1 or _reach(t, c, e, i, u) >= c.pairs[e, 0]:
                c.pairs[e, 0] = _longest(t, c, e, c.pairs[e, 0])


@inlined
def undo(t: Tables, c: Crowd, changes: int) -> None:
    """Take the planned changes back."""
    for k in range(changes - 1, -1, -1):
        _transfer(t, c, c.plan[k, 0], c.plan[k, 2], c.plan[k, 1], c.plan[k, 3])
    for e in range(c.pairs.shape[0]):
        for k in range(3):
            c.pairs[e, k] = c.before[e, k]


@inlined
def excess(t: Tables, c: Crowd, u: int) -> float:
    """What node u holds beyond its capacity, relative to it, over all resources."""
    total = 0.0
    for m in range(c.used.shape[1]):
        over = c.used[u, m] - t.capacity[u, m]
        if over > 1e-9 * t.capacity[u, m] + 1e-12:
            total += over / max(t.capacity[u, m], 1e-3 * over)
    return total


@inlined
def room(t: Tables, c: Crowd, i: int, u: int) -> int:
    """How many more replicas of operator i fit on node u."""
    most = c.degree[i]
    for m in range(t.demand.shape[1]):
        if t.demand[i, m] > 0 and t.capacity[u, m] < np.inf:
            free = (t.capacity[u, m] * (1 + 1e-9) - c.used[u, m]) / t.demand[i, m]
            if free < most:
                most = int(max(0.0, free))
    return most


@inlined
def energy(t: Tables, c: Crowd, overload: float) -> float:
    """Objective plus penalties for broken limits; writes the metrics to `c.values`."""
    response, cost, usage = 0.0, 0.0, 0.0
    for i in range(c.degree.size):
        ready = 0.0
        for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
            e = t.incoming[k]
            ready = max(ready, c.finish[t.source[e]] + c.pairs[e, 0])
        slowest = np.inf
        if t.latency[i, c.degree[i]] > 0:
            for a in range(c.number[i]):
                slowest = min(slowest, t.speedup[c.hosts[i, a]])
        c.finish[i] = ready + t.latency[i, c.degree[i]] / slowest
        response = max(response, c.finish[i])
        cost += t.replica_cost[i] * c.degree[i]
    for e in range(t.source.size):
        share = t.rate[e] / (c.degree[t.source[e]] * c.degree[t.target[e]])
        cost += share * c.pairs[e, 1]
        usage += share * c.pairs[e, 2]
    c.values[0], c.values[1], c.values[3] = response, cost, usage
    c.values[BROKEN] = 1.0 if overload > 0 else 0.0
    total = cost * t.tie_cost + PENALTY * overload
    for k in range(5):
        total += t.weights[k] * c.values[k]
        if c.values[k] > t.limits[k] * (1 + 1e-9):
            total += PENALTY * (c.values[k] / t.limits[k] - 1) + BREACH
            c.values[BROKEN] = 1.0
    return total
