"""The control log: what one command appends, the job and later commands read, wherever a writer died."""

import os
import re
from pathlib import Path

import pytest
from fake_live import FakeLive
from hypothesis import given
from hypothesis import strategies as st

from edrp.engines.errors import EngineError
from edrp.engines.flink.migrating.control_log import ControlLog, control_path, read_log
from edrp.engines.flink.migrating.discovery import ControlState, PlanState
from edrp.engines.flink.migrating.moves import TaskMove

MOVES = st.builds(TaskMove, st.sampled_from(["count", "join it", "ä%/b\n"]), *[st.integers(0, 999)] * 3)
STEPS = st.lists(st.lists(MOVES, min_size=1, max_size=2), min_size=1, max_size=2)


def read_by_job(path):
    return list(FakeLive(log=path).plans())


def read_here(path):
    return [(plan.key, plain(plan.steps), plan.aborted, plan.end) for plan in read_log(path.read_bytes()).plans]


def versions(path):
    return [int(version) for version in re.findall(r"^move (\d+) \S+ \d+ \d+ \d+$", path.read_text(), re.MULTILINE)]


def append(path, steps, origin):
    with ControlLog(path) as control:
        return control.append_plan(steps, origin, 5, "live")


def plain(steps):
    return [[tuple(move) for move in step] for step in steps]


def check_writer_dies(path, plans, later, sizes):
    """Write plans, cut the log at a size, and let the next command append another plan."""
    path.touch()
    ends = []
    for steps in plans:
        append(path, steps, "0" * 16)
        ends.append(path.stat().st_size)
    whole, before = path.read_bytes(), read_by_job(path)
    assert before == read_here(path)
    assert [steps for _, steps, *_ in before] == list(map(plain, plans))
    for size in sizes(len(whole)):
        path.write_bytes(whole[:size])
        added = append(path, later, "1" * 16)
        survived = before[: sum(end <= size for end in ends)]
        assert read_by_job(path) == [*survived, (added.key, plain(later), False, path.stat().st_size)]
        assert read_here(path) == read_by_job(path)
        assert added.origin == "1" * 16
        assert versions(path) == sorted(set(versions(path)))


@pytest.fixture
def quick_disk(monkeypatch):
    """Nothing is forced to the disk: these tests kill no machine."""
    monkeypatch.setattr("os.fsync", lambda file: None)


def test_a_writer_may_die_at_any_byte(tmp_path, quick_disk):
    plans = [[[TaskMove("count", 1, 0, 9), TaskMove("join it", 10, 2, 30)], [TaskMove("count", 2, 0, 10)]]] * 2
    check_writer_dies(tmp_path / "control.log", plans, [[TaskMove("count", 1, 9, 0)]], lambda length: range(length + 1))


@given(plans=st.lists(STEPS, min_size=1, max_size=3), later=STEPS, size=st.floats(0, 1))
def test_a_writer_may_die_in_any_plan(plans, later, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "control.log"
    check_writer_dies(path, plans, later, lambda length: [round(length * size)])


def test_a_plan_whose_end_is_missing_is_aborted_before_the_next(tmp_path):
    path = tmp_path / "control.log"
    path.write_text("plan 0123456789ab 1 1 0 live\nstep 0\nmove 1 count 0 0 9\nend 0123456789a")
    with ControlLog(path) as control:
        control.append_plan([[TaskMove("count", 1, 0, 9)]], "0" * 16, 0, "live")
    lines = path.read_text().splitlines()
    assert lines[3:5] == ["end 0123456789a#", "abort 0123456789ab"]
    assert [line.split()[1] for line in lines if line.startswith("move")] == ["1", "2"]


def test_only_one_command_holds_a_log(tmp_path):
    path = tmp_path / "control.log"
    path.touch()
    with ControlLog(path), pytest.raises(EngineError, match="another command moves tasks of this job"):
        ControlLog(path)
    ControlLog(path).__exit__(None, None, None)


STATES = [
    (0, None, False, 0),
    (0, ("a", 1, "running"), False, 0),
    (0, ("a", 1, "running"), True, 0),
    (0, ("a", 2, "done"), False, 1),
    (1, ("a", 2, "done"), False, 1),
    (1, None, False, 1),
    (0, None, True, 1),
    (1, ("a", 1, "aborted"), True, 1),
    (1, ("b", 1, "running"), False, 1),
    (2, ("b", 2, "done"), False, None),
    (2, ("b", 2, "refused"), False, None),
    (2, None, False, None),
]


@pytest.mark.parametrize(("over", "state", "aborted", "expected"), STATES)
def test_the_plan_under_way_is_told_by_log_and_job(tmp_path, over, state, aborted, expected):
    path = tmp_path / "control.log"
    path.touch()
    first, second = (append(path, [[TaskMove("count", task, 0, 9)]] * 2, "0" * 16) for task in range(2))
    with ControlLog(path) as control:
        if aborted:
            control.append_abort(first)
        plans = dict(zip("ab", control.log.plans, strict=True))
        told = None if state is None else PlanState(plans[state[0]].key, state[1], 2, state[2])
        plan = control.log.unfinished(ControlState((0, first.end, second.end)[over], told, {}), "log")
    assert plan is (None if expected is None else plans["ab"[expected]])


def test_the_sender_of_a_plan_is_told(tmp_path):
    path = tmp_path / "control.log"
    path.touch()
    with ControlLog(path) as control:
        plan = control.append_plan([[TaskMove("count", 0, 0, 9)]], "0" * 16, 0, "live")
    assert f"process {os.getpid()} on " in plan.sender


def test_a_log_of_another_job_is_refused():
    with pytest.raises(EngineError, match="not the log that the job reads"):
        read_log(b"").unfinished(ControlState(0, PlanState("0123456789ab", 1, 1, "done"), {}), "log")
    with pytest.raises(EngineError, match="name the log of the job"):
        read_log(b"").unfinished(ControlState(1, None, {}), "log")


def test_where_the_log_is(tmp_path):
    path = tmp_path / "a log"
    path.touch()
    assert control_path(path.as_uri(), None) == path
    assert control_path(str(path), None) == path
    assert control_path("s3://bucket/log", path) == path
    with pytest.raises(EngineError, match="s3://bucket/log; name the same file"):
        control_path("s3://bucket/log", None)
    with pytest.raises(EngineError, match="not here"):
        control_path("file:///nowhere/log", None)
    with pytest.raises(EngineError, match="not here"):
        control_path(path.as_uri(), Path("/nowhere/log"))
