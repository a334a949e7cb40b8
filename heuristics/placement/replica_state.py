"""A deployment under search, replica by replica: incremental evaluation in compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_loads import measure_peaks
from edrp.heuristics.placement.start import Placement
from edrp.placement.scales import TIE_MOVE

PENALTY = 2.0
"""Objective per unit of relative excess over a limit or capacity: soft enough for the search to pass through."""

BREACH = 0.01
"""Objective of breaking a limit at all, so that the search does not settle just beyond one."""

BROKEN = 5
"""Index in `ReplicaState.values` of what is 1 where a limit or capacity is broken."""

PEAKS = 6
"""Index in `ReplicaState.values` of the first peak load."""


class ReplicaState(NamedTuple):
    """A deployment and the parts of its evaluation that a change of other operators leaves as they are.

    Attributes
    ----------
    place : shape (operators, maximum replicas); node of each replica.
    degree : shape (operators,); number of replicas.
    used : shape (nodes, resources); what they take.
    own : shape (operators, 4); latency, cost, downtime and moved replicas of each operator.
    link : shape (streams, 3); delay, cost and network usage of each stream.
    values : shape (6 + peak loads,); the metrics (availability as −ln), whether any limit is broken, and peak loads.
    demand : shape (nodes, shared resources); scratch.
    finish, seen, touched : shapes (operators, maximum replicas), (nodes, nodes), (operators,); scratch. `finish` is when tuples
        have passed each replica where paths run through instances, else the operator, in its first column.
    """

    place: Ints
    degree: Ints
    used: Floats
    own: Floats
    link: Floats
    values: Floats
    demand: Floats
    finish: Floats
    seen: Bools
    touched: Bools

    @classmethod
    def empty(cls, arrays: PlacementArrays) -> ReplicaState:
        """Arrays of the right shapes."""
        operators, sizes = arrays.latency.shape
        return cls(
            place=np.zeros((operators, sizes - 1), np.int64),
            degree=np.ones(operators, np.int64),
            used=np.zeros(arrays.capacity.shape),
            own=np.zeros((operators, 4)),
            link=np.zeros((arrays.source.size, 3)),
            values=np.zeros(PEAKS + arrays.shared.weights.size),
            demand=np.zeros(arrays.shared.capacity.shape),
            finish=np.zeros((operators, sizes - 1)),
            seen=np.zeros(arrays.delay.shape if arrays.has_loss else (1, 1), np.bool_),
            touched=np.zeros(operators, np.bool_),
        )

    def set(self, placement: Placement) -> None:
        """Copy a placement in; the evaluation is stale until `refresh_all`."""
        self.place[:] = placement.place
        self.degree[:] = placement.degree


class PairCounts(NamedTuple):
    """Replicas of an operator on two nodes and in all, before and after a reconfiguration."""

    source_before: int
    source_after: int
    target_before: int
    target_after: int
    before: int
    after: int


@inlined
def pair_time(t: PlacementArrays, i: int, u: int, v: int, n: PairCounts) -> float:
    """Time to move operator i's state from node u to node v (EDRP, eqs. 27–32; Storm 35–38), in seconds."""
    trip, bandwidth, spawn = t.store[0], t.store[1], t.store[2]
    state = t.state[i]
    if t.storm:
        code = 0.0
        if t.current[:, v].sum() == 0:
            code = trip[v] + t.code.sum() / bandwidth[v]
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
        time = max(time, trip[v] + t.code[i] / bandwidth[v])
    time += trip[v] + downloaded / bandwidth[v]
    return time + spawn[v] if n.target_after > n.target_before else time


@inlined
def refresh_operator(t: PlacementArrays, s: ReplicaState, i: int) -> None:
    """Recompute operator i's latency, cost, downtime and moved replicas."""
    place, own = s.place, s.own
    r = s.degree[i]
    slowest = t.speedup[place[i, 0]]
    for p in range(1, r):
        slowest = min(slowest, t.speedup[place[i, p]])
    own[i, 0] = t.latency[i, r] / slowest
    own[i, 1] = t.replica_cost[i] * r
    own[i, 2] = 0.0
    own[i, 3] = 0.0
    if not t.has_current:
        return
    old = t.current[i].sum()
    kept = 0
    for p in range(r):
        v = place[i, p]
        earlier = 0
        for q in range(p):
            earlier += place[i, q] == v
        kept += t.current[i, v] > earlier
    moved = max(r, old) - kept
    own[i, 3] = moved
    if moved == 0:
        return
    longest = 0.0
    for u in range(t.current.shape[1]):
        if t.current[i, u] == 0:
            continue
        new_u = 0
        for p in range(r):
            new_u += place[i, p] == u
        for p in range(r):
            v = place[i, p]
            if v == u:
                continue
            new_v = 0
            for q in range(r):
                new_v += place[i, q] == v
            counts = PairCounts(t.current[i, u], new_u, t.current[i, v], new_v, old, r)
            longest = max(longest, pair_time(t, i, u, v, counts))
    own[i, 2] = t.synchronisation + longest


