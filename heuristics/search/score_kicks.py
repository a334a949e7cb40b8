"""Iterated local search: disturb a local optimum, climb again, go on from what is about as good as the best."""

from __future__ import annotations

import numpy as np

from edrp.heuristics.draws import below, uniform
from edrp.heuristics.search.acceptance import better, near
from edrp.heuristics.search.copies import copy_vector
from edrp.heuristics.search.score_climb import scan
from edrp.heuristics.search.score_moves import NOTHING, perform, shift
from edrp.heuristics.search.score_state import copy_state, fits, settle
from edrp.heuristics.search.score_tables import ScoreState, ScoreTables
from edrp.kernels import inlined, inner_loop

DISSOLVE = 0.5
"""Share of kicks that dissolve a node; the others gather instances on one."""

GATHERED = 4
"""Instances that a kick gathers."""

TRIES = 8
"""Random nodes looked at for one that has room."""


@inlined
def kick(t: ScoreTables, s: ScoreState, random: np.ndarray) -> None:
    """Disturb a placement by a change that climbing does not make in one."""
    if uniform(random) < DISSOLVE:
        dissolve(t, s, random, s.place[below(random, s.place.size)])
    else:
        gather(t, s, random, s.place[below(random, s.place.size)])


@inlined
def dissolve(t: ScoreTables, s: ScoreState, random: np.ndarray, u: int) -> None:
    """All instances on node u go to random nodes, where possible to such as have room."""
    for p in range(s.place.size):
        if s.place[p] == u:
            o = t.operator[p]
            v = u
            for _ in range(TRIES):
                v = t.node_list[t.node_start[o] + below(random, t.node_start[o + 1] - t.node_start[o])]
                if v != u and fits(t, s, o, v):
                    break
            shift(t, s, p, v)


@inlined
def gather(t: ScoreTables, s: ScoreState, random: np.ndarray, v: int) -> None:
    """Random instances go to node v, whether it has room or not."""
    for _ in range(GATHERED):
        p = below(random, s.place.size)
        if t.candidate[t.operator[p], v]:
            shift(t, s, p, v)


@inner_loop
def iterate(
    t: ScoreTables,
    now: ScoreState,
    home: ScoreState,
    best: np.ndarray,
    best_value: np.ndarray,
    random: np.ndarray,
    kicks: int,
    tolerance: float,
    scans: int,
) -> int:
    """Iterated local search for about `scans` looks at all changes; how many of `kicks` are left, -1 when it has ended."""
    for _ in range(scans):
        scan(t, now, 1.0)
        if now.change[0] != NOTHING:
            perform(t, now)
            continue
        settle(t, now, 1.0)
        if better(now.value, best_value):
            copy_vector(now.place, best)
            copy_vector(now.value, best_value)
        if kicks == 0:
            return -1
        if near(now.value, best_value, tolerance):
            copy_state(now, home)
        else:
            copy_state(home, now)
        kick(t, now, random)
        settle(t, now, 1.0)
        kicks -= 1
    return kicks
