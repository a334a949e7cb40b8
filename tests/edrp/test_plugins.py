"""A kind of problem and a backend of another package, the one in `examples/template`, get everything that ours get."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from edrp.batch import read_rows

TEMPLATE = Path(__file__).resolve().parents[2] / "examples" / "template"
BROKERS = TEMPLATE / "brokers.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that are passed on from test to test."""
    return tmp_path_factory.mktemp("brokers")


@pytest.fixture
def python(coins: Path, place: Path):
    """Run Python, in a process of its own, where the other package is installed; its output."""

    def run(*arguments: object, code: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{coins / 'template'}:{TEMPLATE / 'src'}", "COLUMNS": "200"}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def edrp_calls(python):
    """Call `edrp …` once for each list of arguments, all in one process; what each printed, and its exit code."""

    def call(*calls: list[object]) -> list[tuple[str, int]]:
        return [
            (said, code) for said, code in json.loads(python("-c", CALLS, json.dumps([list(map(str, each)) for each in calls])))
        ]

    return call


CALLS = """
import contextlib, io, json, sys
from edrp.cli import main
ended = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main(arguments)
        except SystemExit as end:
            ended.append((out.getvalue(), int(end.code or 0)))
print(json.dumps(ended))
"""


def test_it_is_solved_shown_and_explained(python, place):
    shown = python("-m", "edrp", "solve", BROKERS, "--out", place / "solution.json")
    assert "optimal: nothing better exists" in shown
    assert "method auto: highs (assignment program)" in shown
    assert "b1: clicks-0, clicks-1" in shown
    assert [line.split() for line in shown.splitlines()[-1:]] == [["moved", "8e+09", "bytes"]]
    assert "b0 decides the peak load: 80.0% of its bandwidth" in python("-m", "edrp", "explain", BROKERS, place / "solution.json")


@pytest.mark.slow
def test_its_infeasibility_is_explained(python, place):
    small = {**json.loads(BROKERS.read_text()), "brokers": [{"name": name, "bandwidth": 1e6} for name in ("b0", "b1")]}
    (place / "small.json").write_text(json.dumps(small))
    assert "partitions transfer 1.4e+08 bytes/s, brokers 2e+06 together" in python("-m", "edrp", "solve", "small.json", code=3)


@pytest.mark.slow
def test_its_documents_and_methods_are_described(python):
    described = json.loads(python("-m", "edrp", "schema", "brokers-solution"))["properties"]
    assert described["metrics"]["unit"] == "moved bytes, others 1"
    assert "assignment" in described
    listed = python("-m", "edrp", "methods", "brokers")
    assert {"auto", "branch-and-bound", "heaviest-first", "highs", "scipy"} <= {
        line.split()[0] for line in listed.splitlines()[1:]
    }


@pytest.mark.slow
def test_its_families_are_generated_and_solved_as_a_batch(edrp_calls, place):
    methods = ["-m", "auto", "-m", "heaviest-first", "-m", "branch-and-bound"]
    edrp_calls(["generate", "brokers", "-n", 2, "-o", "two.jsonl"], ["batch", "two.jsonl", *methods, "-o", "rows", "-j", 1])
    rows = read_rows(place / "rows").to_pylist()
    assert len(rows) == 6
    assert {(row["kind"], row["outcome"]) for row in rows} == {("brokers", "solved")}


def test_its_backend_solves_every_kind_by_name(edrp_calls, examples):
    paths = [*(examples / f"{name}.json" for name in ("word_count", "migration", "enactment", "infeasible")), BROKERS]
    *shown, (noted, _) = edrp_calls(*(["solve", path, "-m", "branch-and-bound", "--seed", 2] for path in paths))
    assert [("method branch-and-bound (" in said, code) for said, code in shown] == [(True, 0)] * 3 + [(True, 3)]
    assert "ignored it" in noted


@pytest.fixture
def measured(examples, place):
    """A problem that names the metric of the other package; its path."""
    document = json.loads((examples / "word_count.json").read_text())
    weights = {"response_time": 0.3, "fullest_node": 0.7}
    (place / "measured.json").write_text(json.dumps({**document, "weights": weights}))
    return "measured.json"


def test_its_metric_is_a_weight_in_a_file(edrp_calls, place, measured):
    methods = ("auto", "branch-and-bound", "annealing")
    shown = edrp_calls(
        *(["solve", measured, "-m", method, "--work-limit", 0.1] for method in methods),
        ["batch", measured, "-m", "branch-and-bound", "-m", "greedy", "-o", "measured", "-j", 1],
    )
    lines = [" ".join(line.split()) for said, _ in shown for line in said.splitlines() if "fullest_node" in line]
    assert lines == ["fullest_node 2 replicas 0.7"] * len(methods)
    assert [row["outcome"] for row in read_rows(place / "measured").to_pylist()] == ["solved", "solved"]


def test_without_the_package_its_metric_is_a_fault_that_says_so(place, measured, run):
    said = " ".join(run("solve", place / measured).ended(2).err.split())
    assert "weights.fullest_node" in said
    assert "is no metric; one of your own is registered by its package (entry point edrp.metrics) or edrp.register_metric" in said


@pytest.mark.slow
def test_its_metric_and_backend_are_known_on_spark_and_in_benchmarks(python, place, measured):
    python("-m", "edrp", "batch", measured, "-m", "branch-and-bound", "-o", "measured on spark", "--spark", "local[2]")
    (row,) = read_rows(place / "measured on spark").to_pylist()
    assert (row["outcome"], json.loads(row["solution"])["metrics"]["fullest_node"]) == ("solved", 2.0)
    methods = ["-m", "branch-and-bound", "-m", "highs", "-m", "annealing"]
    python("-m", "edrp", "benchmark", "--instances", measured, *methods, "--jobs", 1, "--out", "measures", "--time-limit", 5)
    summary = pd.read_csv(place / "measures" / "summary.csv").set_index("method")
    assert summary["solved"].to_dict() == {"annealing": 1, "branch-and-bound": 1, "highs": 1}


@pytest.mark.slow
def test_its_methods_are_solved_on_spark(python, place):
    python("-m", "edrp", "generate", "brokers", "-n", 3, "-o", "three.jsonl")
    python("-m", "edrp", "batch", "three.jsonl", "-m", "branch-and-bound", "-o", "spark", "--spark", "local[2]")
    assert {(row["method"], row["outcome"]) for row in read_rows(place / "spark").to_pylist()} == {("branch-and-bound", "solved")}


@pytest.mark.slow
def test_its_methods_are_compared(python, place):
    python("-m", "edrp", "benchmark", "--suite", "brokers", "--jobs", 1, "--out", "report")
    summary = pd.read_csv(place / "report" / "summary.csv").set_index(["kind", "method"])
    assert summary.loc[("brokers", "highs"), "solved"] == 1
    assert summary.loc[("brokers", "heaviest-first"), "solved"] == 1
    assert summary.loc[("brokers", "branch-and-bound"), "solved"] == 1


def test_its_methods_are_checked(python):
    """The method keeps the contract, and no longer when it is called exact."""
    made = "from edrp.testing import check_method; from edrp_template.broker_method import HEAVIEST_FIRST as m"
    assert python("-c", f"{made}; check_method(m); print('kept'); type(m).exact = True; check_method(m)", code=1) == "kept\n"


def test_a_user_registers_it_in_a_session_and_workers_know_it(coins, place):
    """Without entry points: records of kinds and methods travel to the processes that solve, as they were registered last."""
    script = place / "session.py"
    script.write_text(
        (coins / "coins.py").read_text()
        + """
import edrp
import edrp.backends
edrp.register_kind(KIND)
edrp.register(METHOD)
edrp.register_kind(KIND, replace=True)

class Throw(Throw):  # as when the cell of a notebook is run again with another text
    def run(self, problem, options):
        return edrp.Answer("feasible", "finished", "heads")

edrp.register(Throw(), replace=True)

class Own(type(edrp.backends.get_backend("highs"))):
    name = "own"

edrp.register_backend(Own())
if __name__ == "__main__":
    rows = edrp.solve_batch({"a": Coin(side="heads"), "b": Coin(side="fail")}, "throw", n_jobs=1)
    problem = edrp.datasets.layered(4, seed=0)
    solved = edrp.solve_batch({"c": problem}, "own", n_jobs=1)
    print(rows["outcome"].to_pylist(), edrp.solve(Coin(side="fail"), "throw").side, solved["outcome"].to_pylist())
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=place)
    assert done.stdout.strip() == f"{['solved'] * 2} heads {['solved']}", done.stderr
