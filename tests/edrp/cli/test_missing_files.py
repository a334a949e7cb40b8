"""A file or folder that is not there, or kernels that are not: every command says so in one line."""

import subprocess
import sys

import pytest

READERS = [
    ["solve", "nothere.json"],
    ["explain", "nothere.json"],
    ["plan", "nothere.json"],
    ["validate", "nothere.json"],
    ["batch", "nothere.parquet", "--out", "out"],
    ["benchmark", "--suite", "smoke", "--data", "nothere", "--out", "out"],
    ["benchmark", "--instances", "nothere.parquet", "--out", "out"],
    ["policy", "precompute", "nothere.json", "--out", "out"],
    ["policy", "decide", "nothere", "--from", "[[0,8]]", "--nodes", "1"],
    ["simulate", "nothere.json"],
    ["trace", "prepare", "nothere.csv"],
    ["demo", "--day", "--data", "nothere"],
    ["reproduce", "storm", "--data", "nothere"],
    ["reproduce", "control", "--data", "nothere"],
]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_file_or_folder_that_does_not_exist_is_said_in_one_line(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    result = run(*words).ended(2)
    (line,) = result.err.splitlines()
    assert line.startswith("nothere")
    assert "there is no such file or folder" in line
    assert result.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_solution_that_does_not_exist_is_named(run, examples):
    result = run("explain", examples / "word_count.json", "nothere.json")
    assert (result.code, result.err) == (2, "nothere.json: there is no such file or folder\n")


def test_a_log_that_is_not_there_is_refused_before_spark_starts_and_names_of_logs_are_offered(run, monkeypatch):
    monkeypatch.setattr("edrp.cli.trace.spark_session", None)
    result = run("trace", "prepare", "flihgts")
    assert (result.code, result.err) == (2, "flihgts: there is no such file or folder; did you mean 'flights'?\n")


@pytest.mark.parametrize("command", ["solve", "methods"])
def test_kernels_that_are_missing_or_made_for_another_python_are_said_in_one_line(examples, command):
    script = "import sys; sys.modules['edrp._native'] = None; from edrp.cli import main; main()"
    words = [command, str(examples / "word_count.json")] if command == "solve" else [command]
    ended = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    (line,) = ended.stderr.splitlines()
    assert "the kernels of edrp are not built for this Python; install edrp again: " in line
    assert (ended.returncode, ended.stdout) == (2, "")
