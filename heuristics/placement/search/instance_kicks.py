"""Iterated local search over instances: the kicks, and the verbs of the loop."""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import below, copy_vector, uniform
from edrp.core.kernels import inlined
from edrp.heuristics.placement.search.acceptance import better, near
from edrp.heuristics.placement.search.instance_arrays import InstanceArrays, InstanceSearch, InstanceState
from edrp.heuristics.placement.search.instance_climbing import NOTHING, perform, scan, shift
from edrp.heuristics.placement.search.instance_state import copy_state, evaluate, fits
from edrp.heuristics.placement.search.local_search import WORK, LocalSearchRun, compile_loop

DISSOLVE, CARRY, SHUFFLE, EXCHANGE = 0, 1, 2, 3
"""Kinds of a kick; one is as likely as the other."""

MIN_STEPS, MAX_STEPS = 4, 8
"""Bounds on the operators along streams that one kick carries; an operator that is met again gives another instance, or none."""

TRIES = 8
"""Nodes that are tried for one that has room."""

SPREAD = 2.0
"""Mean of the exponential distribution of the tolerance, in units of the parameter."""


@inlined
def disturb(t: InstanceArrays, s: InstanceState, random: np.ndarray) -> None:
    """Disturb a placement by a change that climbing does not make in one; crowded nodes are hit more often."""
    u = s.place[below(random, s.place.size)]
    kind = below(random, 4)
    if kind == DISSOLVE:
        dissolve(t, s, random, u)
    elif kind == CARRY:
        carry(t, s, random, u, MIN_STEPS + below(random, MAX_STEPS - MIN_STEPS + 1))
    elif kind == SHUFFLE:
        trade(t, s, random, u, s.place[below(random, s.place.size)], 0.5)
    else:
        trade(t, s, random, u, below(random, s.total.size), 1.0)


@inlined
def dissolve(t: InstanceArrays, s: InstanceState, random: np.ndarray, u: int) -> None:
    """All instances on node u go to where random others are, if possible with room, else to any other node."""
    for p in range(s.place.size):
        if s.place[p] == u:
            shift(t, s, p, elsewhere(t, s, random, t.operator[p], u))


@inlined
def elsewhere(t: InstanceArrays, s: InstanceState, random: np.ndarray, o: int, u: int) -> int:
    """A node in use that may run operator o, has room, and is not u; else any that may run it."""
    for _ in range(TRIES):
        v = s.place[below(random, s.place.size)]
        if v != u and t.candidate[o, v] and fits(t, s, o, v):
            return v
    return t.node_list[t.node_start[o] + below(random, t.node_start[o + 1] - t.node_start[o])]


@inlined
def carry(t: InstanceArrays, s: InstanceState, random: np.ndarray, v: int, steps: int) -> None:
    """Instances of operators along a random walk over streams go to node v, whether it has room or not."""
    o = t.operator[below(random, s.place.size)]
    for _ in range(steps):
        if t.candidate[o, v]:
            shift(t, s, t.first[o] + below(random, t.first[o + 1] - t.first[o]), v)
        partners = t.partner_start[o + 1] - t.partner_start[o]
        if partners > 0:
            o = t.partner[t.partner_start[o] + below(random, partners)]


@inlined
def trade(t: InstanceArrays, s: InstanceState, random: np.ndarray, u: int, v: int, share: float) -> None:
    """Each instance on one of two nodes goes to the other with this probability."""
    for p in range(s.place.size):
        if (s.place[p] == u or s.place[p] == v) and uniform(random) < share:
            w = v if s.place[p] == u else u
            if t.candidate[t.operator[p], w]:
                shift(t, s, p, w)


@inlined
def climb(search: InstanceSearch, run: LocalSearchRun) -> bool:
    """Take the best of all changes again and again; whether there was none before the work was used up."""
    t, now = search.arrays, search.now
    while search.progress[WORK] < run.work:
        search.progress[WORK] += 1
        scan(t, now, run.overload_rule)
        if now.change[0] == NOTHING:
            evaluate(t, now, run.overload_rule)
            return True
        perform(t, now)
    return False


@inlined
def keep(search: InstanceSearch) -> None:
    """Remember the placement if it is the best one met."""
    if better(search.now.value, search.best_value):
        copy_vector(search.now.place, search.best)
        copy_vector(search.now.value, search.best_value)


@inlined
def accept(search: InstanceSearch, run: LocalSearchRun) -> None:
    """Go on from here if it is about as good as where the kick was, else from there; the tolerance is drawn for each kick."""
    tolerance = -SPREAD * run.tolerance * np.log(1.0 - uniform(search.random))
    if near(search.now.value, search.home.value, tolerance):
        copy_state(search.now, search.home)
    else:
        copy_state(search.home, search.now)


@inlined
def kick(search: InstanceSearch, run: LocalSearchRun) -> None:
    """Disturb the placement."""
    disturb(search.arrays, search.now, search.random)
    evaluate(search.arrays, search.now, run.overload_rule)


iterate = compile_loop(climb=climb, keep=keep, accept=accept, kick=kick)
"""Iterated local search over instances; its work is counted in looks at all changes."""
