"""Migration problems on which methods are checked, with optima by plain code: no table or algorithm of the methods is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from edrp.check_problems.base import DrawnCheckProblems, EnumeratedCheckProblems
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK
from edrp.datasets.families.migration.migration_families import random_migration, random_policy_problem, random_sequence
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.datasets.families.placement.rules import with_rules
from edrp.migration.intervals import Assignment
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision
from edrp.migration.rescale.documents import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem

Partition = tuple[int, ...]
"""Boundaries, with empty intervals last."""


def all_partitions(work: Sequence[float], nodes: int, tolerance: float, *, allow_empty: bool) -> list[Partition]:
    """Every partition of a few tasks that keeps the load limit.

    >>> all_partitions([1, 1, 1], 2, 0.4, allow_empty=False)
    [(0, 1, 3), (0, 2, 3)]
    """
    tasks = len(work)
    limit = (1 + tolerance) * sum(work) / nodes * (1 + LIMIT_SLACK)
    choose = combinations_with_replacement if allow_empty else combinations
    inner = choose(range(1, tasks + (1 if allow_empty else 0)), nodes - 1)
    every = [(0, *ends, tasks) for ends in inner]
    # Of partitions that differ only in where their empty intervals stand, the one that has them last is kept.
    canonical = [boundaries for boundaries in every if all(a < b or a == tasks for a, b in pairwise(boundaries))]
    return [boundaries for boundaries in canonical if all(sum(work[a:b]) <= limit for a, b in pairwise(boundaries))]


def least_cost(before: Partition, after: Partition, state_size: Sequence[float]) -> float:
    """Least state that moves from one partition to another: an assignment problem (state migration, section 3.2).

    >>> least_cost((0, 13, 20), (0, 9, 11, 20), [1.0] * 20)
    4.0
    """
    kept_state = np.array([[_overlap(old, new, state_size) for new in pairwise(after)] for old in pairwise(before)])
    rows, columns = linear_sum_assignment(kept_state, maximize=True)
    return float(sum(state_size) - kept_state[rows, columns].sum())


def partition_boundaries(intervals: Sequence[tuple[int, int]]) -> Partition:
    """Boundaries of the intervals that hold tasks.

    >>> partition_boundaries([(2, 5), (3, 3), (0, 2)])
    (0, 2, 5)
    """
    return (0, *(end for first, end in sorted(intervals) if first < end))


def _overlap(old: tuple[int, int], new: tuple[int, int], state_size: Sequence[float]) -> float:
    first, end = max(old[0], new[0]), min(old[1], new[1])
    return sum(state_size[first:end]) if first < end else 0.0


class PolicyBruteForce:
    """C of every partition of a small problem.

    Attributes
    ----------
    projected : by partition (its boundaries, empty intervals last)
        C in bytes; empty when some number of nodes that may follow has no partition within the load limit.
    """

    def __init__(self, problem: MigrationPolicyProblem) -> None:
        self._problem = problem
        self._classes = {
            count: all_partitions(problem.work, count, problem.tolerance, allow_empty=problem.allow_empty)
            for count in problem.reachable_counts
        }
        self.projected: dict[Partition, float] = {}
        if all(self._classes.values()):
            self._iterate()

    def best(self) -> float | None:
        """Least c(P, P′) + γ·C(P′) of the problem's own migration, or None where it is infeasible."""
        if not self.projected:
            return None
        return min(self.objective(partition) for partition in self._classes[self._problem.nodes])

    def objective(self, partition: Partition) -> float:
        """c(P, P′) + γ·C(P′) of the problem's own migration to a partition."""
        moved = least_cost(partition_boundaries(self._problem.intervals), partition, self._problem.state_size)
        return moved + self._problem.discount * self.projected[partition]

    def _iterate(self) -> None:
        states = [partition for rows in self._classes.values() for partition in rows]
        number = {partition: index for index, partition in enumerate(states)}
        costs = np.array([[least_cost(a, b, self._problem.state_size) for b in states] for a in states])
        members = {count: [number[partition] for partition in rows] for count, rows in self._classes.items()}
        values = np.zeros(len(states))
        while True:
            totals = costs + self._problem.discount * values
            best = {count: totals[:, rows].min(axis=1) for count, rows in members.items()}
            new = np.array([self._expected(len(partition) - 1, best, index) for index, partition in enumerate(states)])
            change, values = np.abs(new - values).max(), new
            if change <= 1e-13 * max(1.0, np.abs(values).max()):
                break
        self.projected = dict(zip(states, values.tolist(), strict=True))

    def _expected(self, count: int, best: dict[int, Floats], state: int) -> float:
        return sum(chance * float(best[target][state]) for target, chance in self._problem.row(count).items())


