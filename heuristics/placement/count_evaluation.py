"""A deployment as counts per node, with the parts of its evaluation as EDRP that a change leaves as they are.

Moving any number of replicas from one node to another changes the sums of a stream by one pass over the nodes of its other
end.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, add, recompute_used
from edrp.heuristics.placement.replica_state import BREACH, PENALTY

BROKEN = 5
"""Index in `CountedDeployment.values` of what is 1 where a limit or capacity is broken."""


class CountedDeployment(NamedTuple):
    """A deployment as counts, and the parts of its evaluation.

    `pairs` (streams, 3) are the longest delay, and price and delay summed over all pairs of replicas; `before` is its copy.
    `plan` (changes, 4) holds the change that is tried: operator, node left (-1 for none), node taken (-1 for none),
    replicas. `finish` (operators, nodes) is when tuples have passed, on each of an operator's nodes where paths run through
    instances, else of the whole operator, in the first column. `values` (6,) are the metrics.
    """

    counts: ReplicaCounts
    pairs: Floats
    before: Floats
    plan: Ints
    finish: Floats
    values: Floats

    @classmethod
    def from_matrix(cls, arrays: PlacementArrays, counts: Ints) -> Self:
        """Replicas per operator and node as a matrix has them; the evaluation is stale until `refresh_all`."""
        operators, streams = len(counts), arrays.source.size
        return cls(
            counts=ReplicaCounts.from_matrix(arrays.demand, counts),
            pairs=np.zeros((streams, 3)),
            before=np.zeros((streams, 3)),
            plan=np.zeros((2 * operators, 4), np.int64),
            finish=np.zeros(counts.shape if arrays.instance_paths else (operators, 1)),
            values=np.zeros(6),
        )


@inlined
def refresh_all(t: PlacementArrays, d: CountedDeployment) -> None:
    """Recompute sums and usage from the counts, which removes what rounding has added up."""
    c = d.counts
    for u in range(c.used.shape[0]):
        recompute_used(c, t.demand, u)
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
        d.pairs[e, 0], d.pairs[e, 1], d.pairs[e, 2] = longest, price, delay


@inlined
def _transfer(t: PlacementArrays, c: ReplicaCounts, i: int, u: int, v: int, q: int) -> None:
    """Take q replicas of operator i from node u to node v; -1 for no node."""
    for side in range(2):
        node = u if side == 0 else v
        if node >= 0:
            add(c, t.demand, i, node, -q if side == 0 else q)


@inlined
def _add_up(t: PlacementArrays, d: CountedDeployment, i: int, u: int, v: int, q: int) -> None:
    """Change the sums of operator i's streams by taking q replicas from u to v; the counts are still the old ones."""
    c = d.counts
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
        d.pairs[e, 1] += price
        d.pairs[e, 2] += delay


@inlined
def _longest(t: PlacementArrays, c: ReplicaCounts, e: int, known: float) -> float:
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
def _reach(t: PlacementArrays, c: ReplicaCounts, e: int, i: int, node: int) -> float:
    """Longest delay of stream e from or to operator i's replicas on a node."""
    sends = t.source[e] == i
    j = t.target[e] if sends else t.source[e]
    longest = 0.0
    for b in range(c.number[j]):
        w = c.hosts[j, b]
        longest = max(longest, t.delay[node, w] if sends else t.delay[w, node])
    return longest


@inlined
def perform(t: PlacementArrays, d: CountedDeployment, changes: int) -> None:
    """Make the planned changes; `undo` takes them back."""
    c = d.counts
    for e in range(d.pairs.shape[0]):
        for k in range(3):
            d.before[e, k] = d.pairs[e, k]
    for k in range(changes):
        i, u, v, q = d.plan[k, 0], d.plan[k, 1], d.plan[k, 2], d.plan[k, 3]
        _add_up(t, d, i, u, v, q)
        _transfer(t, c, i, u, v, q)
    # Nodes taken first: then every longest delay known is an upper bound for those that lose a node.
    for k in range(changes):
        i, v = d.plan[k, 0], d.plan[k, 2]
        for a in range(t.adjacent_start[i], t.adjacent_start[i + 1] if v >= 0 else 0):
            e = t.adjacent[a]
            d.pairs[e, 0] = max(d.pairs[e, 0], _reach(t, c, e, i, v))
    for k in range(changes):
        i, u = d.plan[k, 0], d.plan[k, 1]
        if u < 0 or c.held[i, u] > 0:
            continue
        for a in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
            e = t.adjacent[a]
            if changes > 1 or _reach(t, c, e, i, u) >= d.pairs[e, 0]:
                d.pairs[e, 0] = _longest(t, c, e, d.pairs[e, 0])