@inlined
def refresh_stream(t: PlacementArrays, s: ReplicaState, e: int) -> None:
    """Recompute stream e's delay (EDRP, eq. 3), cost (eq. 4) and network usage."""
    place, degree, link = s.place, s.degree, s.link
    i, j = t.source[e], t.target[e]
    longest, price, usage = 0.0, 0.0, 0.0
    for p in range(degree[i]):
        u = place[i, p]
        for q in range(degree[j]):
            v = place[j, q]
            delay = t.delay[u, v]
            longest = max(longest, delay)
            usage += delay
            price += t.link_cost[u, v]
    share = t.rate[e] / (degree[i] * degree[j])
    link[e, 0] = longest
    link[e, 1] = share * price
    link[e, 2] = share * usage


@inlined
def unavailability(t: PlacementArrays, s: ReplicaState) -> float:
    """−ln of the availability of the nodes and links in use."""
    total = 0.0
    for clear in range(2):
        for i in range(s.degree.size):
            for p in range(s.degree[i]):
                total += _count_once(s.seen, s.place[i, p], s.place[i, p], t.node_loss[s.place[i, p]], clear)
        for e in range(t.source.size):
            for p in range(s.degree[t.source[e]]):
                for q in range(s.degree[t.target[e]]):
                    u, v = s.place[t.source[e], p], s.place[t.target[e], q]
                    total += _count_once(s.seen, u, v, t.link_loss[u, v], clear)
    return total


@inlined
def _count_once(seen: np.ndarray, u: int, v: int, loss: float, clear: int) -> float:
    """The loss of (u, v) when it is met first; with `clear` only the mark is removed."""
    first = not seen[u, v]
    seen[u, v] = clear == 0
    return loss if first and clear == 0 else 0.0


@inlined
def _response(t: PlacementArrays, s: ReplicaState) -> float:
    """When the last tuples have passed, every stream taking as long as its slowest pair of replicas (EDRP, eqs. 5–7)."""
    response = 0.0
    for i in range(s.degree.size):
        ready = 0.0
        for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
            e = t.incoming[k]
            ready = max(ready, s.finish[t.source[e], 0] + s.link[e, 0])
        s.finish[i, 0] = ready + s.own[i, 0]
        response = max(response, s.finish[i, 0])
    return response


@inlined
def _instance_response(t: PlacementArrays, s: ReplicaState) -> float:
    """When the last tuples have passed on the slowest path through replicas."""
    response = 0.0
    for i in range(s.degree.size):
        for q in range(s.degree[i]):
            ready, v = 0.0, s.place[i, q]
            for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
                j = t.source[t.incoming[k]]
                for p in range(s.degree[j]):
                    ready = max(ready, s.finish[j, p] + t.delay[s.place[j, p], v])
            s.finish[i, q] = ready + s.own[i, 0]
            response = max(response, s.finish[i, q])
    return response


@inlined
def measure(t: PlacementArrays, s: ReplicaState) -> float:
    """Write the metrics to `s.values`; returns the terms that break ties."""
    response = _instance_response(t, s) if t.instance_paths else _response(t, s)
    cost, downtime, moved, usage = 0.0, 0.0, 0.0, 0.0
    for i in range(s.degree.size):
        cost += s.own[i, 1]
        downtime = max(downtime, s.own[i, 2])
        moved += s.own[i, 3]
    for e in range(t.source.size):
        cost += s.link[e, 1]
        usage += s.link[e, 2]
    if moved > 0:
        downtime = max(downtime, t.floor)
    s.values[0], s.values[1], s.values[2], s.values[3] = response, cost, downtime, usage
    s.values[4] = unavailability(t, s) if t.has_loss else 0.0
    if t.shared.weights.size > 0:
        measure_peaks(t, s.place, s.degree, s.demand, s.values[PEAKS:])
    return cost * t.tie_cost + moved * TIE_MOVE


