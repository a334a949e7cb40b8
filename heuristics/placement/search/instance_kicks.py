"""Iterated local search: disturb a local optimum, climb again, go on from what is about as good as where it began."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import below, copy_vector, uniform
from edrp.heuristics.placement.search.acceptance import better, near
from edrp.heuristics.placement.search.instance_arrays import ScoreState, ScoreTables
from edrp.heuristics.placement.search.instance_climbing import NOTHING, perform, scan, shift
from edrp.heuristics.placement.search.instance_state import copy_state, fits, settle

DISSOLVE, CARRY, SHUFFLE, EXCHANGE = 0, 1, 2, 3
"""Kinds of a kick; one is as likely as the other."""

SHORTEST, LONGEST = 4, 8
"""Steps along streams of a chain; steps that come back to an operator carry another of its instances, or none."""

TRIES = 8
"""Nodes looked at for one that has room."""

SPREAD = 2.0
"""Mean of the tolerance that is drawn for each kick, in units of the parameter: mostly less is tolerated, now and then much."""


@inlined
def kick(t: ScoreTables, s: ScoreState, random: np.ndarray) -> None:
    """Disturb a placement by a change that climbing does not make in one; crowded nodes are hit more often."""
    u = s.place[below(random, s.place.size)]
    kind = below(random, 4)
    if kind == DISSOLVE:
        dissolve(t, s, random, u)
    elif kind == CARRY:
        carry(t, s, random, u, SHORTEST + below(random, LONGEST - SHORTEST + 1))
    elif kind == SHUFFLE:
        trade(t, s, random, u, s.place[below(random, s.place.size)], 0.5)
    else:
        trade(t, s, random, u, below(random, s.crowd.size), 1.0)


@inlined
def dissolve(t: ScoreTables, s: ScoreState, random: np.ndarray, u: int) -> None:
    """All instances on node u go to where random others are, if possible with room, else to any other node."""
    for p in range(s.place.size):
        if s.place[p] == u:
            shift(t, s, p, elsewhere(t, s, random, t.operator[p], u))


@inlined
def elsewhere(t: ScoreTables, s: ScoreState, random: np.ndarray, o: int, u: int) -> int:
    """A node in use that may run operator o, has room, and is not u; else any that may run it."""
    for _ in range(TRIES):
        v = s.place[below(random, s.place.size)]
        if v != u and t.candidate[o, v] and fits(t, s, o, v):
            return v
    return t.node_list[t.node_start[o] + below(random, t.node_start[o + 1] - t.node_start[o])]


@inlined
def carry(t: ScoreTables, s: ScoreState, random: np.ndarray, v: int, steps: int) -> None:
    """Instances of operators along a random walk over streams go to node v, whether it has room or not."""
    o = t.operator[below(random, s.place.size)]
    for _ in range(steps):
        if t.candidate[o, v]:
            shift(t, s, t.first[o] + below(random, t.first[o + 1] - t.first[o]), v)
        partners = t.partner_start[o + 1] - t.partner_start[o]
        if partners > 0:
            o = t.partner[t.partner_start[o] + below(random, partners)]


@inlined
def trade(t: ScoreTables, s: ScoreState, random: np.ndarray, u: int, v: int, share: float) -> None:
    """Each instance on one of two nodes goes to the other with this probability."""
    for p in range(s.place.size):
        if (s.place[p] == u or s.place[p] == v) and uniform(random) < share:
            w = v if s.place[p] == u else u
            if t.candidate[t.operator[p], w]:
                shift(t, s, p, w)


@inlined
def drawn(random: np.ndarray, tolerance: float) -> float:
    """The tolerance of one kick."""
    return float(-SPREAD * tolerance * np.log(1.0 - uniform(random)))


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
    """Iterated local search for so many looks at all changes; how many of `kicks` are left, -1 when it has ended."""
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
        if near(now.value, home.value, drawn(random, tolerance)):
            copy_state(now, home)
        else:
            copy_state(home, now)
        kick(t, now, random)
        settle(t, now, 1.0)
        kicks -= 1
    return kicks
