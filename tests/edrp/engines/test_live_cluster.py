"""The tutorial of a live job, and a watch that moves tasks, on real clusters."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from console import blocks, commands, is_shown, masked
from real_flink import ON_REAL_FLINK

from edrp.core.files import read_sealed_line
from edrp.engines.clock import SystemClock
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.engines.watch_journal import FORMAT
from edrp.validation.flink.lab.live_cluster import NODES, start_job

pytestmark = ON_REAL_FLINK

PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "live.md"
SECONDS = 1800


@pytest.fixture
def tutorial(tmp_path, monkeypatch):
    """A folder for the commands of the page, and their first one, which goes on until the test ends."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "130")
    first, *others = [pair for block in blocks(PAGE, "shell-session") for pair in commands(block)]
    command = [*shlex.split(first[0]), "--seconds", str(SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cluster:
        try:
            line = cluster.stdout.readline()
            assert is_shown([masked(shown) for shown in first[1]], masked(line.replace(f"{SECONDS} s", "3600 s")))
            yield others
        finally:
            cluster.terminate()


def busiest_over_mean(problem):
    """Work of the busiest node over the mean of all, of a problem of kind migration."""
    work = [sum(problem["work"][first:end]) for first, end in problem["intervals"]]
    return max(work) * len(work) / sum(work)


def test_the_tutorial_prints_what_it_shows_and_balances_the_job(tutorial):
    reader = LiveReader(Path("cluster/address").read_text().strip(), None, SystemClock())
    tables = []
    for command, lines in tutorial:
        tables.append({name: operator.workers for name, operator in reader.discover().operators.items()})
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False)
        assert is_shown([masked(line) for line in lines], masked(done.stdout)), f"{command}\n{done.stdout}\n{done.stderr}"
    after = {name: operator.workers for name, operator in reader.discover().operators.items()}
    assert set(tables[0]["counter"]) == {0, 1}
    assert all(set(workers) == {0, 1, 2} for workers in after.values())
    assert after == tables[-3]  # before the plan that is taken back
    assert busiest_over_mean(json.loads(Path("balanced/problem.json").read_text())) > 1.5
    solved = json.loads(Path("balanced/solution.json").read_text())
    assert solved["metrics"]["largest_load"] <= 1.2
    refuse_gaps(Path("cluster/results/results.txt"))


def refuse_gaps(results):
    """Every key has had all numbers up to its highest: nothing was lost."""
    numbers = defaultdict(set)
    for row in results.read_text().splitlines():
        words = row.split()
        if len(words) == 5:
            numbers[words[2]].add(int(words[3]))
    assert numbers
    assert [key for key, seen in numbers.items() if seen != set(range(1, max(seen) + 1))] == []


def test_a_watch_balances_a_real_job(run, tmp_path):
    journal = tmp_path / "run.jsonl"
    with LocalFlink(NODES) as flink:
        start_job(flink, tmp_path / "cluster", rate=450.0)
        limits = ("--max-downtime", 60, "--cooldown", 600, "--replicas", "1:3", "--every", 10, "--rounds", 3)
        result = run("watch", "flink", "--rest", flink.address, "--journal", journal, "--apply", "live", *limits).ended(0)
        operators = LiveReader(flink.address, None, SystemClock()).discover().operators
    steps = [entry["step"] for line in journal.read_bytes().splitlines() if "step" in (entry := read_sealed_line(line, FORMAT))]
    assert steps[-1] == "done", result.out
    assert re.search(r"applying: step 0: \d+ tasks?", result.out)
    first = [worker for name in operators for worker in operators[name].workers[:24]]
    assert set(first) != {0}  # where the frequent keys were
