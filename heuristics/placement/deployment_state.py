"""A deployment under search: counts per operator and node, and its evaluation, of which a change updates few parts.

Moving any number of replicas from one node to another changes the sums of a stream by one pass over the nodes of its other
end, so that few replicas and thousands are searched by the same code.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernel_helpers import copy_matrix
from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, add, recompute_used

FIRST_PEAK_VALUE = 6
"""Index into `DeploymentState.values` of the first peak load."""


class DeploymentState(NamedTuple):
    """A deployment as counts, and the parts of its evaluation.

    Attributes
    ----------
    counts : replicas per operator and node.
    per_stream : shape (streams, 4); the longest delay, price and delay summed over all pairs of replicas, and the rate of a pair.
    per_operator : shape (operators, 3); latency, downtime and moved replicas of each operator; 0 moved where nothing runs yet.
    old_per_stream, old_per_operator : their copies from before the change that is tried.
    plan : shape (changes, 4); that change: operator, node left (-1 for none), node taken (-1 for none), replicas.
    finish : shape (operators, nodes); when tuples have passed, on each of an operator's nodes where paths run through
        instances, else of the whole operator, in the first column.
    values : shape (6 + peak loads,); the metrics (availability as −ln), whether any limit is broken, and peak loads.
    demand, seen : shapes (nodes, shared resources) and (nodes, nodes); scratch.
    """

    counts: ReplicaCounts
    per_stream: Floats
    per_operator: Floats
    old_per_stream: Floats
    old_per_operator: Floats
    plan: Ints
    finish: Floats
    values: Floats
    demand: Floats
    seen: Bools

    @classmethod
    def from_matrix(cls, arrays: PlacementArrays, counts: Ints) -> Self:
        """Create a state from a matrix of counts per operator and node; the evaluation is stale until `refresh_all`."""
        operators, nodes = counts.shape
        streams = arrays.source.size
        return cls(
            counts=ReplicaCounts.from_matrix(arrays.demand, counts),
            per_stream=np.zeros((streams, 4)),
            per_operator=np.zeros((operators, 3)),
            old_per_stream=np.zeros((streams, 4)),
            old_per_operator=np.zeros((operators, 3)),
            plan=np.zeros((2 * operators + nodes, 4), np.int64),
            finish=np.zeros(counts.shape if arrays.instance_paths else (operators, 1)),
            values=np.zeros(FIRST_PEAK_VALUE + arrays.shared.weights.size),
            demand=np.zeros(arrays.shared.capacity.shape),
            seen=np.zeros(arrays.delay.shape if arrays.has_loss else (1, 1), np.bool_),
        )


class PairCounts(NamedTuple):
    """Replicas of an operator on two nodes and in all, before and after a reconfiguration."""

    source_before: int
    source_after: int
    target_before: int
    target_after: int
    before: int
    after: int


@inlined
def _pair_time(t: PlacementArrays, i: int, u: int, v: int, n: PairCounts) -> float:
    """Time to move operator i's state from node u to node v (EDRP, eqs. 27–32; Storm 35–38), in seconds."""
    trip, bandwidth, spawn = t.store[0], t.store[1], t.store[2]
    state = t.state_size[i]
    if t.storm:
        code, used = 0.0, 0
        for j in range(t.current.shape[0]):
            used += t.current[j, v]
        if used == 0:
            code = trip[v]
            for j in range(t.code_size.size):
                code += t.code_size[j] / bandwidth[v]
        up = trip[u] + state * n.source_before / n.before / bandwidth[u]
        return code + up + trip[v] + state * n.target_after / n.after / bandwidth[v] + n.target_after * spawn[v]
    uploaded = state * max(n.source_before - n.source_after, 0) / n.before
    downloaded = state * max(n.target_after - n.target_before, 0) / n.after
    if n.after > n.before:
        uploaded += state * n.source_before * (n.after - n.before) / (n.before * n.after)
    if n.after < n.before:
        downloaded += state * min(n.target_before, n.target_after) * (n.before - n.after) / (n.before * n.after)
    time = trip[u] + uploaded / bandwidth[u]
    if n.target_before == 0:
        time = max(time, trip[v] + t.code_size[i] / bandwidth[v])
    time += trip[v] + downloaded / bandwidth[v]
    return time + spawn[v] if n.target_after > n.target_before else time


