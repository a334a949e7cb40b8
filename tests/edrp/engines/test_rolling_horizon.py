"""Replicas over a rolling horizon: the dynamic program against brute force, and what a controller must not fall for."""

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.errors import InvalidInstanceError
from edrp.engines.rolling_horizon import ControlPrices, Expected, OperatorCapacity, RollingHorizon, best_courses, late_seconds

HOUR = 3600.0


def late_tuples(load, capacity, delay, step, late_after):
    """Late tuples of a step and the delay at its end, by many small steps."""
    parts, late = 500, 0.0
    width = step / parts
    for _ in range(parts):
        middle = max(0.0, delay + (load / capacity - 1) * width / 2)
        late += load * width * (middle > late_after)
        delay = max(0.0, delay + (load / capacity - 1) * width)
    return late, delay


@given(st.floats(0, 3), st.floats(0, 30), st.floats(0, 5))
@settings(max_examples=25, deadline=None)
def test_late_seconds_are_those_of_a_fluid(used, delay, late_after):
    late, end = late_seconds(np.array([used]), np.array([delay]), 10.0, late_after)
    tuples, after = late_tuples(used, 1.0, delay, 10.0, late_after)
    assert end[0] == pytest.approx(after, abs=1e-6)
    if abs(used - 1) > 1e-3 or abs(delay - late_after) > 0.1:
        assert late[0] * used == pytest.approx(tuples, abs=0.02 * max(1.0, used))


def late_part(used, delay, width, late_after):
    """Late seconds of a step and the delay at its end, case by case."""
    end = max(0.0, delay + (used - 1) * width)
    if used == 1:
        return (width if delay > late_after else 0.0), end
    crossing = min(width, max(0.0, (late_after - delay) / (used - 1)))
    return (width - crossing if used > 1 else crossing), end


class BruteForce:
    """Every course over every vector of replicas, step by step in plain Python."""

    def __init__(self, operators, expected, prices):
        self.operators, self.expected, self.prices = operators, expected, prices
        self.scenarios = expected.demand.tolist()
        self.steps = len(self.scenarios[0])
        self.load = [sum(row[t] for row in self.scenarios) / len(self.scenarios) for t in range(self.steps)]
        self.seconds = expected.seconds.tolist()
        self.vectors = list(product(*(operator.replicas.tolist() for operator in operators)))
        self.known = {}

    def capacity(self, vector):
        return min(operator.of(count) for operator, count in zip(self.operators, vector, strict=True))

    def course(self, begin, vector, delay):
        """Price from a step on of a vector that begins there with this delay."""
        delays, price, best = [delay] * len(self.scenarios), 0.0, inf
        capacity = self.capacity(vector)
        for step in range(begin, self.steps):
            price += self.prices.replica * sum(vector) * self.seconds[step]
            for number, row in enumerate(self.scenarios):
                used, width = row[step] / capacity, self.seconds[step]
                late, delays[number] = late_part(used, delays[number], width, self.prices.late_after)
                price += self.prices.late * row[step] * late / len(self.scenarios)
            waiting = capacity * sum(delays) / len(delays)
            best = min(best, price + self.rest(step + 1, waiting))  # waiting tuples are processed by the next or after the end
        return best

    def rest(self, begin, waiting):
        """Price from a step on after a change before it, with `waiting` tuples queued."""
        if begin == self.steps:
            work = min(sum(vector) / self.capacity(vector) for vector in self.vectors)
            return waiting * (self.prices.late + self.prices.replica * work)
        return min(self.fresh(begin, vector) + self.drained(begin, vector, waiting) for vector in self.vectors)

    def drained(self, begin, vector, waiting):
        spare = self.capacity(vector) - self.load[begin]
        seconds = waiting / spare if spare > 0 else inf
        return self.prices.late * self.load[begin] * min(seconds, sum(self.seconds[begin:])) if waiting > 0 else 0.0

    def fresh(self, begin, vector):
        if (begin, vector) not in self.known:
            delay = self.prices.silence + (self.expected.backlog / self.capacity(vector) if begin == 0 else 0.0)
            self.known[begin, vector] = self.course(begin, vector, delay)
        return self.known[begin, vector]


