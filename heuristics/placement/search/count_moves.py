"""Hill climbing over counts: any number of instances moves, trades places, or leaves a node for one of another class.

Instances go where there is room. Only where nodes are overloaded may they overload others, if that is less in all.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.count_arrays import EVERYBODY, NOBODY, CountTables, Paths, path_latency
from edrp.heuristics.placement.search.count_state import (
    BEGAN,
    CLOCK,
    CURSOR,
    OPEN,
    SLACK,
    SWEEP,
    TURN,
    WORK,
    Counts,
    add,
    room,
    strain,
)

LEAST = 1e-9
"""Gain, relative to the score of all instances apart, below which a change is not worth making."""

STRAIN = 1e6
"""Weight of overload beside the score in the choice among trades that relieve it."""

WORTH = 1e-5
"""The same for all that latency might gain, below which a climb does not look at it; the value of a placement does."""


@inlined
def gain(pair: np.ndarray, held: np.ndarray, joined: np.ndarray, a: int, s: int, d: int, q: int) -> float:
    """What q instances of operator a gain, by what they join and leave, when they move from node s to node d."""
    return q * (joined[a, d] - joined[a, s]) + 2.0 * q * (held[a, d] - held[a, s] + q) * pair[a, a]


@inlined
def _price(price: np.ndarray, total: np.ndarray, s: int, d: int, q: int) -> float:
    """What nodes in use cost less when q instances move from node s to node d."""
    saved = price[s] if total[s] == q else 0.0
    return saved - price[d] if total[d] == 0 else saved


@inlined
def _relief(
    demand: np.ndarray, capacity: np.ndarray, used: np.ndarray, a: int, b: int, s: int, d: int, q: int, back: int
) -> tuple[int, float]:
    """How many broken limits fewer, and how much overload less, there are with q of a on d for `back` of b on s."""
    violations, overload = strain(capacity, used, s)
    there, load = strain(capacity, used, d)
    violations, overload = violations + there, overload + load
    for m in range(used.shape[1]):
        used[s, m] -= q * demand[a, m] - back * demand[b, m]
        used[d, m] += q * demand[a, m] - back * demand[b, m]
    left, rest = strain(capacity, used, s)
    there, load = strain(capacity, used, d)
    for m in range(used.shape[1]):
        used[s, m] += q * demand[a, m] - back * demand[b, m]
        used[d, m] -= q * demand[a, m] - back * demand[b, m]
    return violations - left - there, overload - rest - load


@inlined
def _target(t: CountTables, c: Counts, k: int) -> int:
    """The k-th place to go: a node in use, then the one that stands for each class of empty ones; -1 for none."""
    if k < c.tally[OPEN]:
        return c.opened[k]
    k -= c.tally[OPEN]
    return c.empty[t.class_start[k] + c.spare[k] - 1] if c.spare[k] > 0 else -1


@inlined
def _span(t: CountTables, p: Paths) -> float:
    """By how much latency may change the score, as far as a climb looks at it."""
    return p.span if p.span > WORTH * t.everything else 0.0


@inlined
def _list_recent(t: CountTables, c: Counts, a: int) -> int:
    """List the places to go that have changed since operator a last looked; how many there are."""
    count = 0
    for k in range(c.tally[OPEN] + c.spare.size):
        d = _target(t, c, k)
        if d >= 0 and c.changed[d] > c.looked[a]:
            c.recent[count] = d
            count += 1
    return count


@inlined
def _move(t: CountTables, c: Counts, p: Paths, a: int, s: int, recent: int, repaired: bool) -> bool:
    """Move instances of operator a from node s to where that gains most, if it gains.

    Where s has not changed since a last looked, it goes to one of the `recent` nodes or stays.
    """
    span = _span(t, p)
    best, number, fewer, less, most = -1, 0, 0, 0.0, -span
    held, everywhere = c.held[a, s], c.changed[s] > c.looked[a]
    violations, _ = strain(t.capacity, c.used, s)
    for k in range(c.tally[OPEN] + c.spare.size if everywhere else recent):
        d = _target(t, c, k) if everywhere else c.recent[k]
        if d < 0 or d == s:
            continue
        c.tally[WORK] += 1
        # A convex function of the number of instances: the most or a single one gains most.
        hoped = max(gain(t.pair, c.held, c.joined, a, s, d, held), gain(t.pair, c.held, c.joined, a, s, d, 1))
        if violations == 0 and hoped + t.node_price[s] <= most:
            continue
        q = room(t.demand, t.capacity, t.candidate, c.used, a, d, held)
        if q == 0 and (violations == 0 or not t.candidate[a, d]):
            continue
        q = max(q, 1)  # where a node is overloaded, one instance may overload another node, if that is less
        value = gain(t.pair, c.held, c.joined, a, s, d, q) + _price(t.node_price, c.total, s, d, q)
        relieved, lighter = 0, 0.0
        if violations > 0:
            relieved, lighter = _relief(t.demand, t.capacity, c.used, a, a, s, d, q, 0)
            lighter = lighter if repaired else 0.0
        if relieved < fewer or (relieved == fewer and lighter < less - LEAST):
            continue
        if relieved > fewer or lighter > less + LEAST or value > most:
            best, number, fewer, less, most = d, q, relieved, lighter, value
    if best < 0:
        return False
    if fewer == 0 and less <= LEAST:
        if span > 0 and most <= span:
            most += p.price * path_latency(p, c.held, c.opened, c.tally[OPEN], NOBODY, 0, s, best)
            most -= p.price * path_latency(p, c.held, c.opened, c.tally[OPEN], a, number, s, best)
        if most <= LEAST * t.everything:
            return False
    add(t, c, a, best, number)
    add(t, c, a, s, -number)
    return True


@inlined
def _counterpart(
    demand: np.ndarray, capacity: np.ndarray, used: np.ndarray, held: np.ndarray, a: int, b: int, s: int, d: int
) -> tuple[int, int]:
    """How many instances of a go from s to d, and of b come back, so that both nodes have room; 0 for neither."""
    q, back = held[a, s], 0
    for m in range(used.shape[1]):
        if demand[a, m] > 0:
            free = capacity[d, m] - used[d, m] + held[b, d] * demand[b, m]
            q = min(q, int(max(0.0, min(free / demand[a, m] + SLACK, 1e15))))
    for m in range(used.shape[1]):
        lacking = q * demand[a, m] - (capacity[d, m] - used[d, m])
        if lacking > SLACK * capacity[d, m]:
            if demand[b, m] <= 0:
                return 0, 0
            back = max(back, int(np.ceil(lacking / demand[b, m] - SLACK)))
    if q == 0 or back == 0 or back > held[b, d]:
        return 0, 0
    for m in range(used.shape[1]):
        if used[s, m] - q * demand[a, m] + back * demand[b, m] > capacity[s, m] * (1 + SLACK):
            return 0, 0
    return q, back


@inlined
def _swap(t: CountTables, c: Counts, p: Paths, a: int, s: int, recent: int) -> bool:
    """Trade instances of operator a on node s for another's where a would rather be, if that pays whatever the latency.

    From an overloaded node, if the two nodes are then overloaded less: one for one where nothing makes them fit.
    """
    strained = strain(t.capacity, c.used, s)[0] > 0
    most, best, other, number, number_back = _span(t, p) + LEAST * t.everything, -1, -1, 0, 0
    everywhere = c.changed[s] > c.looked[a]
    for k in range(c.tally[OPEN] if everywhere else recent):
        d = c.opened[k] if everywhere else c.recent[k]
        if d == s or c.total[d] == 0 or not t.candidate[a, d] or (c.joined[a, d] <= c.joined[a, s] and not strained):
            continue
        for b in range(c.held.shape[0]):
            c.tally[WORK] += 1
            if b == a or c.held[b, d] == 0 or not t.candidate[b, s]:
                continue
            q, back = _counterpart(t.demand, t.capacity, c.used, c.held, a, b, s, d)
            if q == 0 and not strained:
                continue
            q, back = (1, 1) if q == 0 else (q, back)
            saved = gain(t.pair, c.held, c.joined, a, s, d, q) + gain(t.pair, c.held, c.joined, b, d, s, back)
            saved -= 2.0 * q * back * t.pair[a, b]  # what passes each other on the way
            if strained:
                relieved, lighter = _relief(t.demand, t.capacity, c.used, a, b, s, d, q, back)
                saved += STRAIN * (relieved + lighter) if relieved > 0 or (relieved == 0 and lighter > LEAST) else -np.inf
            if saved > most:
                most, best, other, number, number_back = saved, d, b, q, back
    if best < 0:
        return False
    add(t, c, a, best, number)
    add(t, c, other, s, number_back)
    add(t, c, a, s, -number)
    add(t, c, other, best, -number_back)
    return True


@inlined
def _look(t: CountTables, c: Counts, p: Paths, a: int, repaired: bool, work: int) -> bool:
    """Compare the changes of operator a that may have become better, and make those that are; whether all were."""
    if c.tally[TURN] == 0:
        c.tally[BEGAN] = c.tally[CLOCK]
    recent = _list_recent(t, c, a)
    while c.tally[TURN] < c.tally[OPEN]:
        if c.tally[WORK] >= work:
            return False
        k = c.tally[TURN]
        s = c.opened[k]
        while c.held[a, s] > 0 and (_move(t, c, p, a, s, recent, repaired) or _swap(t, c, p, a, s, recent)):
            pass
        if k < c.tally[OPEN] and c.opened[k] == s:
            c.tally[TURN] += 1
    c.tally[TURN] = 0
    c.looked[a] = c.tally[BEGAN]
    return True


@inlined
def _takes_all(t: CountTables, c: Counts, s: int, d: int) -> bool:
    for m in range(c.used.shape[1]):
        if c.used[s, m] > t.capacity[d, m]:
            return False
    for a in range(c.held.shape[0]):
        if c.held[a, s] > 0 and not t.candidate[a, d]:
            return False
    return True


@inlined
def _replace(t: CountTables, c: Counts, p: Paths, work: int) -> bool:
    """Move everything on some node to an empty one of another class, where only that shortens paths or costs less."""
    now = path_latency(p, c.held, c.opened, c.tally[OPEN], NOBODY, 0, 0, 0)
    while c.tally[SWEEP] < c.tally[OPEN]:
        s = c.opened[c.tally[SWEEP]]
        c.tally[SWEEP] += 1
        for k in range(c.spare.size):
            d = _target(t, c, c.tally[OPEN] + k)
            value = t.node_price[s] - t.node_price[d]
            if d < 0 or k == t.class_of[s] or value + p.price * now <= WORTH * t.everything or not _takes_all(t, c, s, d):
                continue
            c.tally[WORK] += c.tally[OPEN] + p.source.size
            value += p.price * (now - path_latency(p, c.held, c.opened, c.tally[OPEN], EVERYBODY, 0, s, d))
            if value > LEAST * t.everything:
                for a in range(c.held.shape[0]):
                    q = c.held[a, s]
                    if q > 0:
                        add(t, c, a, d, q)
                        add(t, c, a, s, -q)
                return True
        if c.tally[WORK] >= work:
            return False
    return False


@inner_loop
def climb(t: CountTables, c: Counts, p: Paths, repaired: bool, work: int) -> bool:
    """Climb until `work` places have been compared in all; whether nothing better is left."""
    idle = 0
    while c.tally[WORK] < work:
        a, before = c.tally[CURSOR], c.tally[CLOCK]
        if (c.looked[a] < before or c.tally[TURN] > 0) and not _look(t, c, p, a, repaired, work):
            return False
        idle = idle + 1 if c.tally[CLOCK] == before else 0
        c.tally[CURSOR] = (a + 1) % c.looked.size
        if idle == c.looked.size:
            replaced = _replace(t, c, p, work)
            if not replaced and c.tally[SWEEP] >= c.tally[OPEN]:
                c.tally[SWEEP] = 0
                return True
            idle = 0 if replaced else idle - 1
    return False
