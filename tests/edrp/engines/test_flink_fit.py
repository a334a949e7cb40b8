"""Fit of a job to a capture: service rates with intervals, skew, state and times, against jobs whose truth is known."""

import pytest
from fake_flink import FakeFlink, FakeOperator, serving, word_count
from test_flink_reading import answered_folder, observed

from edrp.core.errors import InvalidInstanceError
from edrp.engines.downtime import predict_downtime
from edrp.engines.estimates import Estimate
from edrp.engines.fit import fit_job
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.reading import read_observation
from edrp.engines.goals import Goals
from edrp.engines.model import busy_share, placement_problem, rescale_problem, shortages
from edrp.engines.predictions import Prediction, judge, predict, throughput
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network


def fitted(flink, rounds=5):
    return fit_job(observed(flink, rounds))


def operator(fit, name):
    return next(fitted for fitted in fit.operators if fitted.name == name)


def fitted_across_rescale(flink, position, replicas, service_rate):
    """Fit to a capture in whose midst one operator gets other replicas, each with this service rate."""

    def rescale(_seconds):
        if flink.rounds == 4:
            flink.totals.clear()
            flink.attempt += 1
            flink.operators[position].replicas, flink.operators[position].service_rate = replicas, service_rate

    with serving(flink) as address:
        return fit_job(read_observation(capture_job(address, CaptureSettings(seconds=8.0, every=1.0), sleep=rescale)))


def test_service_rates_are_those_of_the_job():
    fit = fitted(FakeFlink(rates=(150.0,)))
    assert operator(fit, "counter").service.value == pytest.approx(200.0, rel=1e-3)
    assert operator(fit, "counter").busy == pytest.approx(0.75)
    assert operator(fit, "counter").method == "ratio"
    assert operator(fit, "Source: reader").service is None
    assert operator(fit, "Source: reader").rate == pytest.approx(150.0)


def test_the_first_prediction_that_was_compared_with_a_cluster():
    """From 100 tuples/s on one replica; the cluster then served 192.5/s at most, and was 67.6 % busy at 260/s on two."""
    counter = operator(fitted(FakeFlink(word_count(counter={"service_rate": 189.1}), rates=(100.0,))), "counter")
    assert counter.service.low < 192.5 < counter.service.high
    rates = counter.service.value, counter.service.high, counter.service.low
    predicted, low, high = (busy_share(counter, 2, 2.6, rate) for rate in rates)
    assert predicted == pytest.approx(0.687, abs=1e-3)
    assert low < 0.676 < high


def test_low_load_is_said_to_understate_capacity():
    waits = {"counter": {"waiting": 0.1}}
    fit = fitted(FakeFlink(word_count(**waits), rates=(20.0,)))
    counter = operator(fit, "counter")
    assert counter.method == "understated"
    assert counter.service.value < 200.0
    assert any("capacity of counter is probably understated" in remark for remark in fit.remarks)


def test_several_loads_give_an_intercept():
    waits = {"counter": {"waiting": 0.1}}
    fit = fitted(FakeFlink(word_count(**waits), rates=(10.0, 20.0, 30.0, 45.0)))
    counter = operator(fit, "counter")
    assert counter.method == "intercept"
    assert counter.service.value == pytest.approx(180.0, rel=1e-2)  # (1 - 0.1) * 200
    assert counter.service.low < counter.service.value < counter.service.high


def test_skew_is_that_of_the_busiest_replica():
    shares = {"counter": {"replicas": 2, "shares": (0.7, 0.3)}}
    fit = fitted(FakeFlink(word_count(**shares), rates=(150.0,)))
    assert operator(fit, "counter").skew == pytest.approx(1.4)
    assert operator(fit, "parser").skew == 1.0
    assert any("1.4 times the mean" in remark for remark in fit.remarks)


def test_streams_of_a_join_are_told_apart():
    operators = [
        FakeOperator("Source: left", selectivity=1.0),
        FakeOperator("Source: right"),
        FakeOperator("filter", selectivity=0.25, inputs=(("Source: right", "FORWARD"),)),
        FakeOperator("join", inputs=(("Source: left", "HASH"), ("filter", "HASH"))),
    ]
    fit = fitted(FakeFlink(operators, rates=(80.0,)))
    rates = {(stream.source, stream.target): stream.rate for stream in fit.streams}
    assert rates["Source: left", "join"] == pytest.approx(80.0, rel=1e-3)
    assert rates["filter", "join"] == pytest.approx(20.0, rel=1e-3)
    assert operator(fit, "filter").selectivity == pytest.approx(0.25)


