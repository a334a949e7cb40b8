"""Hill climbing (latency-aware placement, 4.3.1): the best of all changes, as long as one is better."""

from __future__ import annotations

from edrp.heuristics.search.copies import copy_vector
from edrp.heuristics.search.score_moves import NOTHING, consider_move, consider_move_all, consider_swap, perform
from edrp.heuristics.search.score_tables import ScoreState, ScoreTables
from edrp.kernels import inlined, inner_loop


@inlined
def scan(t: ScoreTables, s: ScoreState, eye: float) -> None:
    """Look at every change; the best one that is better than what stands goes to `change`, `found` and `found_base`."""
    s.change[0] = NOTHING
    copy_vector(s.value, s.found)
    s.found_base[0] = s.base[0]
    mark_leaders(t, s)
    s.joined[:] = 0.0
    s.barred[:] = False
    for p in range(s.place.size):
        if not s.leader[p]:
            continue
        o, u = t.operator[p], s.place[p]
        for k in range(t.node_start[o], t.node_start[o + 1]):
            if t.node_list[k] != u:
                consider_move(t, s, p, t.node_list[k], eye)
        for v in range(s.crowd.size):
            s.joined[u, v] += s.number[o, u] * s.pull[o, v]
            s.barred[u, v] |= not t.candidate[o, v]
        for q in range(t.first[o + 1], s.place.size):
            v = s.place[q]
            if v != u and s.leader[q] and t.candidate[o, v] and t.candidate[t.operator[q], u]:
                consider_swap(t, s, p, q, eye)
    for u in range(s.crowd.size):
        for v in range(s.crowd.size):
            if s.crowd[u] > 0 and u != v and not s.barred[u, v]:
                consider_move_all(t, s, u, v, eye)


@inlined
def mark_leaders(t: ScoreTables, s: ScoreState) -> None:
    """Of instances of one operator on one node the first speaks for all: they are interchangeable."""
    s.stamp[:] = -1
    for p in range(s.place.size):
        s.leader[p] = s.stamp[s.place[p]] != t.operator[p]
        s.stamp[s.place[p]] = t.operator[p]


@inner_loop
def climb(t: ScoreTables, s: ScoreState, eye: float, scans: int) -> bool:
    """Take the best change at most `scans` times; True while there may be another."""
    for _ in range(scans):
        scan(t, s, eye)
        if s.change[0] == NOTHING:
            return False
        perform(t, s)
    return True
