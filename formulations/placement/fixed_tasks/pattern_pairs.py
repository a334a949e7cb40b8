"""The placement by given patterns whose peak is least: by sums of patterns, or by pairs on up to four nodes.

All pairs of patterns are entered in a table, and each pair looks up what it leaves for the other two nodes (meet in the middle).
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.kernels import inlined, kernel
from edrp.formulations.placement.fixed_tasks.pattern_sums import count_sums, first_sum
from edrp.placement.fixed_tasks import FixedTasks

PAIR_WORK = 2e-8
"""Units of work for a pair of patterns."""

MAX_MET = 4
"""Nodes up to which two halves have at most two nodes each."""

MAX_PATTERNS = 2_500
"""Patterns whose pairs still make a table of a hundred megabytes."""

FIRST_PATTERNS = 200
"""Patterns of the least values that are tried first."""


MAX_SUM_WORK = 3e8
"""Sums of patterns times patterns, of which `FIRST_PATTERNS` count at least, up to which sums are formed, and not pairs."""

MAX_SUMMED = 3_000
"""Patterns up to which sums are tried."""


def max_patterns(tasks: FixedTasks) -> int:
    """Number of patterns up to which `best_of_patterns` finds the best placement; 0 where it is not of use."""
    if tasks.nodes <= MAX_MET and np.prod(tasks.arrays.totals + 1.0) < 2.0**62:  # every sum has a key of 62 bits
        return MAX_PATTERNS
    summed = int(min(MAX_SUMMED, MAX_SUM_WORK / count_sums(tasks)))
    return summed if summed >= FIRST_PATTERNS else 0


def best_of_patterns(tasks: FixedTasks, patterns: Ints, values: Floats) -> tuple[float, Ints] | None:
    """The placement by some patterns whose largest value is least, with that value; None if there is none.

    Parameters
    ----------
    patterns : shape (patterns, operators)
        At most `max_patterns`.
    values : shape (patterns,)
    """
    order = np.argsort(values, kind="stable")
    patterns, values = np.ascontiguousarray(patterns[order]), values[order]
    summed = max(FIRST_PATTERNS, len(patterns)) * count_sums(tasks) <= MAX_SUM_WORK
    chosen = first_sum(tasks, patterns) if summed else _best_pairs(tasks, patterns)
    return None if chosen is None else (float(values[chosen].max()), patterns[chosen])


def _best_pairs(tasks: FixedTasks, patterns: Ints) -> Ints | None:
    """Places of patterns, one per node, that add up to all tasks, the last of which is as small as can be; None without any."""
    totals = tasks.arrays.totals
    radix = np.concatenate([[1], np.cumprod(totals[:-1].astype(np.uint64) + np.uint64(1))]).astype(np.uint64)
    keys = (patterns.astype(np.uint64) * radix).sum(axis=1, dtype=np.uint64)
    whole = np.uint64((totals.astype(np.uint64) * radix).sum(dtype=np.uint64))
    if tasks.nodes == 1:
        hit = np.flatnonzero(keys == whole)
        return hit[:1] if hit.size else None
    some = min(FIRST_PATTERNS, len(keys))
    while True:
        spend(PAIR_WORK * some * some)
        chosen = _meet(patterns[:some], keys[:some], whole, totals, tasks.nodes)
        if chosen.size:
            return np.asarray(chosen)
        if some == len(keys):
            return None
        some = min(3 * some, len(keys))


@inlined
def _slot(table: np.ndarray, key: np.uint64, mask: np.uint64) -> np.uint64:
    """Index of a key in the hash table, or of the free place where it belongs; keys are stored plus one."""
    place = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while table[place] != np.uint64(0) and table[place] != key + np.uint64(1):
        place = (place + np.uint64(1)) & mask
    return place


@inlined
def _fit(p: np.ndarray, q: np.ndarray, totals: np.ndarray) -> bool:
    """Whether two patterns together have no more tasks than there are."""
    fits = True
    for i in range(totals.size):
        if p[i] + q[i] > totals[i]:
            fits = False
    return fits


@kernel
def _meet(patterns: np.ndarray, keys: np.ndarray, whole: np.uint64, totals: np.ndarray, nodes: int) -> np.ndarray:
    """Places of two to four patterns that add up to all tasks, the last of which is as small as can be; empty without any.

    Halves that are stored have one pattern, or two for four nodes; those that are looked up two, or one for two nodes. After
    pattern q has been added, all halves of patterns up to q are stored, so that the first hit is the best.
    """
    count = keys.size
    size = count if nodes < 4 else count * (count + 1) // 2
    space = 16
    while space < 2 * size:
        space *= 2
    mask = np.uint64(space - 1)
    table = np.zeros(space, np.uint64)
    one, two = np.zeros(space, np.int32), np.zeros(space, np.int32)
    nothing = np.uint64(0)
    for q in range(count):
        for p in range(q if nodes < 4 else 0, q + 1):
            if nodes < 4 or _fit(patterns[p], patterns[q], totals):
                key = keys[q] if nodes < 4 else keys[p] + keys[q]
                place = _slot(table, key, mask)
                if table[place] == nothing:
                    table[place] = key + np.uint64(1)
                    one[place], two[place] = p, q
        for p in range(q if nodes == 2 else 0, q + 1):
            if nodes == 2 or _fit(patterns[p], patterns[q], totals):
                key = keys[q] if nodes == 2 else keys[p] + keys[q]
                place = _slot(table, whole - key, mask)
                if table[place] != nothing:
                    chosen = np.empty(nodes, np.int64)
                    chosen[0], chosen[1] = q, one[place]
                    if nodes > 2:
                        chosen[2] = p
                    if nodes > 3:
                        chosen[3] = two[place]
                    return chosen
    return np.empty(0, np.int64)
