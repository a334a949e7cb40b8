"""Courses of more vectors than can be listed, with a bound: prices, courses that follow from them, and what is left to list.

Bounds on courses of more vectors than can be listed: each operator by itself, joined by prices.

Prices take apart what joins operators, and each operator's own course is a small dynamic program. The price of any change in a
period is shared out among the operators, Σ_i μ_it ≤ F_t; the longest path is at least the mean of paths with any shares; room
and limits have multipliers, and numbers of replicas that break a limit on response time whatever the others do are left out.
Subgradient steps raise the bound (Held, Wolfe & Crowder,
"Validation of Subgradient Optimization", 1974, with the step of Polyak). Where costs are sums over operators, the best prices
usually close the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, prod
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.placement.vector_costs import VectorCosts
from edrp.mdp.placement.vector_course import VectorCourse, VectorProgram
from edrp.mdp.placement.vector_kernels import OperatorTables, following_costs, operator_courses, raise_prices

COLUMN_UNITS = 1.5e-8
"""Units of work per period and number of replicas of an operator, of one round of all operators' courses."""

ROUND_UNITS = 1e-4
"""Units of work of a round besides."""

MOMENTUM = 0.7
"""Share of the slope before in each slope."""


class CourseRelaxation:
    """Prices, the bound that they give, and the courses of the operators under them."""

    def __init__(self, costs: VectorCosts, program: VectorProgram) -> None:
        self.costs = costs
        self.periods, self.operators = costs.latency[0].shape[0], len(costs.replicas)
        sizes = np.array([numbers.size for numbers in costs.replicas])
        first, replicas = np.append(0, np.cumsum(sizes)), np.concatenate(costs.replicas)
        self.owner = np.repeat(np.arange(self.operators), sizes)
        change, entry, enters = program.change.copy(), np.zeros(replicas.size), np.zeros(replicas.size)
        if program.initial is None:
            change[0] = 0.0
        else:
            before = program.initial[self.owner]
            entry, enters = program.started[self.owner] * np.maximum(replicas - before, 0), (replicas != before).astype(float)
        self.tables = OperatorTables(first, replicas, program.started, entry, enters)
        self.change, self.initial = change, program.initial
        self.latency = latency = np.hstack(costs.latency)
        self._leave_out_slow()
        self.stable: Bools = np.isfinite(latency)
        self.prices = np.repeat(change[:, None] / self.operators, self.operators, axis=1)
        self.path_share = np.full((self.periods, len(costs.paths)), 1 / len(costs.paths))
        rooms = np.tile(costs.room, (self.periods, 1))
        limits = np.hstack([rooms, costs.money_limit[:, None], costs.response_limit[:, None]])
        self.limits, self.limited = np.where(np.isfinite(limits), limits, 0.0), np.isfinite(limits)
        self.limit_prices = np.zeros(limits.shape)  # of each resource, money and response time
        self._values, self._order = np.empty(latency.shape), np.empty(max(self.operators, len(costs.paths)))
        self._slopes, self.mean_cost = (np.zeros_like(self.prices), np.zeros_like(self.path_share)), 0.0

    def _leave_out_slow(self) -> None:
        """Count replicas as overloaded that are too slow on a path even where its other operators are as fast as can be."""
        costs = self.costs
        fastest = np.minimum.reduceat(self.latency, self.tables.first[:-1], axis=1)
        spare = costs.response_limit[:, None] * (1 + LIMIT_SLACK) - fastest @ costs.paths.T
        spare = np.where(costs.paths > 0, spare[:, :, None], inf).min(axis=1)
        self.latency[self.latency > (fastest + spare)[:, self.owner]] = inf

    @property
    def state(self) -> tuple[Floats, Floats, Floats]:
        """All prices and the shares of paths, for the bound to return to."""
        return self.prices.copy(), self.path_share.copy(), self.limit_prices

    @state.setter
    def state(self, state: tuple[Floats, Floats, Floats]) -> None:
        self.prices, self.path_share, self.limit_prices = state[0].copy(), state[1].copy(), state[2]

    @property
    def _response_weight(self) -> Floats:
        """Seconds of the objective per second of response time, with the price of its limit, shape (periods, 1)."""
        return (self.costs.response_weight + self.limit_prices[:, -1])[:, None]

    @property
    def units(self) -> float:
        """Units of work of a round."""
        return ROUND_UNITS + COLUMN_UNITS * self._values.size

    def table(self) -> Floats:
        """Costs of the numbers of replicas of each operator under the prices, shape (periods, columns)."""
        costs, prices = self.costs, self.limit_prices
        each = (costs.money_weight + prices[:, -2])[:, None] * costs.money + prices[:, :-2] @ costs.need.T
        slowness = self._response_weight * (self.path_share @ costs.paths)
        waiting = np.multiply(slowness[:, self.owner], self.latency, out=np.full(self.latency.shape, inf), where=self.stable)
        return np.asarray(each[:, self.owner] * self.tables.replicas + waiting)

    def courses(self, table: Floats, prices: Floats) -> tuple[float, Ints32]:
        """Each operator's cheapest course; their total cost, and the columns of each period, shape (periods, operators)."""
        spend(self.units)
        return cheapest_courses(self.tables, table, prices, self._values)

    @property
    def constant(self) -> float:
        """Parts of the bound besides the operators' courses: constant costs, less what limits are worth under the prices."""
        return float(self.costs.constant.sum() - (self.limit_prices * self.limits).sum())

    def bound(self) -> tuple[float, Ints32]:
        """The lower bound by the prices, and the operators' courses."""
        total, course = self.courses(self.table(), self.prices)
        total += self.constant
        self.mean_cost = abs(total) / self.periods
        return total, course

    def step(self, course: Ints32, missing: float, length: float) -> None:
        """Change prices towards a higher bound.

        Parameters
        ----------
        course
            Of the operators under the prices.
        missing
            What is missing from the bound to the cost of the best course.
        length
            Of the step, relative to that of Polyak.
        """
        shared = np.where(np.isfinite(self.change), self.change, 0.0)[:, None]
        times = self.latencies(course) @ self.costs.paths.T
        changed, paths = self._new_slopes(course, shared, times)
        excess, scale = self._excess(course, times)
        spread = paths - paths.mean(axis=1, keepdims=True)
        norm = float((changed**2).sum() + (spread**2).sum() + ((excess * scale) ** 2).sum())
        if norm == 0:
            return
        stride = length * missing / norm
        raise_prices(self.prices, self.change, shared * changed, stride, self._order)
        raise_prices(self.path_share, np.ones(self.periods), paths, stride, self._order)
        self.limit_prices = np.maximum(self.limit_prices + stride * scale**2 * excess, 0.0)

    def _new_slopes(self, course: Ints32, shared: Floats, times: Floats) -> tuple[Floats, Floats]:
        """By what the bound rises with shares of the price of any change, and with the shares of paths."""
        changed = self.changes_of_operators(course).astype(float)
        slope = np.where(changed.any(axis=1, keepdims=True), changed - changed.mean(axis=1, keepdims=True), 0.0) * shared
        paths = self._response_weight * times
        old_slope, old_paths = self._slopes
        self._slopes = MOMENTUM * old_slope + (1 - MOMENTUM) * slope, MOMENTUM * old_paths + (1 - MOMENTUM) * paths
        return self._slopes

    def latencies(self, course: Ints32) -> Floats:
        """Seconds of each operator in a course, shape (periods, operators)."""
        return np.take_along_axis(self.latency, course.astype(np.int64), axis=1)

    def _excess(self, course: Ints32, times: Floats) -> tuple[Floats, Floats]:
        """What exceeds the limits, 0 where it is negative and has no price; the scale of its prices, so that all move alike."""
        costs, replicas = self.costs, self.tables.replicas[course]
        response = (self.path_share * times).sum(axis=1)
        used = np.hstack([replicas @ costs.need, (replicas @ costs.money)[:, None], response[:, None]])
        excess = np.where(self.limited & ((used > self.limits) | (self.limit_prices > 0)), used - self.limits, 0.0)
        mean = self.limits.sum(axis=0) / np.maximum(self.limited.sum(axis=0), 1)
        return excess, np.divide(self.mean_cost, mean, out=np.zeros_like(mean), where=mean > 0)

    def changes_of_operators(self, course: Ints32) -> Bools:
        """In which periods each operator changes, shape (periods, operators)."""
        changed: Bools = np.zeros(course.shape, bool)
        changed[1:] = course[1:] != course[:-1]
        changed[0] = self.tables.enters[course[0]] > 0
        return changed

    def reduced(self, gap: float) -> list[Bools]:
        """Which numbers of replicas of each operator may be in a course that costs no more than the bound plus `gap`."""
        spend(self.units)
        table = self.table()
        after, work = np.empty_like(table), np.empty((2, table.shape[1]))
        self.courses(table, self.prices)
        following_costs(self.tables, table, self.prices, after, work[0], work[1])
        through = (self._values + after).min(axis=0)
        parts = [through[self.owner == i] for i in range(self.operators)]
        return [part <= part.min() + gap for part in parts]