@inlined
def undo(t: PlacementArrays, d: CountedDeployment, changes: int) -> None:
    """Take the planned changes back."""
    c = d.counts
    for k in range(changes - 1, -1, -1):
        _transfer(t, c, d.plan[k, 0], d.plan[k, 2], d.plan[k, 1], d.plan[k, 3])
    for e in range(d.pairs.shape[0]):
        for k in range(3):
            d.pairs[e, k] = d.before[e, k]


@inlined
def excess(t: PlacementArrays, c: ReplicaCounts, u: int) -> float:
    """The excess over node u's capacity, relative to it, summed over resources."""
    total = 0.0
    for m in range(c.used.shape[1]):
        over = c.used[u, m] - t.capacity[u, m]
        if over > 1e-9 * t.capacity[u, m] + 1e-12:
            total += over / max(t.capacity[u, m], 1e-3 * over)
    return total


@inlined
def _operator_latency(t: PlacementArrays, c: ReplicaCounts, i: int) -> float:
    """Latency of operator i's slowest replica."""
    slowest = np.inf
    if t.latency[i, c.degree[i]] > 0:
        for a in range(c.number[i]):
            slowest = min(slowest, t.speedup[c.hosts[i, a]])
    return t.latency[i, c.degree[i]] / slowest


@inlined
def _response(t: PlacementArrays, d: CountedDeployment) -> float:
    """When the last tuples have passed, every stream taking as long as its slowest pair of replicas (EDRP, eqs. 5–7)."""
    response = 0.0
    for i in range(d.counts.degree.size):
        ready = 0.0
        for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
            e = t.incoming[k]
            ready = max(ready, d.finish[t.source[e], 0] + d.pairs[e, 0])
        d.finish[i, 0] = ready + _operator_latency(t, d.counts, i)
        response = max(response, d.finish[i, 0])
    return response


@inlined
def _instance_response(t: PlacementArrays, d: CountedDeployment) -> float:
    """When the last tuples have passed on the slowest path through replicas."""
    c, response = d.counts, 0.0
    for i in range(c.degree.size):
        own = _operator_latency(t, c, i)
        for b in range(c.number[i]):
            ready, v = 0.0, c.hosts[i, b]
            for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
                j = t.source[t.incoming[k]]
                for a in range(c.number[j]):
                    ready = max(ready, d.finish[j, a] + t.delay[c.hosts[j, a], v])
            d.finish[i, b] = ready + own
            response = max(response, d.finish[i, b])
    return response


@inlined
def energy(t: PlacementArrays, d: CountedDeployment, overload: float) -> float:
    """Objective plus penalties for broken limits; writes the metrics to `d.values`."""
    c = d.counts
    response = _instance_response(t, d) if t.instance_paths else _response(t, d)
    cost, usage = 0.0, 0.0
    for i in range(c.degree.size):
        cost += t.replica_cost[i] * c.degree[i]
    for e in range(t.source.size):
        share = t.rate[e] / (c.degree[t.source[e]] * c.degree[t.target[e]])
        cost += share * d.pairs[e, 1]
        usage += share * d.pairs[e, 2]
    d.values[0], d.values[1], d.values[3] = response, cost, usage
    d.values[BROKEN] = 1.0 if overload > 0 else 0.0
    total = cost * t.tie_cost + PENALTY * overload
    for k in range(5):
        total += t.weights[k] * d.values[k]
        if d.values[k] > t.limits[k] * (1 + 1e-9):
            total += PENALTY * (d.values[k] / t.limits[k] - 1) + BREACH
            d.values[BROKEN] = 1.0
    return total
