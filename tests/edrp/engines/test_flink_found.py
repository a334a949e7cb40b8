"""Advice on jobs unlike ours, captured on real clusters: what busy time and what is received do not tell.

`captures/NAME-after.zip` is the same job after its replicas were changed, so that predictions are held against measurements.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fake_engine import FakeEngine
from fake_flink import FakeFlink, FakeOperator, serving, word_count
from test_flink_fit import fitted_across_rescale, operator
from test_flink_metadata import checkpoint, metadata
from test_flink_reading import observed
from watching import RESCALE, puts

from edrp.engines.advice import advise
from edrp.engines.capture import read_capture
from edrp.engines.fit import fit_job
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.calls import plan_calls
from edrp.engines.flink.metadata import StoredOperatorState, job_key_groups, states_by_operator
from edrp.engines.flink.reading import read_observation
from edrp.engines.goals import Goals
from edrp.engines.model import busy_share
from edrp.engines.observation import (
    CheckpointObservation,
    Observation,
    OperatorObservation,
    OperatorWindow,
    StreamObservation,
    SubtaskWindow,
)
from edrp.engines.predictions import is_waiting, predict
from edrp.engines.protocol import observe_capture
from edrp.placement.deployment import Deployment

CAPTURES = Path(__file__).parent / "captures"


def fitted(flink, sizes=None):
    return fit_job(observed(flink, 5), {} if sizes is None else {"counter": sizes})


def found(name):
    return fit_job(observe_capture(CAPTURES / f"{name}.zip"))


def replicas(advice):
    return {operator.name: operator.proposed for operator in advice.operators}


def share(fit, name, count):
    """Busy share with `count` replicas: the value and the ends of its interval."""
    fitted = operator(fit, name)
    return tuple(busy_share(fitted, count, 1.0, rate) for rate in (fitted.service.value, fitted.service.high, fitted.service.low))


def said(remarks, *words):
    return any(all(word in remark for word in words) for remark in remarks)


# Asynchronous operators


def test_an_operator_that_is_hardly_busy_is_not_taken_far_down():
    """4 → 1 was advised at 2 % busy; one replica then took 199/s of 400, all of its time busy."""
    fit, after = found("async"), operator(found("async-after"), "lookup")
    assert after.busy == pytest.approx(1.0)
    advice = advise(fit)
    assert replicas(advice)["lookup"] == 3
    assert operator(fit, "lookup").rate / 3 < 0.8 * after.rate
    assert said(advice.remarks, "lookup gets no fewer than 3 in one step: 2% busy does not tell", "100.2 tuples/s at most")
    wide = Goals(operators={"lookup": {"min_replicas": 1, "max_replicas": 8}})
    assert replicas(advise(fit, wide))["lookup"] == 3


@pytest.mark.parametrize(
    ("rates", "left"),
    [
        ((100.0,), 2),  # 12 % busy: halved
        ((28.0,), 3),  # 3.5 % busy: a third less at most
        ((130.0, 130.0, 28.0), 1),  # 33/s were seen to be taken by one replica, 28/s are to be now
        ((340.0,), 3),  # 42 % busy: known well, and 4 → 3 is what the load needs
    ],
)
def test_extrapolated_rates_are_approached_in_steps(rates, left):
    counter = {"replicas": 4, "service_rate": 200.0}
    fit = fitted(FakeFlink(word_count(counter=counter, parser={"service_rate": 2000.0}), rates=rates))
    assert replicas(advise(fit))["counter"] == left


def test_steps_are_those_of_the_load_to_plan_for_and_never_less_than_a_replica():
    def left(count, rate, factor=1.0, sizes=None):
        counter = {"replicas": count, "service_rate": 200.0}
        fit = fitted(FakeFlink(word_count(counter=counter, parser={"service_rate": 2000.0}), rates=(rate,)), sizes=sizes)
        return replicas(advise(fit, Goals(rate_factor=factor)))["counter"]

    assert left(2, 12.0) == 1  # 3 % busy; 1.5 times as much would be no step at all
    assert left(4, 100.0, 1.25) == 3  # 12 % busy, and a quarter more to come
    assert left(4, 100.0, 2.0) == 4  # three would get 2.7 times what one was seen to take
    assert left(4, 100.0, sizes=[100] * 128) == 2  # so where key groups decide


def lookup(name, **changes):
    return [
        FakeOperator("Source: reader"),
        FakeOperator(name, inputs=(("Source: reader", "REBALANCE"),), **changes),
        FakeOperator("Sink: writer", service_rate=500.0, inputs=((name, "REBALANCE"),)),
    ]


@pytest.mark.parametrize("name", ["async wait operator", "enrichAsync", "LookupJoin(async=[ORDERED, 180000ms, 100])"])
def test_an_operator_whose_name_says_that_it_waits_keeps_its_replicas_until_it_is_full(name):
    fit = fitted(FakeFlink(lookup(name, replicas=4, service_rate=10_000.0), rates=(200.0,)))
    advice = advise(fit)
    assert replicas(advice)[name] == 4
    assert operator(fit, name).service is None
    assert said(fit.remarks, f"service rate of {name} is not known", "asynchronous", "its replicas stay")
    bounded = advise(fit, Goals(operators={name: {"min_replicas": 1, "max_replicas": 4}}))
    assert replicas(bounded)[name] == 3  # not 1, of which nothing is known
    full = fitted(FakeFlink(lookup(name, service_rate=200.0), rates=(200.0,)))
    assert replicas(advise(full))[name] == 2
    assert said(full.remarks, "its service rate is that of replicas that were full")


def test_a_lookup_join_that_is_not_asynchronous_says_so():
    name = "LookupJoin(async=[false])"
    assert not operator(fitted(FakeFlink(lookup(name, service_rate=400.0), rates=(200.0,))), name).asynchronous


def test_a_replica_that_was_full_at_a_rate_at_which_others_are_hardly_busy_is_asynchronous():
    """One replica was full at 200/s; four then take 50/s each at 0.5 % busy, by which each would serve 10,000/s."""
    flink = FakeFlink(lookup("lookup", service_rate=200.0), rates=(200.0,))
    fit = fitted_across_rescale(flink, 1, 4, 10_000.0)
    enrich = operator(fit, "lookup")
    assert enrich.asynchronous
    assert enrich.busy is None
    assert enrich.service.value == pytest.approx(200.0, rel=1e-2)
    assert share(fit, "lookup", 2)[0] == pytest.approx(0.5, rel=1e-2)
    assert replicas(advise(fit))["lookup"] == 2


# State of key groups


def named_states(tmp_path, *rows):
    """Metadata with the keyed state of several operators: number, name, bytes of each of 128 key groups."""
    parts = [checkpoint(name, number, [size] * 128, 1) for number, name, size in rows]
    head = len(metadata()) - len(b"\x00\x07counter\x00\x03uid") - 16 - 13  # what stands before the first operator
    content = parts[0][: head - 4] + len(rows).to_bytes(4) + b"".join(part[head:] for part in parts)
    (tmp_path / "_metadata").write_bytes(content)
    return tmp_path / "_metadata"


def counted(first, second):
    operators = [
        FakeOperator("Source: reader"),
        FakeOperator(first, inputs=(("Source: reader", "HASH"),)),
        FakeOperator(second, inputs=(("Source: reader", "HASH"),)),
    ]
    return fitted(FakeFlink(operators)).observation


@pytest.mark.parametrize("order", [(("count", 9), ("count by day", 5)), (("count by day", 5), ("count", 9))])
def test_state_belongs_to_whole_names_only(tmp_path, order):
    """Neither has the identifier of a vertex: each goes to the operator of its own name, in whatever order they stand."""
    file = named_states(tmp_path, *((40 + at, name, size) for at, (name, size) in enumerate(order)))
    sizes = job_key_groups(file, counted("count by day", "count"))
    assert {name: set(groups) for name, groups in sizes.items()} == {"count by day": {5}, "count": {9}}


def test_identifiers_come_before_names(tmp_path):
    """The state that is called "count" has the identifier of the operator that is called "count by day" now."""
    sizes = job_key_groups(named_states(tmp_path, (2, "count", 9)), counted("count by day", "count"))
    assert {name: set(groups) for name, groups in sizes.items()} == {"count by day": {9}}
    sizes = job_key_groups(named_states(tmp_path, (2, "count", 9), (40, "count", 5)), counted("count by day", "count"))
    assert {name: set(groups) for name, groups in sizes.items()} == {"count by day": {9}, "count": {5}}


def test_state_in_the_middle_of_a_chain_belongs_to_its_vertex_and_a_name_that_two_have_to_none():
    observation = counted("filter -> count -> map", "filter -> sum")
    state = StoredOperatorState("ff", "count", 1, 2, (3, 4))
    assert states_by_operator({"ff": state}, observation) == {"filter -> count -> map": (3, 4)}
    assert states_by_operator({"ff": StoredOperatorState("ff", "filter", 1, 2, (3, 4))}, observation) == {}
    twins = {key: StoredOperatorState(key, "count", 1, 2, (3, 4)) for key in ("fe", "ff")}
    assert states_by_operator(twins, observation) == {}
    head = StoredOperatorState(observation.operators[1].key, "filter", 1, 2, (10, 20))
    assert states_by_operator({"ff": state, head.key: head}, observation) == {"filter -> count -> map": (13, 24)}


# Sources that are chained with work


def test_a_source_that_is_busy_all_the_time_with_work_is_scaled_out():
    """By hand: 15.12 s busy of 15.16, in which 3642 tuples passed."""
    fit = found("chained")
    source = operator(fit, "Source: orders -> parse")
    assert source.busy == pytest.approx(15.12 / 15.16, abs=2e-3)
    assert source.service.value == pytest.approx(3642 / 15.12, rel=5e-3)
    advice = advise(fit)
    assert advice.verdict == "repair"
    assert replicas(advice) == {"Source: orders -> parse": 2, "count -> Sink: store": 2}  # which gets more than it does now
    assert said(advice.remarks, "Source: orders -> parse is busy all the time: its load is at least the 240")
    assert said(advice.remarks, "count -> Sink: store keeps its replicas, since more may be offered")
    assert is_waiting(fit)


def test_a_source_with_work_is_not_scaled_in_and_one_without_is_not_judged():
    def job(name, busy):
        return [FakeOperator(name, service_rate=100.0 / busy), FakeOperator("Sink: w", inputs=((name, "REBALANCE"),))]

    chained, alone = (fitted(FakeFlink(job(name, 0.999))) for name in ("Source: r -> parse", "Source: r"))
    assert replicas(advise(chained))["Source: r -> parse"] == 2
    assert replicas(advise(alone))["Source: r"] == 1  # it may wait in its own code
    wide = job("Source: r -> parse", 0.4)
    wide[0].replicas = 4
    assert replicas(advise(fitted(FakeFlink(wide))))["Source: r -> parse"] == 4
    goals = Goals(operators={"Source: r -> parse": {"max_replicas": 4}})
    assert replicas(advise(fitted(FakeFlink(wide)), goals))["Source: r -> parse"] == 2  # bounded: 10 % busy, halved
    assert autoscaler_replicas(fitted(FakeFlink(wide)))["Source: r -> parse"] == 4


# Broadcasts


def test_what_is_broadcast_does_not_divide():
    """By hand: of 200/s each of three gets a third, and all of 150/s; 216.7 of the 241/s that one serves. 95 % was measured."""
    fit = found("bcast")
    value, low, high = share(fit, "enrich", 3)
    assert value == pytest.approx((200 / 3 + 150) / operator(fit, "enrich").service.value, rel=2e-3)
    assert abs(value - 0.95) < 0.06
    assert low < 0.95 < high
    crowded = advise(fit).short  # five are needed, and another job holds four of the eight slots
    assert crowded["enrich"].startswith("4 replicas, the most allowed, would be 83% busy against 80%")
    advice = advise(fit, Goals(busy_limit=0.85))
    assert replicas(advice)["enrich"] == 4
    assert said(advice.remarks, "every replica of enrich receives the 149.99 tuples/s that are broadcast")
    document = advice.problem.application.by_name["enrich"]
    load = advice.problem.application.load("enrich")
    assert load == pytest.approx(350.0, rel=1e-3)
    for count in (1, 2, 4):
        assert load / document.latency.capacity(count) == pytest.approx(share(fit, "enrich", count)[0], rel=1e-6)
    assert document.selectivity * load == pytest.approx(operator(fit, "enrich").selectivity * 500, rel=1e-3)
    assert predict(fit, advice.plan, {}).rates["enrich"] == pytest.approx(200 + 4 * 150, rel=2e-3)
    dear = advise(fit, Goals(busy_limit=0.6))
    assert "what is broadcast to it alone would keep every replica 62% busy" in dear.short["enrich"]


def test_more_replicas_do_not_help_with_a_broadcast_alone():
    operators = [
        FakeOperator("Source: rules"),
        FakeOperator("apply", replicas=3, service_rate=100.0, shares=(1.0,) * 3, inputs=(("Source: rules", "BROADCAST"),)),
    ]
    fit = fitted(FakeFlink(operators, rates=(50.0,)))
    assert (operator(fit, "apply").rate, fit.streams[0].rate) == pytest.approx((150.0, 50.0))
    assert [share(fit, "apply", count)[0] for count in (1, 2, 5)] == pytest.approx([0.5] * 3)
    assert replicas(advise(fit))["apply"] == 1


def test_skew_is_that_of_what_is_not_broadcast():
    """Of 100/s with keys two replicas get 70 and 30, and both 50/s.

    Of the first, replicas that each serve 200/s take in 200, 400 / 1.4 and, along the line, 371.4/s together.
    """

    def window(received, sent=0):
        return SubtaskWindow("n", 10 * received, 10 * sent, 0, 0, received / 20, 10.0 - received / 20, 0.0)

    def seen(name, *subtasks):
        return OperatorObservation(
            name, name, ("n",) * len(subtasks), 128, None, "", (OperatorWindow(10.0, subtasks),), (0, 0), ()
        )

    operators = (seen("keys", window(0, 100)), seen("rules", window(0, 50)), seen("join", window(120), window(80)))
    streams = (StreamObservation("keys", "join", "hash"), StreamObservation("rules", "join", "broadcast"))
    nothing = CheckpointObservation(None, (), 0, None)
    fit = fit_job(Observation("flink", "2.3.0", "job", "job", True, None, operators, streams, (), nothing, ()))
    join = operator(fit, "join")
    assert (join.rate, join.load, join.broadcast, join.skew) == pytest.approx((200.0, 150.0, 50.0, 1.4))
    assert share(fit, "join", 1)[0] == pytest.approx(150 / 200)
    assert share(fit, "join", 2)[0] == pytest.approx(join.busy)
    assert share(fit, "join", 3)[0] == pytest.approx(100 / 371.428 + 50 / 200, rel=1e-4)
    assert fit.streams[1].rate == pytest.approx(50.0)


# Buffers that fill


def test_what_piles_up_before_an_operator_is_its_load():
    """800/s are sent and 671 received: the first of three replicas holds two of four key groups. 97 % busy was measured then."""
    fit, after = found("keyed4"), operator(found("keyed4-after"), "count")
    count = operator(fit, "count")
    assert count.rate == pytest.approx(671, abs=1)
    assert count.load == pytest.approx(800, abs=1)
    assert operator(fit, "Sink: store").load == pytest.approx(800, rel=1e-2)  # what comes after gets as much more
    value, low, high = share(fit, "count", 4)
    assert after.busy == pytest.approx(0.970, abs=1e-3)
    assert abs(value - after.busy) < 0.03
    assert low < after.busy < high
    advice = advise(fit)
    assert (advice.verdict, replicas(advice)["count"]) == ("repair", 4)
    assert "busiest key group alone would keep a replica 99% busy" in advice.short["count"]
    assert said(advice.remarks, "count receives 671", "load of at least 799.97")


def test_operators_with_time_left_have_the_load_that_they_receive():
    """The sender of two streams counts each tuple for both: nothing is known to pile up before either, even if it is full."""

    class Twice(FakeFlink):
        def vertex(self, operator):
            answer = super().vertex(operator)
            if operator.name == "Source: reader":
                answer["subtasks"][0]["metrics"]["write-records"] *= 2
            return answer

    operators = [
        FakeOperator("Source: reader"),
        FakeOperator("left", inputs=(("Source: reader", "REBALANCE"),)),
        FakeOperator("right", service_rate=100.0, inputs=(("Source: reader", "REBALANCE"),)),
    ]
    for rate in (80.0, 100.0):
        fit = fitted(Twice(operators, rates=(rate,)))
        assert [operator(fit, name).load for name in ("left", "right")] == pytest.approx([rate, rate], rel=1e-3)


# One operator does not stop the others


def test_a_cluster_without_a_free_slot_gets_advice_for_the_others(run, tmp_path):
    result = run("advise", "flink", CAPTURES / "full_cluster.zip").ended(3)
    words = " ".join(result.out.split())
    assert "counter is 90% busy against 80%, and stays too busy: 2 replicas, the most allowed" in words
    assert re.search(r"^parser +1 +1 +75% +75%", result.out, re.MULTILINE)
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"busy_limit": 0.7, "operators": {"counter": {"max_replicas": 2}}}))
    result = run("advise", "flink", CAPTURES / "full_cluster.zip", "--goals", goals).ended(0)
    assert re.search(r"^parser +1 +2 +75% +38%", result.out, re.MULTILINE)
    assert "counter is 90% busy against 70%, and stays too busy" in " ".join(result.out.split())


def test_nodes_that_can_be_started_make_room(run, tmp_path):
    """As under native Kubernetes, where a job's TaskManagers have no slot to spare."""
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"added_nodes": 1}))
    result = run("advise", "flink", CAPTURES / "full_cluster.zip", "--goals", goals, "--out", tmp_path / "advice").ended(0)
    assert re.search(r"^counter +2 +3 +90%", result.out, re.MULTILINE)
    assert "repair: what runs breaks busy_limit: counter is 90% busy against 80%;" in " ".join(result.out.split())
    assert re.search(r"needs 3; where .* at least [23]\.", (tmp_path / "advice/flinkdeployment.yaml").read_text())


