"""Timers, times to live, Flink's own rescale and savepoints next to moves, on real clusters: `make test-flink`."""

import random
import time
from dataclasses import replace

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.errors import EngineError
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.rest import wait_until
from edrp.engines.flink.migrating.discovery import read_loads
from edrp.validation.flink.live.run import PATIENCE, RETAINED, LiveJobSettings, LiveRun
from edrp.validation.flink.live.timers import Fired, every_window

pytestmark = ON_REAL_FLINK

ROCKS = {"state.backend.type": "rocksdb"}


@pytest.fixture(scope="module")
def flink():
    with LocalFlink({"a": 2, "b": 2, "c": 2}, settings=RETAINED) as cluster:
        yield cluster


@pytest.fixture
def run(flink):
    """Starts jobs, and ends them after the test."""
    runs: list[LiveRun] = []

    def start(settings: LiveJobSettings, cluster: LocalFlink = flink) -> LiveRun:
        runs.append(LiveRun(cluster, settings))
        return runs[-1]

    yield start
    for each in runs:
        if each.flink is flink and each.job.state() not in ("FINISHED", "CANCELED", "FAILED"):
            each.job.cancel()


def timer_job(**changes) -> LiveJobSettings:
    return replace(LiveJobSettings(entry="edrp.lab.TimerJob", keys=48, tasks=6, rate=480), **changes)


def moves_and_restarts(run: LiveRun, choice: random.Random, plans: int, *, restarts: int = 0, pace: int = 0) -> None:
    for number in range(plans):
        steps = run.random_steps(choice, 2, 3)
        key = run.send(steps, pace=pace, mode=choice.choice(("live", "live", "pause")))
        if number < restarts:
            run.fail()
        run.installed(steps, run.wait_for_plan(key))


def every_window_fires_once(run: LiveRun) -> None:
    keys, rounds = run.settings.keys, run.stop_stream()
    assert wait_until(lambda: every_window(run.results, keys, rounds), PATIENCE, "does not fire all windows", "timers")


def ticks_go_on(job: LiveRun) -> None:
    """Ticks have come one after the other, and come now."""
    seen = {key: max(ticks) for key, ticks in Fired(job.results).ticks.items()}

    def all_go_on() -> bool | None:
        return all(max(ticks) > seen[key] + 5 for key, ticks in Fired(job.results).ticks.items()) or None

    wait_until(all_go_on, PATIENCE, "stops ticking", "timers")
    ticks = Fired(job.results).ticks
    assert len(ticks) == job.settings.keys
    for key, times in ticks.items():
        assert sorted(times) == list(range(1, len(times) + 1)), key
        asked = [times[number] for number in sorted(times)]
        assert all(len(each) == 1 for each in asked), key
        assert sorted(asked, key=min) == asked


def test_sliding_windows_fire_once_and_whole_while_their_tasks_move(run):
    job = run(timer_job(checkpoint_ms=300))
    moves_and_restarts(job, random.Random(2), 12, restarts=4, pace=50_000)
    every_window_fires_once(job)


def test_windows_and_ticks_on_rocksdb(run):
    with LocalFlink({"a": 2}, settings=ROCKS) as rocks:
        job = run(timer_job(checkpoint_ms=300, state_bytes=60_000, more={"tick-ms": 50}), rocks)
        moves_and_restarts(job, random.Random(2), 6, restarts=2)
        every_window_fires_once(job)
        ticks_go_on(job)


def test_windows_outlive_the_death_of_a_node(flink, run):
    job = run(timer_job())
    choice = random.Random(3)
    moves_and_restarts(job, choice, 2)
    job.wait_for_checkpoints()
    steps = job.random_steps(choice, 1, 4)
    key = job.send(steps, pace=3000)
    victim = job.holders()[0]
    flink.kill_node(victim)
    job.installed(steps, job.wait_for_plan(key))
    flink.start_node(victim, 2)
    every_window_fires_once(job)


def test_ticks_of_processing_time_go_on_where_their_tasks_go_however_large_these_are(run):
    """A task of 480,000 bytes is taken apart in several pieces, between which its timers come due."""
    job = run(timer_job(state_bytes=60_000, more={"tick-ms": 20}))
    moves_and_restarts(job, random.Random(4), 12)
    every_window_fires_once(job)
    ticks_go_on(job)


def test_the_end_of_a_plan_is_told_after_a_restart_too(run):
    job = run(LiveJobSettings())
    key = job.send(job.random_steps(random.Random(7), 2, 3))
    done = job.wait_for_plan(key)
    assert (done.done, done.state) == (2, "done")
    job.wait_for_checkpoints()
    job.fail()
    wait_until(lambda: job.restarts() or None, PATIENCE, "does not fail", "job")
    for _ in range(10):  # until Flink shows what the job says since then
        time.sleep(0.5)
        job.plan_state()
    assert job.wait_for_plan(key) == done


