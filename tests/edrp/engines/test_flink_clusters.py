"""Longer runs on real clusters of Flink: `make test-flink`."""

import json
import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.validation.flink.lab.build import ENTRY_CLASS
from edrp.validation.flink.lab.job import LabRun, LabSettings

pytestmark = ON_REAL_FLINK


def wait_for_tuples(run: LabRun, since: int, count: int) -> None:
    """Wait until so many tuples that arrived since a time have been measured."""

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

        def start(nodes, settings, **options):
            flink = stack.enter_context(LocalFlink(nodes, **options))
            job = LabRun(flink, settings)
            wait_until(lambda: sum(b.tuples for b in job.buckets()) >= 500 or None, 90.0, "measures no 500 tuples", "writer")
            return flink, job

        yield start


def watch(run, flink, journal, *options):
    limits = ("--max-downtime", "60", "--cooldown", "600", "--replicas", "1:3", "--every", "10", "--rounds", "2")
    result = run("watch", "flink", "--rest", flink.address, "--journal", journal, *limits, *options)
    assert result.code == 0, result.err
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    steps = [entry["step"] for entry in entries if entry["kind"] == "action"]
    assert steps[-1] == "done", result.out
    observed = [entry["operators"]["counter"] for entry in entries if entry["kind"] == "observation"]
    assert observed[0]["replicas"] < observed[1]["replicas"]
    assert observed[0]["busy"] > observed[1]["busy"]
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
    program = ("--program", jar, "--entry-class", ENTRY_CLASS, "--savepoints", f"file://{flink.folder}/checkpoints")
    demands = ("--demand", "Source: reader=reader", "--demand", "writer: Writer=writer")
    arguments = [f"--program-arg={word}" for word in words]
    entries = watch(run, flink, tmp_path / "run.jsonl", "--apply", "redeploy", *program, *demands, *arguments)
    (savepoint,) = [entry for entry in entries if entry.get("step") == "savepoint"]
    (body,) = [entry["body"] for entry in entries if entry.get("step") == "run"]
    assert body["savepointPath"] == savepoint["location"]
    states = {row["jid"]: row["state"] for row in flink.rest.get("/jobs/overview")["jobs"]}
    assert sorted(states.values()) == ["FINISHED", "RUNNING"]
