"""Least cost of small migration sequences by going through all partitions of every step."""

from __future__ import annotations

from edrp.migration.sequence import MigrationSequence
from edrp.validation.oracles.migration.plain_partitions import Partition, all_partitions, least_cost, partition_boundaries


def brute_force_sequence(problem: MigrationSequence) -> float | None:
    """Least state that moves in all steps of a small problem, in bytes; None where a step has no partition.

    Shares nothing with the methods that it checks.

    Examples
    --------
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
