"""The dynamic program over vectors of replicas against all courses, and against a plain dynamic program."""

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.budget import running
from edrp.core.errors import OutOfTimeError, ProblemTooLargeError
from edrp.mdp.placement.vector_course import VectorProgram, outer_sum


def best_course(costs, started, change, initial=None, slots=None, operator=None):
    """The cheapest course, where costs[t][i][n - 1] is the cost of operator i with n replicas in period t."""
    tables = [np.array([period[i] for period in costs]) for i in range(len(costs[0]))]
    allowed = [np.flatnonzero((table < inf).any(axis=0)) for table in tables]
    replicas = tuple(columns + 1 for columns in allowed)

    def stages(begin, end):
        total = outer_sum([table[begin:end, columns] for table, columns in zip(tables, allowed, strict=True)])
        if slots is not None:
            total[:, outer_sum(replicas) > slots] = inf
        return total

    prices = np.broadcast_to(np.asarray(change, float), len(costs)).copy()
    return VectorProgram(
        replicas, stages, prices, started, np.zeros(len(tables)) if operator is None else operator, initial
    ).best_course()


def priced(costs, course, started, change, initial, slots, operator):
    """Cost of a course by the definition."""
    change = np.broadcast_to(change, len(costs))
    total, before = 0.0, initial
    for t, vector in enumerate(course):
        if slots is not None and sum(vector) > slots:
            return inf
        total += sum(costs[t][i][n - 1] for i, n in enumerate(vector))
        if before is not None and tuple(before) != tuple(vector):
            total += change[t]
            for i, (old, new) in enumerate(zip(before, vector, strict=True)):
                total += started[i] * max(0, new - old) + operator[i] * (new != old)
        before = vector
    return total


def plain(costs, started, change, initial, slots, operator):
    """The same dynamic program over pairs of vectors, without transforms."""
    vectors = list(product(*(range(1, len(row) + 1) for row in costs[0])))
    change = np.broadcast_to(change, len(costs))
    values = {x: priced(costs[:1], [x], started, change[:1], initial, slots, operator) for x in vectors}
    for t in range(1, len(costs)):
        # A course of two periods, the first of which is free.
        free = [[np.zeros(len(row)) for row in costs[t]], costs[t]]
        values = {
            x: min(values[y] + priced(free, [y, x], started, [0, change[t]], None, slots, operator) for y in vectors)
            for x in vectors
        }
    return min(values.values())


@st.composite
def cases(draw, most_periods=4, most_replicas=3):
    """Small numbers with many ties."""
    sizes = draw(st.lists(st.integers(1, most_replicas), min_size=1, max_size=3))
    periods = draw(st.integers(1, most_periods))
    cost = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, inf])
    costs = [[np.array(draw(st.lists(cost, min_size=n, max_size=n))) for n in sizes] for _ in range(periods)]
    price = st.sampled_from([0.0, 0.25, 1.0, 3.0])
    each = st.lists(price, min_size=len(sizes), max_size=len(sizes)).map(np.array)
    change = draw(st.one_of(price, st.lists(price, min_size=periods, max_size=periods).map(np.array)))
    initial = draw(st.one_of(st.none(), st.lists(st.integers(0, 6), min_size=len(sizes), max_size=len(sizes)).map(np.array)))
    slots = draw(st.one_of(st.none(), st.integers(1, 8)))
    return costs, draw(each), change, initial, slots, draw(each)


@settings(max_examples=15)
@given(cases(most_periods=3, most_replicas=2))
def test_no_course_is_cheaper(case):
    costs, started = case[:2]
    vectors = list(product(*(range(1, len(row) + 1) for row in costs[0])))
    best = best_course(*case)
    assert best.value == pytest.approx(min(priced(costs, course, *case[1:]) for course in product(vectors, repeat=len(costs))))
    if best.value < inf:
        assert priced(costs, best.vectors.tolist(), *case[1:]) == pytest.approx(best.value)
    else:
        assert best.vectors.shape == (0, len(started))


@settings(max_examples=25)
@given(cases(most_periods=12))
def test_value_is_that_of_a_plain_dynamic_program(case):
    best = best_course(*case)
    assert best.value == pytest.approx(plain(*case))
    if best.value < inf:
        assert priced(case[0], best.vectors.tolist(), *case[1:]) == pytest.approx(best.value)


def test_without_prices_every_period_takes_its_own_best():
    costs = np.random.default_rng(0).uniform(0, 1, (500, 3, 4))
    best = best_course(costs, np.zeros(3), 0.0)
    assert best.value == pytest.approx(costs.min(axis=2).sum())
    assert (best.vectors == costs.argmin(axis=2) + 1).all()


def test_a_change_that_costs_more_than_it_ever_saves_is_left():
    costs = np.random.default_rng(0).uniform(0, 1, (500, 3, 4))
    best = best_course(costs, np.zeros(3), 1500.0)
    assert (best.vectors == costs.sum(axis=0).argmin(axis=1) + 1).all()


def test_to_stop_replicas_costs_nothing_and_earns_nothing():
    """Two replicas in the end: to start the second is cheaper than to have held three before."""
    costs = [[np.array([0.0, inf, 0.5])], [np.array([inf, 0.0, inf])]]
    best = best_course(costs, np.array([0.3]), 0.0)
    assert (best.value, best.vectors.tolist()) == (pytest.approx(0.3), [[1], [2]])


def test_many_periods():
    """Blocks of periods, of which only those with changes are computed twice; a day that repeats costs the same each time."""
    day = 2 + 1.5 * np.sin(np.arange(100) / 100 * 2 * np.pi)
    costs = np.stack([np.abs(np.arange(1, 5) - day[:, None])] * 2, axis=1)
    once = best_course(costs, np.full(2, 0.1), 0.5)
    repeated = np.tile(costs, (200, 1, 1))
    many = best_course(repeated, np.full(2, 0.1), 0.5)
    assert many.vectors.shape == (20_000, 2)
    assert many.value == pytest.approx(priced(repeated, many.vectors, [0.1] * 2, 0.5, None, None, [0] * 2))
    assert 200 * once.value - 1e-6 < many.value < 200 * (once.value + 0.5 + 0.1 * 6)
    assert 400 <= np.count_nonzero((np.diff(many.vectors, axis=0) != 0).any(axis=1)) < 2000


def test_vectors_beyond_the_memory_are_refused():
    with pytest.raises(ProblemTooLargeError, match="4,294,967,296 vectors of replicas"):
        best_course(np.ones((2, 8, 16)), np.zeros(8), 0.0)


def test_limits_of_the_run_are_kept():
    with running(work_limit=1e-6), pytest.raises(OutOfTimeError):
        best_course(np.ones((50, 4, 8)), np.zeros(4), 0.0)
