"""The factory of cost-efficient enactment: rates, needs, hosts, arrival patterns; what cannot be is named before a run."""

import math
from itertools import pairwise

import numpy as np
import pytest

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.enactment.arrival_patterns import PATTERNS, arrivals
from edrp.datasets.enactment.manufacturing import manufacturing_application, manufacturing_scenario, manufacturing_snapshot

PER_TICK = {
    "parse-and-distribute-data": 1,
    "filter-availability": 5,
    "calculate-performance": 1,
    "calculate-availability": 1,
    "calculate-quality": 1,
    "monitor-temperature": 10,
    "calculate-oee": 3,
    "inform-user": 5 / 50 + 10 / 100 + 1 / 300,
    "generate-report": 1,
}
"""Items per machine and tick of 480 ms, by hand from Fig. 1 and Tables 1 and 2."""

WALKS = ("random-walk-1", "random-walk-2")


def load_at(scenario, time):
    return scenario.load[int(time // scenario.load_step)]


def test_every_operator_receives_what_the_tables_say():
    application = manufacturing_application(3)
    assert [operator.name for operator in application.operators] == list(PER_TICK)
    for name, items in PER_TICK.items():
        assert application.load(name) * 0.48 == pytest.approx(3 * items), name


def test_operators_need_what_table_2_says_in_si_units():
    described = manufacturing_application().by_name["generate-report"]
    assert described.resources == {"cpu": 47, "memory": 452e6}
    assert (described.code_size, described.processing_duration, described.selectivity) == (70e6, 1.3, 1 / 300)
    assert described.occupied == pytest.approx(0.26)


@pytest.mark.parametrize(("minutes", "price"), [(10, 1.0), (30, 3.0), (60, 6.0)])
def test_prices_are_linear_in_the_billing_time_unit(minutes, price):
    (host,) = manufacturing_scenario("stepwise", billing_time=60.0 * minutes).host_types
    assert (host.price, host.billing_time, host.resources) == (price, 60 * minutes, {"cpu": 4096, "memory": 7e9})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_last_two_hours_between_one_and_eight_machines(pattern):
    scenario = manufacturing_scenario(pattern, seed=5)
    assert scenario.duration == 7200
    assert 1 <= min(scenario.load) < max(scenario.load) <= 8
    assert edrp.loads(scenario.model_dump_json()) == scenario


def test_the_stepwise_pattern_goes_up_and_down_like_a_sine():
    machines, step = arrivals("stepwise", 5 * 960)
    assert (step, len(set(machines))) == (240, 3)
    sine = 5 - 3 * np.cos(2 * np.pi * np.arange(len(machines)) * step / 960)
    assert np.allclose(machines, sine)


def test_the_two_level_pattern_changes_half_as_often():
    machines, step = arrivals("two-level", 7200)
    assert (set(machines), step) == ({2.0, 8.0}, 480)
    assert all(before != after for before, after in pairwise(machines))


@pytest.mark.parametrize("pattern", WALKS)
def test_random_walks_follow_equation_6(pattern):
    walks = [manufacturing_scenario(pattern, seed=seed).load for seed in range(100)]
    assert all(walk[0] == 4 and len(walk) == 200 for walk in walks)
    assert all(4.7 <= np.mean(walk) <= 5.2 for walk in walks)
    steps = np.diff(walks)
    assert set(np.unique(steps)) == {-1, 0, 1}
    inside = np.array(walks)[:, :-1]
    # At the ends a step is drawn again; between them come the paper's 40, 20 and 40 %, tilted by the choice of walks.
    free = steps[(inside > 1) & (inside < 8)]
    shares = [np.mean(free == change) for change in (-1, 0, 1)]
    assert np.allclose(shares, [0.4, 0.2, 0.4], atol=0.035)
    assert np.mean(steps[inside == 8] == 0) == pytest.approx(1 / 3, abs=0.05)


def test_walks_are_drawn_from_the_seed_and_differ():
    loads = {(name, seed): manufacturing_scenario(name, seed=seed).load for name in WALKS for seed in range(20)}
    assert len(set(loads.values())) == 40
    again = manufacturing_scenario("random-walk-2", seed=7)
    assert again.load == loads["random-walk-2", 7]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("duration", [100, 600, 4321])
def test_a_shorter_run_is_the_beginning_of_a_longer_one(pattern, duration):
    short, long = (manufacturing_scenario(pattern, seed=2, duration=seconds) for seconds in (duration, 9000))
    assert short.duration == duration
    times = np.arange(0.5, duration, 1.0)
    assert [load_at(short, time) for time in times] == [load_at(long, time) for time in times]


def test_fields_of_the_scenario_can_be_set():
    application = manufacturing_application(occupancy=0.5)
    scenario = manufacturing_scenario("two-level", application=application, bursts=1, objective_level="relaxed")
    assert (scenario.application, scenario.bursts, scenario.objective_level) == (application, 1, "relaxed")


def test_snapshots_say_what_waits():
    problem = manufacturing_snapshot(2, queues={"inform-user": 1000}, utilisation=0.5)
    load = problem.application.load
    assert problem.expected_violations("inform-user", 1) == pytest.approx(1000 + 60 * load("inform-user") - 600)
    fewest = {operator.name: math.ceil(2 * load(operator.name) * operator.occupied) for operator in problem.application.operators}
    assert problem.minimum_instances == fewest


@pytest.mark.parametrize(
    ("wrong", "place", "why"),
    [
        ({"pattern": "stepwize"}, "pattern", "did you mean 'stepwise'"),
        ({"pattern": "sine"}, "pattern", "there are stepwise, two-level, random-walk-1, random-walk-2"),
        ({"duration": -7200.0}, "duration", "above 0"),
        ({"duration": 0.0}, "duration", "above 0"),
        ({"duration": math.nan}, "duration", "above 0"),
        ({"duration": 0.5}, "duration", "whole number of seconds"),
        ({"billing_time": 45.0}, "billing_time", "shorter than the start-up time of up to 60 s"),
        ({"billing_time": -600.0}, "billing_time", "above 0"),
        ({"seed": -1}, "seed", "negative"),
        ({"bursts": 0}, "bursts", "at least 1"),
    ],
)
def test_what_cannot_be_is_named_before_a_run(wrong, place, why):
    with pytest.raises(InvalidInstanceError) as caught:
        manufacturing_scenario(**{"pattern": "stepwise", **wrong})
    (fault,) = caught.value.faults
    assert fault.place == place
    assert why in fault.why


def test_faults_of_pattern_and_duration_come_together():
    with pytest.raises(InvalidInstanceError) as caught:
        arrivals("sine", -1, seed=-1)
    assert [fault.place for fault in caught.value.faults] == ["pattern", "duration", "seed"]


@pytest.mark.parametrize("machines", [-1, math.nan])
def test_machines_are_not_negative(machines):
    with pytest.raises(InvalidInstanceError, match="machines: must not be negative"):
        manufacturing_snapshot(machines)


def test_an_operator_too_large_for_the_host_is_named():
    application = manufacturing_application()
    first = application.operators[0].replace(resources={"cpu": 5000, "memory": 1e6})
    with pytest.raises(InvalidInstanceError, match="parse-and-distribute-data fits on no host"):
        manufacturing_scenario("stepwise", application=application.replace(operators=(first, *application.operators[1:])))