def brute_force_sequence(problem: MigrationSequence) -> float | None:
    """Least state that moves in all steps of a small problem, in bytes; None where a step has no partition.

    Table 3 of state migration, whose own answer moves 9 tasks:

    >>> problem = MigrationSequence(
    ...     work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=[3, 4], tolerance=[0.4, 0.4],
    ...     allow_empty=False,
    ... )
    >>> brute_force_sequence(problem)
    6.0
    """
    reached: dict[Partition, float] = {partition_boundaries(problem.intervals): 0.0}
    for step, (nodes, tolerance) in enumerate(zip(problem.nodes, problem.tolerance, strict=True)):
        state_size = problem.state_size_at(step)
        targets = all_partitions(problem.work_at(step), nodes, tolerance, allow_empty=problem.allow_empty)
        reached = {
            after: min(cost + least_cost(before, after, state_size) for before, cost in reached.items()) for after in targets
        }
        if not reached:
            return None
    return min(reached.values())


class BestMigration(NamedTuple):
    """The best of all partitions: by cost, then maximal load, then moves, then boundaries.

    Attributes
    ----------
    cost : bytes that move.
    largest_load : work of the node that has most.
    moves : runs of neighbouring tasks that go from one old node to one other node.
    boundaries : boundaries of the intervals that hold tasks.
    kept : for each of these the node that keeps it, or None.
    """

    cost: float
    largest_load: float
    moves: int
    boundaries: tuple[int, ...]
    kept: tuple[int | None, ...]


def brute_force_migration(problem: MigrationProblem) -> BestMigration | None:
    """The best of all partitions of a small problem with whole sizes; None where none is feasible."""
    partitions = all_partitions(problem.work, problem.nodes, problem.tolerance, allow_empty=problem.allow_empty)
    matched = (_matched(problem, tuple(dict.fromkeys(partition))) for partition in partitions)  # without empty intervals
    return min(matched, key=lambda best: best[:4], default=None)


def _matched(problem: MigrationProblem, boundaries: Partition) -> BestMigration:
    new = list(pairwise(boundaries))
    load = max(sum(problem.work[first:end]) for first, end in new)
    shares = [[sorted({*range(*a)} & {*range(*b)}) for b in problem.intervals] for a in new]
    pieces = sorted(share[0] for row in shares for share in row if share)
    weight = np.zeros((len(new), len(problem.intervals)))
    for i, row in enumerate(shares):
        for j, share in enumerate(row):
            if share:
                state = sum(problem.state_size[task] for task in share)
                early = 2.0 ** -(2 + pieces.index(share[0]))
                weight[i, j] = (state * 2 * len(pieces) + 1) + early
    rows, columns = linear_sum_assignment(weight, maximize=True)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if shares[i][j]}
    stays = sum(sum(problem.state_size[task] for task in shares[i][j]) for i, j in pairs.items())
    kept = tuple(pairs.get(i) for i in range(len(new)))
    return BestMigration(float(sum(problem.state_size) - stays), float(load), len(pieces) - len(pairs), boundaries, kept)


def assignments(problem: MigrationProblem) -> Iterator[Assignment]:
    """Yield every decision: each split of the tasks, on old and new nodes in any order; idle nodes are added where possible."""
    tasks, before = len(problem.work), len(problem.intervals)
    for count in range(1, min(tasks, problem.nodes) + 1):
        for inner in combinations(range(1, tasks), count - 1):
            intervals = list(pairwise((0, *inner, tasks)))
            for nodes in permutations(range(before + count), count):
                if [node for node in nodes if node >= before] == list(range(before, before + sum(n >= before for n in nodes))):
                    held = dict(zip(nodes, intervals, strict=True))
                    idle = [node for node in range(before + problem.nodes) if node not in held][: problem.nodes - count]
                    held.update(dict.fromkeys(idle, (tasks, tasks)))
                    yield tuple(held.get(node) for node in range(max(held) + 1))


UNRULED = 16
"""First seed of problems with rules."""


