"""Tasks of a job on a real cluster move while it runs, through the death of a node: `make test-flink`."""

import random

from real_flink import ON_REAL_FLINK

from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.migrating.moves import TaskMove
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
