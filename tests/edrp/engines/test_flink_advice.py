"""`edrp advise flink`: what to change, what it brings and costs, and the calls that do it."""

import io
import json
import re
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fake_flink import FakeFlink, serving, word_count
from test_flink_fit import fitted

from edrp.cli.display.jobs import advice_parts, proof_sentence, verdict_sentence
from edrp.cli.terminal import SafeConsole, show
from edrp.engines.advice import advise
from edrp.engines.downtime import predict_downtime
from edrp.engines.errors import EngineError
from edrp.engines.estimates import Estimate
from edrp.engines.flink.autoscaler import aligned_replicas, autoscaler_replicas
from edrp.engines.flink.calls import plan_calls
from edrp.engines.goals import Goals
from edrp.engines.model import slot_clashes
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
    result = advised(flink).ended(0)
    assert row(result, "counter")[1:4] == ["1", "2", "90%"]
    assert "repair: what runs breaks busy_limit: counter is 90% busy against 80%" in words(result)
    assert {method for method, _ in flink.asked} == {"GET"}
    body = re.search(r"rescale '(.*?)' ", result.out)[1]
    assert json.loads(body)[flink.key("counter")] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}


def test_calls_are_never_broken_into_lines():
    """On a narrow terminal: a line that is copied is a whole command."""
    fit = fitted(FakeFlink(rates=(180.0,)))
    advice = advise(fit)
    calls = plan_calls(fit.observation, advice.plan, "http://jobmanager:8081")
    calls = calls[: calls.index("")]  # the functions that every script has are not shown
    shown, files = io.StringIO(), {"calls.sh": [*calls, "", "set -eu"]}
    show(SafeConsole(file=shown, force_terminal=True, width=40), advice_parts(advice, autoscaler_replicas(fit), "it", files))
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in shown.getvalue().splitlines()]
    assert lines[-len(calls) - 1 :] == [*map(str.strip, calls), "…"]


def test_what_is_well_is_kept_without_calls(advised):
    result = advised(FakeFlink(rates=(140.0,)))
    assert "keep: no better plan was found" in words(result)
    assert "calls.sh" not in result.out


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
    assert downtime.checkpoint_wait.value == pytest.approx(0.3 + 0.15)  # until slots are there, and what a checkpoint takes
    assert downtime.replay.value == pytest.approx(0.15)
    assert downtime.replay.high < 1.0  # not all since the last checkpoint
    restarted = advise(fitted(FakeFlink(rates=(180.0,), scheduler="Default"))).downtime
    assert not restarted.live
    assert restarted.silence.value > restarted.restart.value + restarted.restore.value


def test_a_checkpoint_that_comes_too_late_lets_all_since_the_last_be_replayed():
    """Flink waits 10 s for it and then rescales; the last one was up to 5 s, the interval, before the request."""
    fit = fitted(FakeFlink(rates=(180.0,)))
    slow = predict_downtime(replace(fit, checkpoint=Estimate(9.0, 4.0, 12.0)), advise(fit).plan, Goals())
    assert (slow.replay.low, slow.replay.value, slow.replay.high) == pytest.approx((4.0, 9.0, 15.0))
    assert slow.checkpoint_wait.high == 10.0


def test_the_default_scheduler_is_restarted_with_a_savepoint_and_told_the_places(advised):
    result = advised(FakeFlink(rates=(180.0,), scheduler="Default"))
    assert "changes need a restart" in words(result)
    assert 'redeploy \'{"pipeline.jobvertex-parallelism-overrides"' in result.out
    assert re.search(r"counter: 2 on tm-[ab]|counter: 1 on tm-a, 1 on tm-b", result.out)


def test_network_decides_places(tmp_path, advised):
    """The counter runs far from what sends to it; a restart brings all together."""
    network = {"nodes": [{"name": "tm-a"}, {"name": "tm-b"}], "links": [{"source": "tm-a", "target": "tm-b", "delay": 0.05}]}
    (tmp_path / "network.json").write_text(json.dumps(network))
    flink = FakeFlink(word_count(counter={"node": "tm-b"}), rates=(100.0,), scheduler="Default")
    result = advised(flink, "--network", tmp_path / "network.json").ended(0)
    places = {row(result, name)[-2] for name in ("parser", "counter")}
    assert len(places) == 1
    network["nodes"][1]["name"] = "tm-c"
    network["links"][0]["target"] = "tm-c"
    (tmp_path / "network.json").write_text(json.dumps(network))
    result = advised(flink, "--network", tmp_path / "network.json").ended(2)
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
    assert "parser" in advised(FakeFlink(), "--goals", goals).ended(2).err