def test_an_operator_that_no_replicas_help_keeps_them_and_its_job_is_stuck():
    advice = advise(found("keyed4-after"))
    assert (advice.verdict, replicas(advice)["count"]) == ("stuck", 4)
    assert "count is 98% busy against 80%, and stays too busy" in advice.broken[0]
    hot = [100_000] + [100] * 127
    five = word_count(counter={"replicas": 5, "shares": (0.9, 0.025, 0.025, 0.025, 0.025)})
    assert replicas(advise(fitted(FakeFlink(five, rates=(190.0,)), sizes=hot)))["counter"] == 5


def test_what_is_not_for_lack_of_room_stays_stuck():
    """The counter needs a second replica, for which there is room, and waits longer than is allowed with any number."""
    for limit in (1e-6, 0.006):
        advice = advise(fitted(FakeFlink(rates=(180.0,))), Goals(response_time=limit))
        assert (advice.verdict, advice.short) == ("stuck", {})
        assert advice.solution.clashes[0].startswith("limits.response_time")


def test_where_not_all_have_room_to_grow_some_do():
    """Four slots and no sharing: one of two operators that need another replica gets it."""
    operators = word_count(parser={"group": "p", "service_rate": 200.0}, counter={"group": "c", "service_rate": 200.0})
    advice = advise(fitted(FakeFlink(operators, rates=(180.0,), slots=4, managers=("tm-a",))))
    grown = [name for name, count in replicas(advice).items() if count == 2]
    assert advice.verdict == "repair"
    assert len(grown) == 1
    assert ({"parser", "counter"} - set(grown)) == set(advice.short)
    assert said(advice.broken, "and stays too busy: 2 replicas have no room beside those of the others")


