"""Good migration sequences without proof: greedy steps, re-optimised between their neighbours and recombined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.core.tolerances import EQUAL_GAINS
from edrp.mdp.partitions import Boundaries, Tasks, as_boundaries, gain_between
from edrp.mdp.sequence.course import Course, MigrationStep, Path
from edrp.mdp.single_step.ssm import ssm


def two_sided(
    work_before: Floats,
    left_state: Floats,
    left: Boundaries,
    right_state: Floats,
    right: Boundaries,
    nodes: int,
    limit: float,
    allow_empty: bool,
) -> tuple[float, Boundaries] | None:
    """Find the partition P that minimises the cost from `left` to P and from P to `right`, in O(m²·n′).

    Parameters
    ----------
    work_before : shape (m + 1,)
        Work before each boundary.
    left_state, right_state : shape (m + 1,)
        Bytes of state before each boundary, as the migration to P and the one from P move them; multiplied by a
        factor where one of the two is to count more.
    left, right
        Partitions before and after; intervals may be empty.
    nodes, limit, allow_empty
        Intervals of P, most work of each, and whether they may hold no task.

    Returns
    -------
    tuple or None
        Cost of both migrations in bytes, and boundaries of shape (n′ + 1,), empty intervals last; of several, those that
        are smallest, read from the first. None where no partition keeps to the limit.
    """
    migrations = left_state, as_boundaries(left), right_state, as_boundaries(right)
    gain, boundaries = _native.partition_between(work_before, *migrations, nodes, limit, allow_empty)
    return None if np.isnan(gain) else (float(left_state[-1] + right_state[-1] - gain), boundaries)


MAX_HEURISTIC_POOL = 1000
"""Default maximum number of partitions of a step that are recombined; the newest are kept."""

BOUNDARY_SHIFTS = (-2, -1, 1, 2)
"""Numbers of tasks by which a boundary is moved to get a neighbour of a partition."""

STATE_SIZE_SPREAD = 0.6
"""Spread of the random factors on state sizes that give other starts."""

RECOMBINATION_UNITS = 5e-9
"""Units of work per two partitions of consecutive steps and interval, to recombine them."""

NEIGHBOUR_UNITS = 1e-6
"""Units of work per neighbour of a partition."""

RECHOICE_UNITS, RECHOICE_PLACE_UNITS = 1e-5, 1.5e-8
"""Units of work to choose a partition between two others: fixed, and per place and task of an interval."""


class PartitionPools:
    """Pools of good partitions of each step, to be recombined."""

    def __init__(self, course: Course, largest: int = MAX_HEURISTIC_POOL) -> None:
        self.course = course
        self.largest = largest
        self._pools: list[dict[tuple[int, ...], None]] = [{} for _ in course.steps]

    def add(self, step: int, boundaries: Boundaries) -> None:
        """Add a partition of a step, which must be within its load limit."""
        pool, key = self._pools[step], tuple(boundaries.tolist())
        pool.pop(key, None)
        pool[key] = None
        if len(pool) > self.largest:
            del pool[next(iter(pool))]

    def newest(self, step: int, count: int) -> Boundaries:
        """Return the last partitions added to a step, shape (at most count, n + 1)."""
        return np.array(list(self._pools[step])[-count:], dtype=np.int64)

    def add_path(self, path: Sequence[Boundaries]) -> None:
        """Add the partitions of a path."""
        for step, boundaries in enumerate(path):
            self.add(step, boundaries)

    def add_neighbours(self, path: Sequence[Boundaries]) -> None:
        """Add the neighbours of a path: one boundary of a partition moved by up to two tasks."""
        for step, boundaries in enumerate(path):
            spend(NEIGHBOUR_UNITS * len(BOUNDARY_SHIFTS) * boundaries.size)
            members = self.course.steps[step].members
            for neighbour in _neighbours(boundaries, members.work_before, members.limit, allow_empty=members.allow_empty):
                self.add(step, neighbour)

    def best_path(self) -> tuple[float, Path]:
        """Find the best path through the partitions of the pools; every step must have one."""
        listed = [self.newest(step, self.largest) for step in range(len(self._pools))]
        starts = [self.course.start[np.newaxis], *listed]
        pairs = [len(before) * after.size for before, after in zip(starts, listed, strict=False)]
        spend(RECOMBINATION_UNITS * sum(pairs))
        before, values, chosen = self.course.start[np.newaxis], np.zeros(1), []
        for step, after in zip(self.course.steps, listed, strict=True):
            totals, origins = _native.cheapest_predecessors(step.state_before, before, after, values)
            chosen.append(origins)
            before, values = after, totals
        row = int(values.argmin())
        cost, rows = float(values[row]), [row]
        for origins in chosen[:0:-1]:
            rows.append(int(origins[rows[-1]]))
        return cost, tuple(pool[row] for pool, row in zip(listed, rows[::-1], strict=True))


def _neighbours(boundaries: Boundaries, work_before: Floats, limit: float, *, allow_empty: bool) -> list[Boundaries]:
    """List partitions with one inner boundary moved that keep the limit; empty intervals stay empty."""
    neighbours = []
    for position in range(1, boundaries.size - 1):
        low, high = boundaries[position - 1], boundaries[position + 1]
        for shift in BOUNDARY_SHIFTS:
            moved = boundaries[position] + shift
            inside = low < moved < high or (allow_empty and low < moved == high == boundaries[-1])
            if inside and max(work_before[moved] - work_before[low], work_before[high] - work_before[moved]) <= limit:
                other = boundaries.copy()
                other[position] = moved
                neighbours.append(other)
    return neighbours


def greedy_path(course: Course, state_factor: Floats | float = 1.0) -> Path:
    """Build a path of optimal single steps (state migration, section 3.3), with state sizes scaled by `state_factor`.

    Raises
    ------
    ValueError
        When a step has no partition within its load limit.
    """
    before, path = course.start, []
    for step in course.steps:
        members = step.members
        tasks = Tasks.of(step.tasks.work, step.tasks.state_size * state_factor)
        best = ssm(tasks, before, members.nodes, members.limit, members.allow_empty)
        if best is None:
            raise ValueError(f"{members.nodes} nodes have no partition within their load limit")
        before = best[1]
        path.append(before)
    return tuple(path)


def improved_path(course: Course, path: Path, out_of_time: Callable[[], bool] = lambda: False) -> Path:
    """Re-optimise each partition between its neighbours, exactly, until none improves."""
    steps, best = course.steps, list(path)
    costs = course.costs(best)
    stale = [True] * len(best)
    while any(stale):
        for t in range(len(best)):
            if not stale[t] or out_of_time():
                stale[t] = False
                continue
            stale[t] = False
            before = course.start if t == 0 else best[t - 1]
            step = steps[t]
            after = best[t + 1] if t + 1 < len(best) else None
            following = steps[t + 1] if after is not None else None
            between = _best_between(step, before, following, after)
            moved = [step.state_before[-1] - gain_between(step.state_before, before, between)]
            if following is not None and after is not None:
                moved.append(following.state_before[-1] - gain_between(following.state_before, between, after))
            if sum(moved) < costs[t : t + 2].sum() - EQUAL_GAINS * step.state_before[-1]:
                best[t] = between
                costs[t : t + 2] = moved
                for neighbour in (t - 1, t + 1):
                    if 0 <= neighbour < len(best):
                        stale[neighbour] = True
    return tuple(best)


def _best_between(
    step: MigrationStep, before: Boundaries, following: MigrationStep | None, after: Boundaries | None
) -> Boundaries:
    members = step.members
    if following is None or after is None:
        alone = ssm(step.tasks, before, members.nodes, members.limit, members.allow_empty)
        between = None if alone is None else alone[1]
    else:
        spend(RECHOICE_UNITS + RECHOICE_PLACE_UNITS * members.places * step.tasks.work.size / members.nodes)
        both = two_sided(
            members.work_before,
            step.state_before,
            before,
            following.state_before,
            after,
            members.nodes,
            members.limit,
            members.allow_empty,
        )
        between = None if both is None else both[1]
    if between is None:
        raise ValueError(f"{members.nodes} nodes have no partition within their load limit")
    return between


def search_path(
    course: Course,
    pools: PartitionPools,
    *,
    starts: int = 30,
    patience: int = 5,
    seed: int = 0,
    out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[float, Path]:
    """Search for a good path: greedy paths and neighbours of the best, recombined by a dynamic program and improved.

    Parameters
    ----------
    course
        Feasible at every step.
    pools
        Pools of the course; partitions that are met are added.
    starts
        Number of greedy paths of a round, made with state sizes scaled by random factors.
    out_of_time
        Function that is called now and then and returns whether to stop; at least one greedy path is made.
    """
    generator = np.random.default_rng(seed)
    best = improved_path(course, greedy_path(course), out_of_time)
    cost, failures = float(course.costs(best).sum()), 0
    while failures < patience and not out_of_time():
        for _ in range(starts):
            if out_of_time():
                return cost, best
            factor = generator.lognormal(0.0, STATE_SIZE_SPREAD, course.steps[0].tasks.work.size)
            pools.add_path(improved_path(course, greedy_path(course, factor), out_of_time))
        pools.add_neighbours(best)
        pools.add_path(best)
        path = improved_path(course, pools.best_path()[1], out_of_time)
        pools.add_path(path)
        value = float(course.costs(path).sum())
        failures += 1
        if value < cost - 1e-12 * abs(cost):
            cost, best, failures = value, path, 0
    return cost, best