def test_a_move_does_not_prolong_a_state(run):
    job = run(LiveJobSettings(more={"ttl-ms": 4000}))
    job.wait_for_results(1000)

    def keys() -> int:
        loads = job.metrics("loads")["counter"]["loads"].values()
        return sum(load.keys for text in loads for load in read_loads(text).values())

    wait_until(lambda: keys() == job.settings.keys or None, PATIENCE, "does not count its keys", "job")
    job.finish()
    choice = random.Random(5)

    def look() -> bool | None:
        job.move(job.random_steps(choice, 1, 24))
        return keys() == 0 or None

    wait_until(look, 60, "keeps states that nobody writes", "job")
    before = job.judge()
    job.set_rate(job.settings.rate)
    job.wait_for_results(2 * job.settings.keys)
    after = job.judge()
    assert after.wrong > before.wrong  # chains begin anew


def test_rescale_and_savepoint_of_flink_go_together_with_moves(run):
    job = run(LiveJobSettings(workers=3, used=3))
    choice = random.Random(6)
    for workers in (4, 2):
        steps = job.random_steps(choice, 3, 5)
        key = job.send(steps, pace=20_000)
        job.job.rescale({"counter": workers})
        job.installed(steps, job.wait_for_plan(key))
        assert job.job.replicas()["counter"] == workers
        moves_and_restarts(job, choice, 2)
    savepoint = job.job.stop_with_savepoint()
    key = job.send(steps := job.random_steps(choice, 2, 4))
    job.start(replace(job.settings, workers=3, used=1), savepoint)
    job.installed(steps, job.wait_for_plan(key))
    verdict = job.finish()
    assert verdict.exactly_once, verdict


def test_another_number_of_tasks_is_refused_after_a_savepoint(run):
    job = run(LiveJobSettings())
    job.wait_for_results(100)
    savepoint = job.job.stop_with_savepoint()
    for tasks in (12, 48):
        with pytest.raises(EngineError, match=f"counter was saved with another number of tasks than {tasks}"):
            job.start(replace(job.settings, tasks=tasks), savepoint)


@pytest.mark.parametrize(
    "settings", [{"execution.checkpointing.unaligned.enabled": "true"}, {"execution.checkpointing.mode": "AT_LEAST_ONCE"}]
)
def test_checkpoints_out_of_line_are_refused_at_the_start(settings):
    with (
        LocalFlink({"a": 2}, settings=settings) as flink,
        pytest.raises(EngineError, match="live migration needs aligned checkpoints, exactly once: set execution"),
    ):
        LiveRun(flink, timer_job())  # the other job's own partitions are not for unaligned checkpoints, says Flink


def test_a_worker_that_gets_its_first_task_under_load_takes_it(run):
    """All that comes to it is for this task, so that what waits must go faster than it grows; no checkpoint helps."""
    job = run(LiveJobSettings(tasks=2, keys=20, workers=2, used=1, rate=4000, micros=1000, checkpoint_ms=0))
    job.wait_for_results(2000)
    steps = [[move for move in job.random_steps(random.Random(seed), 1, 1)[0] if move.target >= 60] for seed in range(20)]
    job.move([next(step for step in steps if step)])


def test_plans_that_would_be_taken_for_others_are_refused_and_the_next_is_carried_out(run):
    job = run(LiveJobSettings())
    job.move(job.random_steps(random.Random(8), 1, 2), mode="pause")
    for mode, moves in (
        ("pause", "move 11 counter 1 {1} 5\nmove 13 counter 2 {2} 5"),  # a pause would wait for a move 12
        ("live", "move 1 counter 1 {1} 5"),  # workers know a move 1 already
        ("live", "move 20 counter -1 3 4"),
        ("live", "move 21 counter 1 {1} 5\nmove 22 counter 1 5 6"),
    ):
        key = f"{random.Random(moves).getrandbits(48):012x}"
        lines = f"plan {key} 1 {moves.count('move')} 0 {mode}\nstep 0\n{moves.format(*job.tables['counter'])}\nend {key}\n"
        with job.control.open("a", encoding="ascii") as file:
            file.write(lines)
        assert job.wait_for_plan(key).state == "refused", moves
    job.move(job.random_steps(random.Random(9), 1, 2), mode="pause")
    verdict = job.finish()
    assert verdict.exactly_once, verdict
