"""Lower bounds on what any policy of deployments is expected to cost, whatever a pool holds.

Multipliers π of the levels, between 0 and the prices of increases, take the linear part out of the price of a change: from b to
d at level l it costs at least a fixed price c and π_l · (z(d) − z(b)), where z are coordinates (`ChangeCoordinates`). In the
expected discounted sum these terms telescope: to run d at level m costs g_m(d) = f_m(d) + (π_m − γ·Σ_n P(m, n)·π_n) · z(d), and
to change only c. What is left is a process in which one deployment stays until the load comes to a level of some set A, where
another one is chosen. Its value W(l), from a choice at level l on, satisfies

    W(l) = min_A ( Σ_{a ∈ A} h_A(l, a) · (c + W(a)) + min_d Σ_m o_A(l, m) · g_m(d) ),

where o_A are the expected discounted periods at each level and h_A the discounted chances of where they end. The inner minimum is
one priced problem of kind `edrp` with averaged arrays (`averaged`), whose bound holds for all deployments. It is at least the sum
of the levels' own minima; only those on the best path under these sums are solved.

Multipliers for bounds of policies, by subgradient steps over a pool of deployments (Polyak 1969).

Over a pool the relaxation of `policy_bounds` is solved by value iteration, which takes no priced
problems. Where its policy changes at a level from b to d, z(d) − z(b) is the direction in which its multipliers raise the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from edrp.core.arrays import Bools, Floats
from edrp.core.budget import spend, units_left
from edrp.mdp.placement.coordinates import ChangeCoordinates
from edrp.mdp.placement.intervals import SolvePriced, averaged
from edrp.mdp.placement.pool import DeploymentPool
from edrp.mdp.placement.pool_decisions import LevelArrays
from edrp.placement.compiled import Compiled

MAX_STAY_LEVELS = 8
"""Levels up to which sets of them are listed; with more, changes count as free but for the multipliers."""

MAX_CHOICES = 1000
"""Maximum number of steps of policy iteration over sets of levels."""


@dataclass(frozen=True)
class Stays:
    """How long one deployment stays, for every set A of levels at which another one is chosen.

    Attributes
    ----------
    periods : shape (sets, levels, levels), expected discounted periods at each level, from a choice at a level on.
    ends : shape (sets, levels, levels), discounted chance that the stay ends at each level.
    """

    periods: Floats
    ends: Floats

    @classmethod
    def of(cls, levels: LevelArrays, *, free: bool) -> Stays:
        """All sets of levels, the full one first; only that where changes are `free`."""
        count = levels.count
        numbers = np.arange(1 if free else 2**count)
        chosen: Bools = (numbers[:, None] >> np.arange(count)) & 1 == 0
        going = levels.discount * levels.transitions * ~chosen[:, None, :]
        reached = np.linalg.matrix_power(np.eye(count) + (going > 0), count) > 0
        periods = np.where(reached, np.linalg.inv(np.eye(count) - going), 0.0)
        ends = levels.discount * (periods @ levels.transitions) * chosen[:, None, :]
        return cls(np.maximum(periods, 0.0), ends)


@dataclass
class PolicyBounds:
    """Lower bounds at multipliers; the pool takes up what priced problems find.

    Attributes
    ----------
    priced : number of priced problems that were solved.
    infeasible : index of a level at which no deployment is feasible; None where none is known.
    """

    levels: LevelArrays
    coordinates: ChangeCoordinates
    pool: DeploymentPool
    solve: SolvePriced
    gap: float
    priced: int = 0
    infeasible: int | None = None

    @cached_property
    def stays(self) -> Stays:
        """Sets of levels; peak loads cannot be averaged, so that with them no deployment counts as staying."""
        free = self.coordinates.fixed == 0 or self.levels.count > MAX_STAY_LEVELS or self.levels.sequence.periods[0].contended
        return Stays.of(self.levels, free=free)

    @property
    def fixed(self) -> float:
        """The fixed price of a change, where it counts."""
        return self.coordinates.fixed if len(self.stays.periods) > 1 else 0.0

    def no_multipliers(self) -> Floats:
        """Shape (levels, coordinates), all 0."""
        return np.zeros((self.levels.count, self.coordinates.upper.size))

    def bound(self, multipliers: Floats, units: Callable[[], float | None], known: float = np.inf) -> float:
        """A lower bound on the objective of all policies; −infinite where the limit passes before one is known.

        Parameters
        ----------
        multipliers
            Shape (levels, coordinates), between 0 and the prices of the coordinates.
        units
            Called before each priced problem for the units of work that it may take, None for any number.
        known
            Objective of a policy: a bound that reaches it needs no more priced problems.
        """
        stay = _StayValues(self, multipliers, units)
        for level in range(self.levels.count):
            if self.infeasible is not None:
                return np.inf
            if units_left() <= 0:
                return -np.inf
            stay.evaluate(0, level)
        while units_left() > 0 and stay.objective() < known:
            if not (waiting := stay.unsolved()):
                break
            for chosen, start in waiting:
                stay.evaluate(chosen, start)
        return stay.objective()

    def solve_stay(self, periods: Floats, net: Floats, units: float | None) -> float:
        """A lower bound on the cost of a deployment that runs for `periods` at each level, at net multipliers.

        Parameters
        ----------
        periods
            Shape (levels,), expected discounted periods.
        net
            Shape (coordinates,), of all of these periods together.
        """
        pool, here = self.pool, np.flatnonzero(periods)
        total = pool.values[:, here] @ periods[here] + pool.coordinates @ net
        member = int(total.argmin()) if total.size else -1
        start = pool.counts[member] if member >= 0 and np.isfinite(total[member]) else None
        compiled = averaged(tuple(_weighted(self.levels.sequence.periods[m], float(periods[m])) for m in here))
        answer = self.solve(self.coordinates.priced(compiled, net), units, start=start, gap=self.gap)
        self.priced += 1
        if answer.counts is not None:
            pool.add(np.array([answer.counts, *answer.others]))
            pool.expand([index] if (index := pool.index(answer.counts)) >= 0 else [])
        return max(float(answer.bound), self.coordinates.least_worth(net, self.levels.sequence.periods[0]))


def _weighted(compiled: Compiled, periods: float) -> Compiled:
    """The arrays of a level whose objective counts `periods` times."""
    weight = {metric: periods * value for metric, value in compiled.weight.items()}
    return replace(compiled, weight=weight, rules=replace(compiled.rules, penalty=periods * compiled.rules.penalty))


class _StayValues:
    """Values of the process in which deployments stay, as far as its priced problems are solved.

    The last row of starts is the first choice, which costs nothing where no deployment runs now.
    """

    def __init__(self, bounds: PolicyBounds, multipliers: Floats, units: Callable[[], float | None]) -> None:
        self.bounds, self.multipliers, self.units = bounds, multipliers, units
        levels = self.levels = bounds.levels
        self.net = multipliers - levels.discount * levels.transitions @ multipliers
        self.running = levels.sequence.initial is not None
        starts = [*range(levels.count), *([] if self.running else [levels.level])]
        self.starts = np.array(starts)
        self.periods, self.ends = bounds.stays.periods[:, starts], bounds.stays.ends[:, starts]
        self.least = np.full(levels.count, -np.inf)
        self.costs = np.full(self.periods.shape[:2], -np.inf)
        self.solved = np.zeros(self.costs.shape, bool)

    def evaluate(self, chosen: int, start: int) -> None:
        """Solve the priced problem of a stay; those that end at once come first, and bound all others."""
        net = self.periods[chosen, start] @ self.net
        if start == self.levels.count:
            net = net - self.multipliers[self.levels.level]
        value = self.bounds.solve_stay(self.periods[chosen, start], net, self.units())
        self.costs[chosen, start] = max(self.costs[chosen, start], value)
        self.solved[chosen, start] = True
        if chosen == 0 and start < self.levels.count:
            if value == np.inf:
                self.bounds.infeasible = start
            self.least[start] = value
            if np.isfinite(self.least).all():
                self._add_up()

    def _add_up(self) -> None:
        """Let every stay cost at least what its periods do by themselves; of the first choice all priced problems differ."""
        sums = self.periods @ self.least
        if not self.running:  # less the largest worth that the multipliers of the first choice may have
            coordinates = self.bounds.coordinates
            replicas = self.levels.sequence.periods[0].max_replicas[coordinates.operator]
            sums[:, -1] -= float(self.multipliers[self.levels.level] @ np.where(coordinates.shared == 1, 1.0, replicas))
        self.costs = np.maximum(self.costs, sums)

    def _values(self) -> tuple[Floats, np.ndarray]:
        """W by start, and the set A that each of them chooses, by policy iteration."""
        count, starts = self.levels.count, np.arange(len(self.starts))
        best = np.zeros(len(starts), np.int64)
        for _ in range(MAX_CHOICES):
            matrix = np.eye(count) - self.ends[best[:count], starts[:count]]
            paid = self.ends.sum(axis=2) * self.bounds.fixed
            cost = paid + self.costs
            values = np.linalg.solve(matrix, cost[best[:count], starts[:count]])
            table = cost + self.ends @ values
            least = table.argmin(axis=0)
            if not (table[least, starts] < table[best, starts]).any():
                break
            best = np.where(table[least, starts] < table[best, starts], least, best)
        return table[best, starts], best

    def objective(self) -> float:
        """The bound."""
        if not np.isfinite(self.least).all():
            return float("inf") if self.bounds.infeasible is not None else -np.inf
        values, _ = self._values()
        initial, level = self.levels.sequence.initial, self.levels.level
        if initial is None:
            return float(values[-1])
        at = self.bounds.coordinates(initial[None])[0]
        begin = min(self.bounds.fixed + values[level], self._kept(values, self.bounds.pool.index(initial)))
        return float(begin - self.multipliers[level] @ at)

    def _kept(self, values: Floats, member: int) -> float:
        """Cost of keeping what runs now, a member of the pool or -1, until it is best to choose again."""
        pool = self.bounds.pool
        if member < 0 or self.bounds.fixed == 0:
            return np.inf
        cost = pool.values[member] + self.net @ pool.coordinates[member]
        stays = self.bounds.stays
        finite = np.where(np.isfinite(cost), cost, 0.0)
        broken = (stays.periods[:, self.levels.level] * ~np.isfinite(cost)).any(axis=1)
        paid = stays.ends[:, self.levels.level] @ (self.bounds.fixed + values[: self.levels.count])
        total = np.where(broken, np.inf, stays.periods[:, self.levels.level] @ finite + paid)
        return float(total.min())

    def unsolved(self) -> list[tuple[int, int]]:
        """Stays on the best path from now on whose priced problems are not solved yet."""
        _, best = self._values()
        begin = self.levels.level if self.running else len(self.starts) - 1
        reached, waiting = set(), [begin]
        while waiting:
            start = waiting.pop()
            if start not in reached:
                reached.add(start)
                waiting += np.flatnonzero(self.ends[best[start], start]).tolist()
        return [(int(best[start]), start) for start in sorted(reached) if not self.solved[best[start], start]]


CELL_UNITS = 2e-9
"""Units of work per deployment, level and coordinate in one step."""

STEPS, PASSES = 200, 12
"""Subgradient steps; passes of value iteration between two of them, which begin where the last ones ended."""

MAX_STEP, PATIENCE = 1.0, 12
"""Step length relative to Polyak's at the beginning; steps without improvement after which it is halved."""

