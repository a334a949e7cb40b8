"""Optima of tiny policies by policy iteration over all deployments, judged by the plain evaluation alone."""

from __future__ import annotations

import numpy as np

from edrp.check_problems.placement.enumeration import deployments
from edrp.check_problems.placement.sequence_brute_force import change_table, period_cost
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import SAME_VALUE
from edrp.placement.policy import EdrpPolicyProblem


def brute_force_policy(problem: EdrpPolicyProblem) -> float | None:
    """Least objective of all policies; None where none keeps the limits."""
    sequence, listed = problem.level_sequence, list(deployments(problem.base))
    levels = range(len(sequence.periods))
    costs = np.array([[period_cost(sequence, level, deployment) for deployment in listed] for level in levels])
    table = change_table(sequence, listed, listed)
    steps = np.array([table.costs(sequence, level) + costs[level] for level in levels])
    reachable = list(problem.reachable_levels)
    chances = np.array(problem.transitions)[np.ix_(reachable, reachable)]
    kept = _kept(np.isfinite(steps), chances > 0)
    goes_on = _goes_on(kept, chances > 0)
    values = _policy_iteration(np.where(goes_on[:, None, :], steps, np.inf), chances, problem.discount, kept)
    level = reachable.index(problem.level_numbers[problem.level])
    first = np.where(goes_on[level], costs[level], np.inf)
    if problem.current is not None:
        first = first + change_table(sequence, [problem.current], listed).costs(sequence, level)[0]
    best = float(np.min(first + problem.discount * (chances[level] @ values), initial=np.inf))
    return best if np.isfinite(best) else None


def _policy_iteration(steps: Floats, chances: Floats, discount: float, kept: Bools) -> Floats:
    """Expected discounted cost from each level and deployment on, by Howard's policy iteration; 0 where limits must be broken.

    Parameters
    ----------
    steps
        Shape (levels, before, after), cost of a change and of the period after it; infinite for those that must not be made.
    kept
        Shape (levels, before), from where limits can be kept.
    """
    levels, count, _ = steps.shape
    at, before = np.nonzero(kept)
    rows = at * count + before
    actions: Ints = steps.argmin(axis=2)
    while True:
        matrix = np.eye(levels * count)
        for other in range(levels):
            np.subtract.at(matrix, (rows, other * count + actions[at, before]), discount * chances[at, other])
        costs = np.zeros(levels * count)
        costs[rows] = steps[at, before, actions[at, before]]
        values: Floats = np.asarray(np.linalg.solve(matrix, costs).reshape(levels, count), np.float64)
        totals = (steps + discount * (chances @ values)[:, None, :])[at, before]
        known = totals[np.arange(len(at)), actions[at, before]]
        better = totals.min(axis=1) < known - SAME_VALUE * np.abs(known)
        if not better.any():
            return values
        actions[at[better], before[better]] = totals.argmin(axis=1)[better]


def _goes_on(kept: Bools, follows: Bools) -> Bools:
    """After which levels with which deployment limits can be kept at all levels that may follow, shape (levels, deployments)."""
    return np.array([kept[row].all(axis=0) for row in follows])


def _kept(possible: Bools, follows: Bools) -> Bools:
    """From which levels and deployments on limits can be kept for ever, shape (levels, deployments)."""
    kept: Bools = np.ones(possible.shape[:2], bool)
    while True:
        now = np.asarray((possible & _goes_on(kept, follows)[:, None, :]).any(axis=2))
        if (now == kept).all():
            return kept
        kept = now
