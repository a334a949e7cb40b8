"""`edrp simulate bimodal`: what it prints, writes and refuses; the timeline of a run."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

import edrp
from edrp.cli import simulate_mapping
from edrp.core.errors import EdrpError
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.mapping.bimodal_timeline import timeline

SMALL = {"rate": 60.0, "servers": 20, "links": 12, "services": 6, "tasks": 30, "flow": "expected"}
OPTIONS = [word for name, value in SMALL.items() for word in (f"--{name}", value)]
COMMAND = ("simulate", "bimodal", *OPTIONS)


@pytest.fixture(scope="module")
def scenario():
    return bimodal_scenario(seed=3, **SMALL)


@pytest.fixture(scope="module")
def solution(scenario):
    return edrp.solve(scenario, "public-hops-links-mapping", seed=3)


@pytest.fixture
def passed(monkeypatch):
    """The scenario and the method that would be simulated; nothing is."""
    noted = []

    def refused(scenario, method, *, seed, **parameters):
        noted.append((scenario, method, seed, parameters))
        raise EdrpError("enough")

    monkeypatch.setattr(simulate_mapping, "solve", refused)
    return noted


def table_rows(file):
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_run_is_printed_with_its_metrics_and_what_refused_tasks_lacked(run, solution):
    result = run(*COMMAND, "--seed", 3)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "30 tasks at 60/h, 20 servers, 12 links, maps by public-hops-links"
    assert "dedicated links and the public network; seed 3" in lines[1]
    shown = {tuple(line.split()) for line in lines}
    for name, value in solution.metrics.items():
        assert (*name.split("_"), f"{value:.6g}") in {row[:-1] for row in shown}
    refused = Counter(task.short.split(":")[0] for task in solution.run.tasks if not task.accepted)
    assert 0 < refused.total() < 30
    assert f"{refused.total()} of 30 tasks refused" in result.out
    for what, count in refused.items():
        assert f"{count} × {what}" in result.out


def test_everything_is_written_and_can_be_read_again(run, scenario, solution, tmp_path):
    out = tmp_path / "new" / "run"
    assert run(*COMMAND, "--seed", 3, "--out", out).code == 0
    assert {file.name for file in out.glob("[!.]*")} == {"scenario.json", "run.json", "timeline.csv", "page.html", "timeline.png"}
    assert edrp.load(out / "scenario.json") == scenario
    written = edrp.load_solution(out / "run.json")
    assert written.run == solution.run, "the same seed gives the same run"
    assert scenario.evaluate(written.run).metrics == written.metrics
    rows = table_rows(out / "timeline.csv")
    last = {name: float(value) for name, value in rows[-1].items()}
    assert last["accepted"] == sum(task.accepted for task in solution.run.tasks)
    assert (last["arrived"], last["running"], last["link_utilisation"], last["server_utilisation"]) == (30, 0, 0, 0)
    assert max(float(row["running"]) for row in rows) > 3
    assert (out / "timeline.png").read_bytes().startswith(b"\x89PNG")


def test_a_timeline_agrees_with_the_metrics(scenario, solution):
    line = timeline(scenario, solution.run)
    before = line.time <= scenario.tasks[-1].arrival
    # Samples every 10 s against exact times of tasks that last about 800 s.
    for name in ("server_utilisation", "link_utilisation"):
        assert getattr(line, name)[before].mean() == pytest.approx(solution.metrics[name], rel=0.02)
    durations = sum(task.finish - task.start for task in solution.run.tasks if task.accepted)
    assert line.running.sum() * np.diff(line.time)[0] == pytest.approx(durations, rel=0.02)
    assert line.public_hops.max() > 0


def test_a_scenario_of_the_users_own_is_run_from_its_file(run, scenario, solution, tmp_path):
    edrp.save(scenario, tmp_path / "mine.json")
    result = run("simulate", "bimodal", "--scenario", tmp_path / "mine.json", "--seed", 3)
    assert result.code == 0
    assert f"{solution.metrics['deviation']:.6g}" in result.out


@pytest.mark.parametrize(
    ("arguments", "fields", "method", "parameters"),
    [
        (["--networks", "dedicated"], {"networks": "dedicated"}, "public-hops-links", {}),
        (["--method", "load-balance"], {}, "load-balance", {}),
        (["--no-reallocation"], {}, "public-hops-links", {"reallocation": False}),
        (["--param", "max_empty_hops=0"], {}, "public-hops-links", {"max_empty_hops": "0"}),
        (["--servers", "8", "--links", "0"], {"servers": 8, "links": 0}, "public-hops-links", {}),
        (["--rate", "90", "--flow", "drawn"], {"rate": 90.0, "flow": "drawn"}, "public-hops-links", {}),
    ],
)
def test_options_reach_the_scenario_and_the_method(arguments, fields, method, parameters, run, passed):
    assert run(*COMMAND, "--seed", 3, *arguments).code == 2
    assert passed == [(bimodal_scenario(seed=3, **{**SMALL, **fields}), f"{method}-mapping", 3, parameters)]


def test_links_make_a_tree_by_default(run, passed):
    assert run("simulate", "bimodal", "--servers", 30, "--tasks", 1).code == 2
    assert [scenario for scenario, *_ in passed] == [bimodal_scenario(servers=30, links=29, tasks=1, seed=1)]


@pytest.mark.parametrize(
    ("arguments", "place", "why"),
    [
        (["--method", "public-hop"], "--method", "did you mean 'public-hops'"),
        (["--method", "public-hops-mapping"], "--method", "is no choice of maps"),
        (["--rate", "-5"], "rate", "must be above 0 tasks/h"),
        (["--servers", "10", "--links", "46"], "links", "must be at most 45"),
        (["--servers", "1"], "servers", "must be at least 2"),
        (["--tasks", "0"], "tasks", "must be at least 1"),
        (["--networks", "bimodal"], "networks", "'both', 'dedicated' or 'public'"),
        (["--flow", "steady"], "flow", "'drawn' or 'expected'"),
        (["--param", "reallocate=no"], "reallocate", "did you mean 'reallocation'"),
        (["--param", "reallocation=perhaps"], "reallocation", "must be true or false"),
        (["--param", "reallocation=no", "--no-reallocation"], "--param", "goes without --no-reallocation"),
        (["--param", "max_empty_hops"], "--param", "must be name=value"),
        (["--scenario", "mine.json", "--rate", "30"], "--rate", "goes without --scenario"),
        (["--scenario", "mine.json", "--networks", "both"], "--networks", "goes without --scenario"),
        (["--scenario", "missing.json"], "missing.json", "there is no such file"),
        (["--out", __file__], "test_simulate_mapping.py", "must be a folder"),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(arguments, place, why, run, monkeypatch):
    monkeypatch.setattr(simulate_mapping, "solve", None)
    result = run("simulate", "bimodal", *arguments)
    assert result.code == 2
    assert place in result.err
    assert why in result.err
    assert result.out == ""


def test_a_problem_of_another_kind_is_refused(run, examples):
    result = run("simulate", "bimodal", "--scenario", examples / "word_count.json")
    assert (result.code, "must be bimodal-scenario" in result.err) == (2, True)


def test_choices_of_maps_given_together_are_compared(run, tmp_path):
    options = ("--method", "public-hops", "--method", "load-balance", "--seed", 3, "--seeds", 2, "--jobs", 1, "--no-reallocation")
    result = run(*COMMAND, *options, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    rows = table_rows(tmp_path / "out" / "runs.csv")
    own = edrp.solve(bimodal_scenario(seed=4, **SMALL), "public-hops-mapping", seed=4, reallocation=False)
    assert (rows[1]["policy"], rows[1]["seed"], float(rows[1]["objective"])) == ("public-hops", "4", own.objective)
    assert "has the least lost revenue" in result.out
    assert "--no-reallocation" in (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
