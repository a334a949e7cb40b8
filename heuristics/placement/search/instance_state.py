"""A placement evaluated, whole or by what one instance changes, in compiled kernels, and the first one: first fit."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import copy_matrix, copy_vector
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS
from edrp.heuristics.placement.search.instance_arrays import ScoreState, ScoreTables


@inlined
def lift(t: ScoreTables, s: ScoreState, p: int) -> None:
    """Take instance p off its node; `place` still names that."""
    o, u = t.operator[p], s.place[p]
    s.number[o, u] -= 1
    s.crowd[u] -= 1
    for m in range(t.demand.shape[1]):
        s.used[u, m] -= t.demand[o, m]
    for k in range(t.partner_start[o], t.partner_start[o + 1]):
        s.pull[t.partner[k], u] -= t.weight[o, t.partner[k]]


@inlined
def put(t: ScoreTables, s: ScoreState, p: int, u: int) -> None:
    """Put instance p, which is on no node, on node u."""
    o = t.operator[p]
    s.place[p] = u
    s.number[o, u] += 1
    s.crowd[u] += 1
    for m in range(t.demand.shape[1]):
        s.used[u, m] += t.demand[o, m]
    for k in range(t.partner_start[o], t.partner_start[o + 1]):
        s.pull[t.partner[k], u] += t.weight[o, t.partner[k]]


@inlined
def clear(s: ScoreState) -> None:
    """No instance is on any node."""
    s.number[:] = 0
    s.crowd[:] = 0
    s.used[:] = 0.0
    s.pull[:] = 0.0


@inlined
def fits(t: ScoreTables, s: ScoreState, o: int, u: int) -> bool:
    """Whether one more instance of operator o breaks no limit of node u that is not broken without it."""
    for m in range(t.demand.shape[1]):
        if t.demand[o, m] > 0 and s.used[u, m] + t.demand[o, m] > t.limit[u, m]:
            return False
    return True


@inlined
def excess(t: ScoreTables, u: int, m: int, used: float) -> float:
    """By how much of its capacity node u's resource m is overloaded when `used` of it is in use; 0 where it is not."""
    return (used - t.limit[u, m]) / t.scale[u, m] if used > t.limit[u, m] else 0.0


@inner_loop
def longest_path(
    first: np.ndarray, source: np.ndarray, target: np.ndarray, delay: np.ndarray, place: np.ndarray, arrival: np.ndarray
) -> float:
    """Seconds on the links of the slowest path; a stream takes as long as its slowest pair of instances."""
    arrival[:] = 0.0
    slowest = 0.0
    for e in range(source.size):
        a, b = source[e], target[e]
        longest = 0.0
        for p in range(first[a], first[a + 1]):
            for q in range(first[b], first[b + 1]):
                longest = max(longest, delay[place[p], place[q]])
        arrival[b] = max(arrival[b], arrival[a] + longest)
        slowest = max(slowest, arrival[b])
    return slowest


@inner_loop
def settle(t: ScoreTables, s: ScoreState, eye: float) -> None:
    """Evaluate what stands; `eye` is 0 where overload is not looked at, else 1."""
    violations, overload, together, nodes = 0.0, 0.0, 0.0, 0.0
    for u in range(s.crowd.size):
        if s.crowd[u] > 0:
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
    s.value[VIOLATIONS], s.value[OVERLOAD] = violations, eye * overload
    s.value[OBJECTIVE] = s.base[0]
    if t.pace > 0:
        s.value[OBJECTIVE] += t.pace * longest_path(t.first, t.source, t.target, t.delay, s.place, s.arrival)


@inner_loop
def stand(t: ScoreTables, s: ScoreState, place: np.ndarray, eye: float) -> None:
    """Stand on a placement, nothing left of rounding from before."""
    clear(s)
    for p in range(place.size):
        put(t, s, p, place[p])
    settle(t, s, eye)


@inlined
def copy_state(source: ScoreState, target: ScoreState) -> None:
    """Make one placement another, with all that is known of it."""
    copy_vector(source.place, target.place)
    copy_matrix(source.number, target.number)
    copy_vector(source.crowd, target.crowd)
    copy_matrix(source.used, target.used)
    copy_matrix(source.pull, target.pull)
    copy_vector(source.value, target.value)
    target.base[0] = source.base[0]


@inner_loop
def open_by_first_fit(t: ScoreTables, s: ScoreState) -> None:
    """Operators in topological order, each instance on the node with room that is nearest to the operators before.

    Of equally near ones it is the first; where no node has room, the one that is overloaded least.
    """
    clear(s)
    for o in range(t.first.size - 1):
        measure(t, s, o)
        for p in range(t.first[o], t.first[o + 1]):
            put(t, s, p, nearest_with_room(t, s, o))
    settle(t, s, 1.0)


@inlined
def measure(t: ScoreTables, s: ScoreState, o: int) -> None:
    """Delay from the farthest instance that sends to operator o, by node, into `opening`."""
    s.opening[:] = 0.0
    for e in range(t.source.size):
        if t.target[e] == o:
            for p in range(t.first[t.source[e]], t.first[t.source[e] + 1]):
                for u in range(s.opening.size):
                    s.opening[u] = max(s.opening[u], t.delay[s.place[p], u])


@inlined
def nearest_with_room(t: ScoreTables, s: ScoreState, o: int) -> int:
    """A node for one more instance of operator o."""
    best, least, found = t.node_list[t.node_start[o]], 0.0, False
    for k in range(t.node_start[o], t.node_start[o + 1]):
        u = t.node_list[k]
        room = fits(t, s, o, u)
        worth = s.opening[u]
        if not room:
            worth = 0.0
            for m in range(t.demand.shape[1]):
                worth += excess(t, u, m, s.used[u, m] + t.demand[o, m])
        if k == t.node_start[o] or (room and not found) or (room == found and worth < least):
            best, least, found = u, worth, room
    return best
