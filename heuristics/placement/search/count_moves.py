"""Hill climbing over counts: any number of instances moves, trades places, or leaves a node all together.

Instances go where there is room. Only where nodes are overloaded may they overload others, if that is less in all.
"""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import COUNTED_LOAD_SLACK, MIN_MOVE_GAIN
from edrp.heuristics.placement.replica_counts import strain, variable
from edrp.heuristics.placement.search.acceptance import WORK, LocalSearchRun
from edrp.heuristics.placement.search.count_arrays import ALL_OPERATORS, NO_OPERATOR, CountArrays, CountPaths, path_latency
from edrp.heuristics.placement.search.count_state import (
    BEGAN,
    CLOCK,
    CURSOR,
    OPEN,
    SWEEP,
    SWEPT,
    TURN,
    CountState,
    fitting,
    put,
)

OVERLOAD_WEIGHT = 1e6
"""Weight of overload relative to the score in the choice among trades that relieve it."""

MIN_LATENCY_GAIN = 1e-5
"""Largest possible gain in latency, relative to the score, below which a climb ignores latency."""


@inlined
def colocation_gain(pair: np.ndarray, replicas: np.ndarray, joined: np.ndarray, a: int, s: int, d: int, q: int) -> float:
    """Gain in co-location when q instances of operator a move from node s to node d."""
    return q * (joined[a, d] - joined[a, s]) + 2.0 * q * (replicas[a, d] - replicas[a, s] + q) * pair[a, a]


@inlined
def _price(price: np.ndarray, total: np.ndarray, s: int, d: int, q: int) -> float:
    """Decrease in the cost of nodes in use when q instances move from node s to node d."""
    saved = price[s] if total[s] == q else 0.0
    return saved - price[d] if total[d] == 0 else saved


@inlined
def _relief(t: CountArrays, c: CountState, a: int, b: int, s: int, d: int, q: int, back: int) -> tuple[int, float]:
    """Decrease in broken limits and in overload when q of a go from s to d and `back` of b the other way."""
    violations, overload = 0, 0.0
    for step in range(4):  # both nodes before, then after: one place in the code, because each takes seconds to compile
        if step % 2 == 0:
            for m in range(c.counts.used.shape[1]):
                more = q * t.demand[a, m] - back * t.demand[b, m]
                c.counts.used[s, m] -= more if step == 2 else 0.0
                c.counts.used[d, m] += more if step == 2 else 0.0
        broken, over = strain(t.capacity, c.counts.used, s if step % 2 == 0 else d, COUNTED_LOAD_SLACK)
        violations += broken if step < 2 else -broken
        overload += over if step < 2 else -over
    for m in range(c.counts.used.shape[1]):
        more = q * t.demand[a, m] - back * t.demand[b, m]
        c.counts.used[s, m] += more
        c.counts.used[d, m] -= more
    return violations, overload


@inlined
def _latency_gain(c: CountState, p: CountPaths, mover: int, q: int, s: int, d: int) -> float:
    """Decrease of the latency term when q instances of an operator, or all on s, go from s to d."""
    saved = 0.0
    for after in range(2):
        seconds = path_latency(p, c.counts, mover if after == 1 else variable(NO_OPERATOR), q, s, d)
        saved += -seconds if after == 1 else seconds
    return p.price * saved


@inlined
def _transfer(t: CountArrays, c: CountState, a: int, s: int, d: int, q: int) -> None:
    """Move q instances of operator a from node s to node d."""
    for side in range(2):
        put(t, c, a, d if side == 0 else s, q if side == 0 else -q)


@inlined
def _target(t: CountArrays, c: CountState, k: int) -> int:
    """The k-th target: nodes in use, then the representative of each class of empty nodes; -1 for none."""
    if k < c.counters[OPEN]:
        return c.opened[k]
    k -= c.counters[OPEN]
    return c.empty[t.class_start[k] + c.empty_number[k] - 1] if c.empty_number[k] > 0 else -1


@inlined
def _span(t: CountArrays, p: CountPaths) -> float:
    """Bound on the change of the score by latency, 0 where a climb ignores it."""
    return p.span if p.span > MIN_LATENCY_GAIN * t.score_apart else 0.0


@inlined
def _list_recent(t: CountArrays, c: CountState, a: int) -> int:
    """List the targets that have changed since operator a was last compared; return their number."""
    count = 0
    for k in range(c.counters[OPEN] + c.empty_number.size):
        d = _target(t, c, k)
        if d >= 0 and c.last_changed[d] > c.last_compared[a]:
            c.recent[count] = d
            count += 1
    return count


