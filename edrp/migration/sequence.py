"""A known sequence of migrations (state migration, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from edrp.core.document import Faults, NonNegative, Outcome, checks, unit
from edrp.core.errors import Fault
from edrp.core.problem import Evaluation, Margin, Problem, read_as
from edrp.core.solution import Solution
from edrp.core.tolerances import STATE_RESOLUTION
from edrp.migration.intervals import Assignment, Index, Interval, Move, NodeCount, moves_between, uncovered_faults
from edrp.migration.single_step import MigrationSolution, evaluate_migration, migration_clashes, migration_warnings, work_margins

Row = Annotated[tuple[NonNegative, ...], Field(min_length=1)]


def _form(value: Any) -> str:
    """Tell the two forms apart by the first entry, so that faults are reported for the form in use only."""
    first = value[0] if isinstance(value, (list, tuple)) and value else None
    return "tuple[tuple]" if isinstance(first, (list, tuple)) else "tuple[number]"


RowOrRows = Annotated[
    Annotated[Row, Tag("tuple[number]")] | Annotated[tuple[Row, ...], Tag("tuple[tuple]")], Discriminator(_form)
]
Nodes = tuple[Interval | None, ...]


class SequenceStep(Outcome):
    """One migration of a sequence."""

    nodes: Index = Field(description="how many nodes there are afterwards", **unit("1"))
    moved_state: NonNegative = Field(description="in this step", **unit("B"))
    intervals: Assignment = Field(description="of each node afterwards, null where it is removed", **unit("1"))
    moves: tuple[Move, ...] = Field(description="tasks that go from node to node")


class MigrationSequenceSolution(Solution):
    """Answer of a method to a problem of kind `migration-sequence`, with what it proved."""

    metric_units: ClassVar[Mapping[str, str]] = MigrationSolution.metric_units

    kind: Literal["migration-sequence-solution"] = Field("migration-sequence-solution", description="says what the document is")
    objective: float | None = Field(description="state that moves in all steps, as re-evaluated", **unit("B"))
    bound: float | None = Field(description="proven: nothing moves less than this", **unit("B"))
    steps: tuple[SequenceStep, ...] | None = Field(description="the migrations in order")

    @property
    def decision(self) -> tuple[Assignment, ...] | None:
        """The interval of each node after each step."""
        return None if self.steps is None else tuple(step.intervals for step in self.steps)


class MigrationSequence(Problem):
    """Several migrations, known beforehand, that together move the least state.

    `work` and `state_size` are one number per task, or one row per step where loads change from step to step: row t
    holds when step t happens. Nodes keep their index over the whole sequence: a removed node stays null until a later
    step adds nodes, which take the lowest free indices before any new one.

    Examples
    --------
    Table 3 of the paper, for which 6 is the least:

    >>> problem = MigrationSequence(
    ...     work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=[3, 4], tolerance=[0.4, 0.4]
    ... )
    >>> problem.evaluate((((0, 7), (13, 20), (7, 13)), ((0, 7), (13, 20), (7, 13), None))).broken
    ('step 1: nodes: 3 hold an interval against 4',)
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("moved_state",)
    decision_type: ClassVar[Any] = tuple[Nodes, ...]

    kind: Literal["migration-sequence"] = Field("migration-sequence", description="says what the document is")
    work: RowOrRows = Field(description="amount of work of each task, or one such row per step", **unit("1"))
    state_size: RowOrRows = Field(description="of each task's state, or one such row per step", **unit("B"))
    intervals: tuple[Interval, ...] = Field(min_length=1, description="tasks [first, end) of each current node", **unit("1"))
    nodes: tuple[NodeCount, ...] = Field(min_length=1, description="nodes after each step", **unit("1"))
    tolerance: tuple[NonNegative, ...] = Field(min_length=1, description="τ of each step", **unit("1"))
    allow_empty: bool = Field(True, description="whether a node may hold no task")

    @property
    def resolution(self) -> float:
        """1e-9 of all state that there is in the steps: what moves is a difference of sums over it."""
        return STATE_RESOLUTION * sum(sum(self.state_size_at(step)) for step in range(len(self.nodes)))

    @checks("migration-sequence")
    def _check(self, faults: Faults) -> None:
        steps = len(self.nodes)
        if len(self.tolerance) != steps:
            faults.add(("tolerance",), len(self.tolerance), f"has another length than nodes; give one for each of {steps} steps")
        for step, count in enumerate(self.nodes):
            if count < 1:
                faults.add(("nodes", step), count, "must be at least 1")
        widths = {len(row): (name, index) for name in ("state_size", "work") for index, row in self._rows(name)}
        for name in ("work", "state_size"):
            rows = getattr(self, name)
            if isinstance(rows[0], tuple) and len(rows) != steps:
                faults.add((name,), len(rows), f"must be one row, or one row for each of {steps} steps")
        tasks = self.tasks
        for width, (name, index) in widths.items():
            if width != tasks:
                faults.add((name, *index), width, f"has another length than the first row of work; give {tasks} numbers")
        faults.raise_if_any()
        uncovered_faults(self.intervals, tasks, faults)

    def _rows(self, name: str) -> list[tuple[tuple[int, ...], Row]]:
        rows = getattr(self, name)
        return [((step,), row) for step, row in enumerate(rows)] if isinstance(rows[0], tuple) else [((), rows)]

    @property
    def tasks(self) -> int:
        """Number of tasks, m."""
        return len(self._rows("work")[0][1])

    def work_at(self, step: int) -> Row:
        """Work of each task when a step happens, shape (m,)."""
        rows = self._rows("work")
        return rows[min(step, len(rows) - 1)][1]

    def state_size_at(self, step: int) -> Row:
        """State of each task when a step happens, shape (m,), bytes."""
        rows = self._rows("state_size")
        return rows[min(step, len(rows) - 1)][1]

    def evaluate(self, decision: Sequence[Sequence[Sequence[int] | None]]) -> Evaluation:
        """Evaluate the assignment after each step: state that moves in all, and the limits that are broken."""
        assignments: tuple[Nodes, ...] = read_as(self.decision_type, decision, "decision")
        before: Nodes = self.intervals
        broken = [] if len(assignments) == len(self.nodes) else [f"steps: {len(assignments)} against {len(self.nodes)}"]
        evaluations = []
        for step, after in enumerate(assignments[: len(self.nodes)]):
            step_evaluation = evaluate_migration(
                after,
                before,
                self.work_at(step),
                self.state_size_at(step),
                self.nodes[step],
                self.tolerance[step],
                allow_empty=self.allow_empty,
            )
            evaluations.append(step_evaluation)
            broken += [f"step {step}: {why}" for why in step_evaluation.broken]
            if any("tasks [" in why for why in step_evaluation.broken):
                break  # what later steps move cannot be said
            before = after
        moved = sum(evaluation.objective for evaluation in evaluations)
        metrics = {
            name: sum(evaluation.metrics[name] for evaluation in evaluations)
            for name in ("moved_state", "moved_share", "moved_tasks", "moves")
        }
        metrics["largest_load"] = max((evaluation.metrics["largest_load"] for evaluation in evaluations), default=0.0)
        return Evaluation(moved, metrics, tuple(broken))

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield the work of the fullest node after each step against the limit."""
        for step, after in enumerate(self.read_decision(decision)):
            loads = work_margins(after, self.work_at(step), self.nodes[step], self.tolerance[step])
            fullest = max(loads, key=lambda margin: margin.used)
            yield replace(fullest, name=f"{fullest.name} after step {step}")

    def solution(self, decision: tuple[Nodes, ...] | None, fields: dict[str, Any]) -> MigrationSequenceSolution:
        """The steps with the moves of each."""
        if decision is None:
            return MigrationSequenceSolution.model_construct(**fields, steps=None)
        steps = []
        before: Nodes = self.intervals
        for step, after in enumerate(decision):
            moves = moves_between(before, after, self.state_size_at(step))
            moved = sum((move.size for move in moves), 0.0)
            steps.append(SequenceStep(nodes=self.nodes[step], moved_state=moved, intervals=after, moves=moves))
            before = after
        return MigrationSequenceSolution.model_construct(**fields, steps=tuple(steps))

    def _warnings(self) -> Iterator[Fault]:
        work, state_size = ([row for _, row in self._rows(name)] for name in ("work", "state_size"))
        yield from migration_warnings(work, state_size, self.tolerance)

    def clashes(self) -> tuple[str, ...]:
        """Return the reasons why a step has no assignment within its load limit."""
        return tuple(
            f"step {step}: {why}"
            for step, (nodes, tolerance) in enumerate(zip(self.nodes, self.tolerance, strict=True))
            for why in migration_clashes(self.work_at(step), nodes, tolerance, allow_empty=self.allow_empty)
        )
