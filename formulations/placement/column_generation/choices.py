"""All choices among few patterns: multisets that cover every instance, listed by a compiled depth-first search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, entries
from edrp.core.budget import spend
from edrp.core.kernels import inlined, kernel
from edrp.formulations.placement.column_generation.model import ScoreModel
from edrp.formulations.placement.column_generation.selection import PatternPool
from edrp.formulations.placement.column_generation.windows import Window

MAX_LISTED = 20_000
"""Choices that are listed at most."""

STEP_WORK = 2.5e-7
"""Units of work for a pattern that is tried."""

MAX_TRIED_PATTERNS = 4_000_000
"""Patterns tried by one search; about a second."""

PATH_STEPS = 20
"""Patterns that could be tried while the longest path is computed once."""


class _Patterns(NamedTuple):
    """Patterns by ascending excess: what each costs above the minimum of its class.

    `holder` and `start` list, in CSR form and ascending order, the patterns that hold each operator.
    """

    pattern: np.ndarray
    owner: np.ndarray
    excess: np.ndarray
    holder: np.ndarray
    start: np.ndarray


class _Cover(NamedTuple):
    """A choice that is wanted: operators in the order in which they are covered, their instances, supervisors in use.

    `room` is the upper limit on the sum of excesses and of the lower bound on path latency, in terms of the score.
    """

    order: np.ndarray
    instances: np.ndarray
    class_min: np.ndarray
    class_max: np.ndarray
    min_supervisors: int
    max_supervisors: int
    room: float
    max_steps: int


class _Streams(NamedTuple):
    """Forward streams, the minimum of seconds between different supervisors of two classes, and score per second."""

    source: np.ndarray
    target: np.ndarray
    between: np.ndarray
    second: float


class _PartialChoice(NamedTuple):
    """Part of a choice by depth: the pattern chosen, the operator that is covered, and the sum of excesses before.

    `position` is the place of what is tried next in the list of patterns that hold the operator, `left` are the instances that
    are not covered, `used` the supervisors in use of each class.
    """

    chosen: np.ndarray
    covers: np.ndarray
    position: np.ndarray
    total: np.ndarray
    left: np.ndarray
    used: np.ndarray


def list_choices(model: ScoreModel, candidates: PatternPool, window: Window, between: Floats) -> Ints | None:
    """Every choice below the candidates' limit, best first by score without latency; None where they are too many.

    `between` is the least seconds between different supervisors of two classes, shape (classes, classes).

    Returns
    -------
    array of shape (choices, most supervisors)
        Candidates, -1 beyond the last one.
    """
    rank = np.argsort(candidates.excess, kind="stable")
    pattern, excess = candidates.pattern[rank], candidates.excess[rank]
    operator, holder = entries(pattern.T)
    start = np.searchsorted(operator, np.arange(model.instances.size + 1))
    order = np.argsort(np.diff(start), kind="stable")  # operators with the fewest patterns first
    deepest = min(window.max_supervisors, int(model.instances.sum()))
    listed = np.full((MAX_LISTED, deepest), -1, np.int64)
    patterns = _Patterns(pattern, candidates.owner[rank], excess, holder, start)
    lowest, highest = np.array(window.class_min, np.int64), np.array(window.class_max, np.int64)
    room = candidates.limit - candidates.least + 1e-9
    cover = _Cover(order, model.instances, lowest, highest, window.min_supervisors, deepest, room, MAX_TRIED_PATTERNS)
    streams = _Streams(model.source, model.target, between, model.second)
    met, steps = search_choices(patterns, cover, streams, listed)
    spend(STEP_WORK * steps)
    if met > MAX_LISTED or steps > MAX_TRIED_PATTERNS:
        return None
    listed = listed[:met]
    score = np.where(listed >= 0, candidates.cost[rank][listed], 0.0).sum(axis=1)
    listed = np.where(listed >= 0, rank[listed], -1)
    chosen: Ints = listed[np.argsort(score, kind="stable")]
    return chosen


@inlined
def _fits(pattern: np.ndarray, left: np.ndarray) -> bool:
    """Whether a pattern has no more instances than are left."""
    fits = True
    for a in range(left.size):
        fits = fits and pattern[a] <= left[a]
    return fits


@inlined
def _longest(chosen: np.ndarray, depth: int, patterns: _Patterns, streams: _Streams, arrival: np.ndarray) -> float:
    """Seconds of the slowest path through instances of the first `depth` patterns chosen, with classes as near as they can be.

    The last column of `arrival` is that at the last instance of each operator; one that none of these patterns holds is passed
    without delay.
    """
    last = arrival.shape[1] - 1
    for a in range(arrival.shape[0]):
        arrival[a, last] = 0.0
        for i in range(depth):
            arrival[a, i] = 0.0
    longest = 0.0
    for e in range(streams.source.size):
        a, b = streams.source[e], streams.target[e]
        arrival[b, last] = max(arrival[b, last], arrival[a, last])
        for j in range(depth):
            if patterns.pattern[chosen[j], b] > 0:
                seconds = _latest(chosen, depth, patterns, streams, arrival, a, j)
                arrival[b, j] = max(arrival[b, j], seconds)
                arrival[b, last] = max(arrival[b, last], seconds)
        longest = max(longest, arrival[b, last])
    return longest


@inlined
def _latest(chosen: np.ndarray, depth: int, patterns: _Patterns, streams: _Streams, arrival: np.ndarray, a: int, j: int) -> float:
    """Latest time at which tuples of operator a reach the j-th chosen pattern, in seconds."""
    seconds, none = 0.0, True
    for i in range(depth):
        if patterns.pattern[chosen[i], a] > 0:
            none = False
            hop = 0.0 if i == j else streams.between[patterns.owner[chosen[i]], patterns.owner[chosen[j]]]
            seconds = max(seconds, arrival[a, i] + hop)
    return arrival[a, arrival.shape[1] - 1] if none else seconds


@inlined
def _next_pattern(depth: int, patterns: _Patterns, cover: _Cover, partial: _PartialChoice) -> tuple[int, int]:
    """The next pattern that fits at this depth, or -1, and how many were tried."""
    following, tried = -1, 0
    end = patterns.start[partial.covers[depth] + 1]
    while depth < cover.max_supervisors and partial.position[depth] < end:
        p = patterns.holder[partial.position[depth]]
        tried += 1
        if partial.total[depth] + patterns.excess[p] > cover.room:
            break
        partial.position[depth] += 1
        c = patterns.owner[p]
        if partial.used[c] < cover.class_max[c] and _fits(patterns.pattern[p], partial.left):
            following = p
            break
    return following, tried


@inlined
def _next_operator(order: np.ndarray, left: np.ndarray) -> int:
    """The first operator of which instances are left, or -1."""
    for i in range(order.size):
        if left[order[i]] > 0:
            return order[i]
    return -1


@kernel
def search_choices(patterns: _Patterns, cover: _Cover, streams: _Streams, listed: np.ndarray) -> tuple[int, int]:
    """Cover one operator after the other, each by patterns in ascending order.

    Parameters
    ----------
    listed
        Written: a choice per row.

    Returns
    -------
    tuple
        Choices met and patterns tried; more than there is room for, or beyond `cover.max_steps`, where the list is
        incomplete.
    """
    pattern, owner, start, limit = patterns.pattern, patterns.owner, patterns.start, cover.max_supervisors
    chosen, left, used = np.full(limit, -1, np.int64), cover.instances.copy(), np.zeros(cover.class_max.size, np.int64)
    covers, position, total = np.zeros(limit + 1, np.int64), np.zeros(limit + 1, np.int64), np.zeros(limit + 1)
    partial = _PartialChoice(chosen, covers, position, total, left, used)
    arrival = np.zeros((left.size, limit + 1))
    latency = streams.second > 0.0 and streams.source.size > 0
    met, steps, depth = 0, 0, 0
    covers[0] = cover.order[0]
    position[0] = start[covers[0]]
    while depth >= 0:
        p, tried = _next_pattern(depth, patterns, cover, partial)
        steps += tried
        if steps > cover.max_steps:
            break
        if p >= 0:
            left -= pattern[p]
            used[owner[p]] += 1
            chosen[depth] = p
            total[depth + 1] = total[depth] + patterns.excess[p]
            depth += 1
            spare = cover.room - total[depth]
            steps += PATH_STEPS if latency else 0
            fits = not latency or streams.second * _longest(chosen, depth, patterns, streams, arrival) <= spare
            following = _next_operator(cover.order, left)
            if fits and following >= 0:
                covers[depth] = following
                position[depth] = position[depth - 1] - 1 if following == covers[depth - 1] else start[following]
                continue
            if fits and depth >= cover.min_supervisors and (used >= cover.class_min).all():
                if met < len(listed):
                    listed[met, :depth] = chosen[:depth]
                met += 1
                if met > len(listed):
                    break
        depth -= 1
        if depth >= 0:
            left += pattern[chosen[depth]]
            used[owner[chosen[depth]]] -= 1
    return met, steps
