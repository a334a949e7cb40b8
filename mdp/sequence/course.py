"""A migration sequence as arrays, and the exact best path through listed partitions of every step but the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import carried, refuse_beyond_memory, spend
from edrp.mdp.best_response import (
    COMPARED_PARTITION_UNITS,
    PRICED_ARC_UNITS,
    RESPONSE_UNITS,
    best_responses,
    chunk_length,
    colexicographic,
    response_work,
)
from edrp.mdp.fitted.policies import PricedClass
from edrp.mdp.partitions import (
    Boundaries,
    Layers,
    OldNodes,
    Partitions,
    Tasks,
    assign,
    enumerate_partitions,
    gain_between,
    layers,
    match,
    partition_bytes,
    paths_to_end,
)
from edrp.mdp.policy.process import in_place
from edrp.mdp.transfer.schedules import nodes_of_tasks
from edrp.mdp.trie import Trie, prepare_values
from edrp.migration.intervals import Assignment, Interval, load_limit

if TYPE_CHECKING:
    from edrp.migration.sequence import MigrationSequence

Path = tuple[Boundaries, ...]
"""The partition after each step."""


@dataclass(frozen=True, eq=False)
class PartitionClass:
    """All partitions that a step may lead to; steps with equal work, nodes and tolerance share one.

    Attributes
    ----------
    work_before : shape (m + 1,)
    nodes, limit, allow_empty : number of intervals, most work of each, whether they may hold no task.
    """

    work_before: Floats
    nodes: int
    limit: float
    allow_empty: bool

    @cached_property
    def layers(self) -> Layers:
        """Possible boundaries at each position; cheap for any class."""
        return layers(self.work_before, self.nodes, self.limit, self.allow_empty)

    @cached_property
    def count(self) -> int:
        """Number of partitions."""
        return sum(paths_to_end(self.layers)[0])

    @property
    def places(self) -> int:
        """Number of places of the graph."""
        return int((self.layers.last - self.layers.first + 1).sum())

    @cached_property
    def graph(self) -> Trie:
        """Unnumbered trie: places and arcs, for any number of partitions."""
        return Trie.unnumbered(self.work_before, self.nodes, self.limit, self.allow_empty)

    @cached_property
    def trie(self) -> Trie:
        """Trie with numbered partitions."""
        return Trie.of(self.work_before, self.nodes, self.limit, self.allow_empty)

    @cached_property
    def partitions(self) -> Partitions:
        """All partitions, shape (count, n + 1)."""
        return enumerate_partitions(self.work_before, self.nodes, self.limit, self.allow_empty, self.count)

    @cached_property
    def order(self) -> Ints:
        """Rows of `partitions` in the order in which they are best searched from."""
        return colexicographic(self.partitions)


class MigrationStep(NamedTuple):
    """One migration of a sequence.

    Attributes
    ----------
    tasks : work and state sizes when it happens.
    members : the partitions that it may lead to.
    """

    tasks: Tasks
    members: PartitionClass

    @property
    def state_before(self) -> Floats:
        """Bytes of state before each boundary, shape (m + 1,)."""
        return self.tasks.state_before


@dataclass(frozen=True)
class Course:
    """A known sequence of migrations as arrays (state migration, section 4.1).

    Attributes
    ----------
    start : boundaries of the current partition.
    """

    start: Boundaries
    steps: tuple[MigrationStep, ...]

    @classmethod
    def of(cls, problem: MigrationSequence) -> Course:
        """Create the course of a problem."""
        loads = [(problem.work_at(step), problem.state_size_at(step)) for step in range(len(problem.nodes))]
        start = OldNodes.of(problem.intervals).boundaries
        return cls._build(loads, start, problem.nodes, problem.tolerance, problem.allow_empty)

    @classmethod
    def constant(
        cls, tasks: Tasks, start: Boundaries, nodes: Sequence[int], tolerance: Sequence[float], *, allow_empty: bool
    ) -> Course:
        """Create a course during which loads do not change."""
        return cls.changing([tasks] * len(nodes), start, nodes, tolerance, allow_empty=allow_empty)

    @classmethod
    def changing(
        cls,
        tasks: Sequence[Tasks],
        start: Boundaries,
        nodes: Sequence[int],
        tolerance: Sequence[float],
        *,
        allow_empty: bool = False,
    ) -> Course:
        """Create a course from the loads at each step."""
        loads = [(tuple(load.work.tolist()), tuple(load.state_size.tolist())) for load in tasks]
        return cls._build(loads, start, nodes, tolerance, allow_empty)

    @classmethod
    def _build(
        cls,
        loads: Sequence[tuple[tuple[float, ...], tuple[float, ...]]],
        start: Boundaries,
        nodes: Sequence[int],
        tolerance: Sequence[float],
        allow_empty: bool,
    ) -> Course:
        tasks: dict[tuple[tuple[float, ...], tuple[float, ...]], Tasks] = {}
        members: dict[tuple[tuple[float, ...], int, float], PartitionClass] = {}
        steps = []
        for load, count, step_tolerance in zip(loads, nodes, tolerance, strict=True):
            if load not in tasks:
                tasks[load] = Tasks.of(*load)
            before, key = tasks[load].work_before, (load[0], count, step_tolerance)
            if key not in members:
                members[key] = PartitionClass(before, count, load_limit(float(before[-1]), count, step_tolerance), allow_empty)
            steps.append(MigrationStep(tasks[load], members[key]))
        return cls(start, tuple(steps))

    @property
    def feasible(self) -> bool:
        """Whether every step has a partition within its load limit."""
        return all(step.members.layers.feasible for step in self.steps)

    def costs(self, path: Sequence[Boundaries]) -> Floats:
        """Compute the bytes that move at each step of a path, shape (steps,)."""
        befores = [self.start, *path][: len(path)]
        moved = [
            step.state_before[-1] - gain_between(step.state_before, before, after)
            for step, before, after in zip(self.steps, befores, path, strict=True)
        ]
        return np.maximum(0.0, moved)

    def boundary_path(self, assignments: Sequence[Sequence[Interval | None]]) -> Path:
        """Convert assignments into partitions, with empty intervals last."""
        path = []
        for assignment in assignments:
            intervals = sorted(interval for interval in assignment if interval is not None and interval[0] < interval[1])
            empty = sum(interval is not None and interval[0] == interval[1] for interval in assignment)
            ends = [end for _, end in intervals]
            path.append(np.array([0, *ends, *[ends[-1]] * empty], dtype=np.int64))
        return tuple(path)

    def moved(self, assignments: Sequence[Sequence[Interval | None]], intervals: Sequence[Interval]) -> float:
        """Sum the bytes that move in all steps from the assignment `intervals` on, task by task."""
        size = 0.0
        before = nodes_of_tasks(intervals, self.steps[0].tasks.work.size)
        for step, assignment in zip(self.steps, assignments, strict=True):
            after = nodes_of_tasks(assignment, before.size)
            size += float(step.tasks.state_size[before != after].sum())
            before = after
        return size

    def assignments(self, path: Sequence[Boundaries], intervals: Sequence[Interval]) -> tuple[Assignment, ...]:
        """Assign the partitions of a path to nodes, from the assignment `intervals` on."""
        current: Assignment = tuple(intervals)
        assignments = []
        for step, boundaries in zip(self.steps, path, strict=True):
            present = [interval for interval in current if interval is not None]
            old = OldNodes.of(present)
            matched = match(step.state_before, old.boundaries, boundaries)
            current = in_place(current, assign(old, len(present), boundaries, matched, step.members.nodes))
            assignments.append(current)
        return tuple(assignments)


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
        work = RESPONSE_UNITS + PRICED_ARC_UNITS * last.graph.arc_target.size
        rows = stages[-1].partitions
        values = np.concatenate(list(_answers(lambda part: last.costs(rows[part]), len(rows), work, pool, out_of_time)))
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
