"""A tiny migration: `edrp.solve` with all its checks against NumPy that a practitioner would write for the same optimum.

The peer knows that neighbouring tasks stay together, lists the partitions within the load limit, and matches their intervals to
the old ones by `scipy.optimize.linear_sum_assignment`; it checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
from peer_pairs import Call, Outcome, Pair, register

import edrp
from edrp.datasets.families.migration.migration_families import FAMILIES
from edrp.migration.single_step import MigrationProblem

CALLS = 100
"""Solves in one measured call; a single one is too short for the clock."""


def migration(tasks: int) -> MigrationProblem:
    """A migration of the first family, in which the number of nodes changes."""
    family = next(family for family in FAMILIES if family.kind == "migration")
    problem = family.make(tasks, np.random.default_rng(1))
    assert isinstance(problem, MigrationProblem)
    return problem


def ours(tasks: int) -> Callable[[], Outcome]:
    """Solve many times, in a process that has solved as many before."""
    problem = migration(tasks)
    for _ in range(10 * CALLS):
        edrp.solve(problem)

    def call() -> Outcome:
        for _ in range(CALLS):
            solution = edrp.solve(problem)
        return Outcome(solution.objective, solution.bound, f"{CALLS} solves")

    return call


def matched(problem: MigrationProblem) -> float:
    """State that the best assignment moves."""
    from scipy.optimize import linear_sum_assignment

    tasks, nodes = len(problem.work), problem.nodes
    work, state = (np.concatenate([[0.0], np.cumsum(values)]) for values in (problem.work, problem.state_size))
    old = np.array([interval for interval in problem.intervals if interval is not None])
    limit = (1 + problem.tolerance) * work[-1] / nodes
    stays = -1.0
    for inner in combinations_with_replacement(range(tasks + 1), nodes - 1):
        ends = np.array([0, *inner, tasks])
        if (work[ends[1:]] - work[ends[:-1]]).max() > limit:
            continue
        first = np.maximum(ends[:-1, None], old[None, :, 0])
        last = np.maximum(first, np.minimum(ends[1:, None], old[None, :, 1]))
        kept = state[last] - state[first]
        rows, columns = linear_sum_assignment(kept, maximize=True)
        stays = max(stays, float(kept[rows, columns].sum()))
    return float(state[-1] - stays)


def peer(tasks: int) -> Callable[[], Outcome]:
    """Repeat the peer's arithmetic as often."""
    problem = migration(tasks)

    def call() -> Outcome:
        for _ in range(CALLS):
            moved = matched(problem)
        return Outcome(moved, moved, f"{CALLS} solves")

    return call


for size in (4, 12):
    register(
        Pair(
            name=f"tiny-migration-{size}",
            goal=f"{0.0004 * CALLS:g} s for {CALLS}" if size == 4 else "measured",
            ours=Call("edrp", partial(ours, size)),
            peer=Call("partitions and matching in NumPy", partial(peer, size)),
            needs=("scipy",),
        )
    )
