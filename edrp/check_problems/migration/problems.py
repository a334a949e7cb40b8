"""Migration problems on which methods are checked, with their proven optima."""

from __future__ import annotations

from functools import cache
from typing import Any

from edrp.check_problems.base import DrawnCheckProblems, EnumeratedCheckProblems
from edrp.check_problems.migration.plain_partitions import PolicyBruteForce, brute_force_sequence
from edrp.check_problems.migration.single_step_brute_force import assignments, brute_force_migration
from edrp.datasets.families.migration.migration_families import random_migration, random_policy_problem, random_sequence
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem


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
