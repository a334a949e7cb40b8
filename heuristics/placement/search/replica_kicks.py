"""Kicks of a deployment with replicas."""

from __future__ import annotations

import numpy as np

from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_moves import pick_node, put, replicate, retire
from edrp.heuristics.placement.replica_state import ReplicaState, fits, occupy
from edrp.heuristics.placement.search.replica_memory import OVERLOADED, STRAYS, ReplicaMemory

TRIES = 6
"""Nodes that are drawn for one that has room."""

MAX_STEPS = 4
"""Maximum number of operators along streams that one kick changes."""


@inlined
def return_home(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, stay: bool) -> None:
    """Return to the deployment before the kick, or make the present one that to which later kicks return (`stay`)."""
    for x in range(m.counters[STRAYS]):
        i = m.strays[x]
        m.stray[i] = False
        if stay:
            m.home_degree[i] = s.degree[i]
            for p in range(s.degree[i]):
                m.home_place[i, p] = s.place[i, p]
            continue
        s.touched[i] = True
        for p in range(s.degree[i]):
            occupy(t, s.used, i, s.place[i, p], -1.0)
        s.degree[i] = m.home_degree[i]
        for p in range(s.degree[i]):
            s.place[i, p] = m.home_place[i, p]
            occupy(t, s.used, i, s.place[i, p], 1.0)
    m.counters[STRAYS] = 0


@inlined
def disturb(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, random: np.ndarray) -> int:
    """Disturb the deployment; the operators that this or a return home touches go to `changed`, their number is returned."""
    _disturb(t, s, random)
    count = 0
    for i in range(s.degree.size):
        if s.touched[i]:
            s.touched[i] = False
            m.changed[count] = i
            count += 1
    m.counters[OVERLOADED] = 1
    return count


@inlined
def _disturb(t: PlacementArrays, s: ReplicaState, random: np.ndarray) -> None:
    """One of four kicks: a node is dissolved, or operators along a walk over streams are shaken, resized or gathered."""
    kind = uniform(random)
    i = below(random, s.degree.size)
    if kind < 0.25:
        _dissolve(t, s, random, s.place[i, below(random, s.degree[i])])
        return
    v = t.candidate_list[t.candidate_start[i] + below(random, t.candidate_start[i + 1] - t.candidate_start[i])]
    for _ in range(1 + below(random, MAX_STEPS)):
        if kind < 0.5:
            _shake(t, s, random, i)
        elif kind < 0.75:
            _resize(t, s, random, i)
        else:
            _gather(t, s, i, v)
        s.touched[i] = True
        i = _neighbour(t, random, i)


@inlined
def _neighbour(t: PlacementArrays, random: np.ndarray, i: int) -> int:
    """An operator that shares a stream with operator i, or i itself where none does."""
    start, end = t.adjacent_start[i], t.adjacent_start[i + 1]
    if start == end:
        return i
    e = t.adjacent[start + below(random, end - start)]
    return t.source[e] + t.target[e] - i


@inlined
def _dissolve(t: PlacementArrays, s: ReplicaState, random: np.ndarray, u: int) -> None:
    """Everything on node u goes elsewhere."""
    for i in range(s.degree.size):
        for p in range(s.degree[i]):
            if s.place[i, p] == u:
                _scatter(t, s, random, i, p)
                s.touched[i] = True


@inlined
def _scatter(t: PlacementArrays, s: ReplicaState, random: np.ndarray, i: int, p: int) -> None:
    """Replica p of operator i goes to another node that has room, if one is drawn."""
    for _ in range(TRIES):
        v = pick_node(t, s, random, i, s.place[i, p])
        if v >= 0 and v != s.place[i, p] and fits(t, s.used, i, v):
            put(t, s, i, p, v)
            return


@inlined
def _shake(t: PlacementArrays, s: ReplicaState, random: np.ndarray, i: int) -> None:
    for p in range(s.degree[i]):
        _scatter(t, s, random, i, p)


@inlined
def _resize(t: PlacementArrays, s: ReplicaState, random: np.ndarray, i: int) -> None:
    """One replica more or less."""
    if uniform(random) < 0.5:
        retire(t, s, i, below(random, s.degree[i]))
        return
    for _ in range(TRIES):
        if replicate(t, s, i, pick_node(t, s, random, i, s.place[i, 0])):
            return


@inlined
def _gather(t: PlacementArrays, s: ReplicaState, i: int, v: int) -> None:
    """All replicas of operator i go to node v, or near it where that is full."""
    for p in range(s.degree[i]):
        for k in range(t.near.shape[1]):
            w = t.near[v, k]
            if s.place[i, p] == w:
                break
            if t.candidate[i, w] and fits(t, s.used, i, w):
                put(t, s, i, p, w)
                break
