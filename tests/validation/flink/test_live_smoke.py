"""Tasks of jobs on real clusters move while they run, through the death of nodes and processes: `make test-flink`."""

import random

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.migrating.moves import TaskMove
from edrp.validation.flink.live.kills import KillSettings, kill_run
from edrp.validation.flink.live.run import LiveJobSettings, LiveRun

pytestmark = ON_REAL_FLINK


def moves(steps: list[list[TaskMove]]) -> int:
    return sum(map(len, steps))


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


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_kills_in_the_middle_of_plans_lose_double_and_reorder_nothing(backend):
    row = kill_run(KillSettings(backend, kills=4, plans=6, seed=2))
    assert row["kills"] == {"TaskManager": 2, "JobManager": 1, "command": 1}
    assert row["plans"] == 6
    assert row.get("plans sent twice", 0) == 0
    assert row.get("commands that failed", 0) == 0
    assert row["exactly_once"], row
