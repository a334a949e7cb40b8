"""A time limit holds while kernels are still to be compiled, and the answer says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edrp.core import compiling
from edrp.core.compiling import STILL_COMPILING, better_answer
from edrp.core.methods import Options, get_method
from edrp.core.solution import Answer

COLD = """
import json, os, sys, time
import edrp
from edrp.datasets.families.placement.layered import layered
small = edrp.load(sys.argv[2])
edrp.solve(small, "highs")  # imports
problem = small if sys.argv[4] == "small" else layered(10, 0)
began = time.perf_counter()
solution = edrp.solve(problem, sys.argv[1], time_limit=float(sys.argv[3]))
seconds = time.perf_counter() - began
children = open(f"/proc/self/task/{os.getpid()}/children").read().split() if os.path.exists("/proc/self/task") else []
print(json.dumps([solution.status, solution.stopped_because, solution.method, solution.notes, seconds, children]))
"""


AGAIN = """
import json, sys, time
import edrp
problem = edrp.load(sys.argv[1])
solution = edrp.solve(problem, "resource-aware", time_limit=0.5)
while solution.status == "none":
    time.sleep(0.2)
    solution = edrp.solve(problem, "resource-aware", time_limit=0.5)
print(json.dumps([solution.status, solution.method]))
"""


ENDLESS = """
import json, sys, time
import edrp
from edrp.auto.portfolio import Portfolio, Stage
from edrp.core.budget import KernelNotCompiledError, may_compile
from edrp.core.compiling import run_method
from edrp.core.methods import Method, Options, get_method

class Compiled(Method):
    name, kinds, summary = "compiled", ("edrp",), "greedy once its kernels are compiled, or never comes to an end"

    def __init__(self, endless):
        self.endless = endless

    def run(self, problem, options):
        if not may_compile():
            raise KernelNotCompiledError("a kernel")
        while self.endless:
            time.sleep(1)
        return get_method("greedy").run(problem, options)

methods = [Compiled(word == "endless") for word in sys.argv[3:]]
portfolio = Portfolio([Stage(method, 0.5) for method in methods])
answer = run_method(portfolio, edrp.load(sys.argv[1]), Options(time_limit=float(sys.argv[2])))
print(json.dumps([answer.status, answer.stopped_because, answer.notes]))
"""


BATCH = """
import json, sys
from edrp.batch.solving import solve_task
from edrp.batch.tasks import Choice, Instance, Task
text = open(sys.argv[1]).read()
row = solve_task(Task(Instance("a", text), Choice.read("resource-aware", time_limit=1.0), 0))
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
    status, stopped, method, notes, _, children = solve_cold(tmp_path, examples, "annealing", 0.5)
    assert (status, stopped, method) == ("none", "time_limit", "annealing")
    assert notes == [STILL_COMPILING]
    assert len(children) == 1, "one process compiles on"
    ends = time.monotonic() + 60
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < ends, "it outlives the process that wanted the kernels"
        time.sleep(0.05)


def test_calls_with_a_limit_shorter_than_compiling_find_the_kernels_in_the_end(tmp_path, examples):
    words = [sys.executable, "-c", AGAIN, str(examples / "edge_to_cloud.json")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=True)
    assert json.loads(done.stdout) == ["feasible", "resource-aware"]


def test_auto_answers_by_what_needs_no_kernel(tmp_path, examples):
    status, stopped, method, notes, _, _ = solve_cold(tmp_path, examples, "auto", 4.0)
    assert (status, stopped) == ("feasible", "time_limit")
    assert method in ("auto: greedy", "auto: first-fit", "auto: highs (compact program)")
    assert notes == [STILL_COMPILING]


def test_an_answer_that_comes_after_compiling_in_time_is_the_methods_own(tmp_path, examples):
    status, _, method, notes, _, _ = solve_cold(tmp_path, examples, "resource-aware", 300.0, "small")
    assert (status, method) == ("feasible", "resource-aware")
    assert notes == []


def test_what_a_method_held_before_the_last_kernel_is_the_answer(examples):
    for limit in ("3", "12", "60"):  # it takes a moment until the process that compiles has begun
        words = [sys.executable, "-c", ENDLESS, str(examples / "edge_to_cloud.json"), limit, "brief", "endless"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
        status, stopped, notes = json.loads(done.stdout)
        assert (stopped, notes) == ("time_limit", [STILL_COMPILING])
        if status == "feasible":
            return
    pytest.fail("what was held is lost")


def test_a_batch_compiles_and_does_not_count_it(tmp_path, examples):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", BATCH, str(examples / "edge_to_cloud.json")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=True)
    status, stopped, counted, wall = json.loads(done.stdout)
    assert (status, stopped) == ("feasible", "finished")
    assert counted < wall / 2  # most of it was the compiler's


def test_a_child_without_a_decision_in_time_does_not_make_a_rule_finished(monkeypatch, word_count):
    monkeypatch.setattr(compiling, "_received", lambda child, seconds: (Answer("none", "time_limit"), True))
    rule = Answer("feasible", "finished", decision="rule", objective=5.0)
    answer = compiling.run_while_compiling(get_method("greedy", "edrp"), word_count, Options(time_limit=20.0), rule)
    if child := compiling._left.pop("greedy", None):  # it may have ended before it was left
        compiling._end(child)
    assert (answer.decision, answer.stopped_because, answer.notes) == ("rule", "time_limit", (STILL_COMPILING,))


@pytest.mark.parametrize("status", ["optimal", "infeasible"])
def test_a_proof_is_better_than_anything(status):
    proof, other = Answer(status, "finished", objective=5.0), Answer("feasible", "time_limit", objective=4.0)
    assert better_answer(proof, other) is proof
    assert better_answer(other, proof) is proof


def test_of_two_answers_the_lower_objective_gets_the_higher_bound():
    low, tight = Answer("feasible", "finished", objective=3.0, bound=1.0), Answer("none", "time_limit", bound=2.0)
    assert better_answer(low, tight) == Answer("feasible", "finished", objective=3.0, bound=2.0)
