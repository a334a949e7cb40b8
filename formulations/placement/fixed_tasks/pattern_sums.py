"""Few tasks: all sums of patterns that nodes can reach, as the bits of one number, one pattern after the other."""

from __future__ import annotations

from functools import cache, reduce
from math import prod
from operator import and_

import numpy as np

from edrp.core.arrays import Ints
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
        """The sums that have room for so many more of a digit."""
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
