"""Batches that are stopped: a method that hangs, kill -9 and Ctrl-C."""

import json
import signal
import subprocess
import time
from pathlib import Path

from edrp.batch import read_rows


def test_what_hangs_is_killed_after_its_seconds_and_the_others_are_solved(coin_batch, tmp_path):
    job = coin_batch({"hangs": "hang", "good": "heads"}, "--time-limit", 1, "--kill-after", 4, "-j", 2, out=tmp_path / "out")
    out, err = job.communicate(timeout=120)
    assert job.returncode == 2, err
    found = {row["id"]: row for row in read_rows(tmp_path / "out").to_pylist()}
    assert found["good"]["outcome"] == "solved"
    assert (found["hangs"]["outcome"], found["hangs"]["error_type"]) == ("failed", "TimeOut")
    assert "4 s" in found["hangs"]["error_message"]
    assert "hangs" in out


def test_killed_at_any_moment_the_same_command_goes_on(coin_batch, tmp_path):
    out = tmp_path / "out"
    names = [f"c{index:02d}" for index in range(30)]
    job = coin_batch(dict.fromkeys(names, "slow"), "-j", 2, out=out)
    journal = _wait_for_rows(out, 6)
    job.send_signal(signal.SIGKILL)
    job.communicate()
    before = [json.loads(line) for line in journal.read_text().splitlines()[:-1]]
    assert 5 <= len(before) < 30
    again = coin_batch(dict.fromkeys(names, "slow"), "-j", 2, out=out)
    again.communicate(timeout=300)
    assert again.returncode == 0
    rows = read_rows(out).to_pylist()
    assert [row["id"] for row in rows] == names
    finished = {row["key"]: row["finished_at"].isoformat() for row in rows}
    assert all(finished[row["key"]] == row["finished_at"] for row in before), "nothing that was written is solved again"
    assert not list(out.glob("_journal*"))


def test_ctrl_c_keeps_what_is_done_and_leaves_no_process_behind(coin_batch, tmp_path):
    out = tmp_path / "out"
    job = coin_batch({f"c{index:02d}": "slow" for index in range(40)}, "-j", 2, out=out)
    _wait_for_rows(out, 4)
    children = _children_of(job.pid)
    assert children
    job.send_signal(signal.SIGINT)
    _, err = job.communicate(timeout=300)
    assert job.returncode == 130
    assert "same command goes on" in err
    assert 4 <= read_rows(out).num_rows < 40
    deadline = time.monotonic() + 300
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "workers outlive the batch"
        time.sleep(0.1)


def _wait_for_rows(out: Path, count: int) -> Path:
    """The journal, once it holds `count` rows."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        for journal in out.glob("_journal-*"):
            if journal.read_bytes().count(b"\n") >= count:
                return journal
        time.sleep(0.05)
    raise AssertionError(f"no {count} rows in {out} after five minutes")


def _children_of(process: int) -> list[int]:
    """Identifiers of a process's children."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]
