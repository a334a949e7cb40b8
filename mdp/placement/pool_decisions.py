"""The best policy over the deployments of a pool, which grows by the neighbours of those that the policy uses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.errors import OutOfTimeError
from edrp.core.tolerances import SAME_VALUE
from edrp.mdp.placement.level_arrays import LevelArrays
from edrp.mdp.placement.pool import DeploymentPool
from edrp.mdp.placement.pool_process import SOURCES, PolicyCourse, PoolProcess, follow_policy
from edrp.mdp.value_iteration import ValueIteration, iterate_values

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
        process = PoolProcess(self.levels.transitions, discount, self.pool.values[members].T, self._changes(members))
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

    def _changes(self, members: Ints) -> list[Floats]:
        """Prices of changes by level; one table where their downtime is limited alike."""
        limits = self.levels.sequence.downtime_limit.tolist()
        tables = {limit: self._change_costs(members, limits.index(limit)) for limit in dict.fromkeys(limits)}
        return [tables[limit] for limit in limits]

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
        values, fixed = self.pool.values.T, self.levels.least_change
        staying = np.zeros(values.shape)
        for _ in range(RANKING_PASSES):
            spend(CELL_UNITS * values.size * self.levels.count)
            after = np.minimum(staying, fixed + staying.min(axis=1, keepdims=True))
            staying = values + self.levels.discount * (self.levels.transitions @ after)
        return np.asarray((staying - staying.min(axis=1, keepdims=True)).min(axis=0))
