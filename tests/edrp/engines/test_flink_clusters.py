"""Longer runs on real clusters of Flink: `make test-flink`."""

import json
import re
import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.applying import PlannedChange, RestartableProgram, WatchSettings
from edrp.engines.clock import SystemClock
from edrp.engines.errors import EngineError
from edrp.engines.flink.calls import plan_calls
from edrp.engines.flink.engine import FLINK
from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.configuration import JOB_MANAGER
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.processes import ProcessGroup
from edrp.engines.flink.local.rest import wait_until
from edrp.placement.deployment import Deployment
from edrp.validation.flink.lab.build import LAB
from edrp.validation.flink.lab.job import LabRun, LabSettings

pytestmark = ON_REAL_FLINK


def wait_for_tuples(run: LabRun, since: int, count: int) -> None:
    """Wait until `count` tuples that arrived since a time have been measured."""

    def look() -> bool | None:
        return sum(bucket.tuples for bucket in run.buckets(since)) >= count or None

    wait_until(look, 60.0, f"measures no {count} tuples", "writer")


def test_a_deployment_is_carried_out_exactly_and_goes_on_from_its_savepoint():
    """Places by resources of nodes that start next to the old ones, savepoint, run, and the old ones stop."""
    first = LabSettings(pinned=True, keys=20)
    node = LocalNode(slots=8, resources={"reader": 1, "parser": 1, "counter": 1, "writer": 1})
    with LocalFlink({"old": node}, scheduler="default") as flink:
        run = LabRun(flink, first)
        started = now_ms()
        assert {place for places in run.job.places().values() for place in places} == {"old"}
        wait_for_tuples(run, 0, 100)
        flink.start_node("near", LocalNode(slots=8, resources={"reader": 1, "parser": 1, "counter": 2}))
        flink.start_node("far", LocalNode(slots=8, resources={"counter": 1, "writer": 1}))
        savepoint = run.job.stop_with_savepoint()
        flink.stop_node("old")
        run.start(replace(first, replicas={"counter": 3}), savepoint)
        begin = now_ms()
        places = run.job.places()
        assert sorted(places["counter"]) == ["far", "near", "near"]
        assert places["parser"] == ["near"]
        assert places["writer: Writer"] == ["far"]
        wait_for_tuples(run, begin, 100)
        due = (now_ms() - started) / 1000 * first.rate
        assert sum(bucket.tuples for bucket in run.buckets()) <= due + 1  # from the beginning, tuples would come twice


def test_the_block_of_the_tutorial_does_what_it_says(capsys):
    """Two counters after the rescale, and a measurement of the writer."""
    page = Path(__file__).parents[3] / "docs" / "tutorials" / "flink.md"
    (block,) = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block, page.name, "exec"), {})
    printed = capsys.readouterr().out
    assert re.search(r"'counter': \['(edge|cloud)', '(edge|cloud)'\]", printed)
    assert "Bucket(first=" in printed


pytestmark = ON_REAL_FLINK

SERVICE = {"counter": 0.01, "parser": 0.001}
"""The counter takes 100 tuples/s on one replica, and gets 85."""


@pytest.fixture
def started():
    """Start a cluster and a job that has processed a few hundred tuples."""
    with ExitStack() as stack:

        def start(nodes, lab, **options):
            flink = stack.enter_context(LocalFlink(nodes, **options))
            job = LabRun(flink, lab)
            wait_until(lambda: sum(b.tuples for b in job.buckets()) >= 500 or None, 90.0, "measures no 500 tuples", "writer")
            return flink, job

        yield start


def watch(run, flink, journal, *options):
    limits = ("--max-downtime", "60", "--cooldown", "600", "--replicas", "1:3", "--every", "10", "--rounds", "3")
    result = run("watch", "flink", "--rest", flink.address, "--journal", journal, *limits, *options).ended(0)
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    steps = [entry["step"] for entry in entries if entry["kind"] == "action"]
    assert steps[-1] == "done", result.out
    observed = [entry["operators"]["counter"] for entry in entries if entry["kind"] == "observation"]
    # On a busy machine the first round may see too little to act on.
    assert observed[0]["replicas"] < observed[-1]["replicas"]
    assert observed[0]["busy"] > observed[-1]["busy"]
    return entries