@st.composite
def cases(draw):
    count = draw(st.integers(1, 2))
    operators = []
    for number in range(count):
        gains = draw(st.lists(st.integers(5, 60), min_size=1, max_size=3))
        first = draw(st.integers(1, 2))
        replicas = np.arange(first, first + len(gains))
        operators.append(OperatorCapacity(f"o{number}", replicas, np.cumsum(gains).astype(float)))
    steps, scenarios = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    demand = draw(st.lists(st.lists(st.integers(0, 90), min_size=steps, max_size=steps), min_size=scenarios, max_size=scenarios))
    seconds = np.array(draw(st.lists(st.sampled_from([60.0, 300.0]), min_size=steps, max_size=steps)))
    late, silence, late_after = (draw(st.sampled_from(values)) for values in ([0.0, 0.05, 1.0], [0.0, 5.0, 100.0], [0.0, 2.0]))
    prices = ControlPrices(1.0, late, silence, late_after)
    running = {o.name: draw(st.integers(int(o.replicas[0]), int(o.replicas[-1]))) for o in operators}
    return operators, running, Expected(np.array(demand, dtype=float), seconds, draw(st.sampled_from([0.0, 400.0]))), prices


@given(cases())
@settings(max_examples=40, deadline=None)
def test_courses_over_levels_are_as_good_as_over_all_vectors(case):
    operators, running, expected, prices = case
    brute = BruteForce(operators, expected, prices)
    now = tuple(running.values())
    courses = best_courses(operators, running, expected, prices)
    waiting = brute.course(0, now, expected.backlog / brute.capacity(now))
    assert courses.wait_price == pytest.approx(waiting)
    changing = min((brute.fresh(0, vector) for vector in brute.vectors if vector != now), default=inf)
    assert min(courses.change_price, courses.wait_price) == pytest.approx(min(changing, waiting))


def controller(late=0.1, silence=6.0, **options):
    """A job whose parser takes 100 tuples/s a replica, and whose counter takes 50."""
    numbers = np.arange(1, 9)
    operators = (OperatorCapacity("parser", numbers, 100.0 * numbers), OperatorCapacity("counter", numbers, 50.0 * numbers))
    return RollingHorizon(operators, ControlPrices(1.0, late, silence), **options)


def running(parser, counter):
    return {"parser": parser, "counter": counter}


def test_a_change_of_both_operators_is_one():
    """Load 80 needs one parser and two counters, load 190 two and four."""
    demand = np.array([80.0] * 2 + [190.0] * 20)
    outlook = controller().decide(0.0, running(1, 2), 80.0, 0.0, demand, 600.0)
    assert not outlook.change
    assert [later.replicas for later in outlook.at] == [running(2, 4)]
    assert "parser 1 → 2, counter 2 → 4 is planned" in outlook.reason


def test_an_expensive_change_is_made_before_the_morning_and_a_cheap_one_when_it_comes():
    demand = np.array([30.0] * 3 + [190.0] * 20)
    times = [controller(silence=silence).decide(0.0, running(1, 1), 30.0, 0.0, demand, 60.0).at[0].at for silence in (0.1, 60.0)]
    assert times == [180.0, 60.0]  # the silence of a minute is caught up with before the load rises


def test_it_waits_where_the_load_falls_again_soon():
    outlook = controller(silence=900.0).decide(50400.0, running(1, 2), 120.0, 0.0, np.array([120.0] + [80.0] * 30), 600.0)
    assert not outlook.change
    assert outlook.reason.startswith("the load falls again at 14:10; a change now costs ")
    assert outlook.reason.endswith(" late tuples more than it saves")
    assert outlook.saving < 0


def test_hysteresis_follows_from_the_price_of_a_change():
    """A load that swings between 90 and 110 around the capacity of one step is not followed if a change is expensive."""
    demand = np.tile([90.0, 110.0], 20)
    for silence, changes in ((0.0, True), (600.0, False)):
        outlook = controller(silence=silence).decide(0.0, running(2, 3), 90.0, 0.0, demand, 600.0)
        assert bool(outlook.at or outlook.change) == changes


