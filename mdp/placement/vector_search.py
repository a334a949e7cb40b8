"""Courses of more vectors than can be listed, with a bound: prices, courses that follow from them, and what is left to list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, prod
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.placement.price_kernels import OperatorTables
from edrp.mdp.placement.vector_costs import VectorCosts
from edrp.mdp.placement.vector_course import VectorCourse, VectorProgram
from edrp.mdp.placement.vector_relaxation import CourseRelaxation, cheapest_courses

ROUNDS = 3000
"""Maximum number of steps of the prices."""

PATIENCE, SHORTER, SHORTEST = 20, 0.7, 1e-3
"""Steps without a better bound after which steps become so much shorter, and the length at which they end."""

SEARCHED = 25
"""Steps between two courses that are made from what the prices give."""

NEIGHBOURHOODS = 3
"""How many times the neighbours of a set of change times are searched."""

CYCLES = 5
"""Maximum number of times that each operator's course is renewed among those of the others."""

PROGRESS, UNKNOWN_GAP = 1e-7, 0.01
"""Share of a bound by which a better one must exceed it to count as progress; gap that is assumed before there is a course."""

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


class CourseSearch:
    """Courses and their true costs."""

    def __init__(self, relaxation: CourseRelaxation) -> None:
        self.relaxation, self.costs = relaxation, relaxation.costs
        self.value, self.course = inf, np.empty((0, relaxation.operators), np.int32)

    def period_costs(self, course: Ints32, excess_price: float = inf) -> Floats:
        """Cost of each period of a course, with a price of what exceeds limits, shape (periods,)."""
        relaxation, costs = self.relaxation, self.costs
        spend(2e-8 * course.size)
        latency = np.take_along_axis(relaxation.latency, course.astype(np.int64), axis=1)
        response, replicas = relaxation.longest_paths(latency)[0], relaxation.tables.replicas[course]
        money = replicas @ costs.money
        used = [(response, costs.response_limit), (money, costs.money_limit)]
        used += [(replicas @ need, room) for need, room in zip(costs.need.T, costs.room, strict=True)]
        total = costs.response_weight * response + costs.money_weight * money + costs.constant
        for amount, limit in used:
            over = np.maximum(amount / limit - (1 + LIMIT_SLACK), 0.0)
            if over.any():
                total += np.where(over > 0, excess_price, 0.0) * np.where(over > 0, over, 1.0)
        return total

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

    def improve(self, course: Ints32) -> Ints32:
        """Renew each operator's course among those of the others, until nothing is gained."""
        relaxation = self.relaxation
        price = EXCESS_PRICE * max(abs(relaxation.mean_cost), np.finfo(float).tiny)
        for _ in range(CYCLES):
            before = course
            for i in range(relaxation.operators):
                course = self._renewed(course, i, price)
            if (course == before).all():
                break
        return course

    def _renewed(self, course: Ints32, i: int, excess_price: float) -> Ints32:
        """The course with the best one of an operator, among those of the others."""
        relaxation, tables = self.relaxation, self.relaxation.tables
        columns = np.arange(tables.first[i], tables.first[i + 1])
        table = np.empty((relaxation.periods, columns.size))
        for k, column in enumerate(columns):
            tried = course.copy()
            tried[:, i] = column
            table[:, k] = self.period_costs(tried, excess_price)
        table[~relaxation.stable[:, columns]] = inf
        others = np.delete(relaxation.changes_of_operators(course), i, axis=1).any(axis=1)
        own = OperatorTables(
            np.array([0, columns.size]),
            tables.replicas[columns],
            tables.started[i : i + 1],
            tables.entry[columns],
            tables.enters[columns],
        )
        alone = cheapest_courses(own, table, np.where(others, 0.0, relaxation.change)[:, None], np.empty_like(table))[1]
        result = course.copy()
        result[:, i] = columns[alone[:, 0]]
        return result

    def search_times(self, suggested: Bools, out_of_time: Callable[[], bool]) -> None:
        """Add, leave out and shift times of changes while that is better."""
        times, table = self.relaxation.changes_of_operators(self.course).any(axis=1), self.relaxation.table()
        better = True
        while better:
            better = False
            for tried in _neighbours(times, suggested):
                if out_of_time():
                    return
                if self.offer(self.at_times(tried, table)):
                    times, better = self.relaxation.changes_of_operators(self.course).any(axis=1), True
                    break


def _neighbours(times: Bools, suggested: Bools) -> Iterator[Bools]:
    for t in np.flatnonzero(times):
        yield _switched(times, t)
        for shifted in (t - 2, t - 1, t + 1, t + 2):
            if 0 <= shifted < times.size and not times[shifted]:
                yield _switched(times, t, shifted)
    for t in np.flatnonzero(suggested & ~times):
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
    search = CourseSearch(relaxation)
    best, length, stalled, searches, step = -inf, 1.0, 0, 0, 0
    state, suggested = relaxation.state, np.zeros(relaxation.periods, bool)
    for step in range(1, ROUNDS + 1):
        bound, course = relaxation.bound()
        if bound == inf:
            return BoundedCourse(inf, inf, np.empty((0, relaxation.operators), np.int64), step)
        stalled = 0 if bound > best + PROGRESS * abs(best) else stalled + 1
        if bound > best:
            best, state = bound, relaxation.state
        if step % SEARCHED == 1:
            times = relaxation.changes_of_operators(course).any(axis=1)
            suggested |= times
            made = search.at_times(times, relaxation.table())
            if search.offer(made) or search.value == inf:
                search.offer(search.improve(made))
                if searches < NEIGHBOURHOODS and search.value < inf:
                    searches += 1
                    search.search_times(suggested, out_of_time)
                    search.offer(search.improve(search.course))
            progress(search.value, best)
        if search.value - best <= gap * abs(search.value) or length < SHORTEST or out_of_time():
            break
        if stalled > PATIENCE:
            stalled, length, relaxation.state = 0, length * SHORTER, state
        missing = search.value - bound if search.value < inf else UNKNOWN_GAP * abs(bound)
        relaxation.step(course, missing, length)
    relaxation.state = state
    if search.value - best > gap * abs(search.value) and search.value < inf:
        listed = _listed(relaxation, program, search.value - best, max_vectors)
        if listed is not None and listed.value <= search.value:
            return BoundedCourse(listed.value, listed.value, listed.vectors, step)
        if listed is not None:  # the search had the best course, but for rounding
            best = search.value
    vectors = relaxation.tables.replicas[search.course]
    return BoundedCourse(search.value, min(best, search.value), vectors, step)


def _listed(relaxation: CourseRelaxation, program: VectorProgram, room: float, max_vectors: float) -> VectorCourse | None:
    """The best course of the vectors that the bound leaves, where they are few enough; None otherwise."""
    keep = relaxation.reduced(room * (1 + PROGRESS))
    if prod(int(kept.sum()) for kept in keep) > max_vectors:
        return None
    costs = relaxation.costs.narrowed(keep)
    return replace(program, replicas=costs.replicas, stages=costs.stages).best_course()
