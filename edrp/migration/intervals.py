"""Tasks of a key-partitioned operator, and which node holds which of them (state migration, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from edrp.core.arrays import Floats
from edrp.core.document import Document, Faults, NonNegative, Outcome, unit
from edrp.core.tolerances import LIMIT_SLACK, STATE_RESOLUTION, SUM_DIFFERENCE_ROUNDING

Index = Annotated[int, Field(ge=0)]
Interval = tuple[Index, Index]
"""Half-open [first task, end): `(2, 5)` holds the tasks 2, 3 and 4; `(2, 2)` holds none."""

Assignment = tuple[Interval | None, ...]
"""One interval per node, in the order of the nodes; None for a node that is removed."""


MAX_NODES = 10_000
"""Most nodes that an operator's tasks may be given to."""

NodeCount = Annotated[int, Field(le=MAX_NODES)]


def load_limit(work: float, nodes: int, tolerance: float) -> float:
    """Most work that a node may hold: (1 + τ)·W/n′ (state migration, Definition 3.1), with the rounding of a difference of sums.

    >>> round(load_limit(20.0, 4, 0.4), 6)
    7.0
    """
    return (1 + tolerance) * work / nodes * (1 + LIMIT_SLACK) + SUM_DIFFERENCE_ROUNDING * work


def sums_before(values: Sequence[float] | Floats) -> Floats:
    """Sums of what is before each entry, and of all, shape (m + 1,): rounded once, not at every step.

    >>> float(sums_before([0.1] * 1000)[-1])
    100.0
    """
    amounts = np.asarray(values, np.float64)
    sums = np.concatenate([[0.0], np.cumsum(amounts)])
    steps = np.diff(sums)
    sums[1:] += np.cumsum((sums[:-1] - (sums[1:] - steps)) + (amounts - steps))  # what each step lost (Knuth's two-sum)
    return sums


def task_numbers(first: int, end: int) -> str:
    """The tasks [first, end) by number.

    >>> task_numbers(2, 5), task_numbers(2, 3), task_numbers(2, 2)
    ('2–4', '2', 'none')
    """
    return "none" if first == end else str(first) if end == first + 1 else f"{first}–{end - 1}"


def tasks_text(first: int, end: int) -> str:
    """The tasks [first, end) in words: "task 2", "tasks 2–4"."""
    return f"task{'s' * (end != first + 1)} {task_numbers(first, end)}"


class Move(Outcome):
    """Neighbouring tasks that go from one node to another."""

    first: Index = Field(description="first task that moves", **unit("1"))
    end: Index = Field(description="task after the last that moves", **unit("1"))
    source: Index = Field(description="node that holds them now", **unit("1"))
    target: Index = Field(description="node that holds them afterwards", **unit("1"))
    size: NonNegative = Field(description="of the state that moves", **unit("B"))

    def __str__(self) -> str:
        return f"{tasks_text(self.first, self.end)} from node {self.source} to node {self.target}, {self.size:.6g} B"


def moves_between(
    before: Sequence[Interval | None], after: Sequence[Interval | None], state_size: Sequence[float]
) -> tuple[Move, ...]:
    """Moves that lead from one assignment to another, in the order of the tasks.

    Parameters
    ----------
    before, after
        One interval per node; None, or a missing entry at the end, for a node that does not exist.
    state_size
        Shape (m,), bytes.

    Examples
    --------
    >>> [str(move) for move in moves_between([(0, 3), (3, 4)], [(0, 2), (2, 4)], [1.0, 1.0, 8.0, 1.0])]
    ['task 2 from node 0 to node 1, 8 B']
    """
    moves: list[Move] = []
    leaving, arriving = _held(before), _held(after)
    position = 0
    for first, end, target in arriving:
        while first < end:
            while leaving[position][1] <= first:
                position += 1
            upto = min(end, leaving[position][1])
            source = leaving[position][2]
            if source != target:
                moves.append(Move(first=first, end=upto, source=source, target=target, size=sum(state_size[first:upto])))
            first = upto
    return tuple(moves)


