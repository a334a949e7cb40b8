"""A kind of problem of another package, in one file, gets everything that ours get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from edrp.batch import read_rows


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that are passed on from test to test."""
    return tmp_path_factory.mktemp("knapsack")


@pytest.fixture
def python(coins: Path, place: Path):
    """Run Python, in a process of its own, where the other package is installed; its output."""

    def run(*arguments: object, code: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": str(coins), "COLUMNS": "200"}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def sack(place: Path) -> Path:
    """Three items, of which the first two fit."""
    items = [{"name": name, "weight": weight, "value": value} for name, weight, value in (("a", 1, 5), ("b", 2, 6), ("c", 3, 4))]
    path = place / "sack.json"
    path.write_text(json.dumps({"kind": "knapsack", "items": items, "capacity": 3}))
    return path


def test_it_is_solved_shown_and_explained(python, sack):
    shown = python("-m", "edrp", "solve", sack, "--out", sack.with_name("solution.json"))
    assert "optimal: proven that nothing is better" in shown
    assert "method auto: highs (items program)" in shown
    assert "2 of 3 items go into the sack" in shown
    assert [line.split() for line in shown.splitlines()[-3:]] == [
        ["metric", "value", "unit"],
        ["left", "4", "money"],
        ["weight", "3", "kg"],
    ]
    assert "c stays here" in python("-m", "edrp", "explain", sack, sack.with_name("solution.json"))


def test_its_infeasibility_is_explained(python, sack):
    heavy = sack.with_name("heavy.json")
    heavy.write_text(json.dumps({**json.loads(sack.read_text()), "wanted": ["c", "a"]}))
    assert "wanted items weigh more than 3" in python("-m", "edrp", "solve", heavy, code=3)


def test_its_documents_and_methods_are_described(python):
    assert json.loads(python("-m", "edrp", "schema", "knapsack"))["properties"]["capacity"]["unit"] == "1"
    described = json.loads(python("-m", "edrp", "schema", "knapsack-solution"))["properties"]
    assert described["metrics"]["unit"] == "left money, weight kg, others 1"
    assert "packed" in described
    listed = python("-m", "edrp", "methods", "knapsack")
    assert {"auto", "densest-first", "highs", "scipy"} <= {line.split()[0] for line in listed.splitlines()[1:]}


def test_its_families_are_generated_and_solved_as_a_batch(python, place):
    assert "whole weights and values" in python("-m", "edrp", "generate", "knapsack", "--list")
    python("-m", "edrp", "generate", "knapsack", "-n", 5, "-o", "sacks.jsonl")
    python("-m", "edrp", "batch", "sacks.jsonl", "-m", "auto", "-m", "densest-first", "-o", "rows", "-j", 1)
    rows = read_rows(place / "rows").to_pylist()
    assert len(rows) == 10
    assert {(row["kind"], row["outcome"]) for row in rows} == {("knapsack", "solved")}


def test_its_methods_are_compared(python, place):
    python("-m", "edrp", "benchmark", "--suite", "knapsacks", "--jobs", 1, "--out", "report")
    summary = pd.read_csv(place / "report" / "summary.csv").set_index(["kind", "method"])
    assert summary.loc[("knapsack", "highs"), "solved"] == 1
    assert summary.loc[("knapsack", "densest-first"), "solved"] == 1


def test_its_methods_are_checked(python):
    check = "import edrp.testing, knapsack; edrp.testing.check_method(knapsack.METHOD)"
    python("-c", check)
    lie = "knapsack.DensestFirst.exact = True"
    python("-c", check.replace("; ", f"; {lie}; ", 1), code=1)


def test_a_user_registers_it_in_a_session_and_workers_know_it(coins, place):
    """Without entry points: the record travels to the processes that solve."""
    script = place / "session.py"
    script.write_text(
        (coins / "knapsack.py").read_text()
        + """
edrp.register_kind(KIND)
edrp.register(METHOD)
if __name__ == "__main__":
    sacks = dict(edrp.datasets.generate("knapsack", 2))
    print(edrp.solve_batch(sacks, ["auto", "densest-first"], n_jobs=1)["outcome"].to_pylist())
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=place)
    assert done.stdout.strip() == str(["solved"] * 4), done.stderr
