"""The fit of an observation by itself: what each number is taken from where rounds, replicas, inputs and clocks differ."""

from dataclasses import replace

import pytest
from fake_flink import FakeFlink, FakeOperator
from test_flink_reading import observed

from edrp.engines.estimates import Estimate, next_duration
from edrp.engines.fit import MIN_RECORDS, fit_job
from edrp.engines.goals import Goals
from edrp.engines.model import cautious_replicas


@pytest.fixture(scope="module")
def job():
    """A source, a parser, a counter whose input is split by keys, and a sink, of one replica each."""
    return observed(FakeFlink(rates=(100.0,)))


def window(observation, *replicas, seconds=10.0):
    """A window of `seconds`; of each replica the tuples received, the time busy, the time in all, and what it waits."""
    sample = observation.operators[0].windows[0]
    subtasks = [
        replace(
            sample.subtasks[0],
            records_in=received,
            records_out=received,
            busy=busy,
            idle=clock - busy - sum(waits),
            backpressured=sum(waits),
        )
        for received, busy, clock, *waits in replicas
    ]
    return replace(sample, seconds=seconds, subtasks=tuple(subtasks))


def fitted(observation, name, *windows, **changes):
    """The fit of one operator that has these windows instead of its own; its replicas are those of the last one."""
    seen = [window(observation, *replicas) if isinstance(replicas, list) else replicas for replicas in windows]
    nodes = ("tm-a",) * seen[-1].parallelism
    operators = [
        replace(one, windows=tuple(seen), nodes=nodes, **changes) if one.name == name else one for one in observation.operators
    ]
    fit = fit_job(replace(observation, operators=tuple(operators)))
    return next(one for one in fit.operators if one.name == name)


def remarks_on(observation, name, *windows):
    nodes = ("tm-a",) * windows[-1].parallelism
    operators = [replace(one, windows=windows, nodes=nodes) if one.name == name else one for one in observation.operators]
    return fit_job(replace(observation, operators=tuple(operators))).remarks


def test_more_replicas_that_seem_to_serve_less_are_taken_to_serve_as_much_as_fewer(job):
    one, two, three = [(1000, 5.0, 10.0)], [(300, 5.0, 10.0)] * 2, [(500, 5.0, 10.0)] * 3
    counter = fitted(job, "counter", three, two, one)
    assert counter.capacities == pytest.approx([(1, 200.0), (2, 200.0), (3, 300.0)])
    assert fitted(job, "counter", [(30, 60.0, 100.0)]).capacities == pytest.approx([(1, 0.5)])


def test_the_work_of_key_groups_without_a_record_of_their_own_follows_the_state_of_replicas(job):
    known = {"another operator": [1] * 128}

    def sizes(state_sizes):
        operators = [replace(one, state_sizes=state_sizes) if one.name == "counter" else one for one in job.operators]
        fit = fit_job(replace(job, operators=tuple(operators)), known)
        return next(one.groups.state_size for one in fit.operators if one.name == "counter")

    assert sum(sizes((6_400,))) == 6_400
    assert sum(sizes(())) == 0


def test_a_service_rate_is_that_of_the_newest_number_of_replicas(job):
    counter = fitted(job, "counter", [(1000, 5.0, 10.0)], [(400, 5.0, 10.0)] * 2)
    assert counter.service.value == pytest.approx(80.0)
    assert counter.rate == pytest.approx(80.0)  # of the last ten seconds, not of twenty
    assert counter.busy == pytest.approx(0.5)
    back = fitted(job, "counter", [(1000, 5.0, 10.0)], [(400, 5.0, 10.0)] * 2, [(600, 5.0, 10.0)])
    assert back.service.value == pytest.approx(160.0), "both rounds with one replica"
    assert back.rate == pytest.approx(60.0), "the newest one only"


def test_what_is_now_is_what_the_last_twenty_seconds_say(job):
    rounds = [[(1000, 9.0, 10.0)], [(500, 5.0, 10.0)], [(300, 3.0, 10.0)]]
    counter = fitted(job, "counter", *rounds)
    assert (counter.rate, counter.busy) == pytest.approx((40.0, 0.4))
    longer = fitted(job, "counter", [(1000, 9.0, 10.0)], [(600, 3.0, 15.0)], [(200, 3.0, 10.0)])
    assert longer.rate == pytest.approx(32.0), "800 tuples in 25 s: a long round counts for more"


