"""Longer runs on real clusters of Flink: `make test-flink`."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.validation.flink.lab.job import LabRun, LabSettings

sys.path.append(str(Path(__file__).parent))

from real_flink import ON_REAL_FLINK

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


def test_operators_move_to_the_nodes_whose_resources_they_are_told_to_demand():
    """As placements over sites are tried: nodes advertise a resource of their own, and nothing is started."""
    with LocalFlink({site: LocalNode(2, {f"at-{site}": 2}) for site in "abc"}, scheduler="default") as flink:
        places = {"reader": "at-a", "parser": "at-b", "counter": "at-c", "writer": "at-c"}
        run = LabRun(flink, LabSettings(pinned=True, keys=20, places=places))
        assert [place for nodes in run.job.places().values() for place in nodes] == ["a", "b", "c", "c"]
        run.redeploy(replace(run.settings, places={**places, "reader": "at-b", "counter": "at-a"}))
        assert [place for nodes in run.job.places().values() for place in nodes] == ["b", "b", "a", "c"]
        wait_for_tuples(run, now_ms(), 100)


def test_a_job_goes_on_elsewhere_when_its_node_stops():
    with LocalFlink({"a": 4, "b": 4}) as flink:
        run = LabRun(flink, LabSettings(rate=50, checkpoint_interval=1.0))
        wait_for_tuples(run, 0, 100)
        (place,) = run.job.places()["counter"]
        begin = now_ms()
        flink.stop_node(place)
        run.job.wait_until_places(lambda places: all(place not in nodes and nodes for nodes in places.values()))
        wait_for_tuples(run, now_ms(), 50)
        assert run.silence(begin) > 0.5  # a restart waits so long


def test_a_delay_between_nodes_is_seen_at_the_writer():
    """Between parser and counter, and from there to the writer: two delays at least, since credits are delayed as well."""
    resources = {"a": {"reader": 1, "parser": 1, "writer": 1}, "b": {"counter": 1}}
    nodes = {name: LocalNode(4, amounts) for name, amounts in resources.items()}
    with LocalFlink(nodes, scheduler="default", delays={}) as flink:
        run = LabRun(flink, LabSettings(rate=50, pinned=True))
        wait_for_tuples(run, 0, 200)
        before = sorted(bucket.median for bucket in run.buckets()[-20:])[10]
        flink.set_delay("a", "b", 0.1)
        begin = now_ms() + 2000
        wait_for_tuples(run, begin, 200)
        after = sorted(bucket.median for bucket in run.buckets(begin))
        assert after[len(after) // 2] - before > 150


@pytest.mark.parametrize("topology", ["fan-out", "join"])
def test_other_topologies_run_and_rescale(topology):
    operator = "enricher" if topology == "fan-out" else "join"
    with LocalFlink({"a": 6}) as flink:
        run = LabRun(flink, LabSettings(topology, keys=10))
        wait_for_tuples(run, 0, 100)
        run.job.rescale({operator: 2})
        assert run.job.replicas()[operator] == 2
        run.set_rate(200)
        wait_for_tuples(run, now_ms() + 1000, 100)
