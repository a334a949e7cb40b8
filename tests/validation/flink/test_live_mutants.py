"""Faults in the live library are caught, each by what makes it matter, and the library stands all of that: `make test-flink`."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from live_mutants import MUTANTS, Patch, patched_jar, provoked
from real_flink import ON_REAL_FLINK

from edrp.engines.errors import EngineError
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.rest import wait_until
from edrp.engines.flink.migrating.control_log import ControlLog
from edrp.engines.flink.migrating.discovery import read_table
from edrp.engines.flink.migrating.moves import TaskMove
from edrp.validation.flink.live.run import PATIENCE, RETAINED, LiveJobSettings, LiveRun
from edrp.validation.flink.live.timers import every_window

pytestmark = ON_REAL_FLINK

SETTINGS = LiveJobSettings(keys=48, tasks=12, rate=480)
SECONDS_OF_A_STALL = 1.0
"""Of stream that piles up; keys have several records in it."""

SECONDS_LATE = 15.0

LOST_PATIENCE = 30.0
"""Seconds after which what has not come does not come, where nothing is in its way."""


@pytest.fixture(scope="module")
def flink():
    with LocalFlink({"a": 1, "b": 1}, settings=RETAINED) as cluster:
        yield cluster


def all_of(run: LiveRun, source: int) -> list[list[TaskMove]]:
    """A step of all tasks of one of two workers to the other."""
    half = run.settings.groups // 2
    tasks = [(task, group) for task, group in enumerate(run.tables["counter"]) if group // half == source]
    return [[TaskMove("counter", task, group, half * (1 - source) + task) for task, group in tasks]]


def stall(run: LiveRun, worker: int) -> None:
    (run.flink.folder / f"stall-{worker}").touch()


def go_on(run: LiveRun, worker: int) -> None:
    (run.flink.folder / f"stall-{worker}").unlink(missing_ok=True)


def is_routed(run: LiveRun, steps: list[list[TaskMove]]) -> bool:
    """Whether all routers send values of the tasks that move to where they go."""
    texts = run.metrics("table").get("counter-router", {}).get("table", {}).values()
    tables = [read_table(text) for text in texts]
    return bool(tables) and all(table[move.task] == move.target for table in tables for step in steps for move in step)


def is_exact(run: LiveRun) -> bool:
    return run.finish(LOST_PATIENCE).exactly_once


def restart_in_flight(run: LiveRun) -> bool:
    """The job starts again from a checkpoint while states are on their way, or from one that has waited for them."""
    run.send(all_of(run, 0), pace=2000)
    run.wait_for_checkpoints(2)
    run.fail()
    run.wait_for_results(2 * run.settings.rate)
    return is_exact(run)


def stalled_worker(run: LiveRun, *, target: bool, rounds: int = 6) -> bool:
    """A worker takes what one router has sent before it takes the marker of another; which comes first is up to Flink."""
    for number in range(rounds):
        source = number % 2
        steps = all_of(run, source)
        stall(run, 1 - source if target else source)
        time.sleep(SECONDS_OF_A_STALL)
        key = run.send(steps)
        wait_until(lambda steps=steps: is_routed(run, steps) or None, PATIENCE, "does not route a step", "job")
        time.sleep(SECONDS_OF_A_STALL)
        go_on(run, 1 - source if target else source)
        run.installed(steps, run.wait_for_plan(key, LOST_PATIENCE))
        if run.judge().wrong:
            return False
    return is_exact(run)


def other_arguments(run: LiveRun) -> bool:
    """The job goes on from a savepoint with another number of workers that are in use at first."""
    run.wait_for_results(run.settings.keys)
    run.start(replace(run.settings, used=1), run.job.stop_with_savepoint())
    run.wait_for_results(run.settings.rate)
    return is_exact(run)


def barrier_between(run: LiveRun) -> bool:
    """A state comes to its new owner before a barrier that comes before the move, and the job starts again from there."""
    run.wait_for_results(run.settings.keys)  # of windows
    steps = all_of(run, 0)
    stall(run, 1)
    time.sleep(SECONDS_OF_A_STALL)
    before = run.completed_checkpoints()
    run.flink.rest.post(f"/jobs/{run.job.key}/checkpoints", {"checkpointType": "FULL"})
    time.sleep(SECONDS_OF_A_STALL)
    run.send(steps)

    def sent() -> bool | None:
        return any(int(count) for count in run.metrics("bytes").get("counter", {}).get("bytes", {}).values()) or None

    wait_until(sent, PATIENCE, "sends nothing", "worker 0")
    time.sleep(SECONDS_OF_A_STALL)
    go_on(run, 1)
    wait_until(lambda: run.completed_checkpoints() > before or None, PATIENCE, "completes no checkpoint", "job")
    with ControlLog(run.control) as log:  # after the restart the tasks stay, and what has come too early is there beside them
        log.append_abort(log.log.plans[-1])
    run.fail()
    wait_until(lambda: run.restarts() or None, PATIENCE, "does not fail", "job")
    keys, rounds = run.settings.keys, run.stop_stream()
    return wait_until(lambda: every_window(run.results, keys, rounds), PATIENCE, "does not fire all windows", "timers")


TIMERS = replace(SETTINGS, entry="edrp.lab.TimerJob", checkpoint_ms=3_600_000)

SCENARIOS: dict[str, tuple[LiveJobSettings, Callable[[LiveRun], bool]]] = {
    "barrier does not wait": (replace(SETTINGS, checkpoint_ms=300), restart_in_flight),
    "state installed before the first IN": (TIMERS, barrier_between),
    "one OUT dropped": (SETTINGS, lambda run: stalled_worker(run, target=False)),
    "one IN dropped": (SETTINGS, lambda run: stalled_worker(run, target=True)),
    "table from arguments": (SETTINGS, other_arguments),
    "copy deleted before it is confirmed": (SETTINGS, lambda run: stalled_worker(run, target=True, rounds=1)),
}


def holds(flink: LocalFlink, jar, name: str) -> bool:
    """Whether a jar stands a scenario."""
    settings, scenario = SCENARIOS[name]
    run = LiveRun(flink, settings, jar)
    run.wait_for_results(run.settings.keys)
    try:
        return scenario(run)
    except EngineError:  # a plan is not carried out, or windows do not fire
        return False
    finally:
        for worker in (0, 1):
            go_on(run, worker)
        run.job.cancel()


@pytest.fixture(scope="module")
def without_faults(flink, tmp_path_factory):
    return patched_jar(tmp_path_factory.mktemp("provoked"), provoked(flink.folder))


def test_a_worker_that_starts_late_gets_its_tasks(flink, tmp_path):
    """It may have much to restore; who sends must not give up meanwhile."""
    wait = f'while (new java.io.File("{flink.folder}/late-" + number()).exists()) {{ Thread.sleep(10); }}'
    late = Patch("Worker", "super.open();", f"{wait} super.open();")
    run = LiveRun(flink, replace(SETTINGS, checkpoint_ms=300), patched_jar(tmp_path, (late,)))
    run.wait_for_checkpoints()
    (flink.folder / "late-1").touch()
    run.fail()
    steps = all_of(run, 0)
    key = run.send(steps)
    time.sleep(SECONDS_LATE)
    (flink.folder / "late-1").unlink()
    run.installed(steps, run.wait_for_plan(key))
    assert run.restarts() == 1
    assert is_exact(run)
    run.job.cancel()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_library_stands_what_catches_a_fault(name, flink, without_faults):
    assert holds(flink, without_faults, name)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_is_caught(name, flink, tmp_path):
    jar = patched_jar(tmp_path, (*provoked(flink.folder), *MUTANTS[name]))
    assert not holds(flink, jar, name)


def test_a_patch_whose_text_is_not_there_is_an_error(tmp_path):
    patch = replace(MUTANTS["barrier does not wait"][0], old="no such text")
    with pytest.raises(ValueError, match=r"Worker.java holds 0 times: no such text"):
        patched_jar(tmp_path, (patch,))
