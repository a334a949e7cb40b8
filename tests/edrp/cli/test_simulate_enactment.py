"""`edrp simulate enactment`: what it prints, writes and refuses; the timeline of a run; a day of departures through policies."""

from __future__ import annotations

import csv
import json
import sys
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import edrp
from edrp.cli import simulate_enactment
from edrp.core.errors import EdrpError, InvalidInstanceError
from edrp.datasets.enactment.departures import departures_scenario
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.enactment.timeline import timeline
from edrp.validation.papers.enactment import week

SHORT = ("--duration", 1200)


@pytest.fixture(scope="module")
def scenario():
    return manufacturing_scenario("two-level", duration=1200.0)


@pytest.fixture(scope="module")
def solution(scenario):
    return edrp.solve(scenario, "threshold-policy", seed=3)


def read_rows(file):
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_run_is_printed_with_compliance_money_and_items(run):
    result = run("simulate", "enactment", "--pattern", "stepwise", "--policy", "threshold", "--btu", 1800, "--seed", 2, *SHORT)
    assert result.code == 0, result.err
    solution = edrp.solve(manufacturing_scenario("stepwise", billing_time=1800.0, duration=1200.0), "threshold-policy", seed=2)
    metrics = solution.metrics
    assert "stepwise, 1200 s, under policy threshold" in result.out
    assert "3 money per billing time unit of 1800 s; seed 2" in result.out
    shown = [f"{metrics['near_real_time_total']:.2f}", f"{100 * metrics['relaxed_compliance']:.2f} %", "upscalings", "paid_units"]
    shown += [f"{record.arrived:,}" for record in solution.run.operators]
    for text in (*shown, "parse-and-distribute-data", "generate-report"):
        assert text in result.out


def test_everything_is_written_and_can_be_read_again(run, tmp_path):
    out = tmp_path / "new" / "run"
    assert run("simulate", "enactment", "--pattern", "random-walk-1", "--seed", 4, *SHORT, "--out", out).code == 0
    assert {file.name for file in out.glob("[!.]*")} == {"scenario.json", "run.json", "timeline.csv", "page.html", "timeline.png"}
    scenario = edrp.load(out / "scenario.json")
    assert scenario == manufacturing_scenario("random-walk-1", seed=4, duration=1200.0)
    solution = edrp.load_solution(out / "run.json")
    assert scenario.evaluate(solution.run).metrics == solution.metrics
    rows = read_rows(out / "timeline.csv")
    assert [float(row["time"]) for row in rows] == list(np.arange(0, 1201, 15.0))
    assert (rows[0]["machines"], rows[0]["hosts"], rows[0]["instances"]) == ("4", str(first_hosts(solution.run)), "18")
    assert (out / "timeline.png").read_bytes().startswith(b"\x89PNG")


def first_hosts(run):
    return sum(lease.start == 0 for lease in run.leases)


def test_the_same_seed_writes_the_same_run(run, tmp_path):
    for name in ("one", "two"):
        run("simulate", "enactment", "--pattern", "two-level", "--seed", 9, *SHORT, "--out", tmp_path / name)
    one, two = (json.loads((tmp_path / name / "run.json").read_text(encoding="utf-8")) for name in ("one", "two"))
    assert one["run"] == two["run"]
    assert (tmp_path / "one" / "timeline.csv").read_bytes() == (tmp_path / "two" / "timeline.csv").read_bytes()


def test_a_scenario_of_the_users_own_is_run_from_its_file(run, scenario, solution, tmp_path):
    edrp.save(scenario, tmp_path / "mine.json")
    result = run("simulate", "enactment", "--scenario", tmp_path / "mine.json", "--policy", "threshold", "--seed", 3)
    assert result.code == 0
    assert f"{solution.metrics['real_time_total']:.2f}" in result.out


def test_parameters_reach_the_policy(run):
    command = ("simulate", "enactment", "--pattern", "two-level", "--policy", "threshold", *SHORT)
    usual, patient = run(*command).out, run(*command, "--param", "upper=2").out
    assert usual.splitlines()[3:] != patient.splitlines()[3:]


