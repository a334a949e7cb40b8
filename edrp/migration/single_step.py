"""One migration of a key-partitioned operator's state (state migration, section 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Faults, NonNegative, checks, unit
from edrp.core.errors import Fault, numbered
from edrp.core.limits import compared
from edrp.core.problem import Evaluation, Margin, Problem, read_as
from edrp.core.rules import HardRule
from edrp.core.solution import Solution
from edrp.core.wording import enumerated
from edrp.migration.intervals import (
    Assignment,
    Index,
    Interval,
    Move,
    NodeCount,
    TaskIntervals,
    load_limit,
    moves_between,
    task_numbers,
    uncovered,
)


class TaskRule(HardRule):
    """Tasks that may be on none of some current nodes ("forbidden"), or on these alone ("required").

    Nodes that join are not named: they are alike, and may take whatever no rule requires to be on a current node.

    Examples
    --------
    >>> rule = TaskRule(rule="forbidden", name="drain", tasks=[(0, 3), (5, 6)], nodes=[1])
    >>> rule.sentence, rule.misplaced([(0, 2), (2, 6)])
    ('tasks 0–2 and 5 may not be on node 1', 2)
    """

    rule: Literal["forbidden", "required"] = Field(description="whether the tasks may be on none of the nodes, or on these alone")
    tasks: Annotated[tuple[Interval, ...], Field(min_length=1)] = Field(
        description="ranges of tasks, [first, end) each", **unit("1")
    )
    nodes: Annotated[tuple[Index, ...], Field(min_length=1)] = Field(
        description="current nodes, by their place in `intervals`", **unit("1")
    )

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        several = len(self.tasks) > 1 or self.tasks[0][1] - self.tasks[0][0] > 1
        tasks = f"task{'s' * several} {enumerated([task_numbers(*interval) for interval in self.tasks])}"
        nodes = f"node{'s' * (len(self.nodes) > 1)} {enumerated([str(node) for node in self.nodes])}"
        return f"{tasks} {'may not be on' if self.rule == 'forbidden' else 'must be on'} {nodes}"

    def misplaced(self, held: Sequence[Interval | None]) -> int:
        """Number of tasks that the rule does not want where they are, given the interval of each node."""
        named = {task for first, end in self.tasks for task in range(first, end)}
        there = {task for node, interval in enumerate(held) if interval and node in self.nodes for task in range(*interval)}
        return len(named & there if self.rule == "forbidden" else named - there)


class MigrationSolution(Solution):
    """Answer of a method to a problem of kind `migration`, with what it proved."""

    metric_units: ClassVar[Mapping[str, str]] = {"moved_state": "B"}

    kind: Literal["migration-solution"] = Field("migration-solution", description="says what the document is")
    objective: float | None = Field(description="state that moves, as re-evaluated", **unit("B"))
    bound: float | None = Field(description="proven: nothing moves less than this", **unit("B"))
    intervals: Assignment | None = Field(
        description="tasks [first, end) of each node, null where it is removed; new nodes after the old", **unit("1")
    )
    moves: tuple[Move, ...] = Field(description="tasks that go from node to node, in the order of the tasks")

    @property
    def decision(self) -> Assignment | None:
        """The interval of each node."""
        return self.intervals


class MigrationProblem(TaskIntervals, Problem):
    """Give the tasks to another number of nodes (or balance them again) and move the least state.

    Examples
    --------
    The first step of the paper's Table 3, 20 equal tasks from two nodes to three:

    >>> problem = MigrationProblem(
    ...     work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=3, tolerance=0.4
    ... )
    >>> problem.evaluate(((0, 9), (13, 20), (9, 13))).objective
    4.0
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("moved_state",)
    decision_type: ClassVar[Any] = Assignment

    kind: Literal["migration"] = Field("migration", description="says what the document is")
    nodes: NodeCount = Field(ge=1, description="n′, how many nodes there are to be", **unit("1"))
    tolerance: NonNegative = Field(description="τ: a node may hold (1 + τ) times the average work", **unit("1"))
    allow_empty: bool = Field(True, description="whether a node may hold no task")
    rules: tuple[TaskRule, ...] = Field((), description="tasks that must or must not be on some current nodes afterwards")

    @checks()
    def _check_rules(self, faults: Faults) -> None:
        tasks, nodes = len(self.work), len(self.intervals)
        faults.add_repeated_names("rules", [rule.name for rule in self.rules])
        for index, rule in enumerate(self.rules):
            for position, (first, end) in enumerate(rule.tasks):
                if not first < end <= tasks:
                    why = f"is no range of the {numbered(tasks, 'task')}; give [first task, end), from 0 to {tasks}"
                    faults.add(("rules", index, "tasks", position), (first, end), why)
            for position, node in enumerate(rule.nodes):
                if node >= nodes:
                    why = f"is no current node; `intervals` has {numbered(nodes, 'node')}, numbered from 0"
                    faults.add(("rules", index, "nodes", position), node, why)

    def evaluate(self, decision: Sequence[Sequence[int] | None]) -> Evaluation:
        """Evaluate an assignment: state that moves, and the limits and rules that it breaks."""
        after: Assignment = read_as(self.decision_type, decision, "decision")
        evaluation = evaluate_migration(
            after, self.intervals, self.work, self.state_size, self.nodes, self.tolerance, allow_empty=self.allow_empty
        )
        broken = (sentence for rule in self.rules for sentence in rule.broken(rule.misplaced(after)))
        return replace(evaluation, broken=(*evaluation.broken, *broken))

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield the work of each node against the limit."""
        yield from work_margins(self.read_decision(decision), self.work, self.nodes, self.tolerance)

    def solution(self, decision: Assignment | None, fields: dict[str, Any]) -> MigrationSolution:
        """The assignment and the moves that lead to it."""
        moves = () if decision is None else moves_between(self.intervals, decision, self.state_size)
        return MigrationSolution.model_construct(**fields, intervals=decision, moves=moves)

    def _warnings(self) -> Iterator[Fault]:
        yield from migration_warnings((self.work,), (self.state_size,), self.tolerance)

    def clashes(self) -> tuple[str, ...]:
        """Return the reasons why no assignment is within the load limit."""
        return migration_clashes(self.work, self.nodes, self.tolerance, allow_empty=self.allow_empty)


def work_margins(after: Sequence[Interval | None], work: Sequence[float], nodes: int, tolerance: float) -> Iterator[Margin]:
    """Yield the work of each node against the limit."""
    limit = load_limit(sum(work), nodes, tolerance)
    held = {node: sum(work[interval[0] : interval[1]]) for node, interval in enumerate(after) if interval is not None}
    yield from (Margin.of(f"work of node {node}", load, limit, "1") for node, load in held.items())


def evaluate_migration(
    decision: Sequence[Interval | None],
    before: Sequence[Interval | None],
    work: Sequence[float],
    state_size: Sequence[float],
    nodes: int,
    tolerance: float,
    *,
    allow_empty: bool,
) -> Evaluation:
    """Evaluate one migration with plain code (state migration, section 3.1).

    Parameters
    ----------
    decision, before
        Interval of each node, None where it does not exist.
    work, state_size
        Shape (m,): amounts of work, bytes.

    Returns
    -------
    Evaluation
        The objective is the state that moves, in bytes. Metrics: `moved_state` (bytes), `moved_share` of all state,
        `largest_load` relative to the average load of a node, `moved_tasks` and `moves`.
    """
    broken = [f"tasks [{first}, {end}): {why}" for first, end, why in uncovered(decision, len(work))]
    present = [interval for interval in decision if interval is not None]
    if len(present) != nodes:
        broken.append(f"nodes: {len(present)} hold an interval against {nodes}")
    total = math.fsum(work)
    limit = load_limit(total, nodes, tolerance)
    largest = 0.0
    for node, interval in enumerate(decision):
        if interval is None:
            continue
        if interval[0] == interval[1] and not allow_empty:
            broken.append(f"allow_empty: node {node} holds no task")
        load = math.fsum(work[interval[0] : interval[1]])
        largest = max(largest, load)
        if load > limit:
            broken.append(f"tolerance: node {node} holds work {compared(load, limit)}")
    moves = () if broken and uncovered(decision, len(work)) else moves_between(before, decision, state_size)
    moved, all_state = sum((move.size for move in moves), 0.0), sum(state_size)
    metrics = {
        "moved_state": moved,
        "moved_share": moved / all_state if all_state else 0.0,
        "largest_load": largest * nodes / total if total else 0.0,
        "moved_tasks": float(sum(move.end - move.first for move in moves)),
        "moves": float(len(moves)),
    }
    return Evaluation(moved, metrics, tuple(broken))


def migration_warnings(
    work: Sequence[Sequence[float]], state_size: Sequence[Sequence[float]], tolerance: object
) -> Iterator[Fault]:
    """Yield faults where tasks have no state that could move, or no work that a tolerance could limit, in any step.

    >>> [fault.sentence for fault in migration_warnings([[1, 2]], [[0, 0]], 0.4)]
    ['state_size is 0 for every task, so that every assignment moves nothing']
    """
    if not any(map(any, state_size)):
        yield Fault("state_size", "", "is 0 for every task, so that every assignment moves nothing")
    if not any(map(any, work)):
        yield Fault("tolerance", f"{tolerance}", "has no effect: no task has any work")


def migration_clashes(work: Sequence[float], nodes: int, tolerance: float, *, allow_empty: bool) -> tuple[str, ...]:
    """Return the reasons why tasks cannot be split among nodes within the load limit; empty where they can.

    >>> migration_clashes([1, 1, 8], 3, 0.4, allow_empty=True)
    ('task 2 alone has work 8, above the limit of 4.66667 that tolerance 0.4 leaves to each of 3 nodes; tolerance 1.4 would do',)
    """
    limit = load_limit(sum(work), nodes, tolerance)
    if not allow_empty and nodes > len(work):
        return (f"{nodes} nodes cannot each hold one of {len(work)} tasks, and allow_empty is false",)
    allows = f"that tolerance {tolerance:.6g} leaves to each of {nodes} nodes"
    heaviest = max(range(len(work)), key=work.__getitem__)
    if work[heaviest] > limit:
        needed = work[heaviest] * nodes / sum(work) - 1
        why = f"task {heaviest} alone has work {work[heaviest]:.6g}, above the limit of {limit:.6g} {allows}"
        return (f"{why}; tolerance {_rounded_up(needed):.6g} would do",)
    needed_nodes = _fewest_intervals(work, limit)
    if needed_nodes > nodes:
        # Load of the fullest node where neighbouring tasks are split as evenly as can be, to nine digits.
        low, high = max(work), sum(work)
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if _fewest_intervals(work, middle) <= nodes else (middle, high)
        enough = _rounded_up(high * nodes / sum(work) - 1)
        need = f"neighbouring tasks need {needed_nodes} nodes under the limit of {limit:.6g} {allows}"
        return (f"{need}; tolerance {enough:.6g} would do",)
    return ()


def _fewest_intervals(work: Sequence[float], limit: float) -> int:
    count, load = 1, 0.0
    for amount in work:
        load += amount
        if load > limit:
            count, load = count + 1, amount
    return count


def _rounded_up(value: float) -> float:
    return float(f"{value * (1 + 5e-7) + 5e-7:.6g}")
