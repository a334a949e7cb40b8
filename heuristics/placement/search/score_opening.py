"""The placement that searches start from where none is given: first fit along the streams."""

from __future__ import annotations

from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.score_arrays import ScoreState, ScoreTables
from edrp.heuristics.placement.search.score_state import clear, excess, fits, put, settle


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