def test_few_tuples_say_nothing_of_a_service_rate(job):
    few, enough = [(MIN_RECORDS - 1, 8.0, 10.0)], [(MIN_RECORDS, 6.0, 10.0)]
    assert fitted(job, "counter", few).service is None
    assert fitted(job, "counter", few, enough).service.value == pytest.approx(5.0)
    assert fitted(job, "counter", [(1000, 0.0, 10.0)]).service is None, "a replica that is never busy"


def test_busy_is_the_busiest_replica_by_its_own_clock(job):
    assert fitted(job, "counter", [(500, 5.0, 10.0), (500, 8.0, 10.0)]).busy == pytest.approx(0.8)
    short = fitted(job, "counter", [(50, 0.25, 0.5, 0.125)])
    assert (short.busy, short.backpressured, short.rate) == pytest.approx((0.5, 0.25, 100.0))
    assert fitted(job, "counter", [(0, 0.0, 10.0)]).busy == 0.0


def test_a_capacity_measured_at_low_load_is_said_to_be_understated_with_the_load(job):
    remarks = remarks_on(job, "counter", window(job, (100, 1.0, 10.0)))
    assert "capacity of counter is probably understated: it was 10% busy; capture at a higher load" in remarks


def test_only_an_input_that_is_split_by_keys_can_be_skewed(job):
    uneven = [(700, 5.0, 10.0), (300, 5.0, 10.0)]
    assert fitted(job, "counter", uneven).skew == pytest.approx(1.4)
    assert fitted(job, "parser", uneven).skew == 1.0
    assert fitted(job, "Sink: writer", uneven).skew == 1.0
    assert fitted(job, "counter", [(0, 0.0, 10.0)] * 2).skew == 1.0
    assert fitted(job, "counter", [(1, 0.0, 10.0), (0, 0.0, 10.0)]).skew == 2.0
    both = fitted(job, "counter", uneven, [(300, 5.0, 10.0), (300, 5.0, 10.0)])
    assert both.skew == pytest.approx(1.25), "of both rounds together"


def test_a_replica_without_a_clock_is_counted_by_that_of_the_engine(job):
    counter = fitted(job, "counter", [(100, 0.0, 0.0), (200, 2.0, 8.0)])
    assert counter.rate == pytest.approx(100 / 10 + 200 / 8)
    assert counter.busy == pytest.approx(0.25)
    assert counter.backpressured == 0.0
    later = fitted(job, "counter", [(100, 0.0, 0.0), (200, 2.0, 8.0)], [(100, 1.0, 10.0)] * 2)
    assert later.rate == pytest.approx((35.0 + 20.0) / 2), "the engine's ten seconds count for as much as the replicas'"
    still = fitted(job, "counter", window(job, (0, 0.0, 0.0), seconds=0.0))
    assert (still.rate, still.busy, still.backpressured, still.selectivity) == (0.0, None, 0.0, 0.0)


def test_an_engine_that_does_not_measure_busy_time_leaves_rates_only(job):
    unmeasured = replace(window(job, (300, 0.0, 10.0)), seconds=15.0)
    silent = replace(unmeasured, subtasks=tuple(replace(one, busy=None) for one in unmeasured.subtasks))
    counter = fitted(job, "counter", silent)
    assert counter.rate == pytest.approx(20.0)
    assert (counter.busy, counter.service, counter.method, counter.capacities) == (None, None, None, ())
    assert any("service rate of counter is not known" in remark for remark in remarks_on(job, "counter", silent))
    assert not any("is not known" in remark for remark in fit_job(job).remarks)


def test_waiting_is_that_of_the_replica_that_waits_most_over_all_that_is_recent(job):
    earlier, last = [(0, 1.0, 10.0, 6.0), (0, 1.0, 10.0, 0.0)], [(0, 1.0, 10.0, 0.0), (0, 1.0, 10.0, 2.0)]
    assert fitted(job, "Source: reader", earlier, last).backpressured == pytest.approx(0.3)


@pytest.mark.parametrize(("waits", "said"), [(1.0, False), (1.1, True)])  # of ten seconds
def test_a_source_that_waits_for_others_is_said_to_offer_more(job, waits, said):
    remarks = remarks_on(job, "Source: reader", window(job, (1000, 1.0, 10.0, waits)))
    assert any(remark.startswith("Source: reader waits for those after it") for remark in remarks) is said


