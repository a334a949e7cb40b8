"""Edges of jobs of Flink: forwarded one to one, several between the same two operators, several of one chain."""

from urllib.parse import unquote

import pytest
from fake_flink import FakeFlink, FakeOperator, serving, word_count
from test_flink_fit import fitted, operator

import edrp
from edrp.engines.advice import advise
from edrp.engines.model import busy_share

FORK = "Source: g[1] -> (Calc[2], Calc[6])"


class Chains(FakeFlink):
    """The first operator is a chain that counts what it sends `repeats` times; its first one sends `share` of what it counts."""

    repeats, tree, share = 3, "", 0.0

    def vertex(self, operator):
        answer = super().vertex(operator)
        if operator is self.operators[0]:
            for subtask in answer["subtasks"]:
                subtask["metrics"]["write-records"] *= self.repeats
        return answer

    def job(self):
        answer = super().job()
        answer["plan"]["nodes"][0]["description"] = self.tree
        return answer

    def answer(self, path):
        listed, _, names = path.partition("?get=")
        if not self.share or not listed.endswith(f"{self.key(self.operators[0].name)}/metrics"):
            return super().answer(path)
        values = {"0.numRecordsOut": "2000", "0.Source__g[1].numRecordsOut": str(2000 * self.share), "0.m.numRecordsOut": "7"}
        return [{"id": name, "value": values[name]} for name in (unquote(names).split(",") if names else values)]


def forking(tree="g<br/>:- Calc<br/>+- Calc<br/>", share=0.0, repeats=3, name=FORK):
    """A source of 200 tuples/s whose chain sends on three streams."""
    targets = [FakeOperator(to, inputs=((name, "HASH"),)) for to in "abc"]
    flink = Chains([FakeOperator(name), *targets], rates=(200.0,))
    flink.tree, flink.share, flink.repeats = tree, share, repeats
    return flink


def test_a_job_without_chaining_is_advised_on(run, tmp_path):
    """Operators are joined one to one; the problem of placement joins all, which is on the safe side."""
    forward = {"inputs": (("Source: reader", "FORWARD"),)}
    flink = FakeFlink(word_count(parser=forward, **{"Sink: writer": {"inputs": (("counter", "FORWARD"),)}}), rates=(180.0,))
    with serving(flink) as address:
        result = run("advise", "flink", "--rest", address, "--seconds", "0.02", "--every", "0.01", "-o", tmp_path / "out")
    assert result.code == 0, result.err
    streams, joined = (edrp.load(tmp_path / "out" / f"{kind}.json").application.streams for kind in ("edrp", "latency-aware"))
    assert [stream.partitioning for stream in streams] == ["forward", "hash", "forward"]
    assert {stream.partitioning for stream in joined} == {"rebalance"}


def test_forwarded_streams_pass_skew_on():
    """Two counters receive 60 and 40 % of the tuples, and so do the writers behind them: the busiest has 1.2 times the mean."""
    counter = {"replicas": 2, "shares": (0.6, 0.4)}
    writer = {"replicas": 2, "shares": (0.6, 0.4), "inputs": (("counter", "FORWARD"),)}
    fit = fitted(FakeFlink(word_count(counter=counter, **{"Sink: writer": writer})))
    assert operator(fit, "Sink: writer").skew == pytest.approx(1.2, rel=1e-2)


@pytest.mark.parametrize("strategy", ["HASH", "CUSTOM", "FOO", ""])
def test_other_ways_to_divide_keep_their_skew_and_unknown_ones_are_told(strategy):
    counter = {"replicas": 2, "shares": (0.6, 0.4), "inputs": (("parser", strategy),)}
    fit = fitted(FakeFlink(word_count(counter=counter)))
    assert operator(fit, "counter").skew == pytest.approx(1.2, rel=1e-2)
    told = [
        remark for remark in fit.remarks if remark.startswith("the stream from parser to counter has an unknown ship_strategy")
    ]
    assert len(told) == (strategy in ("FOO", ""))