def test_a_plan_that_does_not_keep_up_is_predicted_to_hold_back_its_sources():
    """The counter can do 200 of 300 tuples/s on one replica, so that the parser is less busy than it would be."""
    wide = {"counter": {"replicas": 2}}
    fit = fitted(FakeFlink(word_count(**wide), rates=(300.0,)))
    one = Deployment({fitted.name: ("tm-a",) for fitted in fit.operators})
    prediction = predict(fit, one, {})
    assert prediction.throughput.value == pytest.approx(200.0, rel=1e-2)
    assert prediction.throughput.low < 200.0 < prediction.throughput.high < 300.0
    assert prediction.busy["counter"].value == pytest.approx(1.0)
    assert prediction.busy["parser"].value == pytest.approx(0.5, rel=1e-2)
    enough = predict(fit, Deployment({**dict(one), "counter": ("tm-a", "tm-a")}), {})
    assert enough.throughput.value == pytest.approx(300.0, rel=1e-2)
    assert enough.busy["parser"].value == pytest.approx(0.75, rel=1e-2)


@pytest.mark.parametrize(("state", "restored"), [(1_000_000, 0.2), (1_000_000_000, 0.4)])
def test_half_the_replicas_restore_longer_only_where_state_can_be_the_reason(state, restored):
    """0.2 s are far more than a megabyte takes to read, and no more than a gigabyte does."""
    wide = {"counter": {"replicas": 2, "state": state}}
    fit = fitted(FakeFlink(word_count(**wide)))
    one = Deployment({fitted.name: ("tm-a",) for fitted in fit.operators})
    assert predict_downtime(fit, one, Goals()).restore.value == pytest.approx(restored, rel=0.05)


def test_delays_count_as_often_as_the_goals_say():
    link = {"source": "tm-a", "target": "tm-b", "delay": 0.05}
    network = Network(nodes=[{"name": "tm-a"}, {"name": "tm-b"}], links=[link])
    fit = fitted(FakeFlink())
    apart = Deployment({fitted.name: ("tm-b" if fitted.name == "counter" else "tm-a",) for fitted in fit.operators})
    once, thrice = (
        placement_problem(fit, Goals(delay_factor=factor), network).evaluate(apart).metrics["response_time"]
        for factor in (1.0, 3.0)
    )
    assert thrice - once == pytest.approx(2 * 2 * 0.05)  # to the counter and back


def test_times_of_a_restart_and_state():
    fit = fitted(FakeFlink())
    assert fit.restart.value == pytest.approx(0.2 + 0.31)  # remembered from a rescale, and deploying the last time
    assert fit.restore.value == pytest.approx(0.2)
    assert operator(fit, "counter").state_size == 10_000_000


def test_a_start_takes_as_long_as_its_slowest_replica():
    """Neither of them took 0.9 s to deploy and then 0.8 s to restore."""
    slow = {"counter": {"replicas": 2, "starts": ((890, 100), (290, 800))}}
    fit = fitted(FakeFlink(word_count(**slow)))
    assert fit.restart.value == pytest.approx(0.2 + 0.3)
    assert fit.restore.value == pytest.approx(0.8)


def test_several_parallelisms_make_a_capacity_curve():
    counter = operator(fitted_across_rescale(FakeFlink(rates=(150.0,)), 2, 2, 160.0), "counter")
    assert [replicas for replicas, _ in counter.capacities] == [1, 2]
    assert [capacity for _, capacity in counter.capacities] == pytest.approx([200.0, 320.0], rel=1e-2)