def test_bounds_that_contradict_are_refused_and_those_out_of_reach_are_told(tmp_path, advised):
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"operators": {"counter": {"min_replicas": 5, "max_replicas": 3}}}))
    refused = " ".join(advised(FakeFlink(), "--goals", goals).ended(2).err.split())
    assert "operators.counter.min_replicas" in refused
    assert "must be at most max_replicas, which is 3" in refused
    goals.write_text(json.dumps({"operators": {"counter": {"min_replicas": 200}}}))
    result = advised(FakeFlink(), "--goals", goals).ended(0)
    assert "counter cannot have the 200 replicas of min_replicas: engine and slots allow 16" in words(result)
    goals.write_text(json.dumps({"operators": {"counter": {"min_replicas": 16}}}))
    assert "of min_replicas" not in words(advised(FakeFlink(), "--goals", goals).ended(0))


def test_the_autoscalers_rule():
    """By hand: 2 · 0.9 / 0.7 = 2.6; nothing changes between 40 and 100 % busy; keyed operators get a divisor of 128."""
    assert autoscaler_replicas(fitted(FakeFlink(rates=(180.0,))))["counter"] == 1
    idle = fitted(FakeFlink(word_count(counter={"replicas": 8}, parser={"replicas": 8}), rates=(400.0,)))
    assert autoscaler_replicas(idle)["counter"] == 4  # 8 · 0.25 / 0.7 = 2.86, at most 60 % less at once: 4
    assert autoscaler_replicas(idle)["parser"] == 4
    busy = fitted(FakeFlink(word_count(counter={"replicas": 3}), rates=(540.0,)))
    assert autoscaler_replicas(busy, 1.5)["counter"] == 7  # 3 · 0.9 · 1.5 / 0.7 = 5.8; 7 have 18 whole key groups each, 6 have 21
    assert autoscaler_replicas(busy, 1.5, version="1.15")["counter"] == 8


def test_the_autoscaler_aligns_to_key_groups_by_its_version():
    """By hand after `JobVertexScaler` of releases 1.9 to 1.15 and `ParallelismAligner` of 1.16, with at most 200 replicas."""

    def aligned(version, cases, groups=128):
        return [aligned_replicas(target, current, groups, version) for target, current in cases]

    cases = [(20, 19), (33, 30), (65, 64), (20, 21), (20, 20)]
    assert aligned("1.16", cases) == [22, 43, 128, 20, 20]
    assert aligned("1.15", cases) == [32, 64, 128, 19, 20]
    assert aligned("1.14", cases) == [32, 64, 128, 32, 32]
    assert aligned("1.9", cases) == [32, 64, 65, 32, 32]
    assert [aligned(version, [(30, 20), (65, 64)], 125) for version in ("1.9", "1.10")] == [[30, 65], [25, 125]]
    assert [aligned(version, [(150, 99), (150, 149)], 1009) for version in ("1.15", "1.16")] == [[145, 149], [169, 169]]


def test_the_column_of_the_autoscaler_says_its_version(advised, tmp_path):
    flink = FakeFlink(word_count(counter={"replicas": 3}), rates=(620.0,))
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"autoscaler": "1.15", "rate_factor": 1.5}))
    older, newest = advised(flink, "--goals", goals).out, advised(FakeFlink(rates=(180.0,))).out
    assert " ".join(older.splitlines()[1].split()).endswith("where autoscaler 1.15")
    assert "The rule of Flink's autoscaler 1.16 differs" in newest
    goals.write_text(json.dumps({"autoscaler": "1.99"}))
    assert "'1.9', '1.10'" in advised(flink, "--goals", goals).err


def test_the_page_holds_the_plan_and_fetches_nothing(advised, tmp_path):
    page = tmp_path / "advice.html"
    assert advised(FakeFlink(rates=(180.0,)), "--html", page).code == 0
    text = page.read_text()
    assert "counter is 90% busy against 80%" in text
    assert "resource-requirements" in text
    assert "None of them has been sent" in text
    assert not re.search(r"(src|href)=.http", text)
    assert "--force" in advised(FakeFlink(), "--html", page).ended(2).err


GROUPS = {"parser": {"group": "p"}, "counter": {"group": "c", "service_rate": 400.0}, "Sink: writer": {"group": "c"}}


