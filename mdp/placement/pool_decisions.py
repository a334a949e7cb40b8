"""The best policy over the deployments of a pool, which grows by the neighbours of those that the policy uses.

The decision process of a policy of deployments: which deployment of a pool is to run at the level of the load that begins.

A problem of kind `edrp-policy` as arrays: one compiled problem for each level that can come up.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.errors import OutOfTimeError
from edrp.core.problem import derived
from edrp.core.tolerances import SAME_VALUE
from edrp.mdp.placement.pool import DeploymentPool
from edrp.mdp.value_iteration import ValueIteration, Values, iterate_values
from edrp.placement.policy import EdrpPolicyProblem
from edrp.placement.sequence_arrays import SequenceArrays, compile_sequence


@dataclass(frozen=True, slots=True)
class LevelArrays:
    """Arrays over the levels that can come up from now on.

    Attributes
    ----------
    sequence : costs and prices of changes, with a period for each level.
    transitions : shape (levels, levels), rows sum to 1.
    discount : γ.
    level : index of the level of the period that begins now.
    """

    sequence: SequenceArrays
    transitions: Floats
    discount: float
    level: int

    @property
    def count(self) -> int:
        """Number of levels."""
        return len(self.transitions)


@derived
def compile_levels(problem: EdrpPolicyProblem) -> LevelArrays:
    """Turn a problem into arrays; inside `derived_once`, as in `solve`, this is done once."""
    reachable = list(problem.reachable_levels)
    transitions = np.array(problem.transitions, float)[np.ix_(reachable, reachable)]
    return LevelArrays(
        sequence=compile_sequence(problem.level_sequence),
        transitions=transitions / transitions.sum(axis=1, keepdims=True),
        discount=problem.discount,
        level=reachable.index(problem.level_numbers[problem.level]),
    )


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


VALUE_ACCURACY = 0.01
"""Error of the values at which the iteration ends, as a share of what counts as the same value."""

CELL_UNITS, DOWNTIME_UNITS = 2e-9, 2e-5
"""Units of work to price a change, per operator and node, and to tell its downtime."""

MAX_ACTIVE, MAX_TIMED = 800, 150
"""Deployments of a large pool among which a policy chooses; fewer where the downtime of every change has to be told."""

RANKING_PASSES = 50
"""Passes of value iteration by which deployments are ranked."""

PROMISING, MAX_VAIN = 12, 2
"""Cheapest deployments whose neighbours join the pool in each round; rounds without improvement after which it is left."""


@dataclass(frozen=True, slots=True)
class PoolDecision:
    """The best decision over some deployments of a pool.

    Attributes
    ----------
    objective : expected discounted cost, in seconds; infinite where no policy keeps the limits.
    bound : no policy over these deployments costs less.
    member : deployment that is to run now, as an index into the pool; -1 where there is none.
    course : what the policy does in the states that may follow, deployments as indices into the pool.
    sweeps : number of sweeps of value iteration.
    """

    objective: float
    bound: float
    member: int
    course: PolicyCourse | None
    sweeps: int

    @property
    def used(self) -> list[int]:
        """Deployments of the policy, the one that is to run now first."""
        if self.course is None:
            return []
        return list(dict.fromkeys([self.member, *self.course.actions]))


NO_DECISION = PoolDecision(np.inf, np.inf, -1, None, 0)
"""Decision of a pool without a policy."""


class PoolDecisions:
    """Decisions over a growing pool.

    Parameters
    ----------
    levels
        The problem as arrays.
    pool
        Deployments, with their costs at all levels.
    """

    def __init__(self, levels: LevelArrays, pool: DeploymentPool) -> None:
        self.levels, self.pool = levels, pool

    def decide(self, members: Ints) -> PoolDecision:
        """The best decision over some members of the pool, shape (members,).

        Raises
        ------
        OutOfTimeError
            When the limit passes before anything is known.
        """
        if not members.size:
            return NO_DECISION
        level, discount = self.levels.level, self.levels.discount
        # Prices of changes by level; one table where their downtime is limited alike.
        limits = self.levels.sequence.downtime_limit.tolist()
        tables = {limit: self._change_costs(members, limits.index(limit)) for limit in dict.fromkeys(limits)}
        process = PoolProcess(self.levels.transitions, discount, self.pool.values[members].T, [tables[limit] for limit in limits])
        target = VALUE_ACCURACY * SAME_VALUE * max(1.0, process.scale)
        if not process.live.any(axis=1).all():
            return NO_DECISION
        iteration = iterate_values(process, ValueIteration(process.start()), target=target)
        first = self._first_costs(members)
        totals = first + process.action_values(iteration.values)[level]
        place = int(totals.argmin()) if totals.size else -1
        if place < 0 or not np.isfinite(totals[place]):
            return replace(NO_DECISION, sweeps=iteration.sweeps)
        course = follow_policy(process, process.improve(iteration.values, None), level, place)
        objective = float(first[place] + process.period_costs[level, place]) + discount * course.expected(process, level, place)
        bound = min(objective, float(totals[place]) - discount * iteration.error_bound)
        return PoolDecision(objective, bound, int(members[place]), course.renamed(members), iteration.sweeps)

    def _first_costs(self, members: Ints) -> Floats:
        """Prices of the changes from what runs now to members of the pool, shape (members,)."""
        arrays = self.levels.sequence
        if arrays.initial is None:
            return np.zeros(members.size)
        return arrays.change_costs(arrays.initial[None], self.pool.counts[members], self.levels.level)[0]

    def _change_costs(self, members: Ints, level: int) -> Floats:
        arrays, counts = self.levels.sequence, self.pool.counts[members]
        units = CELL_UNITS * counts[0].size + (DOWNTIME_UNITS if arrays.times_downtime else 0.0)
        rows = []
        for first in range(0, members.size, SOURCES):
            spend(units * members.size * min(SOURCES, members.size - first))
            look("the prices of changes")
            rows.append(arrays.change_costs(counts[first : first + SOURCES], counts, level))
        return np.concatenate(rows)

    def grow(self, decision: PoolDecision) -> PoolDecision:
        """Improve a decision by neighbours of the deployments that it uses and of promising ones, while the limit allows."""
        vain = 0
        with suppress(OutOfTimeError):  # the pool may be larger then than what the decision chooses from
            while vain < MAX_VAIN and self.pool.expand([*decision.used, *self._promising()]):
                better = self.decide(self.active(decision.used))
                vain = 0 if better.objective < decision.objective else vain + 1
                decision = min(decision, better, key=lambda one: one.objective)
        return decision

    def _promising(self) -> list[int]:
        """Deployments that are cheapest to come by."""
        return [int(k) for k in np.argsort(self._excess(), kind="stable")[:PROMISING]] if len(self.pool) else []

    def active(self, used: list[int]) -> Ints:
        """Deployments among which a policy is to choose: those in use, and the cheapest to pass through."""
        most = MAX_TIMED if self.levels.sequence.times_downtime else MAX_ACTIVE
        everyone = np.arange(len(self.pool))
        if everyone.size <= most:
            return everyone
        excess = self._excess()
        kept = np.argsort(excess, kind="stable")[: most - len(used)]
        return np.unique(np.concatenate([kept, np.array(used, np.int64)]))

    def _excess(self) -> Floats:
        """How much more it costs to come by each deployment where it suits best, if changes only had their least price."""
        values, fixed = self.pool.values.T, self.pool.coordinates_of.fixed
        staying = np.zeros(values.shape)
        for _ in range(RANKING_PASSES):
            spend(CELL_UNITS * values.size * self.levels.count)
            after = np.minimum(staying, fixed + staying.min(axis=1, keepdims=True))
            staying = values + self.levels.discount * (self.levels.transitions @ after)
        return np.asarray((staying - staying.min(axis=1, keepdims=True)).min(axis=0))