def test_the_newest_rescales_say_how_long_stopping_takes(job):
    (sample,) = job.rescales

    def restart(*stopped):
        rescales = tuple(replace(sample, stopped=seconds) for seconds in stopped)
        return fit_job(replace(job, rescales=rescales)).restart.value

    deploying = restart(0.2) - 0.2
    assert restart(*[0.4] * 5, 9.0, 9.0) - deploying == pytest.approx(0.4)
    assert restart(None, *[0.4] * 5, 9.0) - deploying == pytest.approx(0.4), "one that does not tell takes no turn"
    assert restart(9.0, *[0.4] * 5) - deploying > 0.5


def test_without_a_rescale_the_time_to_stop_is_assumed_and_that_is_said(job):
    assumed, operators = Estimate(0.3, 0.1, 1.0), [replace(one, start_seconds=(0.0, 0.0)) for one in job.operators]
    assert fit_job(replace(job, rescales=(), operators=tuple(operators))).restart == assumed
    for rescales, said in (((), True), (job.rescales, False)):
        remarks = fit_job(replace(job, rescales=rescales)).remarks
        assert any("no rescale is remembered" in remark for remark in remarks) is said


def test_a_restart_takes_as_long_as_the_operator_that_takes_longest(job):
    times = {"Source: reader": (0.5, 0.0), "parser": (0.1, 0.2), "counter": (0.3, 0.4), "Sink: writer": (0.1, 0.55)}
    operators = tuple(replace(one, start_seconds=times[one.name]) for one in job.operators)
    fit = fit_job(replace(job, operators=operators))
    assert (fit.restart.value, fit.restore.value) == pytest.approx((0.2 + 0.3, 0.4))
    stopping, deploying = next_duration([0.2]), next_duration([0.3])
    assert fit.restart.low == pytest.approx(stopping.low + deploying.low)
    assert fit.restart.high == pytest.approx(stopping.high + deploying.high)
    stateless = fit_job(replace(job, operators=tuple(replace(one, start_seconds=(0.3, 0.0)) for one in job.operators)))
    assert stateless.restore == Estimate(0.0, 0.0, 0.0)


def joined(*operators):
    """Streams by their ends: sources send 80 tuples/s each."""
    fit = fit_job(observed(FakeFlink([FakeOperator(*one, **more) for *one, more in operators], rates=(80.0,))))
    return {(stream.source, stream.target): stream for stream in fit.streams}


def test_an_input_of_a_join_whose_source_feeds_others_too_is_what_the_others_leave():
    streams = joined(
        ("Source: shared", {}),
        ("Source: own", {"selectivity": 0.25}),
        ("log", {"inputs": (("Source: shared", "REBALANCE"),)}),
        ("filter", {"selectivity": 0.25, "inputs": (("Source: own", "FORWARD"),)}),
        ("join", {"inputs": (("Source: shared", "HASH"), ("filter", "HASH"))}),
    )
    rates = {ends: stream.rate for ends, stream in streams.items()}
    assert rates["filter", "join"] == pytest.approx(5.0, rel=1e-2)
    assert rates["Source: shared", "join"] == pytest.approx(80.0, rel=1e-2)
    assert rates["Source: shared", "log"] == pytest.approx(80.0, rel=1e-2)
    assert [stream.bytes_per_tuple for stream in streams.values()] == pytest.approx([37.0] * 4, rel=1e-2)


def test_inputs_that_cannot_be_told_apart_are_taken_for_equal():
    streams = joined(
        ("Source: one", {}),
        ("Source: two", {}),
        ("Source: own", {}),
        ("filter", {"selectivity": 0.25, "inputs": (("Source: own", "FORWARD"),)}),
        ("log", {"inputs": (("Source: one", "REBALANCE"), ("Source: two", "REBALANCE"))}),
        ("join", {"inputs": (("Source: one", "HASH"), ("Source: two", "HASH"), ("filter", "HASH"))}),
    )
    assert streams["Source: one", "log"].rate == pytest.approx(80.0, rel=1e-2)
    assert streams["Source: one", "join"].rate == pytest.approx(80.0, rel=1e-2)
    assert streams["Source: two", "join"].rate == pytest.approx(80.0, rel=1e-2)
    assert streams["filter", "join"].rate == pytest.approx(20.0, rel=1e-2)


