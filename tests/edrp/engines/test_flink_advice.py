"""`edrp advise flink`: what to change, what it brings and costs, and the calls that do it."""

import json
import re
from types import SimpleNamespace

import pytest
from fake_flink import FakeFlink, serving, word_count
from test_flink_fit import fitted

from edrp.cli.display.advice import proof_sentence
from edrp.engines.advice import advise
from edrp.engines.errors import EngineError
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.calls import plan_calls
from edrp.engines.goals import Goals
from edrp.engines.protocol import get_engine

QUICK = ("--seconds", "0.02", "--every", "0.01")


@pytest.fixture
def advised(run):
    def call(flink, *options):
        with serving(flink) as address:
            return run("advise", "flink", "--rest", address, *QUICK, *options)

    return call


def words(result):
    return " ".join(result.out.split())


def row(result, operator):
    return next(line.split() for line in result.out.splitlines() if line.startswith(operator))


def test_an_operator_that_is_too_busy_gets_a_replica(advised):
    flink = FakeFlink(rates=(180.0,))
    result = advised(flink)
    assert result.code == 0, result.err
    assert row(result, "counter")[1:4] == ["1", "2", "90%"]
    assert "repair: what runs breaks busy_limit: counter is 90% busy against 80%" in words(result)
    assert {method for method, _ in flink.asked} == {"GET"}
    body = re.search(r"-X PUT .* -d '(.*)' http", result.out)[1]
    assert json.loads(body)[flink.key("counter")] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}


def test_what_is_well_is_kept_without_calls(advised):
    result = advised(FakeFlink(rates=(140.0,)))
    assert "keep: no better plan was found" in words(result)
    assert "curl" not in result.out


def test_too_many_replicas_are_given_back_when_that_pays():
    fit = fitted(FakeFlink(word_count(counter={"replicas": 4}), rates=(300.0,)))
    assert advise(fit).verdict == "move"
    assert advise(fit).plan.degree("counter") == 2
    dear = Goals().replace(policy=Goals().policy.replace(downtime_worth=1e6))
    kept = advise(fit, dear)
    assert (kept.verdict, kept.plan.degree("counter")) == ("keep", 2)
    assert kept.price > kept.gain > 0


def test_downtime_is_the_sum_of_its_parts():
    downtime = advise(fitted(FakeFlink(rates=(180.0,)))).downtime
    assert downtime.live
    assert downtime.silence.value == pytest.approx(downtime.restart.value + downtime.restore.value)
    assert downtime.checkpoint_wait.high == 5.0  # the interval, which is less than the engine waits at most
    restarted = advise(fitted(FakeFlink(rates=(180.0,), scheduler="Default"))).downtime
    assert not restarted.live
    assert restarted.silence.value > restarted.restart.value + restarted.restore.value


def test_the_default_scheduler_is_restarted_with_a_savepoint_and_told_the_places(advised):
    result = advised(FakeFlink(rates=(180.0,), scheduler="Default"))
    assert "changes need a restart" in words(result)
    assert "/stop" in result.out
    assert "pipeline.jobvertex-parallelism-overrides" in result.out
    assert re.search(r"counter: 2 on tm-[ab]|counter: 1 on tm-a, 1 on tm-b", result.out)


def test_network_decides_places(tmp_path, advised):
    """The counter runs far from what sends to it; a restart brings all together."""
    network = {"nodes": [{"name": "tm-a"}, {"name": "tm-b"}], "links": [{"source": "tm-a", "target": "tm-b", "delay": 0.05}]}
    (tmp_path / "network.json").write_text(json.dumps(network))
    flink = FakeFlink(word_count(counter={"node": "tm-b"}), rates=(100.0,), scheduler="Default")
    result = advised(flink, "--network", tmp_path / "network.json")
    assert result.code == 0, result.err
    places = {row(result, name)[-2] for name in ("parser", "counter")}
    assert len(places) == 1
    network["nodes"][1]["name"] = "tm-c"
    network["links"][0]["target"] = "tm-c"
    (tmp_path / "network.json").write_text(json.dumps(network))
    result = advised(flink, "--network", tmp_path / "network.json")
    assert result.code == 2
    assert "is no node of the cluster" in " ".join(result.err.split())
    assert "describe every TaskManager" in " ".join(result.err.split())


