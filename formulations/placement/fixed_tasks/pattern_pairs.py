"""The placement by given patterns whose peak is least: by sums of patterns, or by pairs on up to four nodes.

All pairs of patterns are entered in a table, and each pair looks up what it leaves for the other two nodes (meet in the middle).

Few tasks: all sums of patterns that nodes can reach, as the bits of one number, one pattern after the other.
"""

from __future__ import annotations

from functools import cache, reduce
from math import prod
from operator import and_

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.placement.fixed_tasks import FixedTasks

BIT_WORK = 1e-10
"""Units of work for a bit and a pattern."""


def count_sums(tasks: FixedTasks) -> float:
    """Number of pairs of a number of nodes and tasks of each operator on them."""
    return prod((tasks.arrays.totals + 1.0).tolist(), start=tasks.nodes + 1.0)


def first_sum(tasks: FixedTasks, patterns: Ints) -> Ints | None:
    """Places of patterns, one per node, that add up to all tasks, the last of which is as small as can be; None without any.

    The sum of some patterns is a number with a digit for the tasks of each operator, and in front the number of nodes. Bit x of
    `reachable` says whether sum x can be reached. Adding a pattern shifts the bits whose digits leave room for it.

    Parameters
    ----------
    patterns : shape (patterns, operators)
    """
    totals = [*tasks.arrays.totals.tolist(), tasks.nodes]
    radix = [prod(total + 1 for total in totals[:i]) for i in range(len(totals))]
    whole = sum(total * base for total, base in zip(totals, radix, strict=True))
    size = prod(total + 1 for total in totals)
    listed = [[*pattern, 1] for pattern in patterns.tolist()]
    keys = [sum(count * base for count, base in zip(pattern, radix, strict=True)) for pattern in listed]

    @cache
    def with_room(i: int, count: int) -> int:
        """The sums that have room for `count` more of a digit."""
        period, bits = (totals[i] + 1) * radix[i], (1 << (totals[i] - count + 1) * radix[i]) - 1
        while period < size:
            bits |= bits << period
            period *= 2
        return bits & ((1 << size) - 1)

    reachable = 1
    for q, pattern in enumerate(listed):
        look("sums of patterns")
        spend(BIT_WORK * size)
        room = reduce(and_, (with_room(i, count) for i, count in enumerate(pattern) if count))
        added = reachable
        while added := (added & room) << keys[q]:
            reachable |= added
        if reachable >> whole:
            return _places(listed[: q + 1], keys, totals, whole, reachable)
    return None


def _places(patterns: list[list[int]], keys: list[int], totals: list[int], whole: int, reachable: int) -> Ints:
    """Places of the patterns of one way to the whole, all sums along which are reachable."""
    known, left, places = reachable.to_bytes(reachable.bit_length() // 8 + 1, "little"), totals, []
    while whole:
        for p in range(len(patterns) - 1, -1, -1):
            before = whole - keys[p]
            fits = all(count <= most for count, most in zip(patterns[p], left, strict=True))
            if fits and known[before // 8] >> before % 8 & 1:
                places.append(p)
                whole, left = before, [most - count for count, most in zip(patterns[p], left, strict=True)]
                break
    return np.array(places, np.int64)


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
        chosen = _native.meet_patterns(patterns[:some], keys[:some], whole, totals, tasks.nodes)
        if chosen.size:
            return np.asarray(chosen)
        if some == len(keys):
            return None
        some = min(3 * some, len(keys))