def test_a_busy_job_is_rescaled_live(run, started, tmp_path):
    flink, job = started({"a": 4, "b": 4}, LabSettings(rate=85, service=SERVICE))
    entries = watch(run, flink, tmp_path / "run.jsonl", "--apply", "rescale")
    assert job.job.replicas()["counter"] > 1
    assert job.job.key == entries[0]["key"]  # the same job goes on


def test_a_busy_job_is_redeployed_where_its_resources_are(run, started, tmp_path):
    node = LocalNode(slots=8, resources={"reader": 1, "parser": 1, "counter": 2, "writer": 1})
    settings = LabSettings(rate=85, service=SERVICE, replicas={"counter": 1}, pinned=True)
    flink, _ = started({"a": node}, settings, scheduler="default")
    words = settings.arguments(next(flink.folder.glob("chain-*")))
    words[words.index("--counter.replicas") + 1] = "{replicas:counter}"
    jar = flink.rest.get("/jars")["files"][0]["id"]
    program = ("--program", jar, "--entry-class", LAB.entry, "--savepoints", f"file://{flink.folder}/checkpoints")
    demands = ("--demand", "Source: reader=reader", "--demand", "writer: Writer=writer")
    arguments = [f"--program-arg={word}" for word in words]
    entries = watch(run, flink, tmp_path / "run.jsonl", "--apply", "redeploy", *program, *demands, *arguments)
    (savepoint,) = [entry for entry in entries if entry.get("step") == "savepoint"]
    (body,) = [entry["body"] for entry in entries if entry.get("step") == "run"]
    assert body["savepointPath"] == savepoint["location"]
    states = {row["jid"]: row["state"] for row in flink.rest.get("/jobs/overview")["jobs"]}
    assert sorted(states.values()) == ["FINISHED", "RUNNING"]


def with_counters(seen, replicas):
    """The deployment that is observed, with `replicas` counters."""
    nodes = {operator.name: operator.nodes for operator in seen.operators}
    return Deployment({**nodes, "counter": (nodes["counter"] * replicas)[:replicas]})


SLOW_TO_RESCALE = {"jobmanager.adaptive-scheduler.rescale-trigger.max-delay": "10 s"}


def test_a_rescale_waits_for_no_checkpoint_of_its_own_accord(started):
    """Checkpoints come every minute, and Flink waits 10 s for one: it is triggered, and next to nothing is replayed."""
    rate = 290.0
    flink, run = started({"a": 4}, LabSettings(rate=rate, keys=200, checkpoint_interval=60.0), settings=SLOW_TO_RESCALE)
    run.job.checkpoint()
    job = FLINK.running_job(flink.address, WatchSettings(every=2.0), SystemClock())
    lines: list[str] = []
    for replicas, undo in ((2, ()), (1, ()), (2, ("undo",))):
        seen = job.observe(None)
        first, arrived = run.buckets()[-1].last, sum(bucket.tuples for bucket in run.buckets())
        begin, steps = now_ms(), []
        if (replicas == 1 or undo) and shutil.which("curl"):
            lines = lines or plan_calls(seen, with_counters(seen, 1), flink.address)
            done = subprocess.run(["sh", "-s", *undo], input="\n".join(lines), text=True, check=False, capture_output=True)
            assert (done.returncode, done.stderr) == (0, "")
        else:
            job.apply(PlannedChange(seen, with_counters(seen, replicas), 60.0), lambda step, **facts: steps.append(step))  # noqa: B023
            assert steps[:2] == ["requirements", "checkpoint"]
        run.job.wait_until_running({"counter": replicas})
        wait_for_tuples(run, now_ms(), 300)
        history = flink.rest.get(f"/jobs/{run.job.key}/rescales/history")
        newest = next(row for row in history if row["terminalState"] == "COMPLETED")
        due = rate * (run.buckets()[-1].last - first) / 1000
        replayed = sum(bucket.tuples for bucket in run.buckets()) - arrived - due
        seconds = (newest["endTimestampInMillis"] - begin) / 1000
        assert seconds < 10.0
        assert replayed < rate * 5.0  # 2,900 and more, had it waited


def program_of(flink, settings):
    """The job of the lab as a program that is started again."""
    words = settings.arguments(next(flink.folder.glob("chain-*")))
    words[words.index("--counter.replicas") + 1] = "{replicas:counter}"
    jar = flink.rest.get("/jars")["files"][0]["id"]
    return RestartableProgram(jar, f"file://{flink.folder}/checkpoints", LAB.entry, tuple(words))


