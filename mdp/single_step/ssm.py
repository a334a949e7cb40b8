"""SSM: the target assignment that moves the least state, exactly, in O(m·n′) (state migration, sections 3.2 and 3.3)."""

from __future__ import annotations

import numpy as np

from edrp.core.budget import spend
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks
from edrp.mdp.single_step.tie_breaking import CELL_UNITS, SINGLE_STEP_UNITS, best_migration, break_ties
from edrp.migration.intervals import moves_between
from edrp.migration.single_step import MigrationProblem


def ssm(
    tasks: Tasks, old_boundaries: Boundaries, nodes: int, limit: float, allow_empty: bool
) -> tuple[float, Boundaries, Boundaries] | None:
    """Find the partition that lets the most state stay.

    Parameters
    ----------
    old_boundaries : shape (n + 1,)
        Current partition.
    nodes
        Intervals of the target, n′.

    Returns
    -------
    tuple or None
        Gain (bytes that stay), boundaries of shape (n′ + 1,) with empty intervals last, and the old interval that keeps
        each new one, −1 for none, of shape (n′,). None where no partition keeps to the limit. Among several, the one with
        the fewest moves, then the one whose boundaries, read from the first, are smallest.
    """
    boundaries, matched = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
    spend(SINGLE_STEP_UNITS + CELL_UNITS * tasks.work.size * nodes)
    work, state = tasks.work_before, tasks.state_before
    gain = break_ties(work, state, old_boundaries, limit, allow_empty, boundaries, matched, False)
    return None if np.isnan(gain) else (gain, boundaries, matched)


class Ssm(Method):
    """SSM, exact in O(tasks × nodes) per trial load (state migration, section 3.3)."""

    name = "ssm"
    kinds = ("migration",)
    interpreted_first = True
    exact = True
    summary = "dynamic program for the migration that moves the least state"

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Solve the problem exactly; never stops early."""
        self.read_parameters(options)
        tasks = Tasks.of(problem.work, problem.state_size)
        old = OldNodes.of(problem.intervals)
        before = len(problem.intervals)
        best = best_migration(tasks, old, before, problem.nodes, problem.tolerance, problem.allow_empty)
        size = {"tasks": len(problem.work), "nodes": problem.nodes}
        if best is None:
            return Answer("infeasible", "finished", size=size)
        # What moves, summed by itself: as a difference of sums over all state it would lose what is small relative to them.
        _, assignment = best
        moved = sum((move.size for move in moves_between(problem.intervals, assignment, problem.state_size)), 0.0)
        return Answer("optimal", "finished", assignment, moved, moved, size)


METHODS = (Ssm(),)
"""Methods for problems of kind `migration`."""
