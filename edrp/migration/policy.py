"""A migration that prepares for those that will probably follow, and projected costs (state migration, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, InstanceOf

from edrp.core.arrays import AnyInts, Floats
from edrp.core.document import Faults, NonNegative, checks, unit
from edrp.core.errors import Fault
from edrp.core.problem import Evaluation, Margin, Problem, read_as
from edrp.core.solution import Solution
from edrp.core.tolerances import SAME_VALUE, STATE_SUM_ROUNDING
from edrp.core.transitions import TransitionProbability, check_transitions, reachable_states
from edrp.migration.intervals import Assignment, Move, NodeCount, TaskIntervals, moves_between
from edrp.migration.single_step import evaluate_migration, migration_clashes, migration_warnings, work_margins


@dataclass(frozen=True, slots=True)
class ProjectedCosts:
    """C of every partition that keeps the load limit, by number of intervals (state migration, Fig. 6).

    Attributes
    ----------
    boundaries : by number of intervals n, shape (count, n + 1)
        Partitions in lexicographic order.
    values : by number of intervals, shape (count,)
        C in bytes.
    error_bound : float
        Proven: no value is further than this from the exact one, in bytes.
    """

    boundaries: Mapping[int, AnyInts]
    values: Mapping[int, Floats]
    error_bound: float = 0.0

    @property
    def states(self) -> int:
        """Number of partitions."""
        return sum(costs.size for costs in self.values.values())

    def row_index(self, boundaries: Sequence[int]) -> int | None:
        """Row of a partition among those with as many intervals, or None."""
        rows = self.boundaries.get(len(boundaries) - 1)
        if rows is None:
            return None
        low, high = 0, len(rows)
        key = tuple(int(boundary) for boundary in boundaries)
        while low < high:
            middle = (low + high) // 2
            if tuple(rows[middle].tolist()) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(rows) and tuple(rows[low].tolist()) == key else None

    def cost(self, boundaries: Sequence[int]) -> float | None:
        """C of a partition in bytes, or None where it is not in the table."""
        index = self.row_index(boundaries)
        return None if index is None else float(self.values[len(boundaries) - 1][index])

    def backup(self, boundaries: Sequence[int], state_size: Sequence[float], row: Mapping[int, float], discount: float) -> float:
        """Right-hand side of the Bellman equation at one partition, by a full scan of the table.

        Parameters
        ----------
        state_size
            Shape (m,), bytes.
        row
            M[|P|, n] by n, without zeros.
        discount
            γ.

        Returns
        -------
        float
            Σ_n M[|P|, n] · min_Q (c(P, Q) + γ·C(Q)) in bytes.

        Examples
        --------
        One task on one node, which stays where it is:

        >>> costs = ProjectedCosts({1: np.array([[0, 1]])}, {1: np.array([0.0])})
        >>> costs.backup((0, 1), [8.0], {1: 1.0}, 0.5)
        0.0
        """
        total = 0.0
        for count, chance in row.items():
            costs = migration_costs(boundaries, self.boundaries[count], state_size)
            total += chance * float((costs + discount * self.values[count]).min())
        return total


def migration_costs(before: Sequence[int], after: AnyInts, state_size: Sequence[float]) -> Floats:
    """Least state that moves from one partition to each of many, in bytes.

    Old and new intervals overlap like the teeth of a zip: sweeping over the tasks, each piece between two
    boundaries belongs to one old and one new interval, and an old and a new interval are matched at most once. It
    suffices to remember whether the old and the new interval of the current piece are still free.

    Parameters
    ----------
    after : shape (count, n + 1)
        New partitions.
    state_size : shape (m,)
        In bytes.

    Returns
    -------
    numpy.ndarray
        Shape (count,).

    Examples
    --------
    >>> migration_costs((0, 13, 20), np.array([[0, 9, 11, 20], [0, 8, 13, 20]]), [1.0] * 20).tolist()
    [4.0, 5.0]
    """
    prefix = np.concatenate([[0.0], np.cumsum(state_size)])
    rows = np.arange(len(after))
    old, new = np.zeros(len(after), np.int64), np.zeros(len(after), np.int64)
    ends, targets = np.asarray(before)[1:], np.asarray(after)[:, 1:]
    position = np.zeros(len(after), np.int64)
    # Best kept state so far, by whether the current old interval and the current new interval are used.
    free, old_used, new_used, both_used = (np.full(len(after), value) for value in (0.0, -np.inf, -np.inf, -np.inf))
    for _ in range(len(ends) + targets.shape[1]):
        old_end, new_end = ends[old], targets[rows, new]
        upto = np.minimum(old_end, new_end)
        both_used = np.maximum(both_used, free + prefix[upto] - prefix[position])
        position = upto
        closes_old, closes_new = old_end <= new_end, new_end <= old_end
        # A closed interval gives way to the next one, which is free.
        free, new_used = (
            np.where(closes_old, np.maximum(free, old_used), free),
            np.where(closes_old, np.maximum(new_used, both_used), new_used),
        )
        old_used, both_used = np.where(closes_old, -np.inf, old_used), np.where(closes_old, -np.inf, both_used)
        free, old_used = (
            np.where(closes_new, np.maximum(free, new_used), free),
            np.where(closes_new, np.maximum(old_used, both_used), old_used),
        )
        new_used, both_used = np.where(closes_new, -np.inf, new_used), np.where(closes_new, -np.inf, both_used)
        old = np.minimum(old + closes_old, len(ends) - 1)
        new = np.minimum(new + closes_new, targets.shape[1] - 1)
    kept_state = np.maximum.reduce([free, old_used, new_used, both_used])
    return np.asarray(prefix[-1] - kept_state)


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """An assignment and what the migrations after it are expected to cost.

    Attributes
    ----------
    intervals : interval of each node, None where it is removed.
    projected_cost : C of the assignment's partition, in bytes.
    objective : state that moves now plus γ·C, as the method found it, in bytes.
    costs : the table that C was read from, or None where it is an estimate.
    """

    intervals: Assignment
    projected_cost: float
    objective: float
    costs: InstanceOf[ProjectedCosts] | None = None


class MigrationPolicySolution(Solution):
    """Answer of a method to a problem of kind `migration-policy`, with what it proved."""

    metric_units: ClassVar[Mapping[str, str]] = {"moved_state": "B", "projected_cost": "B"}

    kind: Literal["migration-policy-solution"] = Field("migration-policy-solution", description="says what the document is")
    objective: float | None = Field(
        description="state that moves now, and discounted what is expected to move later", **unit("B")
    )
    bound: float | None = Field(description="proven: nothing is better than this", **unit("B"))
    intervals: Assignment | None = Field(
        description="tasks [first, end) of each node, null where it is removed; new nodes after the old", **unit("1")
    )
    moves: tuple[Move, ...] = Field(description="tasks that go from node to node, in the order of the tasks")

    @property
    def decision(self) -> PolicyDecision | None:
        """The interval of each node, and what is expected to follow."""
        if self.intervals is None or self.objective is None:
            return None
        return PolicyDecision(self.intervals, self.metrics["projected_cost"], self.objective)


class MigrationPolicyProblem(TaskIntervals, Problem):
    """One migration out of an endless random sequence: minimise c(P, P′) + γ·C(P′).

    c is the state that moves now. C is the projected migration cost of the partition chosen: the expected,
    discounted cost of all later migrations when each of them is decided in the same way,
    C(P) = Σ_n M[|P|, n] · min_Q (c(P, Q) + γ·C(Q)) over the partitions Q into n intervals (state migration, Fig. 6,
    read as the Bellman equation of the process that its text describes).

    Examples
    --------
    >>> MigrationPolicyProblem(
    ...     work=[1, 1], state_size=[1, 1], intervals=[[0, 2]], nodes=2, tolerance=0.2,
    ...     node_counts=[1, 2], transitions=[[0.0, 1.0], [0.5, 0.4]], discount=0.8,
    ... )
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      transitions[1]: sums to 0.9; the probabilities of leaving for each count must sum to 1 (got [0.5, 0.4])
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("moved_state", "expected later, discounted")
    decision_type: ClassVar[Any] = PolicyDecision

    kind: Literal["migration-policy"] = Field("migration-policy", description="says what the document is")
    nodes: NodeCount = Field(ge=1, description="n′, how many nodes there are to be now", **unit("1"))
    tolerance: NonNegative = Field(description="τ: a node may hold (1 + τ) times the average work", **unit("1"))
    allow_empty: bool = Field(True, description="whether a node may hold no task")
    node_counts: tuple[NodeCount, ...] = Field(
        min_length=1, description="numbers of nodes that the future may bring", **unit("1")
    )
    transitions: tuple[tuple[TransitionProbability, ...], ...] = Field(
        min_length=1, description="M: row i gives the probabilities of what follows node_counts[i]", **unit("1")
    )
    discount: float = Field(ge=0, lt=1, description="γ: weight of the next migration", **unit("1"))

    @checks("migration-policy")
    def _check(self, faults: Faults) -> None:
        for index, count in enumerate(self.node_counts):
            if count < 1:
                faults.add(("node_counts", index), count, "must be at least 1")
            if count in self.node_counts[:index]:
                faults.add(("node_counts", index), count, "is given twice")
        if self.nodes not in self.node_counts:
            faults.add(("nodes",), self.nodes, "is not among node_counts, so nothing is known of what follows it")
        check_transitions(self.transitions, len(self.node_counts), "node_counts", "count", faults)

    def evaluate(self, decision: PolicyDecision | Mapping[str, Any]) -> Evaluation:
        """Evaluate an assignment; its projected cost must satisfy the Bellman equation over the decision's own table."""
        decision = read_as(PolicyDecision, decision, "decision")
        evaluation = evaluate_migration(
            decision.intervals,
            self.intervals,
            self.work,
            self.state_size,
            self.nodes,
            self.tolerance,
            allow_empty=self.allow_empty,
        )
        broken = list(evaluation.broken)
        if decision.costs is not None and not broken:
            broken += self._disagreements(decision, decision.costs)
        metrics = {**evaluation.metrics, "projected_cost": decision.projected_cost}
        return Evaluation(evaluation.objective + self.discount * decision.projected_cost, metrics, tuple(broken))

    def margins(self, decision: Any) -> Iterator[Margin]:
        """Yield the work of each node against the limit."""
        yield from work_margins(self.read_decision(decision).intervals, self.work, self.nodes, self.tolerance)

    def solution(self, decision: PolicyDecision | None, fields: dict[str, Any]) -> MigrationPolicySolution:
        """The assignment and the moves that lead to it."""
        intervals = None if decision is None else decision.intervals
        moves = () if intervals is None else moves_between(self.intervals, intervals, self.state_size)
        return MigrationPolicySolution.model_construct(**fields, intervals=intervals, moves=moves)

    def _warnings(self) -> Iterator[Fault]:
        yield from migration_warnings((self.work,), (self.state_size,), self.tolerance)

    def clashes(self) -> tuple[str, ...]:
        """Return the reasons why this migration, or one that may follow, has no assignment within the load limit."""
        return tuple(
            f"{count} nodes: {why}"
            for count in self.reachable_counts
            for why in migration_clashes(self.work, count, self.tolerance, allow_empty=self.allow_empty)
        )

    @property
    def reachable_counts(self) -> tuple[int, ...]:
        """Those of `node_counts` that can come up from `nodes` on, ascending."""
        reached = reachable_states(self.transitions, self.node_counts.index(self.nodes))
        return tuple(sorted(self.node_counts[index] for index in reached))

    def row(self, count: int) -> dict[int, float]:
        """Probabilities of what follows `count` nodes, without those that are 0."""
        row = self.transitions[self.node_counts.index(count)]
        return {other: chance for other, chance in zip(self.node_counts, row, strict=True) if chance > 0}

    def _disagreements(self, decision: PolicyDecision, costs: ProjectedCosts) -> list[str]:
        intervals = sorted(interval for interval in decision.intervals if interval is not None and interval[0] < interval[1])
        empty = self.nodes - len(intervals) if self.allow_empty else 0
        boundaries = (0, *(end for _, end in intervals), *[len(self.work)] * empty)
        stored = costs.cost(boundaries)
        if stored is None:
            return [f"projected cost: the table knows no partition {boundaries}"]
        slack = SAME_VALUE * max(1.0, abs(stored)) + STATE_SUM_ROUNDING * sum(self.state_size)
        if abs(stored - decision.projected_cost) > slack:
            return [f"projected cost: claimed {decision.projected_cost!r}, the table says {stored!r}"]
        expected = costs.backup(boundaries, self.state_size, self.row(self.nodes), self.discount)
        if abs(expected - stored) > costs.error_bound * (1 + self.discount) + slack:
            return [f"projected cost: {stored!r} does not satisfy the Bellman equation, which gives {expected!r}"]
        return []