@inlined
def _move(
    t: CountArrays, c: CountState, p: CountPaths, progress: np.ndarray, a: int, s: int, recent: int, overload_rule: int
) -> bool:
    """Move instances of operator a from node s to the target with the largest gain, if positive; return whether moved.

    If s has not changed since the last comparison, only the `recent` nodes are targets.
    """
    span = _span(t, p)
    best, number, fewer, less, max_value = variable(-1), variable(0), 0, 0.0, -span
    on_source, everywhere = c.counts.replicas[a, s], c.last_changed[s] > c.last_compared[a]
    violations, _ = strain(t.capacity, c.counts.used, s, COUNTED_LOAD_SLACK)
    for k in range(c.counters[OPEN] + c.empty_number.size if everywhere else recent):
        d = _target(t, c, k) if everywhere else c.recent[k]
        if d < 0 or d == s:
            continue
        progress[WORK] += 1
        # A convex function of the number of instances: the most or a single one gains most.
        hoped = max(
            colocation_gain(t.pair, c.counts.replicas, c.joined, a, s, d, on_source),
            colocation_gain(t.pair, c.counts.replicas, c.joined, a, s, d, 1),
        )
        if violations == 0 and hoped + t.node_price[s] <= max_value:
            continue
        q = fitting(t, c, a, d, on_source)
        if q == 0 and (violations == 0 or not t.candidate[a, d]):
            continue
        q = max(q, 1)  # where a node is overloaded, one instance may overload another node, if that is less
        value = colocation_gain(t.pair, c.counts.replicas, c.joined, a, s, d, q) + _price(t.node_price, c.total, s, d, q)
        relieved, lighter = 0, 0.0
        if violations > 0:
            relieved, lighter = _relief(t, c, a, a, s, d, q, 0)
            lighter *= overload_rule
        if relieved < fewer or (relieved == fewer and lighter < less - MIN_MOVE_GAIN):
            continue
        if relieved > fewer or lighter > less + MIN_MOVE_GAIN or value > max_value:
            best, number, fewer, less, max_value = d, q, relieved, lighter, value
    if best < 0:
        return False
    if fewer == 0 and less <= MIN_MOVE_GAIN:
        if span > 0 and max_value <= span:
            max_value += _latency_gain(c, p, a, number, s, best)
        if max_value <= MIN_MOVE_GAIN * t.score_apart:
            return False
    _transfer(t, c, a, s, best, number)
    return True


@inlined
def _counterpart(
    demand: np.ndarray, capacity: np.ndarray, used: np.ndarray, replicas: np.ndarray, a: int, b: int, s: int, d: int
) -> tuple[int, int]:
    """Numbers of instances of a from s to d, and of b back, such that both nodes have room; 0 if there are none."""
    q, back = replicas[a, s], 0
    for m in range(used.shape[1]):
        if demand[a, m] > 0:
            free = capacity[d, m] - used[d, m] + replicas[b, d] * demand[b, m]
            q = min(q, int(max(0.0, min(free / demand[a, m] + COUNTED_LOAD_SLACK, 1e15))))
    for m in range(used.shape[1]):
        lacking = q * demand[a, m] - (capacity[d, m] - used[d, m])
        if lacking > COUNTED_LOAD_SLACK * capacity[d, m]:
            if demand[b, m] <= 0:
                return 0, 0
            back = max(back, int(np.ceil(lacking / demand[b, m] - COUNTED_LOAD_SLACK)))
    if q == 0 or back == 0 or back > replicas[b, d]:
        return 0, 0
    for m in range(used.shape[1]):
        if used[s, m] - q * demand[a, m] + back * demand[b, m] > capacity[s, m] * (1 + COUNTED_LOAD_SLACK):
            return 0, 0
    return q, back


@inlined
def _swap(t: CountArrays, c: CountState, p: CountPaths, progress: np.ndarray, a: int, s: int, recent: int) -> bool:
    """Trade instances of operator a on node s for another operator's, if that gains more than latency can cost.

    From an overloaded node, if the two nodes are then overloaded less: one for one where nothing makes them fit.
    """
    strained = strain(t.capacity, c.counts.used, s, COUNTED_LOAD_SLACK)[0] > 0
    max_gain = _span(t, p) + MIN_MOVE_GAIN * t.score_apart
    best, other, number, number_back = variable(-1), variable(-1), variable(0), variable(0)
    everywhere = c.last_changed[s] > c.last_compared[a]
    for k in range(c.counters[OPEN] if everywhere else recent):
        d = c.opened[k] if everywhere else c.recent[k]
        if d == s or c.total[d] == 0 or not t.candidate[a, d] or (c.joined[a, d] <= c.joined[a, s] and not strained):
            continue
        for b in range(c.counts.replicas.shape[0]):
            progress[WORK] += 1
            if b == a or c.counts.replicas[b, d] == 0 or not t.candidate[b, s]:
                continue
            q, back = _counterpart(t.demand, t.capacity, c.counts.used, c.counts.replicas, a, b, s, d)
            if q == 0 and not strained:
                continue
            q, back = (1, 1) if q == 0 else (q, back)
            saved = colocation_gain(t.pair, c.counts.replicas, c.joined, a, s, d, q) + colocation_gain(
                t.pair, c.counts.replicas, c.joined, b, d, s, back
            )
            saved -= 2.0 * q * back * t.pair[a, b]  # what passes each other on the way
            if strained:
                relieved, lighter = _relief(t, c, a, b, s, d, q, back)
                saved += (
                    OVERLOAD_WEIGHT * (relieved + lighter)
                    if relieved > 0 or (relieved == 0 and lighter > MIN_MOVE_GAIN)
                    else -np.inf
                )
            if saved > max_gain:
                max_gain, best, other, number, number_back = saved, d, b, q, back
    if best < 0:
        return False
    for back in range(2):
        moved, source = (other, best) if back == 1 else (a, s)
        _transfer(t, c, moved, source, s if back == 1 else best, number_back if back == 1 else number)
    return True