def test_operators_that_have_finished_are_left_out(run):
    result = run("advise", "flink", CAPTURES / "finished_source.zip").ended(0)
    words = " ".join(result.out.split())
    assert "Source: dimension table has finished and is left out" in words
    assert re.search(r"^counter +2 +3 +90%", result.out, re.MULTILINE)
    assert run("observe", CAPTURES / "finished_source.zip").code == 0


def test_finished_operators_stay_among_the_requirements():
    """Flink takes requirements of all operators of a job only."""
    capture = read_capture(CAPTURES / "finished_source.zip")
    asked = {"0000000000000000000000000000000a": {"parallelism": {"lowerBound": 1, "upperBound": 2}}}
    answers = [
        replace(answer, answer=answer.answer | asked) if answer.path.endswith("/resource-requirements") else answer
        for answer in capture.answers
    ]
    fit = fit_job(read_observation(replace(capture, answers=tuple(answers))))
    lines = plan_calls(fit.observation, advise(fit).plan, "http://localhost:8081")
    body = json.loads(next(re.search(r"rescale '(.*?)' ", line)[1] for line in lines if line.startswith("change()")))
    assert len(body) == 5
    assert body["0000000000000000000000000000000a"] == asked["0000000000000000000000000000000a"]


TABLE = "0000000000000000000000000000000a"


