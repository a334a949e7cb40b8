"""All choices among few patterns: multisets that cover every instance, listed by a compiled depth-first search."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import kernel
from edrp.formulations.placement.column_generation.model import Model
from edrp.formulations.placement.column_generation.selection import Candidates
from edrp.formulations.placement.column_generation.windows import Window

MOST_LISTED = 20_000
"""Choices that are listed at most."""

MOST_STEPS = 4_000_000
"""Patterns tried by one search; about a second."""

PATH_STEPS = 20
"""Patterns that could be tried while the longest path is computed once."""


def list_choices(model: Model, candidates: Candidates, window: Window, between: Floats) -> Ints | None:
    """Every choice below the candidates' limit, best first by score without latency; None where they are too many.

    `between` is the least seconds between different supervisors of two classes, shape (classes, classes).

    Returns
    -------
    array of shape (choices, most supervisors)
        Candidates, -1 beyond the last one.
    """
    rank = np.argsort(candidates.excess, kind="stable")
    pattern, excess = candidates.pattern[rank], candidates.excess[rank]
    operator, holder = np.nonzero(pattern.T)
    start = np.searchsorted(operator, np.arange(model.instances.size + 1))
    order = np.argsort(np.diff(start), kind="stable")  # operators with the fewest patterns first
    deepest = min(window.most, int(model.instances.sum()))
    listed = np.full((MOST_LISTED, deepest), -1, np.int64)
    met, steps = search_choices(
        pattern, candidates.owner[rank], excess, holder, start, order, model.instances,
        np.array(window.class_least, np.int64), np.array(window.class_most, np.int64), window.least, deepest,
        candidates.limit - candidates.least + 1e-9, model.source, model.target, between, model.second, MOST_STEPS, listed,
    )  # fmt: skip
    if met > MOST_LISTED or steps > MOST_STEPS:
        return None
    listed = listed[:met]
    score = np.where(listed >= 0, candidates.cost[rank][listed], 0.0).sum(axis=1)
    listed = np.where(listed >= 0, rank[listed], -1)
    chosen: Ints = listed[np.argsort(score, kind="stable")]
    return chosen


@kernel
def _fits(pattern: np.ndarray, left: np.ndarray) -> bool:
    fits = True
    for a in range(left.size):
        fits = fits and pattern[a] <= left[a]
    return fits


@kernel
def _longest(
    chosen: np.ndarray,
    pattern: np.ndarray,
    owner: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    between: np.ndarray,
    arrival: np.ndarray,
) -> float:
    """Seconds of the longest path through the patterns chosen so far, with classes as near as they can be."""
    arrival[:] = 0.0
    longest = 0.0
    for e in range(source.size):
        a, b = source[e], target[e]
        hop = 0.0
        for i in range(chosen.size):
            if pattern[chosen[i], a] > 0:
                for j in range(chosen.size):
                    if i != j and pattern[chosen[j], b] > 0:
                        hop = max(hop, between[owner[chosen[i]], owner[chosen[j]]])
        arrival[b] = max(arrival[b], arrival[a] + hop)
        longest = max(longest, arrival[b])
    return longest


@kernel
def search_choices(
    pattern: np.ndarray,
    owner: np.ndarray,
    excess: np.ndarray,
    holder: np.ndarray,
    start: np.ndarray,
    order: np.ndarray,
    instances: np.ndarray,
    class_least: np.ndarray,
    class_most: np.ndarray,
    least: int,
    most: int,
    room: float,
    source: np.ndarray,
    target: np.ndarray,
    between: np.ndarray,
    second: float,
    most_steps: int,
    listed: np.ndarray,
) -> tuple[int, int]:
    """Cover one operator after the other, each by patterns in ascending order.

    Parameters
    ----------
    pattern, owner, excess
        Patterns by ascending excess: what each costs above the least of its class.
    holder, start
        Patterns that hold each operator, ascending, in CSR form.
    order
        In which operators are covered.
    room
        Greatest sum of excesses, and of what path latency scores at least.
    source, target, between, second
        Forward streams, least seconds between two classes, and score per second.
    listed
        Written: a choice per row.

    Returns
    -------
    tuple
        Choices met and patterns tried; more than there is room for, or beyond `most_steps`, where the list is incomplete.
    """
    left = instances.copy()
    used = np.zeros(class_most.size, np.int64)
    chosen = np.full(most, -1, np.int64)
    place = np.zeros(most + 1, np.int64)  # position in the list of the operator that is covered at each depth
    covers = np.zeros(most + 1, np.int64)
    total = np.zeros(most + 1)
    arrival = np.zeros(instances.size)
    latency = second > 0.0 and source.size > 0
    met, steps, depth = 0, 0, 0
    covers[0] = order[0]
    place[0] = start[order[0]]
    while depth >= 0:
        a = covers[depth]
        found = False
        while depth < most and place[depth] < start[a + 1]:
            p = holder[place[depth]]
            steps += 1
            if total[depth] + excess[p] > room:
                break
            place[depth] += 1
            if used[owner[p]] < class_most[owner[p]] and _fits(pattern[p], left):
                found = True
                break
        if steps > most_steps:
            break
        if found:
            left -= pattern[p]
            used[owner[p]] += 1
            chosen[depth] = p
            total[depth + 1] = total[depth] + excess[p]
            depth += 1
            spare = room - total[depth]
            steps += PATH_STEPS if latency else 0
            fits = not latency or second * _longest(chosen[:depth], pattern, owner, source, target, between, arrival) <= spare
            following = -1
            for b in order:
                if left[b] > 0:
                    following = b
                    break
            if fits and following >= 0:
                covers[depth] = following
                place[depth] = place[depth - 1] - 1 if following == a else start[following]
                continue
            if fits and depth >= least and (used >= class_least).all():
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
