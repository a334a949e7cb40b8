"""A migration sequence as arrays: the current partition, and class and state sizes of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.mdp.best_response import colexicographic
from edrp.mdp.matching import assign, gain_between, match
from edrp.mdp.partitions import Boundaries, Layers, OldNodes, Partitions, Tasks, enumerate_partitions, layers, paths_to_end
from edrp.mdp.policy.decisions import in_place
from edrp.mdp.transfer.schedules import nodes_of_tasks
from edrp.mdp.trie import Trie
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