class RescaleCheckProblems(EnumeratedCheckProblems):
    """Kind `rescale`: both latencies, both transports, free and even ranges, with and without a current deployment; rules."""

    seeds = range(25)
    brute_force = staticmethod(brute_force)

    @staticmethod
    def draw(seed: int) -> RescaleProblem:
        """A small problem, the last ones with rules and even smaller."""
        small: dict[str, Any] = {"keyed": (1, 1), "tasks": (3, 4), "nodes": (2, 3)}
        return random_rescale(seed) if seed < UNRULED else with_rules(random_rescale(seed, **small), seed)

    def infeasible(self) -> dict[str, Any]:
        """A task that is too heavy, a split that does not work out, no room, a limit."""
        return {
            "heavy task": _work([9, 1, 1], 13.0),
            "even ranges": _work([4, 4, 1, 1], 14.0, ranges="even", most=2),
            "no room": _work([1, 1, 1], 15.0, slots=1.0, nodes=("a",)),
            "limit": _work([1, 1, 1], 15.0, limits={"response_time": 0.01}),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one task, one node, no traffic, no state, no room to spare, replicas that stay on one node."""
        equal = {"work": [1, 1, 1, 1], "state_size": [0, 0, 0, 0]}
        return {
            "one task": _work([3], 5.0),
            "no traffic": _work([1, 2, 1], 0.0),
            "no state": _work([1, 1, 1, 1], 15.0, tasks=equal),
            "no room to spare": _work([1, 1], 15.0, slots=1.0, nodes=("a", "b")),
            "one node": _work([1, 2, 1], 12.0, nodes=("a",), slots=2.0),
            "tasks without work": _work([0, 3, 0, 3], 15.0),
        }

    def large(self) -> Any:
        """Operators with 64 tasks on four nodes."""
        return rescaled(64, np.random.default_rng(3), zipf_tasks, 1.5)

    def start(self, problem: RescaleProblem) -> Any:
        """The current deployment; where there is none, one replica of each operator on the first node that may run it."""
        if problem.current is not None:
            return problem.current
        named = {}
        for operator in problem.application.operators:
            node = (operator.candidates or tuple(problem.network.by_name))[0]
            named[operator.name] = [node if operator.tasks is None else {"node": node, "tasks": (0, operator.tasks.count)}]
        return KeyedDeployment(named)


def _work(
    work: list[float],
    load: float,
    *,
    nodes: tuple[str, ...] = ("a", "b", "c"),
    slots: float = 2.0,
    most: int = 3,
    tasks: dict[str, Any] | None = None,
    limits: dict[str, float] | None = None,
    ranges: str = "free",
) -> RescaleProblem:
    """One operator that serves 10 tuples/s in each replica, all on the first node now."""
    described = tasks or {"work": work, "state_size": [1e6] * len(work)}
    operator = {
        "name": "work",
        "latency": {"model": "mm1", "service_rate": 10.0},
        "external_rate": load,
        "cost": 1.0,
        "max_replicas": most,
        "tasks": described,
    }
    return RescaleProblem(
        application={"operators": [operator]},
        network={
            "nodes": [{"name": name, "resources": slots} for name in nodes],
            "between_zones": {"delay": 0.01},
            "store": {"bandwidth": 1e6},
        },
        ranges=ranges,
        weights={"response_time": 0.5, "cost": 0.2, "moved_state": 0.3},
        limits={"response_time": 2.0, "cost": 10.0, "moved_state": 1e7, **(limits or {})},
        current={"work": [{"node": nodes[0], "tasks": (0, len(described["work"]))}]},
    )


class MigrationCheckProblems(DrawnCheckProblems):
    """Kind `migration`, with and without empty intervals."""

    seeds = range(30)
    draw = staticmethod(random_migration)

    def infeasible(self) -> dict[str, Any]:
        """A task that is too heavy, tasks that are too few, tasks that do not split."""
        return {
            "heavy": MigrationProblem(work=[1, 9], state_size=[1, 1], intervals=[(0, 2)], nodes=2, tolerance=0.2),
            "few": MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(0, 2)], nodes=3, tolerance=9, allow_empty=False),
            "lumpy": MigrationProblem(work=[2, 2, 2], state_size=[1] * 3, intervals=[(0, 3)], nodes=2, tolerance=0.2),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one task, no state, no work, nothing to do, more nodes than tasks."""
        return {
            "one task": MigrationProblem(work=[1], state_size=[1], intervals=[(0, 1)], nodes=1, tolerance=0),
            "no state": MigrationProblem(work=[1, 1], state_size=[0, 0], intervals=[(0, 2)], nodes=2, tolerance=0),
            "no work": MigrationProblem(work=[0, 0], state_size=[1, 2], intervals=[(0, 2)], nodes=2, tolerance=0),
            "nothing to do": MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(1, 2), (0, 1)], nodes=2, tolerance=0),
            "idle nodes": MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(0, 2), (2, 2)], nodes=4, tolerance=3),
        }

    def large(self) -> Any:
        """Return a migration with as many tasks as a program can be built for in a moment."""
        return random_migration(0, tasks=80, nodes=10)

    def optimum(self, problem: MigrationProblem) -> float | None:
        """Return the least state that must move; with rules by the plain evaluation of every decision."""
        if problem.rules:
            evaluations = map(problem.evaluate, assignments(problem))
            return min((evaluation.objective for evaluation in evaluations if evaluation.feasible), default=None)
        best = brute_force_migration(problem)
        return None if best is None else best.cost


