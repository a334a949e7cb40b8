"""A time limit holds while kernels are still to be compiled, and the answer says so."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edrp.core.compiling import STILL_COMPILING

COLD = """
import json, os, sys
import edrp
from edrp.datasets.families.placement.layered import layered
small = edrp.load(sys.argv[2])
edrp.solve(small, "highs")  # imports
problem = small if sys.argv[4] == "small" else layered(10, 0)
solution = edrp.solve(problem, sys.argv[1], time_limit=float(sys.argv[3]))
children = open(f"/proc/self/task/{os.getpid()}/children").read().split() if os.path.exists("/proc/self/task") else []
said = solution.status, solution.stopped_because, solution.method, solution.notes
print(json.dumps([*said, solution.seconds["compile"], children]))
"""


AGAIN = """
import json, sys, time
import edrp
problem = edrp.load(sys.argv[1])
solution = edrp.solve(problem, "hill-climbing", time_limit=0.5)
while solution.stopped_because == "time_limit":
    time.sleep(0.2)
    solution = edrp.solve(problem, "hill-climbing", time_limit=0.5)
print(json.dumps([solution.status, solution.method]))
"""


BATCH = """
import json, sys
from edrp.batch.rows import solve_task
from edrp.batch.tasks import Choice, Instance, Task
text = open(sys.argv[1]).read()
row = solve_task(Task(Instance("a", text), Choice.read("hill-climbing", time_limit=1.0), 0))
print(json.dumps([row["status"], row["stopped_because"], row["build_seconds"] + row["solve_seconds"], row["wall_seconds"]]))
"""


def solve_cold(folder, examples, method: str, limit: float, size: str = "large"):
    """Solve in a process of its own whose cache of kernels is empty."""
    words = [sys.executable, "-c", COLD, method, str(examples / "edge_to_cloud.json"), str(limit), size]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are listed by Linux only")
def test_a_search_that_is_still_being_compiled_holds_nothing_and_says_why(tmp_path, examples):
    status, stopped, method, notes, compiling, children = solve_cold(tmp_path, examples, "annealing", 0.5)
    assert (status, stopped, method) == ("none", "time_limit", "annealing")
    assert compiling > 0.0, "the answer says how long the compiler was waited for"
    assert notes == [STILL_COMPILING.format(tmp_path)]
    assert len(children) == 1, "one process compiles on"
    ends = time.monotonic() + 60
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < ends, "it outlives the process that wanted the kernels"
        time.sleep(0.05)


def test_calls_with_a_limit_shorter_than_compiling_find_the_kernels_in_the_end(tmp_path, examples):
    words = [sys.executable, "-c", AGAIN, str(examples / "edge_to_cloud.json")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=True)
    assert json.loads(done.stdout) == ["feasible", "hill-climbing"]


def test_auto_answers_by_what_needs_no_kernel(tmp_path, examples):
    status, stopped, method, notes, _, _ = solve_cold(tmp_path, examples, "auto", 4.0)
    assert (status, stopped) == ("feasible", "time_limit")
    assert method in ("auto: greedy", "auto: first-fit", "auto: highs (compact program)")
    assert STILL_COMPILING.format(tmp_path) in notes


def test_an_answer_that_comes_after_compiling_in_time_is_the_methods_own(tmp_path, examples):
    status, _, method, notes, _, _ = solve_cold(tmp_path, examples, "hill-climbing", 300.0, "small")
    assert (status, method) == ("feasible", "hill-climbing")
    assert notes == []


def test_a_batch_compiles_and_does_not_count_it(tmp_path, examples):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", BATCH, str(examples / "edge_to_cloud.json")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=True)
    status, stopped, counted, wall = json.loads(done.stdout)
    assert (status, stopped) == ("feasible", "finished")
    assert counted < wall / 2  # most of it was the compiler's
