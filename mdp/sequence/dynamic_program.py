"""Dynamic program over a course of migrations: the exact best path through listed partitions of every step but the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import refuse_beyond_memory, spend
from edrp.core.kernels import carried
from edrp.mdp.best_response import (
    COMPARED_PARTITION_UNITS,
    PRICED_ARC_UNITS,
    RESPONSE_UNITS,
    best_responses,
    chunk_length,
    response_work,
)
from edrp.mdp.fitted.features import PricedClass
from edrp.mdp.partitions import Boundaries, Partitions, partition_bytes
from edrp.mdp.sequence.course import Course, Path
from edrp.mdp.trie import Trie, prepare_values

PARTITIONS_PER_CALL = 4096
"""Maximum number of partitions per call of the kernel."""

CALLS_PER_CHECK = 8
"""Calls of the kernel between two checks of the clock."""


class ListedStep(NamedTuple):
    """A step before the last one, with all partitions through which the path may go.

    Attributes
    ----------
    state_before : shape (m + 1,), bytes.
    trie, partitions, order : the numbered class, its partitions, and the order in which to search from them.
    """

    state_before: Floats
    trie: Trie
    partitions: Partitions
    order: Ints


class LastStep(NamedTuple):
    """The last step, whose partitions need not be listed.

    Attributes
    ----------
    state_before : shape (m + 1,), bytes.
    graph : of the class.
    """

    state_before: Floats
    graph: Trie

    def costs(self, partitions: Partitions | Boundaries) -> Floats:
        """Compute the least cost of the last step from each partition, in bytes."""
        return self._priced.best_responses(self.state_before, partitions)[0]

    def best_response(self, boundaries: Boundaries) -> Boundaries:
        """Return the best partition to go to from one partition."""
        return self._priced.best_responses(self.state_before, boundaries[np.newaxis])[1][0]

    @property
    def _priced(self) -> PricedClass:
        return PricedClass(self.graph, np.zeros(self.graph.arc_target.size))


def search_work(counts: Sequence[int]) -> float:
    """Estimate the units of work of `best_path` from the number of partitions of each step.

    >>> round(search_work([20_000, 20_000]), 2)
    0.1
    """
    sizes = [float(min(count, 10**30)) for count in counts]  # an int may exceed every float
    return RESPONSE_UNITS * sum(sizes) + COMPARED_PARTITION_UNITS * sum(source * target for source, target in pairwise(sizes))


class PathSearchTimeoutError(Exception):
    """Raised when the search is stopped before it has finished."""


def best_path(
    start: Boundaries,
    stages: Sequence[ListedStep],
    last: LastStep,
    *,
    threads: int = 1,
    out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[float, Path]:
    """Find the path of least cost, backwards from the last step.

    Parameters
    ----------
    stages
        All steps but the last, in order; steps may share tries.

    Returns
    -------
    tuple
        Cost in bytes, and the partition after each step. Ties go to the lexicographically least partitions, from the
        first step on.

    Raises
    ------
    PathSearchTimeoutError
        When `out_of_time` says so.
    """
    if not stages:
        return float(last.costs(start[np.newaxis])[0]), (last.best_response(start),)
    with ThreadPoolExecutor(threads) as pool:
        values = _last_costs(stages[-1], last, pool, out_of_time)
        responses_by_step: list[Ints32] = []
        responses_by_pair: dict[tuple[int, int], Ints32] = {}
        for step, following in zip(stages[-2::-1], stages[:0:-1], strict=True):
            pair = id(step.trie), id(following.trie)
            values, responses = _backwards(step, following, values, responses_by_pair.get(pair), pool, out_of_time)
            responses_by_pair[pair] = responses
            responses_by_step.append(responses)
    value, response = np.empty(1), np.full(1, -1)
    prepared, begin = prepare_values(stages[0].trie, values), start[np.newaxis]
    best_responses(stages[0].trie, prepared, stages[0].state_before, begin, np.zeros(1, np.int64), response, value, response)
    chosen = [int(response[0])]
    for responses in responses_by_step[::-1]:
        chosen.append(int(responses[chosen[-1]]))
    path = [stage.partitions[row].astype(np.int64) for stage, row in zip(stages, chosen, strict=True)]
    return float(value[0]), (*path, last.best_response(path[-1]))


def _last_costs(stage: ListedStep, last: LastStep, pool: ThreadPoolExecutor, out_of_time: Callable[[], bool]) -> Floats:
    def answer(rows: slice) -> Floats:
        return last.costs(stage.partitions[rows])

    work = RESPONSE_UNITS + PRICED_ARC_UNITS * last.graph.arc_target.size
    return np.concatenate(list(_answers(answer, stage.trie.count, work, pool, out_of_time)))


def _answers(
    answer: Callable[[slice], Floats], count: int, work: float, pool: ThreadPoolExecutor, out_of_time: Callable[[], bool]
) -> Iterator[Floats]:
    """Yield answers to chunks of partitions, computed by threads; this thread counts the work."""
    length = chunk_length(work, PARTITIONS_PER_CALL)
    for first in range(0, count, CALLS_PER_CHECK * length):
        end = min(count, first + CALLS_PER_CHECK * length)
        spend(work * (end - first))
        if out_of_time():
            raise PathSearchTimeoutError
        yield from pool.map(carried(answer), [slice(begin, min(end, begin + length)) for begin in range(first, end, length)])


def _backwards(
    step: ListedStep,
    following: ListedStep,
    values: Floats,
    incumbents: Ints32 | None,
    pool: ThreadPoolExecutor,
    out_of_time: Callable[[], bool],
) -> tuple[Floats, Ints32]:
    """Compute the least cost to the end from each partition of a step, and the next partition on that path."""
    prepared = prepare_values(following.trie, values)
    costs, responses = np.empty(step.trie.count), np.full(step.trie.count, -1)
    if incumbents is not None:
        responses[:] = incumbents

    def answer(part: slice) -> Floats:
        rows = step.order[part]
        best_responses(following.trie, prepared, following.state_before, step.partitions, rows, responses, costs, responses)
        return costs

    for _ in _answers(answer, step.trie.count, response_work(following.trie.count), pool, out_of_time):
        pass
    return costs, responses.astype(np.int32)


def enumeration_needs(course: Course) -> tuple[float, int]:
    """Estimate the units of work and the bytes that `enumerate_path` takes, without enumerating.

    Examples
    --------
    >>> import numpy as np
    >>> from edrp.mdp.partitions import Tasks
    >>> course = Course.constant(Tasks.of([1] * 6, [1] * 6), np.array([0, 3, 6]), (3, 2), (0.5, 0.5), allow_empty=False)
    >>> work, memory = enumeration_needs(course)
    >>> work < 1e-4, memory
    (True, 420)
    """
    listed = [step.members for step in course.steps[:-1]]
    counts = [min(members.count, 10**30) for members in listed]  # an int may exceed every float
    # A partition, its order, three values and a residue for each of two prefixes; a reply for each step.
    tables = sum(
        partition_bytes(members.work_before.size - 1, members.nodes, count) + 48 * count
        for members, count in {id(members): (members, count) for members, count in zip(listed, counts, strict=True)}.values()
    )
    return search_work(counts), tables + 4 * sum(counts)


def enumerate_path(course: Course, *, threads: int = 1, out_of_time: Callable[[], bool] = lambda: False) -> tuple[float, Path]:
    """Find the optimal path of a course exactly; `enumeration_needs` estimates work and memory.

    Parameters
    ----------
    course
        Feasible at every step.

    Returns
    -------
    tuple
        Cost in bytes, and the partition after each step.

    Raises
    ------
    PathSearchTimeoutError
        When `out_of_time` says so.
    ProblemTooLargeError
        When the partitions do not fit into memory.
    """
    what = f"all partitions of {len(course.steps) - 1} steps"
    refuse_beyond_memory(enumeration_needs(course)[1], what, "prove by prices instead (way='prices')")
    stages = [
        ListedStep(step.state_before, step.members.trie, step.members.partitions, step.members.order)
        for step in course.steps[:-1]
    ]
    last = LastStep(course.steps[-1].state_before, course.steps[-1].members.graph)
    return best_path(course.start, stages, last, threads=threads, out_of_time=out_of_time)
