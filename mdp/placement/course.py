"""Courses over a pool: the best deployment for each period by a dynamic program, and searches around a good course."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.pool import DeploymentPool
from edrp.placement.counted_values import CELL_WORK
from edrp.placement.sequence_arrays import SequenceArrays

DOWNTIME_WORK = 2e-5
"""Units of work of the downtime between two deployments."""

TIMED = 200
"""Deployments of the pool whose downtime is told when a block's replacement is searched."""


@dataclass(frozen=True)
class Course:
    """A deployment for each period.

    Attributes
    ----------
    cost : of periods and changes, in seconds; infinite where no course is known.
    members : shape (periods,), indices into the pool.
    """

    cost: float
    members: Ints

    def blocks(self) -> list[tuple[int, int]]:
        """Maximal ranges [start, end) of periods without a change between them."""
        cuts = np.flatnonzero(np.diff(self.members)) + 1
        edges = [0, *cuts.tolist(), self.members.size]
        return list(pairwise(edges))


NO_COURSE = Course(np.inf, np.zeros(0, np.int64))
"""State of knowledge before there is any course."""


class CourseProgram:
    """The dynamic program over a pool, with the prices of all changes.

    Parameters
    ----------
    arrays
        The sequence.
    pool
        Deployments, whose indices make courses.

    Attributes
    ----------
    incumbent : the best course of all that were ever found.
    """

    def __init__(self, arrays: SequenceArrays, pool: DeploymentPool, coordinates: ChangeCoordinates) -> None:
        self.arrays, self.pool, self._coordinates = arrays, pool, coordinates
        self.incumbent = NO_COURSE

    def change_costs(self, before: Ints, after: Ints, period: int) -> Floats:
        """Prices of changes between members of the pool at the beginning of a period, shape (before, after)."""
        if self.arrays.times_downtime:
            counts = self.pool.counts
            return self._timed_costs(counts[before], counts[after], period)
        return self._linear_costs(self.pool.coordinates[before], self.pool.coordinates[after], before[:, None] != after)

    def first_costs(self, members: Ints) -> Floats:
        """Prices of the changes from the initial deployment to members of the pool, shape (members,)."""
        initial = self.arrays.initial
        if initial is None:
            return np.zeros(members.size)
        if self.arrays.times_downtime:
            return self._timed_costs(initial[None], self.pool.counts[members], 0)[0]
        changed = members != self.pool.index(initial)
        return self._linear_costs(self._coordinates(initial[None]), self.pool.coordinates[members], changed[None])[0]

    def _linear_costs(self, before: Floats, after: Floats, changed: Bools) -> Floats:
        """Prices of changes by coordinates; loops over the side with fewer deployments."""
        spend(CELL_WORK * len(before) * len(after) * (1 + before.shape[1]))
        look("the prices of changes")
        costs, upper = np.empty((len(before), len(after))), self._coordinates.upper
        if len(before) <= len(after):
            for k, source in enumerate(before):
                costs[k] = np.maximum(after - source, 0.0) @ upper
        else:
            for k, target in enumerate(after):
                costs[:, k] = np.maximum(target - before, 0.0) @ upper
        return costs + self._coordinates.fixed * changed

    def _timed_costs(self, before: Ints, after: Ints, period: int) -> Floats:
        """Prices of changes with their downtime."""
        costs = np.empty((len(before), len(after)))
        for k in range(len(before)):
            spend(DOWNTIME_WORK * len(after))
            look("the downtime of changes")
            costs[k] = self.arrays.change_costs(before[k : k + 1], after, period)[0]
        return costs

    def best(self, members: Sequence[Ints]) -> Course:
        """The best course over some members of the pool in each period, given by index and without repetitions."""
        values = self.pool.values
        cost = self.first_costs(members[0]) + values[members[0], 0]
        back: list[Ints] = []
        for t in range(1, len(members)):
            total = cost[:, None] + self.change_costs(members[t - 1], members[t], t)
            back.append(total.argmin(axis=0))
            cost = total.min(axis=0) + values[members[t], t]
        if not np.isfinite(cost).any():
            return NO_COURSE
        position = int(cost.argmin())
        least, path = float(cost[position]), [position]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        course = Course(least, np.array([members[t][k] for t, k in enumerate(reversed(path))]))
        if course.cost < self.incumbent.cost:
            self.incumbent = course
        return course

    def cost(self, members: Ints) -> float:
        """Cost of a course."""
        return self.best([np.array([member]) for member in members.tolist()]).cost

    def improve(self, course: Course, rounds: int = 20) -> Course:
        """Replace deployments of whole blocks by better ones of the pool, which takes up neighbours, as long as that helps."""
        known = {int(member) for member in course.members}
        for _ in range(rounds):
            self.pool.expand(dict.fromkeys(course.members.tolist()))
            known.update(self._replacements(course))
            better = self.best([np.array(sorted(known))] * course.members.size)
            if not better.cost < course.cost:
                return course
            course = better
        return course

    def _replacements(self, course: Course) -> list[int]:
        """For each block the deployment of the pool that is best there, given its neighbours in time."""
        values, everyone, last = self.pool.values, np.arange(len(self.pool)), course.members.size
        found = []
        for start, end in course.blocks():
            total = values[:, start:end].sum(axis=1)
            spend(CELL_WORK * total.size * (end - start))
            feasible = everyone[np.isfinite(total)]
            if self.arrays.times_downtime:  # which is slow to tell: only the best in themselves are compared
                feasible = feasible[np.argsort(total[feasible], kind="stable")[:TIMED]]
            cost = total[feasible]
            if start:
                cost = cost + self.change_costs(course.members[start - 1 : start], feasible, start)[0]
            else:
                cost = cost + self.first_costs(feasible)
            if end < last:
                cost = cost + self.change_costs(feasible, course.members[end : end + 1], end)[:, 0]
            found.append(int(feasible[cost.argmin()]))
        return found