def test_the_backlog_of_its_own_change_is_no_load():
    """At 150 tuples/s against 200, six seconds of silence are caught up with after 24 s."""
    control, demand = controller(late=10.0), np.full(30, 150.0)
    for seconds, backlog in ((6.0, 900.0), (12.0, 600.0), (20.0, 200.0)):
        outlook = control.decide(1000.0 + seconds, running(2, 4), 150.0, backlog, demand, 600.0, 1000.0)
        assert not outlook.change
        assert outlook.reason == "the job catches up with the change of 00:16 until about 00:17; that backlog is no load"
    settled = control.decide(1030.0, running(2, 4), 150.0, 0.0, demand, 600.0, 1000.0)
    assert not settled.change
    assert "catches up" not in settled.reason


def test_a_load_above_the_capacity_leads_to_a_change_at_once_even_while_it_catches_up():
    for last in (None, 995.0):
        outlook = controller().decide(1000.0, running(2, 4), 260.0, 900.0, np.full(30, 150.0), 600.0, last)
        assert outlook.change
        assert outlook.replicas["counter"] >= 6
        assert outlook.reason.startswith("260 tuples/s are offered, and what runs takes 200; a change now saves ")


def test_scenarios_hold_a_reserve_where_late_tuples_are_expensive():
    scenarios = np.vstack([np.full(12, 90.0)] * 9 + [np.full(12, 110.0)])
    cheap, expensive = (
        controller(late=late, silence=0.0).decide(0.0, running(8, 8), 90.0, 0.0, scenarios, 600.0).replicas
        for late in (0.05, 1.0)
    )
    assert cheap == running(1, 2)
    assert expensive == running(2, 3)


def test_numbers_outside_of_the_bounds_are_left():
    outlook = controller(silence=0.0).decide(0.0, running(9, 12), 90.0, 0.0, np.full(12, 90.0), 600.0)
    assert outlook.replicas == running(1, 2)


def test_operators_that_are_not_controlled_keep_their_replicas():
    outlook = controller(silence=0.0).decide(0.0, {"reader": 3, **running(2, 4)}, 90.0, 0.0, np.full(12, 90.0), 600.0)
    assert outlook.replicas == {"reader": 3, **running(1, 2)}


def test_no_choice_is_said():
    only = RollingHorizon((OperatorCapacity("a", np.array([2]), np.array([50.0])),), ControlPrices(1.0, 1.0, 1.0))
    outlook = only.decide(0.0, {"a": 2}, 90.0, None, np.full(3, 90.0), 600.0)
    assert (outlook.change, outlook.reason) == (False, "no other numbers of replicas are allowed")


def test_the_rest_of_a_step_is_shorter():
    demand = np.array([30.0] + [190.0] * 20)
    outlook = controller(silence=0.1).decide(1000.0, running(1, 1), 30.0, 0.0, demand, 600.0, first=200.0)
    assert outlook.at[0].at == 1200.0


WRONG = [
    ({"demand": np.full(5, 1.0)}, "forecast shorter than the horizon of 3600 s"),
    ({"demand": np.array([np.nan] * 6)}, "must be numbers from 0 on"),
    ({"demand": np.empty(0)}, "with a step or more"),
    ({"step": 0.0}, "must be positive"),
    ({"running": {"parser": 1}}, "is missing"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG, ids=[said for _, said in WRONG])
def test_bad_input_is_said(changes, said):
    given = {"now": 0.0, "running": running(1, 1), "rate": 1.0, "backlog": 0.0, "demand": np.full(6, 1.0), "step": 600.0}
    with pytest.raises(InvalidInstanceError, match=said):
        controller(horizon=HOUR).decide(**{**given, **changes})


@pytest.mark.parametrize(
    ("operators", "prices", "said"),
    [
        ((), ControlPrices(1, 1, 1), "give at least one"),
        ((OperatorCapacity("a", np.array([2, 1]), np.ones(2)),), ControlPrices(1, 1, 1), "must rise"),
        ((OperatorCapacity("a", np.array([1]), np.zeros(1)),), ControlPrices(1, 1, 1), "must be positive"),
        ((OperatorCapacity("a", np.array([1]), np.ones(2)),), ControlPrices(1, 1, 1), "as many capacities"),
        ((OperatorCapacity("a", np.array([1]), np.ones(1)),), ControlPrices(1, -1, 1), "prices.late"),
    ],
)
def test_bad_capacities_and_prices_are_said(operators, prices, said):
    with pytest.raises(InvalidInstanceError, match=said):
        RollingHorizon(operators, prices)