def give_out(
    kept: Mapping[int, Interval], others: Sequence[Interval], nodes_before: int, nodes_after: int, tasks: int
) -> Assignment:
    """Complete an assignment of which only the intervals that old nodes keep are settled.

    The others go to free old nodes, in the order of both, then to new nodes, which are numbered after the old ones.
    If nodes are still missing, the next free old ones, then new ones, hold nothing. Nodes that are left over are removed.

    Parameters
    ----------
    kept
        By node; numbers from `nodes_before` on are of new nodes that have their interval already.
    others
        Intervals that hold tasks and are kept by nobody.

    Examples
    --------
    >>> give_out({0: (0, 9), 1: (11, 20)}, [(9, 11)], 2, 4, 20)
    ((0, 9), (11, 20), (9, 11), (20, 20))
    """
    after: list[Interval | None] = [kept.get(node) for node in range(max(nodes_before, nodes_after, *(n + 1 for n in kept)))]
    waiting = [*others, *[(tasks, tasks)] * (nodes_after - len(kept) - len(others))]
    free = [node for node, interval in enumerate(after) if interval is None]
    for node, interval in zip(free, waiting, strict=False):
        after[node] = interval
    return tuple(after)


def _held(assignment: Sequence[Interval | None]) -> list[tuple[int, int, int]]:
    used = ((interval, node) for node, interval in enumerate(assignment) if interval is not None and interval[0] < interval[1])
    return sorted((*interval, node) for interval, node in used)


def uncovered(intervals: Iterable[Interval | None], tasks: int) -> list[tuple[int, int, str]]:
    """Every range of tasks that is held by no interval, or by several, or that does not exist, with what is wrong.

    >>> uncovered([(0, 2), (1, 3)], 5)
    [(1, 2, 'held twice'), (3, 5, 'held by no node')]
    """
    wrong = []
    reached = 0
    for first, end in sorted(interval for interval in intervals if interval is not None and interval[0] < interval[1]):
        if first < reached:
            wrong.append((first, min(end, reached), "held twice"))
        elif first > reached:
            wrong.append((reached, first, "held by no node"))
        reached = max(reached, end)
    if reached < tasks:
        wrong.append((reached, tasks, "held by no node"))
    elif reached > tasks:
        wrong.append((tasks, reached, "do not exist"))
    return wrong


def uncovered_text(first: int, end: int, why: str) -> str:
    """A range of tasks that is not held exactly once, in words.

    >>> uncovered_text(3, 4, "do not exist"), uncovered_text(3, 5, "held twice")
    ('task 3 does not exist', 'tasks 3 to 4 are held twice')
    """
    one = end == first + 1
    tasks = f"task {first}" if one else f"tasks {first} to {end - 1}"
    if why == "do not exist":
        return f"{tasks} {'does not exist' if one else why}"
    return f"{tasks} {'is' if one else 'are'} {why}"


def uncovered_faults(intervals: tuple[Interval, ...], tasks: int, faults: Faults) -> None:
    """Note every interval that ends before it begins, or every range of tasks that is not held exactly once."""
    reversed_ones = [(index, interval) for index, interval in enumerate(intervals) if interval[1] < interval[0]]
    for index, interval in reversed_ones:
        faults.add(("intervals", index), interval, "ends before it begins; give [first task, end)")
    for first, end, why in [] if reversed_ones else uncovered(intervals, tasks):
        text = uncovered_text(first, end, why)
        faults.add(("intervals",), intervals, f"{text}; the intervals must hold each of the {tasks} tasks once")


class TaskIntervals(Document):
    """Tasks with their work and state, and the interval that each node holds.

    Raises
    ------
    InvalidInstanceError
        For a negative or non-finite number, arrays of different lengths, and tasks that no node or several nodes hold.

    Examples
    --------
    >>> TaskIntervals(work=[1, 1], state_size=[10, 20], intervals=[[0, 1], [1, 1]])
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      intervals: task 1 is held by no node; the intervals must hold each of the 2 tasks once (got a list of lists or objects)
    """

    work: tuple[NonNegative, ...] = Field(min_length=1, description="amount of work of each task", **unit("1"))
    state_size: tuple[NonNegative, ...] = Field(min_length=1, description="of each task's state", **unit("B"))
    intervals: tuple[Interval, ...] = Field(min_length=1, description="tasks [first, end) of each current node", **unit("1"))

    @property
    def resolution(self) -> float:
        """1e-9 of all state: what moves is a difference of sums over it."""
        return STATE_RESOLUTION * sum(self.state_size)

    @model_validator(mode="after")
    def _check_intervals(self) -> Self:
        faults = Faults(type(self).__name__)
        tasks = len(self.work)
        if len(self.state_size) != tasks:
            faults.add(
                ("state_size",),
                len(self.state_size),
                f"has another length than work; give one number for each of the {tasks} tasks",
            )
        uncovered_faults(self.intervals, tasks, faults)
        faults.raise_if_any()
        return self
