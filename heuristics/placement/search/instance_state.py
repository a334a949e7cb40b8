"""A placement evaluated, whole or by what one instance changes, in compiled kernels, and the first one: first fit."""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import copy_matrix, copy_vector
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.acceptance import COMPARED, OBJECTIVE, OVERLOAD, VIOLATIONS
from edrp.heuristics.placement.search.instance_arrays import InstanceArrays, InstanceState, PathArrays


@inlined
def lift(t: InstanceArrays, s: InstanceState, p: int) -> None:
    """Take instance p off its node; `place` still names that."""
    o, u = t.operator[p], s.place[p]
    s.number[o, u] -= 1
    s.total[u] -= 1
    for m in range(t.demand.shape[1]):
        s.used[u, m] -= t.demand[o, m]
    for k in range(t.partner_start[o], t.partner_start[o + 1]):
        s.pull[t.partner[k], u] -= t.weight[o, t.partner[k]]


@inlined
def put(t: InstanceArrays, s: InstanceState, p: int, u: int) -> None:
    """Put instance p, which is on no node, on node u."""
    o = t.operator[p]
    s.place[p] = u
    s.number[o, u] += 1
    s.total[u] += 1
    for m in range(t.demand.shape[1]):
        s.used[u, m] += t.demand[o, m]
    for k in range(t.partner_start[o], t.partner_start[o + 1]):
        s.pull[t.partner[k], u] += t.weight[o, t.partner[k]]


@inlined
def clear(s: InstanceState) -> None:
    """Take all instances off their nodes."""
    s.number[:] = 0
    s.total[:] = 0
    s.used[:] = 0.0
    s.pull[:] = 0.0


@inlined
def fits(t: InstanceArrays, s: InstanceState, o: int, u: int) -> bool:
    """Whether one more instance of operator o breaks no limit of node u that is not broken without it."""
    for m in range(t.demand.shape[1]):
        if t.demand[o, m] > 0 and s.used[u, m] + t.demand[o, m] > t.limit[u, m]:
            return False
    return True


@inlined
def excess(t: InstanceArrays, u: int, m: int, used: float) -> float:
    """The relative overload of node u's resource m when `used` of it is in use."""
    return (used - t.limit[u, m]) / t.scale[u, m] if used > t.limit[u, m] else 0.0


@inner_loop
def longest_path(paths: PathArrays, place: np.ndarray, arrival: np.ndarray) -> float:
    """Seconds on the links of the slowest path through instances; `arrival` (instances,) is written."""
    arrival[:] = 0.0
    slowest = 0.0
    for e in range(paths.source.size):
        a, b = paths.source[e], paths.target[e]
        for q in range(paths.first[b], paths.first[b + 1]):
            latest, v = arrival[q], place[q]
            for p in range(paths.first[a], paths.first[a + 1]):
                latest = max(latest, arrival[p] + paths.delay[place[p], v])
            arrival[q] = latest
            slowest = max(slowest, latest)
    return slowest


@inner_loop
def evaluate(t: InstanceArrays, s: InstanceState, overload_rule: int) -> None:
    """Evaluate the placement from its sums."""
    violations, overload, together, nodes = 0.0, 0.0, 0.0, 0.0
    for u in range(s.total.size):
        if s.total[u] > 0:
            nodes += t.price[u]
            for m in range(t.demand.shape[1]):
                over = excess(t, u, m, s.used[u, m])
                if over > 0:
                    violations += 1
                    overload += over
    for p in range(t.operator.size):
        o = t.operator[p]
        together += s.pull[o, s.place[p]] - t.weight[o, o]
    s.base[0] = t.apart - 0.5 * together + nodes
    s.value[VIOLATIONS], s.value[OVERLOAD] = violations, overload_rule * overload
    s.value[OBJECTIVE] = s.base[0]
    if t.pace > 0:
        s.value[OBJECTIVE] += t.pace * longest_path(t.paths, s.place, s.arrival)


@inner_loop
def adopt(t: InstanceArrays, s: InstanceState, place: np.ndarray, overload_rule: int) -> None:
    """Take a placement over and evaluate it, with sums computed from scratch."""
    clear(s)
    for p in range(place.size):
        put(t, s, p, place[p])
    evaluate(t, s, overload_rule)


@inlined
def copy_state(source: InstanceState, target: InstanceState) -> None:
    """Copy a placement and its evaluation from one state to another."""
    copy_vector(source.place, target.place)
    copy_matrix(source.number, target.number)
    copy_vector(source.total, target.total)
    copy_matrix(source.used, target.used)
    copy_matrix(source.pull, target.pull)
    copy_vector(source.value, target.value)
    target.base[0] = source.base[0]


@inner_loop
def place_by_first_fit(t: InstanceArrays, s: InstanceState) -> None:
    """Operators in topological order, each instance on the node with room that is nearest to the operators before.

    Equally near nodes rank as in the document; where no node has room, the instance goes to the one that is overloaded least.
    """
    clear(s)
    for o in range(t.first.size - 1):
        measure(t, s, o)
        for p in range(t.first[o], t.first[o + 1]):
            put(t, s, p, nearest_with_room(t, s, o))
    evaluate(t, s, COMPARED)


@inlined
def measure(t: InstanceArrays, s: InstanceState, o: int) -> None:
    """Delay from the farthest instance that sends to operator o, by node, into `opening`."""
    s.opening[:] = 0.0
    for e in range(t.paths.source.size):
        if t.paths.target[e] == o:
            for p in range(t.first[t.paths.source[e]], t.first[t.paths.source[e] + 1]):
                for u in range(s.opening.size):
                    s.opening[u] = max(s.opening[u], t.paths.delay[s.place[p], u])


@inlined
def nearest_with_room(t: InstanceArrays, s: InstanceState, o: int) -> int:
    """A node for one more instance of operator o."""
    best, min_worth, has_room = t.node_list[t.node_start[o]], 0.0, False
    for k in range(t.node_start[o], t.node_start[o + 1]):
        u = t.node_list[k]
        room = fits(t, s, o, u)
        worth = s.opening[u]
        if not room:
            worth = 0.0
            for m in range(t.demand.shape[1]):
                worth += excess(t, u, m, s.used[u, m] + t.demand[o, m])
        if k == t.node_start[o] or (room and not has_room) or (room == has_room and worth < min_worth):
            best, min_worth, has_room = u, worth, room
    return best