class Ended(FakeEngine):
    """A cluster with an operator that has finished, whose requirements it wants to be told, too."""

    def job(self):
        job = super().job()
        table = {"id": TABLE, "name": "Source: table", "parallelism": 1, "maxParallelism": 128, "status": "FINISHED"}
        return {**job, "vertices": [*job["vertices"], table]}

    def answer(self, path):
        answer = super().answer(path)
        if path.endswith(f"/vertices/{TABLE}"):
            answer = super().vertex(self.operators[0])
            answer["subtasks"][0]["status"] = "FINISHED"
        if path.endswith("/resource-requirements"):
            answer[TABLE] = {"parallelism": {"lowerBound": 1, "upperBound": 1}}
        return answer

    def respond(self, method, path, body):
        if method == "PUT" and body.pop(TABLE, None) is None:
            return 400
        return super().respond(method, path, body)


def test_a_job_with_a_finished_operator_is_rescaled(watch):
    flink = Ended(offered=lambda seconds: 180.0)
    result = watch(flink, *RESCALE, "--rounds", 2)
    assert watch.steps()[-1] == "done", result.out
    assert puts(flink) == [2]
    assert watch.steps().count("checkpoint") == 1  # without which Flink would replay all since the last


def test_a_replica_that_has_finished_before_the_others_stands_still():
    class Ending(FakeFlink):
        def vertex(self, operator):
            answer = super().vertex(operator)
            if operator.name == "Source: reader":
                answer["subtasks"][1]["status"] = "FINISHED"
                last = {"write-records": 70, "accumulated-busy-time": 40.0, "accumulated-idle-time": 2000}
                answer["subtasks"][1]["metrics"] |= last
            return answer

    fit = fitted(Ending(word_count(**{"Source: reader": {"replicas": 2, "shares": (1.0, 0.0)}})))
    reader = operator(fit, "Source: reader")
    assert (reader.replicas, reader.rate) == (2, pytest.approx(100.0))
    assert not said(fit.remarks, "one round of counters only")


