"""Expected costs of a policy, in plain code that shares nothing with any method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edrp.core.late_imports import sparse

State = tuple[int, int]
"""Index of the level that begins, and of the deployment that runs then."""

Step = Callable[[int, int, int], tuple[float, Sequence[str]]]
"""Cost of a period at a level and of the change before it, from one deployment to another, and the limits that they break."""


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


def policy_costs(
    follow: Mapping[State, int], step: Step, transitions: Sequence[Sequence[float]], discount: float, level: int
) -> PolicyCosts:
    """Solve the Bellman equation of a policy, V(l, d) = c(l, d, d′) + γ·Σ_m P(l, m)·V(m, d′) with its d′ in each state.

    Parameters
    ----------
    follow
        d′ by state; in a state that is not listed it is d. Deployment 0 runs now.
    level
        Level of the period that begins now.

    Examples
    --------
    A deployment that stays and costs 1 in each period:

    >>> policy_costs({}, lambda level, before, after: (1.0, ()), [[1.0]], 0.5, 0).projected
    2.0
    """
    followers = [{other: chance for other, chance in enumerate(row) if chance > 0} for row in transitions]
    waiting = [*((other, 0) for other in followers[level]), *follow]
    costs: dict[State, float] = {}
    broken: dict[str, None] = {}
    while waiting:
        at, before = waiting.pop()
        if (at, before) not in costs:
            after = follow.get((at, before), before)
            costs[at, before], faults = step(at, before, after)
            broken |= dict.fromkeys(faults)
            waiting += [(other, after) for other in followers[at]]
    values = _solve(costs, follow, followers, discount)
    projected = sum(chance * values[other, 0] for other, chance in followers[level].items())
    return PolicyCosts(projected, values, tuple(broken))


def _solve(
    costs: Mapping[State, float], follow: Mapping[State, int], followers: Sequence[Mapping[int, float]], discount: float
) -> dict[State, float]:
    """Solve (I − γP)·V = c over states that lead to no others; infinite where some cost is."""
    states = sorted(costs)
    index = {state: row for row, state in enumerate(states)}
    rows, columns, chances = [], [], []
    for level, before in states:
        after = follow.get((level, before), before)
        for other, chance in followers[level].items():
            rows.append(index[level, before])
            columns.append(index[other, after])
            chances.append(discount * chance)
    size = (len(states), len(states))
    matrix = sparse.eye_array(len(states), format="csc") - sparse.csc_array((chances, (rows, columns)), size)
    right = np.array([costs[state] for state in states])
    solved = sparse.linalg.spsolve(matrix.tocsc(), right) if np.isfinite(right).all() else np.full(len(states), np.inf)
    return dict(zip(states, np.atleast_1d(solved).tolist(), strict=True))