@inlined
def energy(t: PlacementArrays, s: ReplicaState, overload: float) -> float:
    """Objective plus penalties for broken limits; writes the metrics to `s.values`."""
    total = measure(t, s) + PENALTY * overload
    s.values[BROKEN] = 1.0 if overload > 0 else 0.0
    for k in range(5):
        total += _part(s, s.values[k], t.weights[k], t.limits[k])
    for k in range(t.shared.weights.size):
        total += _part(s, s.values[PEAKS + k], t.shared.weights[k], t.shared.limits[k])
    return total


@inlined
def _part(s: ReplicaState, value: float, weight: float, limit: float) -> float:
    """A metric's part of the objective, with a penalty where its limit is broken."""
    part = weight * value
    if value > limit * (1 + 1e-9):
        part += PENALTY * (value / limit - 1) + BREACH
        s.values[BROKEN] = 1.0
    return part


@inlined
def total_overload(t: PlacementArrays, used: np.ndarray) -> float:
    """Sum over nodes and resources of the excess over capacity, relative to the capacity."""
    total = 0.0
    for u in range(used.shape[0]):
        for m in range(used.shape[1]):
            excess = used[u, m] - t.capacity[u, m]
            if excess > 1e-9 * t.capacity[u, m] + 1e-12:
                total += excess / max(t.capacity[u, m], 1e-3 * excess)
    return total


@inlined
def fits(t: PlacementArrays, used: np.ndarray, i: int, u: int) -> bool:
    """Whether one more replica of operator i fits on node u."""
    for m in range(t.demand.shape[1]):
        if used[u, m] + t.demand[i, m] > t.capacity[u, m] * (1 + 1e-9):
            return False
    return True


@inlined
def occupy(t: PlacementArrays, used: np.ndarray, i: int, u: int, sign: float) -> None:
    """Add (sign 1) or free (sign −1) the resources of one replica of operator i on node u."""
    for m in range(t.demand.shape[1]):
        used[u, m] += sign * t.demand[i, m]


@inlined
def refresh(t: PlacementArrays, s: ReplicaState, i: int) -> None:
    """Recompute the parts that a change of operator i touches."""
    refresh_operator(t, s, i)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        refresh_stream(t, s, t.adjacent[k])


@inlined
def refresh_all(t: PlacementArrays, s: ReplicaState) -> None:
    """Recompute every part from `place` and `degree`."""
    for u in range(s.used.shape[0]):
        for m in range(s.used.shape[1]):
            s.used[u, m] = 0.0
    for i in range(s.degree.size):
        for p in range(s.degree[i]):
            occupy(t, s.used, i, s.place[i, p], 1.0)
        refresh_operator(t, s, i)
    for e in range(t.source.size):
        refresh_stream(t, s, e)


@inlined
def accept_or_undo(t: PlacementArrays, i: int, accepted: bool, now: ReplicaState, old: ReplicaState) -> None:
    """Make operator i's change permanent in the shadow copy `old`, or undo it from there."""
    for r in range(max(now.degree[i], old.degree[i])):
        _copy_row(now.used, old.used, now.place[i, r], accepted)
        _copy_row(now.used, old.used, old.place[i, r], accepted)
    if accepted:
        old.degree[i] = now.degree[i]
    else:
        now.degree[i] = old.degree[i]
    _copy_row(now.place, old.place, i, accepted)
    _copy_row(now.own, old.own, i, accepted)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        _copy_row(now.link, old.link, t.adjacent[k], accepted)


@inlined
def _copy_row(now: np.ndarray, old: np.ndarray, row: int, accepted: bool) -> None:
    for k in range(now.shape[1]):
        if accepted:
            old[row, k] = now[row, k]
        else:
            now[row, k] = old[row, k]


@inlined
def copy_placement(s: ReplicaState, place: np.ndarray, degree: np.ndarray) -> None:
    """Copy the deployment out."""
    for i in range(degree.size):
        degree[i] = s.degree[i]
        for p in range(place.shape[1]):
            place[i, p] = s.place[i, p]


@inner_loop
def evaluate(t: PlacementArrays, s: ReplicaState) -> float:
    """Evaluate from scratch: the energy; metrics go to `s.values`."""
    refresh_all(t, s)
    return energy(t, s, total_overload(t, s.used))
