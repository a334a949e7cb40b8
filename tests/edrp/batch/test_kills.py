"""Whoever is killed, nothing is lost and nothing is there twice: workers that start, and the Python workers of Spark."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import edrp
from edrp.batch import read_rows
from edrp.core.errors import EdrpError

KILLED_AT_START = """
import os, signal, sys
from pathlib import Path

if "edrp.batch.child" in sys.orig_argv:
    starts = Path({starts!r})
    starts.open("a").write("x")
    if starts.stat().st_size <= {kills}:
        os.kill(os.getpid(), signal.SIGKILL)
"""

OWN_SESSION = """
import sys
import edrp
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
edrp.solve_batch(sys.argv[1], "throw", out=sys.argv[2], spark=spark)
"""


def killing(folder: Path, kills: int) -> Path:
    """Have the first workers that start with this folder on their path killed; returns the file that counts starts."""
    starts = folder / "starts"
    (folder / "sitecustomize.py").write_text(KILLED_AT_START.format(starts=str(starts), kills=kills))
    return starts


def test_a_worker_that_is_killed_while_it_starts_is_started_again(examples, tmp_path, monkeypatch):
    starts = killing(tmp_path, 2)
    monkeypatch.syspath_prepend(tmp_path)
    text = (examples / "migration.json").read_text()
    rows = edrp.solve_batch({"a": text, "b": text}, "greedy", n_jobs=1)
    assert rows["error_type"].to_pylist() != ["WorkerDied"] * 2
    assert set(rows["outcome"].to_pylist()) <= {"solved", "refused"}
    assert starts.stat().st_size == 3


def test_where_no_worker_starts_the_batch_ends_and_says_why(examples, tmp_path, monkeypatch):
    killing(tmp_path, 99)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EdrpError, match="a worker does not start: the worker was killed by SIGKILL"):
        edrp.solve_batch({"a": (examples / "migration.json").read_text()}, "greedy", n_jobs=1)


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command line of each process."""
    found = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    rows = (line.split(None, 2) for line in found.stdout.splitlines())
    return {int(row[0]): (int(row[1]), row[2]) for row in rows if len(row) == 3}


def spark_worker(job: int) -> int | None:
    """A Python worker of Spark that has a process solving for it, below the process `job`."""
    running = processes()
    for pid, (parent, command) in running.items():
        if "edrp.batch.child" not in command or "pyspark.worker" not in running.get(parent, (0, ""))[1]:
            continue
        above = pid
        while above in running and above != job:
            above = running[above][0]
        if above == job:
            return parent
    return None


def _noticed(err: str, killed: int) -> bool:
    """Whether Spark has lost a task with a worker that was killed."""
    return killed > 0 and ("Lost task" in err or "RecoveryWarning" in err)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("session", ["ours", "of the user"])
def test_a_python_worker_of_spark_that_is_killed_costs_no_row(coins, tmp_path, session):
    source, out = tmp_path / "coins.jsonl", tmp_path / "out"
    entries = [{"id": f"c{index:02d}", "instance": {"kind": "coin", "side": "slow"}} for index in range(40)]
    source.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    words = ["-c", OWN_SESSION, source, out]
    if session == "ours":
        words = ["-m", "edrp", "batch", source, "-m", "throw", "--spark", "local[2]", "-o", out]
    said = tmp_path / "stderr"
    with said.open("w") as stderr:
        job = subprocess.Popen(
            [sys.executable, *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(coins), "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=coins,
        )
        deadline, killed = time.monotonic() + 300, 0
        while job.poll() is None and time.monotonic() < deadline and not _noticed(said.read_text(), killed):
            # Some rows are done. A worker that happens to be between two rows is no loss: then another one is killed.
            worker = spark_worker(job.pid) if any(out.glob("part-*")) else None
            if worker is not None:
                os.kill(worker, signal.SIGKILL)
                killed += 1
                gone = time.monotonic() + 5
                while job.poll() is None and time.monotonic() < gone and not _noticed(said.read_text(), killed):
                    time.sleep(0.05)
            time.sleep(0.05)
        job.wait(timeout=300)
    err = said.read_text()
    assert killed, err
    assert job.returncode == 0, err
    rows = read_rows(out)
    assert rows["id"].to_pylist() == [entry["id"] for entry in entries]
    assert set(rows["outcome"].to_pylist()) == {"solved"}
    if session == "of the user":
        assert "RecoveryWarning: Spark gave the batch up because it lost a worker" in err