def on_one_node(slots, **goals):
    """Advice for four times the load: four parsers and four counters are needed."""
    flink = FakeFlink(word_count(**GROUPS), rates=(300.0,), slots=slots, managers=("tm-a",))
    return advise(fitted(flink), Goals(rate_factor=4.0, **goals))


def test_slots_that_do_not_suffice_are_told_by_the_operators_that_need_them():
    """One operator of each slot-sharing group, the one that needs most; in the model there is a resource for each choice."""
    advice = on_one_node(8)
    needed = "slots: 1 of Source: reader + 4 of parser + 4 of counter are needed, 9 in all, and the job may have 8"
    assert needed in advice.short["parser"]
    assert advice.verdict == "repair"
    assert {operator.name: operator.proposed for operator in advice.operators}["counter"] == 4


def test_slots_that_suffice_are_no_reason():
    advice = on_one_node(9, response_time=0.001)
    assert advice.verdict == "stuck"
    assert "there is no plan: limits.response_time: 0.001 s; it is at least" in verdict_sentence(advice)
    assert not advice.short


def test_of_slots_that_were_not_examined_none_is_named():
    """Where there was no time to find out which of them are needed."""
    fit = fitted(FakeFlink(word_count(**GROUPS), rates=(300.0,)))
    problem, names = advise(fit).problem, [f"slots {number} of the nodes: the nodes offer 16 in all" for number in (1, 2)]
    assert slot_clashes(fit.observation, problem, ["limits.cost: 1", *names]) == ("limits.cost: 1", "slots: the job may have 16")
    (told,) = slot_clashes(fit.observation, problem, names[:1])
    assert told == "slots for Source: reader + parser + counter: the nodes offer 16 in all"


REACTIVE = {"/jobmanager/config": [{"key": "s3.secret", "value": "xyzzy"}, {"key": "scheduler-mode", "value": "REACTIVE"}]}


def reactive(**fields):
    """A cluster in reactive mode, which says that its web interface cannot rescale."""
    config = {"flink-version": "2.3.0", "features": {"web-rescale": False}}
    return FakeFlink(instead={**REACTIVE, "/config": config}, **fields)


def test_reactive_mode_is_said_and_nothing_is_asked_for(advised, tmp_path):
    result = advised(reactive(rates=(180.0,)), "--out", tmp_path / "advice").ended(0)
    assert "replicas follow the slots (reactive mode) and cannot be asked for" in words(result)
    assert "until the job has 2 slots; it has 1" in words(result)
    assert "curl" not in (tmp_path / "advice" / "calls.sh").read_text()
    assert "spec: taskManager: replicas: 1" in " ".join((tmp_path / "advice" / "flinkdeployment.yaml").read_text().split())


def test_what_is_written_is_named_and_does_nothing_where_all_is_to_be_kept(advised, tmp_path):
    """Also over an earlier advice: nobody makes a change that is advised no longer."""
    result = advised(FakeFlink(rates=(180.0,)), "--out", tmp_path)
    assert f"To make the change: sh {tmp_path}/calls.sh; to undo it: sh {tmp_path}/calls.sh undo." in words(result)
    assert f"--patch-file {tmp_path}/flinkdeployment.yaml" in words(result)
    assert "rescale" in (tmp_path / "calls.sh").read_text()
    kept = advised(FakeFlink(rates=(140.0,)), "--out", tmp_path)
    assert "To make the change" not in kept.out
    assert "rescale" not in (tmp_path / "calls.sh").read_text()
    assert "spec:" not in (tmp_path / "flinkdeployment.yaml").read_text()


def test_of_the_configuration_only_the_mode_is_asked_for_and_only_where_it_is_in_doubt(run, tmp_path):
    capture = tmp_path / "words.zip"
    with serving(reactive()) as address:
        assert run("capture", "flink", "--rest", address, *QUICK, "-o", capture).code == 0
    assert b"xyzzy" not in b"".join(zipfile.ZipFile(capture).read(name) for name in ("capture.json", "answers.jsonl"))
    assert "reactive mode" in run("advise", "flink", capture).out
    flink = FakeFlink(instead={"/config": {"flink-version": "2.3.0", "features": {"web-rescale": True}}})
    with serving(flink) as address:
        assert "replicas can change live" in run("advise", "flink", "--rest", address, *QUICK).out
    assert "/jobmanager/config" not in [path for _, path in flink.asked]
    guarded = reactive()
    guarded.instead["/jobmanager/config"] = 403
    with serving(guarded) as address:
        assert run("advise", "flink", "--rest", address, *QUICK).code == 0


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