COMPARED = (
    "--pattern",
    "random-walk-1",
    "--policy",
    "static-peak",
    "--policy",
    "threshold:upper=2",
    "--duration",
    150,
    "--jobs",
    1,
)


def test_policies_given_together_are_compared_by_runs_with_the_same_seeds(run, tmp_path):
    result = run("simulate", "enactment", *COMPARED, "--seed", 4, "--seeds", 8, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    assert {file.name for file in (tmp_path / "out").glob("[!.]*")} == {"page.html", "runs.csv", "summary.csv"}
    rows = read_rows(tmp_path / "out" / "runs.csv")
    assert [(row["policy"], row["seed"]) for row in rows[7:9]] == [("static-peak", "11"), ("threshold:upper=2", "4")]
    scenario = manufacturing_scenario("random-walk-1", seed=4, duration=150.0)
    alone = edrp.solve(scenario, "threshold-policy", seed=4, upper=2).metrics
    assert {name: float(rows[8][name]) for name in alone} == alone
    costs = np.array([float(row["near_real_time_total"]) for row in rows]).reshape(2, 8)
    summary = next(row for row in read_rows(tmp_path / "out" / "summary.csv") if row["quantity"] == "near_real_time_total")
    assert float(summary["mean"]) == pytest.approx(costs[0].mean())
    assert float(summary["low"]) <= costs[0].mean() <= float(summary["high"])
    best = ("static-peak", "threshold:upper=2")[int(costs.mean(axis=1).argmin())]
    assert f"{best} has the least cost and penalties, near real time: {costs.mean(axis=1).min():.2f} money (" in result.out
    assert "instances removed" in result.out


def test_few_runs_have_no_intervals(run):
    result = run("simulate", "enactment", *COMPARED, "--seeds", 2)
    assert "Too few for intervals, so nothing is certain: 2 runs of each; take 8 or more." in result.out


def test_a_page_of_policies_is_drawn_and_names_in_it_are_text(run, browser, scenario, tmp_path):
    name = "<img src=x onerror=alert(1)>.json"
    edrp.save(scenario.replace(load=scenario.load[:1]), tmp_path / name)
    command = ("--scenario", tmp_path / name, "--policy", "threshold", "--policy", "static-peak", "--seeds", 8, "--jobs", 1)
    assert run("simulate", "enactment", *command, "--out", tmp_path / "out").code == 0
    for width, scheme in ((1280, "light"), (390, "dark")):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        said: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("request", lambda request, said=said: request.url.startswith(("file:", "data:")) or said.append(request.url))
        page.goto((tmp_path / "out" / "page.html").as_uri())
        assert name in page.locator("h1").text_content()
        assert page.locator("img").count() == 0
        assert page.locator(".dots svg").count() == page.locator("table").first.locator("tbody tr").count() == 14
        assert page.locator(".dots svg").first.locator("circle").count() == 2 * (8 + 1)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert said == []
        page.close()


@pytest.mark.parametrize(("given", "days"), [([], 7), (["--duration", 2 * 86_400], 2)])
def test_departures_are_a_load(given, days, run, monkeypatch):
    asked = []

    def refused(scenario, method, **options):
        asked.append((scenario, method, options["seed"]))
        raise EdrpError("enough")

    monkeypatch.setattr(simulate_enactment, "solve", refused)
    assert run("simulate", "enactment", "--departures", "2013-07-13", "--btu", 1800, "--seed", 8, *given).code == 2
    assert asked == [(departures_scenario("2013-07-13", days, billing_time=1800.0), "btu-policy", 8)]


@pytest.mark.parametrize(
    ("arguments", "place", "why"),
    [
        (["--pattern", "stepwize"], "pattern", "did you mean 'stepwise'"),
        (["--policy", "btw"], "--policy", "did you mean 'btu'"),
        (["--policy", "threshold-policy"], "--policy", "is no policy"),
        (["--duration", "-1"], "duration", "above 0"),
        (["--btu", "59"], "billing_time", "shorter than the start-up time of up to 60 s"),
        (["--btu", "-600"], "billing_time", "above 0"),
        (["--param", "upper"], "--param", "must be name=value"),
        (["--policy", "threshold", "--param", "uper=3"], "uper", "did you mean 'upper'"),
        (["--policy", "threshold", "--param", "upper=many"], "upper", "must be a number"),
        (["--param", "window=0.1", "--param", "window=0.2"], "--param", "a second time"),
        (["--pattern", "stepwise", "--departures", "2013-01-01"], "--departures", "one load at a time"),
        (["--departures", "2014-01-01"], "first_day", "must lie in 2013"),
        (["--departures", "2013-01-01", "--duration", "1000"], "--duration", "whole number of days"),
        (["--policy", "btu", "--policy", "btu"], "--policy", "is given twice"),
        (["--policy", "btu", "--policy", "threshold", "--param", "upper=2"], "--param", "as in --policy btu:upper=2"),
        (["--policy", "threshold:uper=3", "--seeds", "2"], "uper", "did you mean 'upper'"),
        (["--policy", "btu", "--policy", "threshold", "--jobs", "0"], "--jobs", "must be a number of processes"),
        (["--scenario", "mine.json", "--btu", "600"], "--btu", "goes without --scenario"),
        (["--scenario", "missing.json"], "missing.json", "there is no such file"),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(arguments, place, why, run, monkeypatch):
    monkeypatch.setattr(simulate_enactment, "solve", None)
    result = run("simulate", "enactment", *arguments)
    assert result.code == 2
    assert place in result.err
    assert why in result.err
    assert result.out == ""


def test_a_problem_of_another_kind_is_refused(run, examples):
    result = run("simulate", "enactment", "--scenario", examples / "word_count.json")
    assert (result.code, "must be enactment-scenario" in result.err) == (2, True)


def test_a_file_in_place_of_the_folder_is_refused_before_the_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr(simulate_enactment, "solve", None)
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    result = run("simulate", "enactment", "--out", tmp_path / "taken")
    assert (result.code, "must be a folder" in result.err) == (2, True)
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"


def test_without_matplotlib_all_but_the_figure_is_written(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("simulate", "enactment", *SHORT, "--out", tmp_path / "run")
    assert result.code == 0
    assert 'pip install "edrp[plot]"' in result.err
    assert {file.name for file in (tmp_path / "run").glob("[!.]*")} == {"scenario.json", "run.json", "timeline.csv", "page.html"}


def test_a_timeline_counts_what_there_was(scenario, solution):
    line = timeline(scenario, solution.run)
    lease_seconds = sum((scenario.duration if lease.end is None else lease.end) - lease.start for lease in solution.run.leases)
    # Samples every 15 s against exact times: each lease and instance is at most one sample off.
    assert line.hosts[:-1].sum() * 15 == pytest.approx(lease_seconds, abs=15 * len(solution.run.leases))
    mean = solution.metrics["mean_instances"]
    assert line.instances[:-1].mean() == pytest.approx(mean, abs=len(solution.run.instances) / 80)
    assert set(line.machines.tolist()) == {2.0, 8.0}
    assert line.instances.min() >= 9, "one of each type at least"


def test_policies_are_compared_under_each_unit(monkeypatch):
    def short(first_day, days, *, billing_time):
        return manufacturing_scenario("stepwise", billing_time=billing_time, duration=1800.0)

    monkeypatch.setattr(week, "departures_scenario", short)
    console = Console(width=200, file=StringIO())
    rows = week.run(console, policies=("threshold", "btu"), units=(600.0, 3600.0))
    names = [(row.policy, row.unit) for row in rows]
    assert names == [("threshold", 600.0), ("threshold", 3600.0), ("btu", 600.0), ("btu", 3600.0)]
    ten, hour = (row.metrics for row in rows[:2])
    assert ten["near_real_time_compliance"] == hour["near_real_time_compliance"], "one run, billed twice"
    assert ten["resource_cost"] < hour["resource_cost"]
    text = console.file.getvalue()
    for row in rows:
        assert row.metrics == short("", 1, billing_time=row.unit).evaluate(row.run).metrics
        assert f"{row.metrics['near_real_time_total']:.0f}" in text


def test_a_week_of_another_year_is_refused():
    with pytest.raises(InvalidInstanceError, match="must lie in 2013"):
        week.follow_week("2015-01-01")