def test_a_job_whose_slots_another_takes_runs_as_before(started):
    """One of four slots is the job's, another job has one, and takes the rest while the job is stopped."""
    settings = LabSettings(rate=85, service=SERVICE, replicas={"counter": 1})
    flink, run = started({"a": 4}, settings, scheduler="default")
    other = LabRun(flink, LabSettings(topology="fan-out", rate=1.0))
    program = program_of(flink, settings)
    job = FLINK.running_job(flink.address, WatchSettings(run.job.key, 2.0, program), SystemClock())
    seen = job.observe(run.job.key)
    assert (seen.own_slots, seen.open_slots) == ({"a": 1}, {"a": 3})
    with pytest.raises(EngineError, match="the plan needs 4 slots; the job has 1, and 2 are free; start TaskManagers; nothing"):
        job.apply(PlannedChange(seen, with_counters(seen, 4), 60.0), lambda step, **facts: None)
    assert run.job.state() == "RUNNING"
    keys = []

    def note(step, **facts):
        if step == "savepoint":
            wait_until(lambda: flink.rest.get("/taskmanagers")["taskmanagers"][0]["freeSlots"] == 3 or None, 60.0, "slots", "a")
            LabRun(flink, LabSettings(topology="fan-out", rate=1.0, replicas={"counter": 2}))
        keys.extend([facts["key"]] if step == "started" else [])

    begin = now_ms()
    with pytest.raises(EngineError, match=r"the new plan did not run .*; the job runs as before"):
        job.apply(PlannedChange(seen, with_counters(seen, 2), 8.0), note)
    states = {row["jid"]: row["state"] for row in flink.rest.get("/jobs/overview")["jobs"]}
    assert [states[key] for key in (run.job.key, *keys, other.job.key)] == ["FINISHED", "CANCELED", "RUNNING", "RUNNING"]
    assert {len(operator.nodes) for operator in job.observe(keys[1]).operators} == {1}
    wait_for_tuples(run, begin, 500)


@pytest.fixture
def reactive(tmp_path, monkeypatch):
    """A cluster of one application in reactive mode, the only one that has it; "first" of its nodes has two slots."""
    (tmp_path / "rates.txt").write_text(f"{now_ms()} 100\n", encoding="ascii")
    start = ProcessGroup.start

    def start_application(self, name, command, *rest):
        """The job and its classes belong to the cluster."""
        words = [f"{word}:{LAB.jar}" if before == "-cp" else word for before, word in zip(["", *command], command, strict=False)]
        if JOB_MANAGER in words:
            words[words.index(JOB_MANAGER)] = "org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint"
            words += ["--job-classname", LAB.entry, *LabSettings(keys=20).arguments(tmp_path)]
        return start(self, name, words, *rest)

    monkeypatch.setattr(ProcessGroup, "start", start_application)
    with LocalFlink({"first": 2}, settings={"scheduler-mode": "reactive"}) as flink:
        yield flink


def test_reactive_mode_is_seen_before_anything_is_asked_for(run, reactive, tmp_path):
    def all_run():
        jobs = reactive.rest.get("/jobs/overview")["jobs"]
        return next((row["jid"] for row in jobs if row["tasks"]["running"] == row["tasks"]["total"] > 0), None)

    key = wait_until(all_run, 90.0, "runs no application", "reactive")
    requirements = reactive.rest.get(f"/jobs/{key}/resource-requirements")
    with pytest.raises(EngineError, match="HTTP 500"):
        reactive.rest.put(f"/jobs/{key}/resource-requirements", requirements)
    result = run("advise", "flink", "--rest", reactive.address, "--seconds", "10", "--out", tmp_path / "advice")
    assert "replicas follow the slots (reactive mode)" in result.out, result.err
    assert "curl" not in (tmp_path / "advice" / "calls.sh").read_text()
    watched = ("--journal", tmp_path / "run.jsonl", "--every", "10", "--rounds", "1")
    limits = ("--apply", "rescale", "--max-downtime", "60", "--cooldown", "600", "--replicas", "1:3")
    result = run("watch", "flink", "--rest", reactive.address, *watched, *limits).ended(0)
    assert "replicas follow the slots (reactive mode)" in result.out
    assert "requirements" not in [json.loads(line).get("step") for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    reactive.start_node("second", 1)

    def follow() -> bool | None:
        vertices = reactive.rest.get(f"/jobs/{key}")["vertices"]
        return {vertex["parallelism"] for vertex in vertices} == {3} or None

    wait_until(follow, 90.0, "does not follow its slots", "reactive")
