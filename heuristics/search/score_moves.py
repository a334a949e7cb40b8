"""The three changes of hill climbing (latency-aware placement, 4.3.1), each valued in constant time.

Move one instance, swap two that are apart, move all of a node. What a change does to co-location, events and nodes is
a difference of pulls; path latency is computed only where it decides.
"""

from __future__ import annotations

from edrp.heuristics.search.acceptance import NOISE, OBJECTIVE, OVERLOAD, VIOLATIONS, strained_less
from edrp.heuristics.search.copies import copy_vector
from edrp.heuristics.search.score_state import excess, lift, path_latency, put
from edrp.heuristics.search.score_tables import ScoreState, ScoreTables
from edrp.kernels import inlined

NOTHING, MOVE, SWAP, MOVE_ALL = 0, 1, 2, 3
"""Kinds of a change (kind, a, b): instance a to node b; instances a and b; all on node a to node b."""


@inlined
def consider_move(t: ScoreTables, s: ScoreState, p: int, v: int, eye: float) -> None:
    """Instance p goes to node v."""
    o, u = t.operator[p], s.place[p]
    violations, overload = s.value[VIOLATIONS], s.value[OVERLOAD]
    for m in range(t.demand.shape[1]):
        demand = t.demand[o, m]
        before = excess(t, v, m, s.used[v, m]) if s.crowd[v] > 0 else 0.0
        after = excess(t, v, m, s.used[v, m] + demand)
        if violations == 0 and after > 0:
            return
        violations += (after > 0) - (before > 0)
        overload += eye * (after - before)
    if s.value[VIOLATIONS] > 0:
        for m in range(t.demand.shape[1]):
            before = excess(t, u, m, s.used[u, m])
            after = excess(t, u, m, s.used[u, m] - t.demand[o, m]) if s.crowd[u] > 1 else 0.0
            violations += (after > 0) - (before > 0)
            overload += eye * (after - before)
    gain = s.pull[o, v] - (s.pull[o, u] - t.weight[o, o])
    nodes = (t.price[v] if s.crowd[v] == 0 else 0.0) - (t.price[u] if s.crowd[u] == 1 else 0.0)
    offer(t, s, MOVE, p, v, violations, overload, s.base[0] - gain + nodes)


@inlined
def consider_swap(t: ScoreTables, s: ScoreState, p: int, q: int, eye: float) -> None:
    """Instances p and q, of different operators on different nodes, trade places."""
    a, b, u, v = t.operator[p], t.operator[q], s.place[p], s.place[q]
    gain = s.pull[a, v] - s.pull[a, u] + s.pull[b, u] - s.pull[b, v] + t.weight[a, a] + t.weight[b, b] - 2.0 * t.weight[a, b]
    base = s.base[0] - gain
    if s.value[VIOLATIONS] == 0 and base >= s.found[OBJECTIVE] - NOISE:
        return
    violations, overload = s.value[VIOLATIONS], s.value[OVERLOAD]
    for m in range(t.demand.shape[1]):
        more = t.demand[b, m] - t.demand[a, m]
        for node, change in ((u, more), (v, -more)):
            before, after = excess(t, node, m, s.used[node, m]), excess(t, node, m, s.used[node, m] + change)
            violations += (after > 0) - (before > 0)
            overload += eye * (after - before)
    offer(t, s, SWAP, p, q, violations, overload, base)


@inlined
def consider_move_all(t: ScoreTables, s: ScoreState, u: int, v: int, eye: float) -> None:
    """All on node u go to node v; `joined` says what that is worth."""
    violations, overload = s.value[VIOLATIONS], s.value[OVERLOAD]
    for m in range(t.demand.shape[1]):
        here = excess(t, u, m, s.used[u, m])
        before = excess(t, v, m, s.used[v, m]) if s.crowd[v] > 0 else 0.0
        after = excess(t, v, m, s.used[v, m] + s.used[u, m])
        violations += (after > 0) - (before > 0) - (here > 0)
        overload += eye * (after - before - here)
    nodes = (t.price[v] if s.crowd[v] == 0 else 0.0) - t.price[u]
    offer(t, s, MOVE_ALL, u, v, violations, overload, s.base[0] - s.joined[u, v] + nodes)


@inlined
def offer(t: ScoreTables, s: ScoreState, kind: int, a: int, b: int, violations: float, overload: float, base: float) -> None:
    """Keep a change as the best one found if it is; the objective without path latency is a bound that settles most."""
    strained = strained_less(violations, overload, s.found)
    if strained < 0 or (strained == 0 and base >= s.found[OBJECTIVE] - NOISE):
        return
    objective = base
    if t.pace > 0:
        objective += t.pace * latency_after(t, s, kind, a, b)
        if strained == 0 and objective >= s.found[OBJECTIVE] - NOISE:
            return
    s.change[0], s.change[1], s.change[2] = kind, a, b
    s.found[VIOLATIONS], s.found[OVERLOAD], s.found[OBJECTIVE] = violations, overload, objective
    s.found_base[0] = base


@inlined
def latency_after(t: ScoreTables, s: ScoreState, kind: int, a: int, b: int) -> float:
    """Path latency as it would be; only `place` is changed, and changed back."""
    if kind == MOVE:
        u = s.place[a]
        s.place[a] = b
        latency = path_latency(t, s)
        s.place[a] = u
        return latency
    if kind == SWAP:
        s.place[a], s.place[b] = s.place[b], s.place[a]
        latency = path_latency(t, s)
        s.place[a], s.place[b] = s.place[b], s.place[a]
        return latency
    for p in range(s.place.size):
        if s.place[p] == a:
            s.moved[p] = True
            s.place[p] = b
    latency = path_latency(t, s)
    for p in range(s.place.size):
        if s.moved[p]:
            s.moved[p] = False
            s.place[p] = a
    return latency


@inlined
def perform(t: ScoreTables, s: ScoreState) -> None:
    """Make the change that a scan found."""
    kind, a, b = s.change[0], s.change[1], s.change[2]
    if kind == MOVE:
        shift(t, s, a, b)
    elif kind == SWAP:
        u, v = s.place[a], s.place[b]
        shift(t, s, a, v)
        shift(t, s, b, u)
    else:
        for p in range(s.place.size):
            if s.place[p] == a:
                shift(t, s, p, b)
    copy_vector(s.found, s.value)
    s.base[0] = s.found_base[0]


@inlined
def shift(t: ScoreTables, s: ScoreState, p: int, v: int) -> None:
    """Instance p goes to node v."""
    lift(t, s, p)
    put(t, s, p, v)