@inlined
def _refresh_own(t: PlacementArrays, d: DeploymentState, i: int) -> None:
    """Recompute latency (of the slowest replica), downtime and moved replicas of operator i."""
    c, old_replicas, unmoved, slowest = d.counts, 0, 0, np.inf
    if t.latency[i, c.degree[i]] > 0:
        for a in range(c.number[i]):
            slowest = min(slowest, t.speedup[c.hosts[i, a]])
    d.per_operator[i, 0] = t.latency[i, c.degree[i]] / slowest
    if not t.has_current:
        return
    for u in range(t.current.shape[1]):
        old_replicas += t.current[i, u]
        unmoved += min(t.current[i, u], c.replicas[i, u])
    moved = max(c.degree[i], old_replicas) - unmoved
    longest = 0.0
    for u in range(t.current.shape[1] if moved > 0 else 0):
        for b in range(c.number[i] if t.current[i, u] > 0 else 0):
            v = c.hosts[i, b]
            if v != u:
                numbers = PairCounts(
                    t.current[i, u], c.replicas[i, u], t.current[i, v], c.replicas[i, v], old_replicas, c.degree[i]
                )
                longest = max(longest, _pair_time(t, i, u, v, numbers))
    d.per_operator[i, 1] = t.synchronisation_time + longest if moved > 0 else 0.0
    d.per_operator[i, 2] = moved


@inlined
def _refresh_stream(t: PlacementArrays, d: DeploymentState, e: int) -> None:
    """Recompute the sums of stream e over all pairs of nodes."""
    c, i, j = d.counts, t.source[e], t.target[e]
    longest, price, delay = 0.0, 0.0, 0.0
    for a in range(c.number[i]):
        u = c.hosts[i, a]
        for b in range(c.number[j]):
            v = c.hosts[j, b]
            weight = c.replicas[i, u] * c.replicas[j, v]
            longest = max(longest, t.delay[u, v])
            price += weight * t.link_cost[u, v]
            delay += weight * t.delay[u, v]
    d.per_stream[e, 0], d.per_stream[e, 1], d.per_stream[e, 2] = longest, price, delay
    d.per_stream[e, 3] = t.rate[e] / (c.degree[i] * c.degree[j])


@inlined
def refresh(t: PlacementArrays, d: DeploymentState, i: int) -> None:
    """Recompute the parts that a change of operator i touches, which removes accumulated rounding."""
    _refresh_own(t, d, i)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        _refresh_stream(t, d, t.adjacent[k])


@inlined
def refresh_all(t: PlacementArrays, d: DeploymentState) -> None:
    """Recompute sums, their copies, and usage from the counts."""
    for u in range(d.counts.used.shape[0]):
        recompute_used(d.counts, t.demand, u)
    for i in range(d.counts.degree.size):
        refresh(t, d, i)
    copy_matrix(d.per_stream, d.old_per_stream)
    copy_matrix(d.per_operator, d.old_per_operator)


@inlined
def shift(t: PlacementArrays, c: ReplicaCounts, i: int, u: int, v: int, q: int) -> None:
    """Move q replicas of operator i from node u to node v (-1 for no node); stream sums are stale until `refresh`."""
    for side in range(2):
        node = u if side == 0 else v
        if node >= 0:
            add(c, t.demand, i, node, -q if side == 0 else q)


