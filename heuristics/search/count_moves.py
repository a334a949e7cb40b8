"""Hill climbing over counts: any number of instances moves, trades places, or leaves a node for one of another class.

No change makes a node overloaded that was not. Where a node is overloaded, what relieves it comes before the score.
"""

from __future__ import annotations

import numpy as np

from edrp.heuristics.search.count_state import (
    CLOCK,
    CURSOR,
    OPEN,
    WORK,
    Counts,
    add,
    broken,
    excess,
    latency,
    latency_if_moved,
    latency_if_replaced,
    room,
)
from edrp.heuristics.search.count_tables import CountTables
from edrp.kernels import inlined, inner_loop

LEAST = 1e-9
"""Gain, relative to the score of all instances apart, below which a change is not worth making."""


@inlined
def gain(t: CountTables, c: Counts, a: int, s: int, d: int, q: int) -> float:
    """By how much the score, without latency, falls when q instances of operator a move from node s to node d."""
    here, there = c.held[a, s], c.held[a, d]
    saved = q * (c.joined[a, d] - c.joined[a, s]) + 2.0 * q * (there - here + q) * t.pair[a, a]
    if c.total[s] == q:
        saved += t.node_price[s]
    if c.total[d] == 0:
        saved -= t.node_price[d]
    return saved


@inlined
def relief(t: CountTables, c: Counts, a: int, s: int, q: int) -> tuple[int, float]:
    """How many broken limits, and how much relative overload, node s loses with q instances of operator a."""
    violations, overload = broken(t, c, s), excess(t, c, s)
    if violations == 0:
        return 0, 0.0
    for m in range(c.used.shape[1]):
        c.used[s, m] -= q * t.demand[a, m]
    violations, overload = violations - broken(t, c, s), overload - excess(t, c, s)
    for m in range(c.used.shape[1]):
        c.used[s, m] += q * t.demand[a, m]
    return violations, overload


@inlined
def _recent_nodes(t: CountTables, c: Counts, a: int) -> int:
    """List in `recent` where operator a may go and what has changed since it last looked; how many there are."""
    count = 0
    for k in range(c.tally[OPEN]):
        d = c.opened[k]
        if c.changed[d] > c.looked[a] and t.candidate[a, d]:
            c.recent[count] = d
            count += 1
    for k in range(c.spare.size):
        if c.spare[k] > 0:
            d = c.empty[t.class_start[k] + c.spare[k] - 1]
            if c.changed[d] > c.looked[a] and t.candidate[a, d]:
                c.recent[count] = d
                count += 1
    return count


@inlined
def _target(t: CountTables, c: Counts, k: int) -> int:
    """The k-th place to go: a node in use, then the one that stands for each class of empty ones; -1 for none."""
    if k < c.tally[OPEN]:
        return c.opened[k]
    k -= c.tally[OPEN]
    return c.empty[t.class_start[k] + c.spare[k] - 1] if c.spare[k] > 0 else -1


@inlined
def _best_move(t: CountTables, c: Counts, a: int, s: int, recent: int, repaired: bool) -> tuple[int, int, int, float, float]:
    """Where instances of operator a on s had best go, how many, and what that gains; recent is -1 for all places."""
    best, number, fewer, less, most = -1, 0, 0, 0.0, -np.inf
    held, over = c.held[a, s], broken(t, c, s) > 0
    least = -t.latency_span if not over else -np.inf
    places = recent if recent >= 0 else c.tally[OPEN] + c.spare.size
    for k in range(places):
        d = c.recent[k] if recent >= 0 else _target(t, c, k)
        if d < 0 or d == s:
            continue
        c.tally[WORK] += 1
        if max(gain(t, c, a, s, d, held), gain(t, c, a, s, d, 1)) <= least:
            continue
        q = room(t, c, a, d, held)
        if q == 0:
            continue
        value = gain(t, c, a, s, d, q)
        violations, overload = relief(t, c, a, s, q) if over else (0, 0.0)
        overload = overload if repaired else 0.0
        if violations < fewer or (violations == fewer and overload < less - 1e-12):
            continue
        if violations > fewer or overload > less + 1e-12 or value > most:
            best, number, fewer, less, most = d, q, violations, overload, value
    return best, number, fewer, less, most


@inlined
def _move(t: CountTables, c: Counts, a: int, s: int, recent: int, repaired: bool) -> bool:
    """Make the best move of operator a away from s, if it is worth making."""
    d, q, fewer, less, value = _best_move(t, c, a, s, recent, repaired)
    if d < 0:
        return False
    if fewer == 0 and less <= 0:
        if t.latency_price > 0 and value <= t.latency_span:
            now = latency(t, c)
            value += t.latency_price * (now - latency_if_moved(t, c, a, s, d, q))
        if value <= LEAST * t.everything:
            return False
    add(t, c, a, d, q)
    add(t, c, a, s, -q)
    return True