def test_slots_are_shared_within_groups_only():
    flink = FakeFlink(word_count(counter={"replicas": 3, "group": "own"}), slots=2, rates=(300.0,))
    problem = placement_problem(fitted(flink), Goals())
    assert problem.current is not None
    needs = {o.name: set(o.resources) for o in problem.application.operators}
    assert needs["counter"] >= needs["parser"]
    assert not needs["parser"] & needs["Sink: writer"]
    crowded = {"Source: reader": ["tm-a"], "parser": ["tm-a", "tm-a"], "counter": ["tm-a"], "Sink: writer": ["tm-b"]}
    assert any("slots" in sentence for sentence in problem.evaluate(crowded).broken)


def test_slots_of_other_jobs_are_none_of_this_one():
    """Two slots of tm-a hold this job's counters; of the others, other jobs hold one there, and all but one of tm-b."""
    flink = FakeFlink(word_count(counter={"replicas": 2}), slots=4, taken={"tm-a": 1, "tm-b": 3}, rates=(300.0,))
    problem = placement_problem(fitted(flink), Goals())
    room = {node.name: set(node.resources.values()) for node in problem.network.nodes}
    assert room == {"tm-a": {3.0}, "tm-b": {1.0}}
    assert {operator.max_replicas for operator in problem.application.operators} <= {1, 2, 3, 4}
    assert problem.evaluate(problem.current).feasible
    spread = word_count(counter={"replicas": 3, "nodes": ("tm-a", "tm-b", "tm-b")}, parser={"group": "own"})
    observation = fitted(FakeFlink(spread)).observation
    assert observation.own_slots == {"tm-a": 2, "tm-b": 2}  # by group: a counter and a parser, and two counters


def test_rules_of_the_goals_are_those_of_every_model():
    """Labels of nodes are those of the network that the user gives."""
    goals = Goals(rules=[{"rule": "forbidden", "name": "old", "operators": ["counter"], "labels": {"disk": ["slow"]}}])
    fit = fitted(FakeFlink(word_count(counter={"replicas": 2}), rates=(300.0,)))
    nodes = [{"name": "tm-a", "labels": {"disk": "slow"}}, {"name": "tm-b"}]
    problem = placement_problem(fit, goals, Network(nodes=nodes, between_zones={"delay": 0.01}))
    assert problem.network.by_name["tm-a"].labels == {"disk": "slow"}
    keyed = rescale_problem(problem, fit, goals)
    assert problem.rules == keyed.rules == goals.rules
    assert keyed.network.by_name["tm-a"].labels == {"disk": "slow"}
    with pytest.raises(InvalidInstanceError, match=r"rules\[0\].labels.disk: .* label of any node"):
        placement_problem(fit, goals)


def test_an_operator_that_no_slots_can_carry_is_named_and_does_not_stop_the_others():
    goals = Goals(busy_limit=0.5, rate_factor=2.0)
    fit = fitted(FakeFlink(rates=(150.0,), slots=1, managers=("tm-a",)))
    short = shortages(fit, goals)
    assert short["parser"].startswith("1 replica, the most allowed, would be 75% busy against 50%; add slots")
    problem = placement_problem(fit, goals)
    assert problem.evaluate(problem.current).feasible
    assert problem.application.by_name["parser"].latency is None


def test_real_service_rates(shared_data):
    fit = fit_job(read_observation(answered_folder(shared_data / "flink" / "adaptive-p1")))
    assert operator(fit, "parser").service.value == pytest.approx(462, abs=1)
    assert (operator(fit, "parser").method, operator(fit, "counter").method) == ("ratio", "understated")
    assert [stream.bytes_per_tuple for stream in fit.streams] == pytest.approx([37.0] * 3, abs=0.2)


@pytest.mark.parametrize(("predicted", "covered"), [(0.49, True), (0.47, False), (0.51, True), (0.53, False)])
def test_a_busy_share_may_be_two_points_outside_its_interval(predicted, covered):
    """The counter is 50 % busy; intervals of operators that do next to nothing are narrower than what can be measured."""
    fit = fitted(FakeFlink(rates=(100.0,)))
    rates = {operator.name: operator.rate for operator in fit.operators}
    total = Estimate(throughput(fit), 0.0, 1000.0)
    narrow = Estimate(predicted, predicted - 0.001, predicted + 0.001)
    found = {j.quantity: j for j in judge(Prediction({"counter": 1}, total, rates, {"counter": narrow}), fit)}
    assert found["counter"].measured == pytest.approx(0.5)
    assert found["counter"].covered is covered