class SequenceCheckProblems(EnumeratedCheckProblems):
    """Kind `migration-sequence`, some with loads that change from step to step."""

    seeds = range(14)
    draw = staticmethod(random_sequence)
    brute_force = staticmethod(brute_force_sequence)

    def infeasible(self) -> dict[str, Any]:
        """The second step cannot be done."""
        return {
            "second step": MigrationSequence(
                work=[1, 9], state_size=[1, 1], intervals=[(0, 2)], nodes=[1, 2], tolerance=[0.2, 0.2]
            )
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one step, nothing to do."""
        return {
            "one step": MigrationSequence(work=[1, 1], state_size=[1, 2], intervals=[(0, 2)], nodes=[2], tolerance=[0]),
            "no state": MigrationSequence(
                work=[1, 1, 1], state_size=[0, 0, 0], intervals=[(0, 3)], nodes=[2, 3], tolerance=[0.5, 0]
            ),
        }

    def large(self) -> Any:
        """Ten migrations of 64 tasks with a loose tolerance."""
        return random_sequence(0, tasks=64, nodes=(8, 16), steps=10, tolerance=0.5)


class PolicyCheckProblems(DrawnCheckProblems):
    """Kind `migration-policy`."""

    seeds = range(8)
    draw = staticmethod(random_policy_problem)

    def infeasible(self) -> dict[str, Any]:
        """The migration that may follow cannot be done."""
        return {
            "later": MigrationPolicyProblem(
                work=[1, 9], state_size=[1, 1], intervals=[(0, 2)], nodes=1, tolerance=0.2,
                node_counts=[1, 2], transitions=[[0, 1], [1, 0]], discount=0.5,
            )
        }  # fmt: skip

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one count only, no discount."""
        tasks = {"work": [1, 1, 1], "state_size": [1, 2, 3], "intervals": [(0, 2), (2, 3)], "tolerance": 0.5}
        return {
            "one count": MigrationPolicyProblem(**tasks, nodes=2, node_counts=[2], transitions=[[1]], discount=0.9),
            "no future": MigrationPolicyProblem(**tasks, nodes=2, node_counts=[2, 3], transitions=[[0, 1], [1, 0]], discount=0.0),
        }

    def large(self) -> Any:
        """Sixty-four tasks on eight to ten nodes."""
        return random_policy_problem(0, tasks=64, counts=(8, 9, 10), tolerance=0.2)

    def optimum(self, problem: MigrationPolicyProblem) -> float | None:
        """Return the least c + γ·C over all assignments."""
        return _brute_force_policy(problem).best()

    def value(self, problem: MigrationPolicyProblem, decision: PolicyDecision) -> float:
        """c + γ·C with the exact C of the partition chosen, also where the method only estimates it."""
        intervals = sorted(interval for interval in decision.intervals if interval is not None and interval[0] < interval[1])
        removed = problem.nodes - len(intervals)
        return _brute_force_policy(problem).objective((0, *(end for _, end in intervals), *[len(problem.work)] * removed))


@cache
def _brute_force_policy(problem: MigrationPolicyProblem) -> PolicyBruteForce:
    return PolicyBruteForce(problem)
