"""The decision process of a policy of deployments: which deployment of a pool is to run at the level of the load that begins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.mdp.value_iteration import Values

PAIR_UNITS = 2.5e-9
"""Units of work per level and pair of deployments, to find the best change."""

SOURCES = 256
"""Deployments whose changes are looked at between two looks at the clock."""


class Choices(NamedTuple):
    """The result of a sweep.

    Attributes
    ----------
    actions : by level, shape (states,)
        Which deployment is to run.
    costs : by level, shape (states,)
        Seconds of this change and of the period after it.
    """

    actions: list[Ints]
    costs: list[Floats]


@dataclass(frozen=True)
class PoolProcess:
    """States are a level that begins and the deployment that runs then; actions are deployments of the pool.

    States from which some limit will have to be broken are none: no action leads there, and they have no value.

    Attributes
    ----------
    transitions : shape (levels, levels), rows sum to 1.
    discount : γ in [0, 1).
    period_costs : shape (levels, pool), seconds; infinite where a deployment breaks a limit.
    changes : by level, shape (pool, pool), price of each change in seconds; infinite where it breaks a limit.

    Examples
    --------
    Two levels take turns, and to change costs more than to keep what is bad at every second one:

    >>> costs, changes = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 3.0], [3.0, 0.0]])
    >>> process = PoolProcess(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5, costs, [changes] * 2)
    >>> process.improve(process.start(), None).actions
    [array([0, 1]), array([0, 1])]
    """

    transitions: Floats
    discount: float
    period_costs: Floats
    changes: list[Floats]

    @property
    def scale(self) -> float:
        """Size of the values: what it costs for ever to run what is best at the most expensive level."""
        least = self.period_costs.min(axis=1, initial=np.inf)
        return float(least[np.isfinite(least)].max(initial=0.0)) / (1 - self.discount)

    @cached_property
    def live(self) -> Bools:
        """States from which limits can be kept for ever, shape (levels, pool)."""
        live = np.ones(self.period_costs.shape, bool)
        if np.isfinite(self.period_costs).any(axis=1).all() and all(np.isfinite(changes).all() for changes in self.changes):
            return live
        while True:
            allowed = self._allowed(live)
            kept = np.array([(np.isfinite(prices) & row).any(axis=1) for prices, row in zip(self.changes, allowed, strict=True)])
            if (kept == live).all():
                return live
            live = kept

    def _allowed(self, live: Bools) -> Bools:
        """Deployments that may run at each level, because limits are kept and only live states follow, shape (levels, pool)."""
        dead_ends = (self.transitions > 0).astype(np.int64) @ ~live
        return np.asarray(np.isfinite(self.period_costs) & (dead_ends == 0))

    @cached_property
    def allowed(self) -> Bools:
        """Deployments that a policy may choose at each level, shape (levels, pool)."""
        return self._allowed(self.live)

    def start(self) -> Values:
        """Values to start from: 0, under which a sweep looks at the period that begins alone."""
        return [np.zeros(int(live.sum())) for live in self.live]

    def spread(self, values: Values) -> Floats:
        """Values of all states, shape (levels, pool); infinite where there is none."""
        table = np.full(self.live.shape, np.inf)
        for row, live, known in zip(table, self.live, values, strict=True):
            row[live] = known
        return table

    def action_values(self, values: Values) -> Floats:
        """Cost of running each deployment at each level, with all that follows, shape (levels, pool)."""
        table = np.where(self.live, self.spread(values), 0.0)
        return np.where(self.allowed, self.period_costs + self.discount * (self.transitions @ table), np.inf)

    def improve(self, values: Values, actions: list[Ints] | None) -> Choices:
        """Find the best deployment of every state; of equal ones the one that runs, or else the first one of the pool."""
        del actions
        best: list[Ints] = []
        costs: list[Floats] = []
        for level, following in enumerate(self.action_values(values)):
            sources, columns = np.flatnonzero(self.live[level]), np.flatnonzero(np.isfinite(following))
            chosen = np.empty(sources.size, np.int64)
            for first in range(0, sources.size, SOURCES):
                look("the first sweep")
                rows = sources[first : first + SOURCES]
                spend(PAIR_UNITS * rows.size * columns.size)
                totals = self.changes[level][np.ix_(rows, columns)] + following[columns]
                keeps = following[rows] <= totals.min(axis=1)
                chosen[first : first + SOURCES] = np.where(keeps, rows, columns[totals.argmin(axis=1)])
            best.append(chosen)
            costs.append(self.changes[level][sources, chosen] + self.period_costs[level, chosen])
        return Choices(best, costs)

    def back_up(self, policy: Choices, values: Values) -> Values:
        """Apply a policy once."""
        expected = self.transitions @ np.where(self.live, self.spread(values), 0.0)
        return [
            costs + self.discount * expected[level][actions]
            for level, (actions, costs) in enumerate(zip(policy.actions, policy.costs, strict=True))
        ]


@dataclass(frozen=True, slots=True)
class PolicyCourse:
    """Decisions of a policy in the states that it comes to from one deployment on.

    Attributes
    ----------
    states : list of (level, deployment) pairs, ascending.
    actions : deployment that is to run in each of them.
    values : shape (states,), expected cost from each of them on, in seconds.
    """

    states: list[tuple[int, int]]
    actions: list[int]
    values: Floats

    def expected(self, process: PoolProcess, level: int, deployment: int) -> float:
        """Expected cost after a period at a level in which a deployment runs, in seconds."""
        known = dict(zip(self.states, self.values.tolist(), strict=True))
        chances = process.transitions[level].tolist()
        return sum(chance * known[other, deployment] for other, chance in enumerate(chances) if chance > 0)

    def renamed(self, members: Ints) -> PolicyCourse:
        """The same with the deployments' indices in a pool of which they are members, shape (members,)."""
        states = [(level, int(members[before])) for level, before in self.states]
        return PolicyCourse(states, [int(members[after]) for after in self.actions], self.values)


def follow_policy(process: PoolProcess, choices: Choices, level: int, deployment: int) -> PolicyCourse:
    """Follow a policy from a deployment that runs at a level, and solve its Bellman equation there."""
    places = np.cumsum(process.live, axis=1) - 1
    waiting = [(int(other), deployment) for other in np.flatnonzero(process.transitions[level])]
    reached: dict[tuple[int, int], tuple[int, float]] = {}
    while waiting:
        at, before = waiting.pop()
        if (at, before) not in reached:
            place = places[at, before]
            after = int(choices.actions[at][place])
            reached[at, before] = after, float(choices.costs[at][place])
            waiting += [(int(other), after) for other in np.flatnonzero(process.transitions[at])]
    states = sorted(reached)
    index = {state: row for row, state in enumerate(states)}
    matrix = np.eye(len(states))
    for row, state in enumerate(states):
        for other in np.flatnonzero(process.transitions[state[0]]):
            matrix[row, index[int(other), reached[state][0]]] -= process.discount * process.transitions[state[0], other]
    values = np.linalg.solve(matrix, np.array([reached[state][1] for state in states]))
    return PolicyCourse(states, [reached[state][0] for state in states], values)
