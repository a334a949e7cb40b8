"""The search for a course with a proven bound: multipliers, priced problems, a pool that grows, and courses over it.

Courses over a pool: the best deployment for each period by a dynamic program, and searches around a good course.

The best multipliers over a pool: a linear program of cuts, in a box around the multipliers that were best so far.

Columns are the multipliers p_b of the borders b between periods, within [0, upper], and the potentials P_e of the borders. An
interval [s, e) in which a deployment d stays gives the cut P_e ≤ P_s + price of a change + Σ_t f_t(d) + (p_s − p_e) · z(d). Cuts
are those of shortest-path trees at the multipliers that were tried. The box keeps the multipliers from jumping to
vertices where only the pool, and no other deployment, is expensive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from edrp.backends.growing import GrowingProgram
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.methods import Options
from edrp.core.solution import within_gap
from edrp.core.tolerances import SAME_VALUE
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.intervals import IntervalBounds, SolvePriced, SolveUnderLoads, averaged, worst
from edrp.mdp.placement.pool import DeploymentPool, Interval, Origin, PoolRelaxation, all_deployments, relax_over_pool
from edrp.placement.compiled import Compiled
from edrp.placement.counted_values import CELL_WORK, PeriodValues
from edrp.placement.sequence_arrays import SequenceArrays

STEP_WORK = 5e-9
"""Units of work of a step of the simplex method per column, row and nonzero, which warm starts keep cheap."""


class MultiplierProgram:
    """The linear program of cuts, warm-started whenever the pool or the box changes.

    Parameters
    ----------
    pool, coordinates, origin
        What there is to choose from, what changes are priced by, and what runs before the first period.
    """

    def __init__(self, pool: DeploymentPool, coordinates: ChangeCoordinates, origin: Origin) -> None:
        self.pool, self.coordinates, self.origin = pool, coordinates, origin
        self.periods, self.width = pool.values.shape[1], coordinates.upper.size
        self._program = GrowingProgram(STEP_WORK, presolve="off")
        # Multipliers of borders 0 … periods − 1, then potentials of borders 1 … periods.
        self._multipliers = self.periods * self.width
        columns = self._multipliers + self.periods
        objective = np.zeros(columns)
        objective[-1] = -1.0
        lower, upper = np.zeros(columns), np.concatenate([self._upper.ravel(), np.full(self.periods, np.inf)])
        lower[self._multipliers :] = -np.inf
        self._program.add_columns(objective, (), lower, upper)
        self._known: set[Interval] = set()

    @property
    def _upper(self) -> Floats:
        """Largest multipliers, shape (periods, coordinates): none at the first border where nothing runs before it."""
        upper = np.tile(self.coordinates.upper, (self.periods, 1))
        if self.origin.coordinates is None:
            upper[0] = 0.0
        return upper

    def best(self, center: Floats, radius: float) -> tuple[Floats, float]:
        """The best multipliers by the cuts within a box.

        Parameters
        ----------
        center
            Multipliers, shape (periods + 1, coordinates).
        radius
            Half the width of the box, as a share of the largest multipliers.

        Returns
        -------
        tuple
            Multipliers, and the value that the cuts promise there; infinite where they do not bound it.
        """
        room = radius * self._upper
        lower, upper = np.maximum(center[:-1] - room, 0.0), np.minimum(center[:-1] + room, self._upper)
        self._program.bound_columns(np.arange(self._multipliers), lower.ravel(), upper.ravel())
        look("multipliers")
        value, point, _, optimal = self._program.solve()
        if not optimal:
            return center, np.inf
        multipliers = np.zeros_like(center)
        multipliers[:-1] = np.clip(point[: self._multipliers].reshape(len(center) - 1, self.width), 0.0, self._upper)
        return multipliers, -value

    def add(self, tree: tuple[Interval, ...]) -> int:
        """Add the cuts of intervals that have none yet; return how many."""
        fresh = [interval for interval in dict.fromkeys(tree) if interval not in self._known and interval.member >= 0]
        self._known.update(fresh)
        rows = [row for row in map(self._cut, fresh) if np.isfinite(row[0])]
        if rows:
            self._program.add_rows(-np.inf, [limit for limit, *_ in rows], [(columns, entries) for _, columns, entries in rows])
        return len(rows)

    def _cut(self, interval: Interval) -> tuple[float, Any, Floats]:
        """Right side, columns and entries of P_e − P_s − (p_s − p_e) · z ≤ cost of the interval."""
        start, end, member = interval
        cost = float(self.pool.values[member, start:end].sum())
        z = self.pool.coordinates[member]
        columns, entries = [np.array([self._multipliers + end - 1])], [np.ones(1)]
        if end < self.periods:
            columns.append(end * self.width + np.arange(self.width))
            entries.append(z)
        if start:
            cost += self.coordinates.fixed
            columns += [np.array([self._multipliers + start - 1]), start * self.width + np.arange(self.width)]
            entries += [-np.ones(1), -z]
        elif self.origin.coordinates is not None and member != self.origin.member:
            cost += self.coordinates.fixed
            columns.append(np.arange(self.width))
            entries.append(self.origin.coordinates - z)
        row, entry = np.concatenate(columns), np.concatenate(entries)
        return cost, row[entry != 0], entry[entry != 0]


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


BorderMultipliers = Callable[..., Floats | None]
"""`edrp.formulations.placement.border_multipliers.border_multipliers`, which this room gets from those that know both."""

MAX_EXACT_UNITS = 60.0
"""Maximum units of work of the dynamic program over all deployments that may be on a best course."""

MAX_RELAXATION_UNITS = 60.0
"""Maximum units of work of the linear relaxation of all periods."""

COURSE_UNITS = 0.5
"""Units of work of a dynamic program over the most promising deployments of every period."""

MAX_CANDIDATES = 300
"""Most deployments of a period among which a course is searched."""

START_SHARE, RELAXATION_SHARE, PASS_SHARE = 0.08, 0.3, 0.6
"""Shares of what is left for the first deployment, the relaxation of all periods, and one pass of priced problems."""

STAYS = (1, 2, 4)
"""Numbers of intervals into which the periods are divided for deployments that stay long."""

SPREAD = 3.0
"""Units that one priced problem may take, relative to an even share of its pass."""

COARSE, PRECISION_SHARE = 1e-3, 0.05
"""Precision of a pass of priced problems, relative to the cost of the best course, at most, and as a share of the open gap."""

MIN_PROGRESS = 0.01
"""Share of the gap that the multipliers of a box promise at least; below, the box grows."""

SERIOUS = 0.1
"""Share of what was promised that must be gained to move the box."""

FIRST_SHARE = 0.5
"""Share of the way to the best multipliers over the pool that is gone at first."""

MAX_IDLE = 3
"""Passes of priced problems without progress after which the search ends."""

MAX_STEPS = 25
"""Maximum number of multipliers that are tried between two passes of priced problems."""

FIRST_RADIUS, MIN_RADIUS = 0.2, 0.002
"""Half widths of the box around the best multipliers, as shares of the largest ones."""


class CourseSearch:
    """A course, a lower bound, and what improves both.

    Attributes
    ----------
    lower : proven; no course costs less. Costs are never negative.
    feasible : False once some period is proven to have no feasible deployment, or all of them no course.
    passes : evaluations of the lower bound by priced problems.
    """

    def __init__(
        self, arrays: SequenceArrays, options: Options, solve: SolvePriced, under_loads: SolveUnderLoads, relax: BorderMultipliers
    ) -> None:
        self.arrays, self.options, self._relax = arrays, options, relax
        self.coordinates = ChangeCoordinates.of(arrays)
        self.pool = DeploymentPool(PeriodValues(arrays.periods), self.coordinates)
        self.lower, self.feasible, self.passes = 0.0, True, 0
        member = -1
        if arrays.initial is not None:
            self.pool.add(arrays.initial[None])
            member = self.pool.index(arrays.initial)
        initial = None if arrays.initial is None else self.coordinates(arrays.initial[None])[0]
        self.origin = Origin(initial, member)
        self.program = CourseProgram(arrays, self.pool, self.coordinates)
        self.bounds = IntervalBounds(arrays, self.coordinates, self.origin, self.pool, solve, under_loads)

    @property
    def upper(self) -> float:
        """Cost of the best course; infinite where none is known."""
        return self.program.incumbent.cost

    @property
    def done(self) -> bool:
        """Whether the gap is closed, nothing is feasible, or the limit has passed."""
        closed = self.upper < inf and within_gap(self.upper, min(self.lower, self.upper), self.options.gap)
        return closed or not self.feasible or self.options.remaining <= 0

    def report(self) -> None:
        """Tell progress to the caller."""
        self.options.tell(self.upper, self.lower)

    # All deployments

    def enumerate(self) -> bool:
        """Search with all deployments in the pool; return whether the answer is exact."""
        self.pool.add(all_deployments(self.arrays.periods[0]))
        if not np.isfinite(self.pool.values).any(axis=0).all():
            self.feasible = False
            return True
        relaxation = self.ascend(self.no_multipliers())[1]
        self.lower = max(self.lower, relaxation.value)
        self.report()
        return self.done or self._settle(relaxation)

    def _settle(self, relaxation: PoolRelaxation) -> bool:
        """Decide by a dynamic program over all deployments that may be on a best course, unless they are too many."""
        limit = self.upper + SAME_VALUE * max(1.0, abs(self.upper)) if self.upper < inf else inf
        members = [np.flatnonzero(np.isfinite(through) & (through <= limit)) for through in relaxation.through.T]
        pairs = sum(float(a.size) * b.size for a, b in pairwise(members))
        if pairs * self._pair_units() > min(MAX_EXACT_UNITS, self.options.remaining):
            return False
        best = self.program.best(members).cost if all(part.size for part in members) else inf
        if self.upper == inf:
            self.feasible = False
        self.lower = max(self.lower, min(best, self.upper))
        return True

    def _pair_units(self) -> float:
        """Units of work of the price of one change."""
        return CELL_WORK * (1 + self.coordinates.upper.size) + (DOWNTIME_WORK if self.arrays.times_downtime else 0.0)

    # Priced problems

    def no_multipliers(self) -> Floats:
        """Multipliers under which changes are free but for their fixed price, shape (periods + 1, coordinates)."""
        return np.zeros((len(self.arrays.periods) + 1, self.coordinates.upper.size))

    def start(self, known: Sequence[Ints]) -> None:
        """Begin with known courses, given as counts, and the best of the deployments that are feasible in all periods."""
        periods = self.arrays.periods
        for counts in known:
            self.pool.add(counts)
            members = np.array([self.pool.index(row) for row in counts])
            if (members >= 0).all():
                self.program.cost(members)
        left = self.options.remaining
        units = None if left == inf else START_SHARE * left
        answer = self.bounds.solve(worst(periods), units, gap=COARSE)
        if answer.counts is not None:
            self.pool.add(answer.counts[None])
            if (member := self.pool.index(answer.counts)) >= 0:
                self.program.cost(np.full(len(periods), member))
                self.pool.expand([member])
        if self.coordinates.fixed > 0:
            self._stay()
        self.report()

    def _stay(self) -> None:
        """Have the pool hold what is best for long intervals without a change, where any change has a price."""
        periods, free = len(self.arrays.periods), np.zeros(self.coordinates.upper.size)
        precision = COARSE * (self.upper if self.upper < inf else 1.0) / periods
        for parts in STAYS:
            edges = np.unique(np.linspace(0, periods, parts + 1).round().astype(int))
            for start, end in pairwise(edges.tolist()):
                left = self.options.remaining
                units = None if left == inf else START_SHARE * left / parts
                self.bounds.solve_interval(start, end, free, precision, units)

    def first_multipliers(self, expected_work: Callable[[Sequence[Compiled]], float]) -> Floats:
        """Duals of the linear relaxation of all periods, or of as few blocks of periods as the limit leaves time for."""
        count, blocks = len(self.arrays.periods), len(self.arrays.periods)
        none = self.no_multipliers()
        if not self.coordinates.upper.size:
            return none
        allowed = min(MAX_RELAXATION_UNITS, RELAXATION_SHARE * self.options.remaining)
        units = expected_work(self.arrays.periods)
        while blocks > 1 and units * (blocks / count) > allowed:
            blocks = (blocks + 1) // 2
        if blocks < 2 and self.arrays.initial is None:
            return none
        edges = np.unique(np.round(np.linspace(0, count, blocks + 1)).astype(int))
        parts = [averaged(self.arrays.periods[a:b]) for a, b in pairwise(edges.tolist())]
        c = self.coordinates
        found = self._relax(parts, c.operator, c.node, c.shared, c.upper, self.origin.coordinates)
        if found is None:
            return none
        borders = np.arange(count + 1)
        return np.stack([np.interp(borders, edges, column) for column in found.T], axis=1)

    def relaxed(self, multipliers: Floats) -> PoolRelaxation:
        """The relaxation at multipliers over the pool, once it holds all neighbours of what is best in each period."""
        while True:
            relaxation = relax_over_pool(self.pool, multipliers, self.coordinates.fixed, self.origin)
            look("first deployments")
            if not len(self.pool) or not self.pool.expand(relaxation.through.argmin(axis=0).tolist()):
                return relaxation

    def ascend(self, center: Floats) -> tuple[Floats, PoolRelaxation]:
        """Raise the relaxation over the growing pool from multipliers on, in a box that grows and shrinks with success.

        Neighbours of the best deployments nearly always contain the optima of priced problems, so that these are not solved here.
        """
        program = self._multiplier_program
        best, radius = self.relaxed(center), FIRST_RADIUS
        program.add(best.tree)
        self.search_courses(best)
        for _ in range(MAX_STEPS if self.coordinates.upper.size else 0):
            multipliers, ceiling = program.best(center, radius)
            gap = min(self.upper, ceiling) - best.value
            if ceiling - best.value <= MIN_PROGRESS * gap or ceiling <= best.value + SAME_VALUE * abs(best.value):
                if radius >= 1.0:
                    break
                radius = min(1.0, 4 * radius)
                continue
            reached = self.relaxed(multipliers)
            program.add(reached.tree)
            gained = (reached.value - best.value) / (ceiling - best.value) if ceiling < inf else 0.0
            if gained > SERIOUS:
                center, best = multipliers, reached
                radius = min(1.0, 1.5 * radius) if gained > 0.5 else radius
            else:
                best = relax_over_pool(self.pool, center, self.coordinates.fixed, self.origin)
                program.add(best.tree)
                radius = max(MIN_RADIUS, 0.7 * radius)
            if self.options.remaining <= 0:
                break
        self.search_courses(best)
        self.report()
        return center, best

    def climb(self, multipliers: Floats) -> None:
        """Prove bounds on the way to the best multipliers over the pool, from given ones on, until nothing helps.

        Only a share of the way is gone, because the pool knows least of where it has not been; the share follows success.
        """
        center, best, share, idle = multipliers, 0.0, FIRST_SHARE, 0
        if multipliers.any():
            best = self._evaluate(center, self.relaxed(center), COARSE)
        while not self.done and idle < MAX_IDLE:
            target, relaxation = self.ascend(center)
            scale = self.upper if self.upper < inf else max(abs(relaxation.value), 1.0)
            open_share = (scale - relaxation.value) / scale
            precision = min(COARSE, max(0.1 * self.options.gap, SAME_VALUE, PRECISION_SHARE * open_share))
            before, point = self.upper - self.lower, center + share * (target - center)
            value = self._evaluate(point, self.relaxed(point), precision)
            if value > best:
                center, best, share = point, value, min(1.0, 1.5 * share)
            else:
                share *= 0.5
            self.report()
            helped = before == inf or before - (self.upper - self.lower) > MIN_PROGRESS * before
            idle = 0 if helped else idle + 1

    def _evaluate(self, multipliers: Floats, relaxation: PoolRelaxation, precision: float) -> float:
        """The bound at multipliers, at which the pool has a relaxation."""
        self.passes += 1
        scale = self.upper if self.upper < inf else max(self.lower, 1.0)
        budget = PASS_SHARE * self.options.remaining
        left = [len(self.arrays.periods)]

        def units() -> float | None:
            left[0] = max(1, left[0] - 1)
            return None if budget == inf else min(SPREAD * budget / (1 + left[0]), self.options.remaining)

        enough = min(self.upper, relaxation.value - precision * scale)
        value = self.bounds.bound(multipliers, precision * scale, units, relaxation.levels, enough)
        if self.bounds.infeasible is not None:
            self.feasible = False
        elif value < inf:
            self.lower = max(self.lower, value)
        return value

    @cached_property
    def _multiplier_program(self) -> MultiplierProgram:
        return MultiplierProgram(self.pool, self.coordinates, self.origin)

    # Courses

    def search_courses(self, relaxation: PoolRelaxation) -> None:
        """Search a course among the deployments that the relaxation finds best in every period, and around the best one."""
        periods = len(self.arrays.periods)
        most = int(min(MAX_CANDIDATES, max(8.0, (COURSE_UNITS / (periods * self._pair_units())) ** 0.5)))
        known = self.program.incumbent.members
        members = []
        for through in relaxation.through.T:
            best = np.argsort(through, kind="stable")[:most]
            members.append(np.union1d(best[np.isfinite(through[best])], known))
        if all(part.size for part in members):
            self.program.best(members)
        if self.upper < inf:
            self.program.improve(self.program.incumbent)