def cheapest_courses(tables: OperatorTables, table: Floats, prices: Floats, values: Floats) -> tuple[float, Ints32]:
    """Each operator's cheapest course under prices of its changes; their total cost, and their columns.

    Parameters
    ----------
    table
        Shape (periods, columns), costs.
    prices
        Shape (periods, operators), infinite where no change is allowed.
    values
        Shape (periods, columns), filled with the least costs of the courses that end there.
    """
    course = np.empty(prices.shape, np.int32)
    sources, best = np.empty(table.shape, np.int32), np.empty(table.shape[1])
    return float(operator_courses(tables, table, prices, values, sources, best, course)), course


ROUNDS = 3000
"""Maximum number of steps of the prices."""

PATIENCE, SHORTER, SHORTEST = 20, 0.7, 1e-3
"""Steps without a better bound after which steps become so much shorter, and the length at which they end."""

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
        """Renew the courses of so many operators among those of the others, until nothing is gained."""
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
        vectors, result = program.best_course().vectors, course.copy()
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
        if best + gap * abs(search.value) >= search.value < inf or length < SHORTEST or out_of_time():
            break
        if stalled > PATIENCE:
            stalled, length, relaxation.state = 0, length * SHORTER, state
        relaxation.step(course, missing, length)
    relaxation.state = state
    for together in (2, 3):
        if best + gap * abs(search.value) < search.value < inf:
            search.offer(search.improve(search.course, together, out_of_time))
    if search.value - best > gap * abs(search.value) and search.value < inf:
        listed = _listed(relaxation, program, search.value - best, max_vectors)
        if listed is not None and listed.value <= search.value:
            return BoundedCourse(listed.value, listed.value, listed.vectors, step)
        if listed is not None:  # the search had the best course, but for rounding
            best = search.value
    vectors = relaxation.tables.replicas[search.course]
    return BoundedCourse(search.value, min(best, search.value), vectors, step)


def _listed(relaxation: CourseRelaxation, program: VectorProgram, gap: float, max_vectors: float) -> VectorCourse | None:
    """The best course of the vectors that the bound leaves, where they are few enough; None otherwise."""
    keep = relaxation.reduced(gap * (1 + PROGRESS))
    if prod(int(kept.sum()) for kept in keep) > max_vectors:
        return None
    costs = relaxation.costs.narrowed(keep)
    return replace(program, replicas=costs.replicas, stages=costs.stages).best_course()