def test_a_join_that_receives_less_than_one_input_sends_has_nothing_of_the_other():
    operators = [
        FakeOperator("Source: shared"),
        FakeOperator("Source: own"),
        FakeOperator("log", inputs=(("Source: shared", "REBALANCE"),)),
        FakeOperator("join", inputs=(("Source: shared", "HASH"), ("Source: own", "HASH"))),
    ]
    seen = observed(FakeFlink(operators, rates=(80.0,)))
    behind = tuple(
        replace(one, windows=(window(seen, (500, 5.0, 10.0)),)) if one.name == "join" else one for one in seen.operators
    )
    rates = {(s.source, s.target): s.rate for s in fit_job(replace(seen, operators=behind)).streams}
    assert rates["Source: shared", "join"] == 0.0


def test_tuples_of_the_last_round_say_how_large_they_are(job):
    def sized(received, size):
        one = window(job, (received, 1.0, 10.0))
        return replace(one, subtasks=tuple(replace(two, bytes_in=received * size) for two in one.subtasks))

    def size_of(*windows):
        operators = [replace(one, windows=windows) if one.name == "counter" else one for one in job.operators]
        streams = fit_job(replace(job, operators=tuple(operators))).streams
        return next(stream.bytes_per_tuple for stream in streams if stream.target == "counter")

    assert size_of(sized(100, 50), sized(200, 80)) == pytest.approx(80.0)
    assert size_of(sized(0, 0)) == 0.0


def test_an_even_load_and_a_single_replica_need_no_remark_on_skew(job):
    def said(*replicas):
        return any("times the mean" in remark for remark in remarks_on(job, "counter", window(job, *replicas)))

    assert said((700, 5.0, 10.0), (300, 5.0, 10.0))
    assert not said((500, 5.0, 10.0), (500, 5.0, 10.0))
    assert not said((500, 5.0, 10.0))


def test_a_single_round_is_said_to_be_a_mean_since_the_start(job):
    since = replace(window(job, (1000, 5.0, 10.0)), since_start=True)
    assert any("one round of counters only" in remark for remark in remarks_on(job, "counter", since))
    assert not any("one round of counters only" in remark for remark in fit_job(job).remarks)


def test_few_key_groups_per_replica_are_dealt_out_one_by_one(job):
    half = [(500, 5.0, 10.0)] * 2
    assert fitted(job, "counter", half, max_parallelism=15).groups is not None
    assert fitted(job, "counter", half, max_parallelism=16).groups is None  # eight a replica


def test_only_an_operator_that_receives_less_than_is_sent_to_it_piles_up(job):
    full = window(job, (1000, 10.0, 10.0))
    assert not any("piles up" in remark for remark in remarks_on(job, "counter", full))
    slow = window(job, (700, 10.0, 10.0))
    assert any("receives 70 tuples/s, and the rest of its load" in remark for remark in remarks_on(job, "counter", slow))


def test_rates_that_busy_time_explains_are_no_sign_of_waiting(job):
    """A full replica serves 100/s, one at 20 % would serve 100/s or, where it waits without being busy, more than twice that."""
    assert not fitted(job, "parser", [(1000, 10.0, 10.0), (200, 2.0, 10.0)]).asynchronous
    assert fitted(job, "parser", [(1000, 10.0, 10.0), (500, 2.0, 10.0)]).asynchronous
    assert fitted(job, "parser", [(1000, 10.0, 10.0), (500, 2.0, 10.0), (200, 2.0, 10.0)]).asynchronous


def test_a_source_that_is_chained_with_work_and_tells_no_busy_time_is_said_to_be_unknown(job):
    def said(chained):
        reader, *others = job.operators
        reader = replace(reader, chained=chained, windows=(silent,))
        remarks = fit_job(replace(job, operators=(reader, *others))).remarks
        return any("service rate of Source: reader is not known" in remark for remark in remarks)

    sample = job.operators[0].windows[-1]
    silent = replace(sample, subtasks=tuple(replace(one, busy=None) for one in sample.subtasks))
    assert said(2)
    assert not said(1)


def test_one_replica_less_is_a_step_also_where_busy_time_says_little(job):
    """Each of four took 100/s at 5 % busy; of 500/s three get 167 each, more than half as much again and less than twice."""
    parser = fitted(job, "parser", [(1000, 0.5, 10.0)] * 4)
    assert cautious_replicas(parser, Goals()) == 3
    assert cautious_replicas(parser, Goals(rate_factor=1.25)) == 3
    assert cautious_replicas(parser, Goals(rate_factor=1.75)) == 4
