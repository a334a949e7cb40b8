"""What a policy of deployments is expected to cost, in plain code that shares nothing with any method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edrp.placement.deployment import Deployment

if TYPE_CHECKING:
    from edrp.placement.policy import DeploymentPolicy, EdrpPolicyProblem

State = tuple[int, int]
"""Index of the level that begins, and of the deployment that runs then."""


@dataclass(frozen=True, slots=True)
class PolicyCosts:
    """Expected discounted costs of a policy.

    Attributes
    ----------
    projected : of all that follows the period that begins now, in seconds.
    by_state : expected cost from each state on that the policy lists or can come to, in seconds.
    broken : limits that it breaks in some of them, in words.
    """

    projected: float
    by_state: Mapping[State, float]
    broken: tuple[str, ...]


def policy_costs(problem: EdrpPolicyProblem, policy: DeploymentPolicy) -> PolicyCosts:
    """Solve the Bellman equation of a policy, V(l, d) = c(l, d, d′) + γ·Σ_m P(l, m)·V(m, d′) with its d′ in each state."""
    follow = {(problem.level_numbers[state.level], state.deployment): state.next for state in policy.states}
    waiting = [(level, 0) for level in _followers(problem, problem.level_numbers[problem.level])]
    waiting += list(follow)
    costs: dict[State, float] = {}
    broken: dict[str, None] = {}
    while waiting:
        level, before = waiting.pop()
        if (level, before) in costs:
            continue
        after = follow.get((level, before), before)
        costs[level, before], faults = _step(problem, level, policy.deployments[before], policy.deployments[after])
        broken |= dict.fromkeys(faults)
        waiting += [(other, after) for other in _followers(problem, level)]
    values = _solve(problem, costs, follow)
    now = _followers(problem, problem.level_numbers[problem.level])
    return PolicyCosts(sum(chance * values[level, 0] for level, chance in now.items()), values, tuple(broken))


def _followers(problem: EdrpPolicyProblem, level: int) -> dict[int, float]:
    """Levels that may follow one, with their probabilities."""
    return {other: chance for other, chance in enumerate(problem.transitions[level]) if chance > 0}


def _step(problem: Any, level: int, before: Deployment, after: Deployment) -> tuple[float, list[str]]:
    """Cost of a change and of the period after it, and the limits that they break."""
    loaded = problem.at_level(level, before)
    evaluation = loaded.problem.evaluate(after)
    price = problem.changes.of(problem.change(loaded, after))
    broken = [f"level '{problem.levels[level].name}': {why}" for why in evaluation.broken]
    return problem.period * loaded.factor * evaluation.objective + price, broken


def _solve(problem: EdrpPolicyProblem, costs: Mapping[State, float], follow: Mapping[State, int]) -> dict[State, float]:
    """Solve (I − γP)·V = c over states that lead to no others."""
    states = sorted(costs)
    index = {state: row for row, state in enumerate(states)}
    rows, columns, chances = [], [], []
    for level, before in states:
        after = follow.get((level, before), before)
        for other, chance in _followers(problem, level).items():
            rows.append(index[level, before])
            columns.append(index[other, after])
            chances.append(problem.discount * chance)
    size = (len(states), len(states))
    matrix = sparse.eye_array(len(states), format="csc") - sparse.csc_array((chances, (rows, columns)), size)
    right = np.array([costs[state] for state in states])
    solved = sparse.linalg.spsolve(matrix.tocsc(), right) if np.isfinite(right).all() else np.full(len(states), np.inf)
    return dict(zip(states, np.atleast_1d(solved).tolist(), strict=True))