@inlined
def _counterpart(t: CountTables, c: Counts, a: int, b: int, s: int, d: int) -> tuple[int, int]:
    """How many instances of a go from s to d, and of b come back, so that both nodes have room; 0 for neither."""
    q, back = c.held[a, s], 0
    for m in range(c.used.shape[1]):
        need, give = t.demand[a, m], t.demand[b, m]
        free = t.capacity[d, m] - c.used[d, m]
        if need > 0:
            q = min(q, int(max(0.0, (free + c.held[b, d] * give) / need + 1e-9)))
    for m in range(c.used.shape[1]):
        lacking = q * t.demand[a, m] - (t.capacity[d, m] - c.used[d, m])
        if lacking > 1e-9 * t.capacity[d, m]:
            if t.demand[b, m] <= 0:
                return 0, 0
            back = max(back, int(np.ceil(lacking / t.demand[b, m] - 1e-9)))
    if q == 0 or back == 0 or back > c.held[b, d]:
        return 0, 0
    for m in range(c.used.shape[1]):
        after = c.used[s, m] - q * t.demand[a, m] + back * t.demand[b, m]
        if after > t.capacity[s, m]:
            return 0, 0
    return q, back


@inlined
def _swap(t: CountTables, c: Counts, a: int, s: int, recent: int) -> bool:
    """Trade instances of operator a on s for another's where a would rather be, if that is sure to pay."""
    most, best, other, number, number_back = t.latency_span + LEAST * t.everything, -1, -1, 0, 0
    places = recent if recent >= 0 else c.tally[OPEN]
    for k in range(places):
        d = c.recent[k] if recent >= 0 else c.opened[k]
        if d == s or c.total[d] == 0 or not t.candidate[a, d] or c.joined[a, d] <= c.joined[a, s]:
            continue
        for b in range(c.held.shape[0]):
            if b == a or c.held[b, d] == 0 or not t.candidate[b, s]:
                continue
            c.tally[WORK] += 1
            q, back = _counterpart(t, c, a, b, s, d)
            if q == 0:
                continue
            saved = q * (c.joined[a, d] - c.joined[a, s]) + back * (c.joined[b, s] - c.joined[b, d])
            saved += 2.0 * q * (c.held[a, d] - c.held[a, s] + q) * t.pair[a, a]
            saved += 2.0 * back * (c.held[b, s] - c.held[b, d] + back) * t.pair[b, b]
            saved -= 2.0 * q * back * (t.pair[a, b] if a != b else 0.0)
            if saved > most:
                most, best, other, number, number_back = saved, d, b, q, back
    if best < 0:
        return False
    add(t, c, a, s, -number)
    add(t, c, other, best, -number_back)
    add(t, c, a, best, number)
    add(t, c, other, s, number_back)
    return True


@inlined
def _look(t: CountTables, c: Counts, a: int, repaired: bool) -> None:
    """Compare the changes of operator a that may have become better, and make those that are."""
    began = c.tally[CLOCK]
    k = 0
    while k < c.tally[OPEN]:
        s = c.opened[k]
        if c.held[a, s] > 0:
            recent = -1 if c.changed[s] > c.looked[a] else _recent_nodes(t, c, a)
            if recent != 0:
                while c.held[a, s] > 0 and (_move(t, c, a, s, recent, repaired) or _swap(t, c, a, s, recent)):
                    recent = -1
        if k < c.tally[OPEN] and c.opened[k] == s:
            k += 1
    c.looked[a] = began


@inlined
def _replace(t: CountTables, c: Counts) -> bool:
    """Move everything on some node to an empty one of another class, where only that shortens paths or costs less."""
    now = latency(t, c)
    for i in range(c.tally[OPEN]):
        s = c.opened[i]
        for k in range(c.spare.size):
            if c.spare[k] == 0 or k == t.class_of[s]:
                continue
            d = c.empty[t.class_start[k] + c.spare[k] - 1]
            c.tally[WORK] += 1
            if not _takes_all(t, c, s, d):
                continue
            value = t.node_price[s] - t.node_price[d]
            if value + t.latency_span <= LEAST * t.everything:
                continue
            value += t.latency_price * (now - latency_if_replaced(t, c, s, d))
            if value > LEAST * t.everything:
                for a in range(c.held.shape[0]):
                    q = c.held[a, s]
                    if q > 0:
                        add(t, c, a, d, q)
                        add(t, c, a, s, -q)
                return True
    return False


@inlined
def _takes_all(t: CountTables, c: Counts, s: int, d: int) -> bool:
    for m in range(c.used.shape[1]):
        if c.used[s, m] > t.capacity[d, m]:
            return False
    for a in range(c.held.shape[0]):
        if c.held[a, s] > 0 and not t.candidate[a, d]:
            return False
    return True


@inner_loop
def climb_on(t: CountTables, c: Counts, repaired: bool, work: int) -> bool:
    """Climb until about `work` places have been compared; whether nothing better is left."""
    c.tally[WORK] = 0
    idle = 0
    while c.tally[WORK] < work:
        a = c.tally[CURSOR]
        before = c.tally[CLOCK]
        if c.looked[a] < before:
            _look(t, c, a, repaired)
        idle = idle + 1 if c.tally[CLOCK] == before else 0
        c.tally[CURSOR] = (a + 1) % c.looked.size
        if idle == c.looked.size:
            if not _replace(t, c):
                return True
            idle = 0
    return False
