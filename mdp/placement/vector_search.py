"""Courses of more vectors than can be listed, with a bound: prices, courses that follow from them, and what is left to list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, prod
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import spend
from edrp.core.errors import OutOfTimeError
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.placement.vector_costs import VectorCosts
from edrp.mdp.placement.vector_course import VectorCourse, VectorProgram
from edrp.mdp.placement.vector_relaxation import LONGEST, BranchRelaxation, CourseRelaxation, trees_of_branches

ROUNDS = 3000
"""Maximum number of steps of the prices."""

PATIENCE, SHORTER, SHORTEST = 20, 0.7, 1e-3
"""Steps without a better bound after which steps become shorter, by which factor, and the length at which they end."""

SEARCHED = 25
"""Steps between two courses that are made from what the prices give."""

NEIGHBOURHOODS = 3
"""How many times the neighbours of a set of change times are searched."""

CYCLES, MAX_CELLS = 5, 2_000_000
"""Maximum number of times that courses of groups of operators are renewed; of combinations of a group over all periods."""

MAX_SEARCH_UNITS = 5.0
"""Maximum units of work of a search among the neighbours of a set of change times."""

CELL_UNITS = 3e-9
"""Units of work per period and combination of some operators, for each chain and each limit."""

PROGRESS, UNKNOWN_GAP = 1e-3, 0.01
"""Share of the gap by which a better bound must narrow it to count as progress; gap that is assumed before there is a course."""

SWEEPS, SWEEPS_SEARCHED, IDLE_SWEEPS = 60, 10, 3
"""Maximum number of sweeps over branches, sweeps between two courses, and sweeps without progress after which they end."""

SHORTEST_OF_BRANCHES = 0.3
"""Length of the steps at which they end where sweeps over branches follow."""

EXCESS_PRICE = 1e3
"""Mean costs of a period that exceeding a limit by all of it costs while a course is improved."""


class BoundedCourse(NamedTuple):
    """The best course that was found, and what every course costs at least.

    Attributes
    ----------
    value, bound : in seconds of the objective; infinite without a course.
    vectors : shape (periods, operators), numbers of replicas; no rows without a course.
    steps : of the prices.
    """

    value: float
    bound: float
    vectors: Ints
    steps: int


class VectorSearch:
    """Courses and their true costs."""

    def __init__(self, relaxation: CourseRelaxation) -> None:
        self.relaxation, self.costs = relaxation, relaxation.costs
        self.value, self.course = inf, np.empty((0, relaxation.operators), np.int32)

    def period_costs(self, course: Ints32, free: Sequence[int] = (), excess_price: float = inf) -> Floats:
        """Costs of the periods of a course in which some operators take all numbers of replicas.

        Parameters
        ----------
        free
            Operators whose numbers of replicas in the course are replaced by all combinations.
        excess_price
            Price of exceeding a limit by all of it; infinite costs where one is broken by default.

        Returns
        -------
        numpy.ndarray
            Shape (periods, combinations), the last of the free operators fastest.
        """
        relaxation, costs, tables = self.relaxation, self.costs, self.relaxation.tables
        latency, replicas = relaxation.latencies(course), tables.replicas[course].astype(float)
        columns = self._combined(free)
        spend(CELL_UNITS * len(course) * max(columns.shape[1], 1) * (len(costs.chains) + len(costs.room) + 2))
        latency[:, free], replicas[:, free] = 0.0, 0.0
        chain_of = np.repeat(np.arange(len(costs.chains)), [len(chain) for chain in costs.chains])
        own = [latency[:, chain_of == k].sum(axis=1)[:, None] for k in range(len(costs.chains))]
        for i, column in zip(free, columns, strict=True):
            own[chain_of[i]] = own[chain_of[i]] + relaxation.latency[:, column]
        numbers, response = tables.replicas[columns], costs.longest(own)
        money = (replicas @ costs.money)[:, None] + costs.money[list(free)] @ numbers
        used = [(response, costs.response_limit[:, None]), (money, costs.money_limit[:, None])]
        for need, room in zip(costs.need.T, costs.room, strict=True):
            used.append(((replicas @ need)[:, None] + need[list(free)] @ numbers, np.array(room)))
        total = costs.response_weight[:, None] * response if costs.response_weight[0] > 0 else np.where(response < inf, 0.0, inf)
        total = total + costs.money_weight[:, None] * money + costs.constant[:, None]
        for amount, limit in used:
            over = amount > limit * (1 + LIMIT_SLACK)
            if over.any():
                share = np.divide(amount - limit, np.maximum(limit, np.finfo(float).tiny), out=np.zeros_like(total), where=over)
                total += np.where(over, excess_price * np.where(over, share, 1.0), 0.0)
        return total

    def _combined(self, free: Sequence[int]) -> Ints:
        """Columns of some operators in all combinations, shape (operators, combinations)."""
        first = self.relaxation.tables.first
        grids = np.meshgrid(*(np.arange(first[i], first[i + 1]) for i in free), indexing="ij")
        return np.array([grid.ravel() for grid in grids], np.int64).reshape(len(free), prod(grid.size for grid in grids[:1]))

    def cost(self, course: Ints32) -> float:
        """Cost of a course with its changes; infinite where a limit is broken."""
        relaxation, tables = self.relaxation, self.relaxation.tables
        replicas = tables.replicas[course]
        started = np.maximum(np.diff(replicas, axis=0), 0).sum(axis=0) @ tables.started + tables.entry[course[0]].sum()
        changed = relaxation.changes_of_operators(course).any(axis=1)
        return float(self.period_costs(course).sum() + started + relaxation.change[changed].sum())

    def offer(self, course: Ints32) -> bool:
        """Keep a course if it is the best so far."""
        value = self.cost(course)
        if value < self.value:
            self.value, self.course = value, course.copy()
            return True
        return False

    def at_times(self, times: Bools, table: Floats) -> Ints32:
        """The cheapest course by a table of the relaxation that changes at these times only, shape (periods,)."""
        prices = np.repeat(np.where(times, 0.0, inf)[:, None], self.relaxation.operators, axis=1)
        return self.relaxation.courses(table, prices)[1]

    def improve(self, course: Ints32, together: int, out_of_time: Callable[[], bool]) -> Ints32:
        """Renew the courses of `together` operators at a time among those of the others, until nothing is gained."""
        sizes = np.diff(self.relaxation.tables.first)
        groups = list(combinations(range(self.relaxation.operators), together))
        groups = [group for group in groups if self.relaxation.periods * sizes[list(group)].prod() <= MAX_CELLS]
        for _ in range(CYCLES):
            before = course
            for group in groups:
                if out_of_time():
                    return course
                course = self._renewed(course, group)
            if (course == before).all():
                break
        return course

    def _renewed(self, course: Ints32, group: tuple[int, ...]) -> Ints32:
        """The course with the best ones of some operators, among those of the others."""
        relaxation, tables, chosen = self.relaxation, self.relaxation.tables, list(group)
        price = EXCESS_PRICE * max(relaxation.mean_cost, np.finfo(float).tiny)
        table = self.period_costs(course, group, price)
        others = np.delete(relaxation.changes_of_operators(course), chosen, axis=1).any(axis=1)
        columns = [np.arange(tables.first[i], tables.first[i + 1]) for i in group]
        program = VectorProgram(
            tuple(tables.replicas[own] for own in columns),
            lambda begin, end: table[begin:end].copy(),
            np.where(others, 0.0, relaxation.change),
            tables.started[chosen],
            np.zeros(len(group)),
            None if relaxation.initial is None else relaxation.initial[chosen],
        )
        try:
            vectors, result = program.best_course().vectors, course.copy()
        except OutOfTimeError:  # what is known already stands, here and below
            return course
        if len(vectors):
            for i, own, numbers in zip(group, columns, vectors.T, strict=True):
                result[:, i] = own[np.searchsorted(tables.replicas[own], numbers)]
        return result

    def search_times(self, suggested: Bools, out_of_time: Callable[[], bool]) -> None:
        """Add, leave out and shift times of changes while that is better."""
        times, table = np.asarray(self.relaxation.changes_of_operators(self.course).any(axis=1)), self.relaxation.table()
        better, left = True, MAX_SEARCH_UNITS / self.relaxation.units
        while better:
            better = False
            for tried in _neighbours(times, suggested):
                left -= 1
                if left < 0 or out_of_time():
                    return
                if self.offer(self.at_times(tried, table)):
                    times, better = np.asarray(self.relaxation.changes_of_operators(self.course).any(axis=1)), True
                    break


def _neighbours(times: Bools, suggested: Bools) -> Iterator[Bools]:
    for t in np.flatnonzero(times).tolist():
        yield _switched(times, t)
        for shifted in (t - 2, t - 1, t + 1, t + 2):
            if 0 <= shifted < times.size and not times[shifted]:
                yield _switched(times, t, shifted)
    for t in np.flatnonzero(suggested & ~times).tolist():
        yield _switched(times, t)


def _switched(times: Bools, *at: int) -> Bools:
    result = times.copy()
    result[list(at)] ^= True
    return result


def bounded_course(
    costs: VectorCosts,
    program: VectorProgram,
    gap: float,
    out_of_time: Callable[[], bool],
    max_vectors: float,
    progress: Callable[[float, float], None] = lambda value, bound: None,
) -> BoundedCourse:
    """Search for a course and a bound until their relative gap is small, or time is over.

    Parameters
    ----------
    max_vectors
        Number of vectors up to which those that are left are listed where the gap stays open.
    """
    relaxation = CourseRelaxation(costs, program)
    search = VectorSearch(relaxation)
    if costs.impossible:
        return BoundedCourse(inf, inf, np.empty((0, relaxation.operators), np.int64), 0)
    shortest = SHORTEST if len(costs.paths) == 1 else SHORTEST_OF_BRANCHES
    best, length, stalled, searches, step = -inf, 1.0, 0, 0, 0
    state, suggested = relaxation.state, np.zeros(relaxation.periods, bool)
    for step in range(1, ROUNDS + 1):
        bound, course = relaxation.bound()
        if bound == inf:
            return BoundedCourse(inf, inf, np.empty((0, relaxation.operators), np.int64), step)
        missing = search.value - bound if search.value < inf else UNKNOWN_GAP * abs(bound)
        stalled = 0 if bound > best + PROGRESS * missing else stalled + 1
        if bound > best:
            best, state = bound, relaxation.state
        if step % SEARCHED == 1:
            times = np.asarray(relaxation.changes_of_operators(course).any(axis=1))
            suggested |= times
            made = search.at_times(times, relaxation.table())
            if search.offer(made) or search.value == inf:
                search.offer(search.improve(made, 1, out_of_time))
                if searches < NEIGHBOURHOODS and search.value < inf:
                    searches += 1
                    search.search_times(suggested, out_of_time)
                    search.offer(search.improve(search.course, 1, out_of_time))
            progress(search.value, best)
        if best + gap * abs(search.value) >= search.value < inf or length < shortest or out_of_time():
            break
        if stalled > PATIENCE:
            stalled, length, relaxation.state = 0, length * SHORTER, state
        relaxation.step(course, missing, length)
    relaxation.state = state
    best, table = _raised_over_branches(search, gap, best, out_of_time, progress)
    for together in (2, 3):
        if best + gap * abs(search.value) < search.value < inf:
            search.offer(search.improve(search.course, together, out_of_time))
    if search.value - best > gap * abs(search.value) and search.value < inf:
        listed = _listed(relaxation, program, search.value - best, max_vectors, table)
        if listed is not None and listed.value <= search.value:
            return BoundedCourse(listed.value, listed.value, listed.vectors, step)
        if listed is not None:  # the search had the best course, but for rounding
            best = search.value
    vectors = relaxation.tables.replicas[search.course]
    return BoundedCourse(search.value, min(best, search.value), vectors, step)


def _raised_over_branches(
    search: VectorSearch, gap: float, bound: float, out_of_time: Callable[[], bool], progress: Callable[[float, float], None]
) -> tuple[float, Floats]:
    """A better bound where branches leave a gap, and the costs of numbers of replicas whose prices give it."""
    relaxation, table, state = search.relaxation, search.relaxation.table(), search.relaxation.state
    if not bound + gap * abs(search.value) < search.value < inf:
        return bound, table
    times = (relaxation.latencies(search.course) @ relaxation.costs.paths.T).max(axis=1)
    limited = (LONGEST * times > relaxation.costs.response_limit).any()
    trees = trees_of_branches(relaxation.costs.paths, whole=bool(limited))
    if not trees:
        return bound, table
    branches, raised, stalled, before = BranchRelaxation(relaxation, trees, search.course), -inf, 0, -inf
    for sweep in range(SWEEPS):
        raised = branches.raised()
        stalled = 0 if raised > before + PROGRESS * abs(search.value - raised) else stalled + 1
        before = raised
        if sweep % SWEEPS_SEARCHED == 0 or stalled == IDLE_SWEEPS:
            _, course = relaxation.courses(branches.costs, relaxation.prices)
            changes = np.asarray(relaxation.changes_of_operators(course).any(axis=1))
            made = search.improve(search.at_times(changes, branches.costs), 1, out_of_time)
            search.offer(search.improve(made, 2, out_of_time) if stalled == IDLE_SWEEPS else made)
            progress(search.value, max(bound, raised))
        if stalled == IDLE_SWEEPS or search.value - raised <= gap * abs(search.value) or out_of_time():
            break
    if raised < bound:
        relaxation.state = state
        return bound, table
    return raised, branches.costs


def _listed(
    relaxation: CourseRelaxation, program: VectorProgram, gap: float, max_vectors: float, table: Floats
) -> VectorCourse | None:
    """The best course of the vectors that the bound leaves, where they are few enough and time is left; None otherwise."""
    keep = relaxation.reduced(gap * (1 + PROGRESS), table)
    if prod(int(kept.sum()) for kept in keep) > max_vectors:
        return None
    costs = relaxation.costs.narrowed(keep)
    try:
        return replace(program, replicas=costs.replicas, stages=costs.stages).best_course()
    except OutOfTimeError:
        return None
