"""Tasks of jobs on real clusters move while they run, through the death of nodes and processes, and response times are measured.

`make test-flink` runs this.
"""

import random

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.flink.local import LocalFlink
from edrp.validation.flink.live.kills import KillSettings, kill_run
from edrp.validation.flink.live.response_times import METHODS, response_times
from edrp.validation.flink.live.run import LiveJobSettings, LiveRun

pytestmark = ON_REAL_FLINK


def test_three_plans_are_carried_out_exactly_once_though_a_node_is_killed_in_the_last():
    choice = random.Random(1)
    with LocalFlink({"a": 1, "b": 1, "c": 1}) as flink:
        run = LiveRun(flink, LiveJobSettings())
        run.move(run.random_steps(choice, 1, 6))
        run.move(run.random_steps(choice, 2, 3), mode="pause")
        run.wait_for_checkpoints()
        last = run.random_steps(choice, 1, 8)
        key = run.send(last, pace=10_000)  # of about 80,000 bytes
        victim = run.holders()[0]
        flink.kill_node(victim)
        run.installed(last, run.wait_for_plan(key))
        assert victim not in run.holders()
        verdict = run.finish()
    assert verdict.exactly_once, verdict
    assert verdict.records >= run.settings.keys


@pytest.mark.parametrize(("backend", "operators"), [("hashmap", 1), ("rocksdb", 2)])
def test_kills_in_the_middle_of_plans_lose_double_and_reorder_nothing(backend, operators):
    row = kill_run(KillSettings(backend, kills=4, plans=6, seed=2, operators=operators))
    assert row["kills"] == {"TaskManager": 2, "JobManager": 1, "command": 1}
    assert row["plans"] == 6
    assert row.get("plans sent twice", 0) == 0
    assert row.get("commands that failed", 0) == 0
    assert row["exactly_once"], row


def test_each_way_to_change_is_measured_and_loses_nothing():
    """Fig. 15 in minutes of two seconds."""
    rows = {row["method"]: row for row in response_times(minute=2.0)}
    assert set(rows) == set(METHODS)
    for row in rows.values():
        assert row["missing"] == 0
        assert row["seconds"] > 0
        assert all(row["minutes"][str(number)]["tuples"] > 500 for number in range(1, 13))
    live = rows["live"]
    assert live["moves"] >= live["steps"] >= 1
    assert 0 < live["bytes"] < 100_000_000
