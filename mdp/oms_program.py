"""Dynamic program over a course of migrations: the exact best path through listed partitions of each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.mdp.best_reply import best_replies
from edrp.mdp.oms_course import Path
from edrp.mdp.partitions import Partitions
from edrp.mdp.tasks import Boundaries, Values
from edrp.mdp.trie import Trie, look_ahead

Integers = NDArray[np.int64]

CHUNK = 4096
"""Partitions that one call of the kernel answers, and between two looks at the clock."""


class Stage(NamedTuple):
    """One step, with the partitions through which the path may go.

    Attributes
    ----------
    state_before : shape (m + 1,), bytes.
    trie, partitions : the numbered class, and its partitions.
    rows : which of the partitions are allowed, in the order in which to search from them.
    """

    state_before: Values
    trie: Trie
    partitions: Partitions
    rows: Integers


class OutOfTimeError(Exception):
    """The search was stopped before it had finished."""


def best_path(
    start: Boundaries,
    stages: Sequence[Stage],
    *,
    threads: int = 1,
    below: float = np.inf,
    out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[float, Path] | None:
    """The path of least cost through allowed partitions, backwards from the last step.

    Parameters
    ----------
    start
        Current partition.
    stages
        In order; steps may share tries.
    threads
        That search at the same time.
    below
        Only paths that cost less are of interest.
    out_of_time
        Asked now and then.

    Returns
    -------
    tuple or None
        Cost in bytes, and the partition after each step; None where no path costs less than `below`. Ties go to the
        lexicographically least partitions, from the first step on.

    Raises
    ------
    OutOfTimeError
        When `out_of_time` says so.
    """
    last = stages[-1]
    values = np.full(last.trie.count, np.inf)
    values[last.rows] = 0.0
    kept: list[NDArray[np.int32]] = []
    known: dict[tuple[int, int], NDArray[np.int32]] = {}
    with ThreadPoolExecutor(threads) as pool:
        for here, there in zip(stages[-2::-1], stages[:0:-1], strict=True):
            pair = id(here.trie), id(there.trie)
            values, replies = _backwards(here, there, values, known.get(pair), pool, out_of_time)
            known[pair] = replies
            kept.append(replies)
    first, value, reply = stages[0], np.empty(1), np.full(1, -1)
    begin = start[np.newaxis]
    ahead = look_ahead(first.trie, values)
    best_replies(first.trie, ahead, first.state_before, begin, np.zeros(1, np.int64), reply, value, reply)
    if not value[0] < below:
        return None
    chosen = [int(reply[0])]
    for replies in kept[::-1]:
        chosen.append(int(replies[chosen[-1]]))
    return float(value[0]), tuple(
        stage.partitions[row].astype(np.int64) for stage, row in zip(stages, chosen, strict=True)
    )


def _backwards(
    here: Stage,
    there: Stage,
    values: Values,
    incumbents: NDArray[np.int32] | None,
    pool: ThreadPoolExecutor,
    out_of_time: Callable[[], bool],
) -> tuple[Values, NDArray[np.int32]]:
    """Least cost from each allowed partition of one stage to the end, and the partition of the next that it leads to."""
    ahead = look_ahead(there.trie, values)
    found, replies = np.full(here.trie.count, np.inf), np.full(here.trie.count, -1)
    if incumbents is not None:
        replies[:] = incumbents

    def answer(first: int) -> None:
        if out_of_time():
            raise OutOfTimeError
        rows = here.rows[first : first + CHUNK]
        best_replies(there.trie, ahead, there.state_before, here.partitions, rows, replies, found, replies)

    for _ in pool.map(answer, range(0, here.rows.size, CHUNK)):
        pass
    return found, replies.astype(np.int32)
