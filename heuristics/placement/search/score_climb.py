"""Hill climbing (latency-aware placement, 4.3.1): the best of all changes, as long as one is better."""

from __future__ import annotations

from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.copies import copy_vector
from edrp.heuristics.placement.search.score_arrays import ScoreState, ScoreTables
from edrp.heuristics.placement.search.score_moves import NOTHING, consider_move, consider_move_all, consider_swap, perform
from edrp.heuristics.placement.search.score_state import excess


@inner_loop
def scan(t: ScoreTables, s: ScoreState, eye: float) -> None:
    """Look at every change; the best one that is better than what stands goes to `change`, `found` and `found_base`."""
    count = prepare(t, s)
    for i in range(count):
        p = s.leaders[i]
        o = t.operator[p]
        for k in range(t.node_start[o], t.node_start[o + 1]):
            consider_move(t, s, p, t.node_list[k], eye)
        for j in range(i + 1, count):
            consider_swap(t, s, p, s.leaders[j], eye)
    for u in range(s.crowd.size):
        if s.crowd[u] > 0:
            for v in range(s.crowd.size):
                if u != v and not s.barred[u, v]:
                    consider_move_all(t, s, u, v, eye)


@inlined
def prepare(t: ScoreTables, s: ScoreState) -> int:
    """Collect what a scan needs; the number of instances to look at.

    Instances of one operator on one node are interchangeable: the first speaks for all.
    """
    s.change[0] = NOTHING
    s.relieved[0] = False
    copy_vector(s.value, s.found)
    s.found_base[0] = s.base[0]
    for u in range(s.crowd.size):
        s.stamp[u] = -1
        s.opening[u] = t.price[u] if s.crowd[u] == 0 else 0.0
        s.heavy[u] = False
        for m in range(s.over.shape[1]):
            s.over[u, m] = excess(t, u, m, s.used[u, m])
            s.heavy[u] |= s.over[u, m] > 0
    s.joined[:] = 0.0
    s.barred[:] = False
    count = 0
    for p in range(s.place.size):
        o, u = t.operator[p], s.place[p]
        s.remain[p] = s.pull[o, u] - t.weight[o, o]
        s.hold[p] = s.remain[p] - (t.price[u] if s.crowd[u] == 1 else 0.0)
        if s.stamp[u] != o:
            s.stamp[u] = o
            s.leaders[count] = p
            count += 1
            for v in range(s.crowd.size):
                s.joined[u, v] += s.number[o, u] * s.pull[o, v]
                s.barred[u, v] |= not t.candidate[o, v]
    return count


@inner_loop
def climb(t: ScoreTables, s: ScoreState, eye: float, scans: int) -> bool:
    """Take the best change at most `scans` times; True while there may be another."""
    for _ in range(scans):
        scan(t, s, eye)
        if s.change[0] == NOTHING:
            return False
        perform(t, s)
    return True
