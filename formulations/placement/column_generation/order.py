"""The order in which operators are decided, and what has to be remembered of those decided before."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints

MAX_REMEMBERED_COUNTS = 4096
"""Combinations of counts that are remembered at once; streams beyond that are bounded instead."""

STARTS = 12
"""Operators that the order is tried to begin with."""


@dataclass(frozen=True, slots=True)
class Order:
    """Operators in the order of decision, with tables over the counts of the *frontier*: decided operators with open streams.

    Attributes
    ----------
    operators : shape (operators,)
    states : shape (operators + 1,), combinations of counts of the frontier before each step, and 1 after the last.
    first : shape (operators + 1,), where the rows (state, count) of each step begin in `saving` and `following`.
    saving : flat, score that a count saves with the frontier, itself included, and its share of the bounds on streams let go.
    following : flat, state after the count.
    let_go : shape (operators, operators), by operators: score per product of counts where a stream is bounded instead of
        remembered, else 0.
    """

    operators: Ints
    states: Ints
    first: Ints
    saving: Floats
    following: Ints
    let_go: Floats


def decision_order(together: Floats, instances: Ints) -> Order:
    """The best of a few greedy orders, each by least frontier, as tables.

    Where the frontier would exceed `MAX_REMEMBERED_COUNTS`, the operator with the weakest open streams is let go: a product of
    counts is at most the weighted mean of their squares, `n·m ≤ (n²·y/x + m²·x/y)/2` for x and y instances, with equality
    where all or no instances are there.
    """
    joined = (together > 0) & ~np.eye(instances.size, dtype=bool)
    starts = np.argsort(joined.sum(axis=1), kind="stable")[:STARTS]
    tried = [_greedy(joined, together, instances, int(start)) for start in starts]
    sequence, frontiers, let_go = min(tried, key=lambda trial: _work(trial[1], instances))
    return _tables(sequence, frontiers, let_go, together, instances)


def _work(frontiers: list[list[int]], instances: Ints) -> float:
    return sum(float(np.prod(instances[list(frontier)] + 1.0)) for frontier in frontiers)


def _greedy(joined: Bools, together: Floats, instances: Ints, start: int) -> tuple[list[int], list[list[int]], Floats]:
    """Sequence, frontier before each step and after the last, and streams let go."""
    open_streams, let_go = joined.copy(), np.zeros_like(together)
    sequence: list[int] = []
    frontier: list[int] = []
    frontiers: list[list[int]] = [[]]
    unordered = set(range(instances.size))
    weight = np.log(instances + 1.0)
    while unordered:
        step = (
            start if not sequence else min(sorted(unordered), key=lambda a: _width(a, frontier, open_streams, weight, unordered))
        )
        unordered.remove(step)
        sequence.append(step)
        waiting = sorted(unordered)
        frontier = [a for a in [*frontier, step] if open_streams[a, waiting].any()]
        while np.prod(instances[frontier] + 1.0) > MAX_REMEMBERED_COUNTS:
            strain = np.outer(instances, instances) * together * open_streams
            weakest = min(frontier, key=lambda a: strain[a, waiting].sum())
            for b in waiting:
                if open_streams[weakest, b]:
                    let_go[weakest, b] = let_go[b, weakest] = together[weakest, b]
                    open_streams[weakest, b] = open_streams[b, weakest] = False
            frontier.remove(weakest)
        frontiers.append(list(frontier))
    return sequence, frontiers, let_go


def _width(a: int, frontier: list[int], open_streams: Bools, weight: Floats, unordered: set[int]) -> tuple[float, int]:
    """Logarithm of the states when a is decided next; closing more streams breaks ties."""
    waiting = [b for b in unordered if b != a]
    stays = [b for b in [*frontier, a] if open_streams[b, waiting].any()]
    return round(float(weight[stays].sum()), 9), -int(open_streams[a, frontier].sum())


def _tables(sequence: list[int], frontiers: list[list[int]], let_go: Floats, together: Floats, instances: Ints) -> Order:
    size = instances.size
    stride = np.zeros((size + 1, size), np.int64)
    for k, frontier in enumerate(frontiers):
        stride[k, frontier] = np.cumprod([1, *(instances[frontier] + 1)])[:-1]
    saving, following = [], []
    # Per operator, the factor of its squared count in the bounds on the streams let go.
    bounded = 0.5 * (let_go * (instances[None, :] / instances[:, None])).sum(axis=1)
    for k, (before, _) in enumerate(pairwise(frontiers)):
        a = sequence[k]
        counts = np.arange(instances[a] + 1)
        digits = _digits(before, instances)
        saved = together[a, before] - let_go[a, before]
        saving.append(np.outer(digits @ saved, counts) + (together[a, a] + bounded[a]) * counts**2)
        after = digits @ stride[k + 1, before]
        following.append(after[:, None] + counts * stride[k + 1, a])
    rows = [table.size for table in saving]
    return Order(
        operators=np.array(sequence, np.int64),
        states=np.array([np.prod(instances[frontier] + 1) for frontier in frontiers], np.int64),
        first=np.cumsum([0, *rows]).astype(np.int64),
        saving=np.concatenate([table.ravel() for table in saving]),
        following=np.concatenate([table.ravel() for table in following]).astype(np.int64),
        let_go=let_go,
    )


def _digits(frontier: list[int], instances: Ints) -> Ints:
    """Counts of the frontier's operators in each state, shape (states, frontier)."""
    if not frontier:
        return np.zeros((1, 0), np.int64)
    shape = tuple(instances[frontier][::-1] + 1)
    return np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)[:, ::-1]