def test_of_a_global_stream_more_replicas_take_nothing():
    """By hand: of 180/s the first replica, which serves 200/s, gets all; of 100/s with keys beside 100/s, two get 50 each."""
    counter = {"replicas": 2, "shares": (1.0, 0.0), "inputs": (("parser", "GLOBAL"),)}
    fit = fitted(FakeFlink(word_count(counter=counter), rates=(180.0,)))
    assert [busy_share(operator(fit, "counter"), n, 1.0, 200.0) for n in (1, 2, 5)] == pytest.approx([0.9] * 3, rel=1e-2)
    advice = advise(fit)
    assert (advice.verdict, advice.plan.degree("counter")) == ("stuck", 2)
    assert "of global(), however many there are" in advice.short["counter"]
    assert any(remark.startswith("the stream from parser to counter goes to the first replica alone") for remark in fit.remarks)
    inputs = (("Source: a", "GLOBAL"), ("Source: b", "HASH"))
    join = FakeOperator("join", replicas=2, service_rate=200.0, shares=(0.75, 0.25), inputs=inputs)
    both = fitted(FakeFlink([FakeOperator("Source: a"), FakeOperator("Source: b"), join], rates=(100.0,)))
    assert operator(both, "join").skew == pytest.approx(1.0, rel=1e-2)
    assert [busy_share(operator(both, "join"), n, 1.0, 200.0) for n in (2, 3)] == pytest.approx([0.75, 2 / 3], rel=1e-2)


def test_a_broadcast_next_to_a_hash_is_a_stream_of_its_own():
    """By hand: of 90/s each of three replicas gets 30 and all of 90; of six each gets 15 and all of 90."""
    both = (("m", "HASH"), ("m", "BROADCAST"))
    operators = [
        FakeOperator("Source: src"),
        FakeOperator("m", inputs=(("Source: src", "REBALANCE"),)),
        FakeOperator("b", inputs=(("m", "HASH"),)),
        FakeOperator("e", replicas=3, service_rate=300.0, shares=(2 / 3,) * 3, inputs=both),
    ]
    fit = fitted(FakeFlink(operators, rates=(90.0,)))
    e = operator(fit, "e")
    assert (e.rate, e.load, e.broadcast) == pytest.approx((360.0, 180.0, 90.0), rel=1e-2)
    assert [busy_share(e, replicas, 1.0, 300.0) for replicas in (3, 6)] == pytest.approx([0.4, 0.35], rel=1e-2)
    assert [stream.rate for stream in fit.streams] == pytest.approx([90.0] * 4, rel=1e-2)


def test_two_edges_of_one_kind_carry_all_tuples_twice():
    """As where an operator is joined with itself, next to another input of 30/s."""
    operators = [
        FakeOperator("Source: src"),
        FakeOperator("Source: other", selectivity=1 / 3),
        FakeOperator("join", inputs=(("Source: src", "HASH"), ("Source: src", "HASH"), ("Source: other", "HASH"))),
    ]
    fit = fitted(FakeFlink(operators, rates=(90.0,)))
    rates = {stream.source: stream.rate for stream in fit.streams}
    assert rates == pytest.approx({"Source: src": 180.0, "Source: other": 30.0}, rel=1e-2)


def test_a_chain_that_forks_sends_what_its_largest_stream_carries():
    for tree in ("g<br/>:- Calc<br/>+- Calc<br/>", ""):  # by the name of the chain without
        fit = fitted(forking(tree))
        assert operator(fit, FORK).rate == pytest.approx(200.0, rel=1e-2)
        assert [stream.rate for stream in fit.streams] == pytest.approx([200.0] * 3, rel=1e-2)
        assert f"{FORK} is taken to send what its largest stream carries" in " ".join(fit.remarks)
    fit = fitted(forking("g<br/>+- split<br/>", repeats=1, name="Source: g[1] -> split"))  # which may have side outputs
    assert operator(fit, "Source: g[1] -> split").rate == pytest.approx(200.0, rel=1e-2)


@pytest.mark.parametrize(("tree", "name"), [("g<br/>:- m<br/>+- f<br/>", FORK), ("g<br/>+- m<br/>", "Source: g[1] -> m")])
def test_what_the_first_operator_sends_decides_where_it_is_known(tree, name):
    flink = forking(tree, share=0.25, repeats=4, name=name)
    fit = fitted(flink)
    assert operator(fit, name).rate == pytest.approx(200.0, rel=1e-2)
    assert "largest stream" not in " ".join(fit.remarks)
    asked = next(unquote(path) for _, path in flink.asked if "?get=" in path)
    assert asked.endswith(f"{1:032x}/metrics?get=0.numRecordsOut,0.Source__g[1].numRecordsOut")