@inlined
def _add_up(t: PlacementArrays, d: DeploymentState, i: int, u: int, v: int, q: int) -> None:
    """Update the sums of operator i's streams for moving q replicas from u to v, before the counts are changed."""
    c = d.counts
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        e = t.adjacent[k]
        sends = t.source[e] == i
        j = t.target[e] if sends else t.source[e]
        price, delay = 0.0, 0.0
        for b in range(c.number[j]):
            w = c.hosts[j, b]
            share = q * c.replicas[j, w]
            if v >= 0:
                delay += share * (t.delay[v, w] if sends else t.delay[w, v])
                price += share * (t.link_cost[v, w] if sends else t.link_cost[w, v])
            if u >= 0:
                delay -= share * (t.delay[u, w] if sends else t.delay[w, u])
                price -= share * (t.link_cost[u, w] if sends else t.link_cost[w, u])
        d.per_stream[e, 1] += price
        d.per_stream[e, 2] += delay


@inlined
def _longest(t: PlacementArrays, c: ReplicaCounts, e: int, bound: float) -> float:
    """Longest delay between the nodes of stream e's ends; stops early once `bound`, an upper bound, is reached."""
    i, j = t.source[e], t.target[e]
    longest = 0.0
    for a in range(c.number[i]):
        u = c.hosts[i, a]
        for b in range(c.number[j]):
            longest = max(longest, t.delay[u, c.hosts[j, b]])
        if longest >= bound:
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
def plan(d: DeploymentState, k: int, i: int, u: int, v: int, q: int) -> None:
    """Write the k-th part of a change: q replicas of operator i go from node u to node v."""
    d.plan[k, 0], d.plan[k, 1], d.plan[k, 2], d.plan[k, 3] = i, u, v, q


@inlined
def transfer(t: PlacementArrays, d: DeploymentState, parts: int, back: bool) -> None:
    """Apply the planned change or revert it; sums are stale until `refresh` or `settle` of its operators."""
    for x in range(parts):
        k, source_column, target_column = (parts - 1 - x, 2, 1) if back else (x, 1, 2)
        shift(t, d.counts, d.plan[k, 0], d.plan[k, source_column], d.plan[k, target_column], d.plan[k, 3])


@inlined
def settle(t: PlacementArrays, d: DeploymentState, i: int, stays: bool) -> None:
    """Copy the sums that a change of operator i has updated to the saved ones, or restore them from there."""
    _copy_row(d.per_operator, d.old_per_operator, i, stays)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        _copy_row(d.per_stream, d.old_per_stream, t.adjacent[k], stays)


@inlined
def _copy_row(current: np.ndarray, old: np.ndarray, row: int, stays: bool) -> None:
    for k in range(current.shape[1]):
        if stays:
            old[row, k] = current[row, k]
        else:
            current[row, k] = old[row, k]


@inlined
def perform(t: PlacementArrays, d: DeploymentState, changes: int) -> None:
    """Apply the planned changes and update the sums; `transfer` and `settle` revert them."""
    c = d.counts
    for k in range(changes):
        i, u, v, q = d.plan[k, 0], d.plan[k, 1], d.plan[k, 2], d.plan[k, 3]
        _add_up(t, d, i, u, v, q)
        shift(t, c, i, u, v, q)
    # Nodes taken first: then every longest delay known is an upper bound for those that lose a node.
    for k in range(changes):
        i, u, v = d.plan[k, 0], d.plan[k, 1], d.plan[k, 2]
        for a in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
            e = t.adjacent[a]
            if v >= 0:
                d.per_stream[e, 0] = max(d.per_stream[e, 0], _reach(t, c, e, i, v))
            if u < 0 or v < 0:
                d.per_stream[e, 3] = t.rate[e] / (c.degree[t.source[e]] * c.degree[t.target[e]])
    for k in range(changes):
        i, u = d.plan[k, 0], d.plan[k, 1]
        if u < 0 or c.replicas[i, u] > 0:
            continue
        for a in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
            e = t.adjacent[a]
            if changes > 1 or _reach(t, c, e, i, u) >= d.per_stream[e, 0]:
                d.per_stream[e, 0] = _longest(t, c, e, d.per_stream[e, 0])
    for k in range(changes):
        _refresh_own(t, d, d.plan[k, 0])
