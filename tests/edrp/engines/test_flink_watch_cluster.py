"""`edrp watch flink --apply` on real clusters of Flink: `make test-flink`."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.rest import wait_until
from edrp.validation.flink.lab.build import ENTRY_CLASS
from edrp.validation.flink.lab.job import LabRun, LabSettings

sys.path.append(str(Path(__file__).parent))

from real_flink import ON_REAL_FLINK

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