FLOW_PASSES = 400
"""Maximum number of periods for which the flow of a policy is followed."""

FLOW_UNITS = 2e-6
"""Units of work to follow the flow of one state to one level."""

MIN_FLOW = 1e-4
"""Discounted flow below which the rest of it is left out of the direction."""


@dataclass
class PolicyRelaxation:
    """The relaxation over a pool.

    Attributes
    ----------
    fixed : price of any change in it, in seconds.
    """

    levels: LevelArrays
    coordinates: ChangeCoordinates
    pool: DeploymentPool
    fixed: float
    _staying: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._staying = np.zeros((self.levels.count, len(self.pool)))

    def climb(self, multipliers: Floats, goal: float) -> Floats:
        """Better multipliers for this pool, of the same shape (levels, coordinates).

        Parameters
        ----------
        goal
            Objective that is known; the value of the relaxation cannot be more.
        """
        best, top, length, vain = multipliers, -np.inf, MAX_STEP, 0
        for _ in range(STEPS):
            value, direction = self._evaluate(multipliers)
            if value > top:
                best, top, vain = multipliers, value, 0
            else:
                vain += 1
            if vain > PATIENCE:
                multipliers, length, vain = best, length / 2, 0
                value, direction = self._evaluate(multipliers)
            square = float((direction**2).sum())
            if square == 0 or value >= goal or units_left() <= 0:
                break
            step = length * (goal - value) / square
            multipliers = np.clip(multipliers + step * direction, 0.0, self.coordinates.upper)
        return best

    def _evaluate(self, multipliers: Floats) -> tuple[float, Floats]:
        """About the value at some multipliers, and the direction in which it rises."""
        levels, pool = self.levels, self.pool
        spend(CELL_UNITS * pool.values.size * (multipliers.shape[1] + PASSES * levels.count))
        net = multipliers - levels.discount * levels.transitions @ multipliers
        costs = pool.values.T + net @ pool.coordinates.T
        staying = self._staying
        for _ in range(PASSES):
            after = np.minimum(staying, self.fixed + staying.min(axis=1, keepdims=True))
            staying = costs + levels.discount * (levels.transitions @ after)
        self._staying = staying
        return self._follow(multipliers, staying)

    def _follow(self, multipliers: Floats, staying: Floats) -> tuple[float, Floats]:
        """Value of what runs now, and what the policy changes, by level and coordinate."""
        levels, coordinates = self.levels, self.pool.coordinates
        chosen, initial = staying.argmin(axis=1), levels.sequence.initial
        direction = np.zeros_like(multipliers)
        level = levels.level
        if initial is None:
            worth = staying[level] - coordinates @ multipliers[level]
            member = int(worth.argmin())
            value = float(worth[member])
        else:
            at = self.coordinates(initial[None])[0]
            running = self.pool.index(initial)
            member, value = int(chosen[level]), self.fixed + float(staying[level].min())
            if running >= 0 and staying[level, running] <= value:
                member, value = running, float(staying[level, running])
            direction[level] = coordinates[member] - at
            value -= float(multipliers[level] @ at)
        flow = {(level, member): 1.0}
        for _ in range(FLOW_PASSES):
            arriving: dict[tuple[int, int], float] = {}
            spend(FLOW_UNITS * len(flow) * levels.count)
            for (here, running), share in flow.items():
                for other in np.flatnonzero(levels.transitions[here]).tolist():
                    part = share * levels.discount * levels.transitions[here, other]
                    target = running
                    if staying[other, running] > self.fixed + staying[other, chosen[other]]:
                        target = int(chosen[other])
                        direction[other] += part * (coordinates[target] - coordinates[running])
                    arriving[other, target] = arriving.get((other, target), 0.0) + part
            flow = arriving
            if sum(flow.values()) < MIN_FLOW:
                break
        return value, direction