@inlined
def _compare_moves(t: CountArrays, c: CountState, p: CountPaths, progress: np.ndarray, a: int, run: LocalSearchRun) -> bool:
    """Compare the changes of operator a that may have become better, and make those that gain; return whether all were."""
    if c.counters[TURN] == 0:
        c.counters[BEGAN] = c.counters[CLOCK]
    recent = _list_recent(t, c, a)
    while c.counters[TURN] < c.counters[OPEN]:
        if progress[WORK] >= run.work:
            return False
        k = c.counters[TURN]
        s = c.opened[k]
        while c.counts.replicas[a, s] > 0 and (
            _move(t, c, p, progress, a, s, recent, run.overload_rule) or _swap(t, c, p, progress, a, s, recent)
        ):
            pass
        if k < c.counters[OPEN] and c.opened[k] == s:
            c.counters[TURN] += 1
    c.counters[TURN] = 0
    c.last_compared[a] = c.counters[BEGAN]
    return True


@inlined
def _takes_all(t: CountArrays, c: CountState, s: int, d: int) -> bool:
    for m in range(c.counts.used.shape[1]):
        if c.counts.used[s, m] + c.counts.used[d, m] > t.capacity[d, m] * (1 + COUNTED_LOAD_SLACK):
            return False
    for a in range(c.counts.replicas.shape[0]):
        if c.counts.replicas[a, s] > 0 and not t.candidate[a, d]:
            return False
    return True


@inlined
def _dissolve(t: CountArrays, c: CountState, p: CountPaths, progress: np.ndarray, work: int) -> bool:
    """Move everything on some node to another one, in use or an empty one of another class, if that is better."""
    span = _span(t, p)
    while c.counters[SWEEP] < c.counters[OPEN]:
        s = c.opened[c.counters[SWEEP]]
        c.counters[SWEEP] += 1
        progress[WORK] += 1 + c.counters[OPEN] // 8
        for k in range(c.counters[OPEN] + c.empty_number.size):
            d = _target(t, c, k)
            if d < 0 or d == s or (c.last_changed[s] <= c.counters[SWEPT] and c.last_changed[d] <= c.counters[SWEPT]):
                continue
            if (c.total[d] == 0 and t.class_of[d] == t.class_of[s]) or not _takes_all(t, c, s, d):
                continue
            value = t.node_price[s] - (t.node_price[d] if c.total[d] == 0 else 0.0)
            for a in range(c.counts.replicas.shape[0]):
                value += c.counts.replicas[a, s] * (c.joined[a, d] + 2.0 * c.counts.replicas[a, d] * t.pair[a, a])
            if value + span <= MIN_MOVE_GAIN * t.score_apart:
                continue
            if span > 0:
                progress[WORK] += c.counters[OPEN] + p.source.size
                value += _latency_gain(c, p, variable(ALL_OPERATORS), variable(0), s, d)
            if value > MIN_MOVE_GAIN * t.score_apart:
                for a in range(c.counts.replicas.shape[0]):
                    if c.counts.replicas[a, s] > 0:
                        _transfer(t, c, a, s, d, c.counts.replicas[a, s])
                c.counters[SWEEP] = 0
                return True
        if progress[WORK] >= work:
            return False
    return False


@inner_loop
def climb_batches(t: CountArrays, c: CountState, p: CountPaths, progress: np.ndarray, run: LocalSearchRun) -> bool:
    """Climb until the work limit, counted in targets compared; return whether a local optimum is reached."""
    idle = 0
    while progress[WORK] < run.work:
        a, before = c.counters[CURSOR], c.counters[CLOCK]
        if (c.last_compared[a] < before or c.counters[TURN] > 0) and not _compare_moves(t, c, p, progress, a, run):
            return False
        idle = idle + 1 if c.counters[CLOCK] == before else 0
        c.counters[CURSOR] = (a + 1) % c.last_compared.size
        if idle == c.last_compared.size:
            dissolved = _dissolve(t, c, p, progress, run.work)
            if not dissolved and c.counters[SWEEP] >= c.counters[OPEN]:
                c.counters[SWEEP], c.counters[SWEPT] = 0, c.counters[CLOCK]
                return True
            idle = 0 if dissolved else idle - 1
    return False