def test_goals_bound_replicas_and_raise_the_load(tmp_path, advised):
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"rate_factor": 2.0, "operators": {"parser": {"min_replicas": 3}}}))
    result = advised(FakeFlink(rates=(150.0,)), "--goals", goals)
    assert [row(result, name)[2] for name in ("parser", "counter")] == ["3", "2"]
    goals.write_text(json.dumps({"busy_limit": 1.5, "operators": {"parsr": {}}}))
    assert "busy_limit" in advised(FakeFlink(), "--goals", goals).err
    goals.write_text(json.dumps({"policy": {"horizon": 60, "method": "highs", "time_limit": 5, "parameters": {}}}))
    refused = advised(FakeFlink(), "--goals", goals).err
    for field in ("method", "time_limit", "parameters"):
        assert f"policy.{field}" in refused
    assert "unknown field; there are horizon, downtime_worth, hysteresis" in " ".join(refused.split())
    goals.write_text(json.dumps({"operators": {"parsr": {}}}))
    refused = advised(FakeFlink(), "--goals", goals)
    assert refused.code == 2
    assert "parser" in refused.err


def test_the_autoscalers_rule():
    """By hand: 2 · 0.9 / 0.7 = 2.6; nothing changes between 40 and 100 % busy; keyed operators get a divisor of 128."""
    assert autoscaler_replicas(fitted(FakeFlink(rates=(180.0,))))["counter"] == 1
    idle = fitted(FakeFlink(word_count(counter={"replicas": 8}, parser={"replicas": 8}), rates=(400.0,)))
    assert autoscaler_replicas(idle)["counter"] == 4  # 8 · 0.25 / 0.7 = 2.86, at most 60 % less at once: 4
    assert autoscaler_replicas(idle)["parser"] == 4
    assert autoscaler_replicas(fitted(FakeFlink(word_count(counter={"replicas": 3}), rates=(540.0,))), 1.5)["counter"] == 8


def test_calls_never_ask_for_fewer_than_the_lower_bound_allows():
    fit = fitted(FakeFlink(rates=(180.0,)))
    lines = plan_calls(fit.observation, advise(fit).plan, "http://jobmanager:8081")
    order = [line.split()[-1].rpartition("/")[2] for line in lines if line.startswith("curl")]
    assert order == ["checkpoints", "REQUEST_ID", "resource-requirements"]


def test_the_page_holds_the_plan_and_fetches_nothing(advised, tmp_path):
    page = tmp_path / "advice.html"
    assert advised(FakeFlink(rates=(180.0,)), "--html", page).code == 0
    text = page.read_text()
    assert "counter is 90% busy against 80%" in text
    assert "resource-requirements" in text
    assert "None of them has been sent" in text
    assert not re.search(r"(src|href)=.http", text)
    refused = advised(FakeFlink(), "--html", page)
    assert refused.code == 2
    assert "--force" in refused.err


def test_engines_have_names():
    with pytest.raises(EngineError, match="flinc: is no engine"):
        get_engine("flinc")


def test_either_a_capture_or_an_address(run):
    assert "give either a capture or --rest" in " ".join(run("advise", "flink").err.split())


@pytest.mark.parametrize(
    ("status", "stopped", "gap", "said"),
    [
        ("optimal", "finished", 0.0, "The plan is the best of the model, as highs has proven."),
        ("feasible", "work_limit", 0.032, "may be better in the objective by 3.2 %, not by more (the work limit came first)."),
        ("feasible", "finished", None, "it keeps all limits, but a better one may exist."),
    ],
)
def test_a_plan_says_how_far_it_may_be_from_the_best(status, stopped, gap, said):
    solution = SimpleNamespace(kind="edrp-solution", method="auto: highs", status=status, stopped_because=stopped, gap=gap)
    assert said in proof_sentence(SimpleNamespace(keyed=None, verdict="move", solution=solution))