# What is not known


def test_a_job_without_busy_times_gets_no_verdict(run):
    result = run("advise", "flink", CAPTURES / "no_busy_time_1_14.zip").ended(0)
    words = " ".join(result.out.split())
    assert re.search(r"^Flat Map -> Sink.* 1 +1 +unknown +unknown .* unknown *$", result.out, re.MULTILINE)
    assert "unknown: of no operator it is known how busy it is" in words
    assert "Nothing is proven" in words
    assert "The rule of Flink's autoscaler 1.16 needs busy times, too, and says nothing." in words
    assert "Flink 1.14.4 is outside 1.20 to 2.3, the versions that this was tested with" in words
    assert "the engine gives no busy time of it" in words
    assert not [word for word in ("keep", "has proven", "the same numbers") if word in words]


def test_one_operator_without_busy_time_is_named_beside_the_verdict_on_the_others(run, tmp_path):
    class Silent(FakeFlink):
        def vertex(self, operator):
            answer = super().vertex(operator)
            for subtask in answer["subtasks"] if operator.name == "parser" else ():
                subtask["metrics"]["accumulated-busy-time"] = "NaN"
            return answer

    with serving(Silent(rates=(180.0,), version="1.20-SNAPSHOT")) as address:
        result = run("advise", "flink", "--rest", address, "--seconds", "0.02", "--every", "0.01")
    words = " ".join(result.out.split())
    assert "repair: what runs breaks busy_limit: counter is 90% busy" in words
    assert "how busy parser will be is not known" in words
    assert "where it can tell" in words
    assert "outside" not in words


@pytest.mark.parametrize(("version", "tested"), [("1.19.3", False), ("1.20.0", True), ("2.3.1", True), ("2.10.0", False)])
def test_versions_outside_those_tested_are_named(version, tested):
    assert said(fitted(FakeFlink(version=version)).remarks, "outside 1.20 to 2.3") != tested


def test_what_is_predicted_of_a_load_that_may_be_larger_is_at_least_that(run):
    result = run("advise", "flink", CAPTURES / "async-after.zip")
    assert re.search(r"^lookup +1 +2 +100% +≥ 50% ", result.out, re.MULTILINE)
    fit = found("async-after")
    assert predict(fit, Deployment(advise(fit).plan), {}).throughput.value == pytest.approx(188, abs=1)
