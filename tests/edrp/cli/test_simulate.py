"""`edrp simulate`: what it compares, prints, writes and refuses."""

import csv

import numpy as np
import pytest

import edrp
from edrp.cli import simulate
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.datasets.families.mapping.platforms import bimodal_scenario

SMALL = {"rate": 60.0, "servers": 8, "links": 6, "services": 6, "tasks": 4, "flow": "expected"}


@pytest.fixture(scope="module")
def scenario():
    return manufacturing_scenario("random-walk-1", seed=4, duration=60.0)


@pytest.fixture
def mine(scenario, tmp_path):
    edrp.save(scenario, tmp_path / "mine.json")
    return tmp_path / "mine.json"


def read_rows(file):
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_policies_are_compared_by_runs_with_the_same_seeds(run, scenario, mine, tmp_path):
    peak, threshold = policies = ("static-peak-policy", "threshold-policy:upper=2")
    methods = ("-m", peak, "-m", threshold)
    result = run("simulate", mine, *methods, "--seed", 4, "--seeds", 8, "--jobs", 1, "--out", tmp_path / "out").ended(0)
    assert {file.name for file in (tmp_path / "out").glob("[!.]*")} == {"page.html", "runs.csv", "summary.csv"}
    rows = read_rows(tmp_path / "out" / "runs.csv")
    assert [(row["policy"], row["seed"]) for row in rows[7:9]] == [
        ("static-peak-policy", "11"),
        ("threshold-policy:upper=2", "4"),
    ]
    alone = edrp.solve(scenario, "threshold-policy", seed=4, upper=2).metrics
    assert {name: float(rows[8][name]) for name in alone} == alone
    costs = np.array([float(row["near_real_time_total"]) for row in rows]).reshape(2, 8)
    summary = next(row for row in read_rows(tmp_path / "out" / "summary.csv") if row["quantity"] == "near_real_time_total")
    assert float(summary["mean"]) == pytest.approx(costs[0].mean())
    assert float(summary["low"]) <= costs[0].mean() <= float(summary["high"])
    best = policies[int(costs.mean(axis=1).argmin())]
    assert f"{best} has the least cost and penalties, near real time: {costs.mean(axis=1).min():.2f} money (" in result.out
    assert "instances removed" in result.out
    page = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    assert f"edrp simulate --method {peak} --method {threshold} --seed 4 --seeds 8 --out {tmp_path}" in page


def test_several_scenarios_get_one_seed_each_and_all_policies_are_the_default(run, tmp_path):
    files = []
    for seed in (3, 4):
        files.append(tmp_path / f"{seed}.json")
        edrp.save(bimodal_scenario(seed=seed, **SMALL), files[-1])
    result = run("simulate", *files, "--seed", 3, "--jobs", 1, "--out", tmp_path / "out").ended(0)
    rows = read_rows(tmp_path / "out" / "runs.csv")
    policies = ("load-balance-mapping", "public-hops-links-mapping", "public-hops-mapping")
    assert [(row["policy"], row["seed"]) for row in rows] == [(name, seed) for name in policies for seed in "34"]
    own = edrp.solve(bimodal_scenario(seed=4, **SMALL), "public-hops-mapping", seed=4)
    assert float(rows[5]["objective"]) == own.objective
    assert "has the least lost revenue" in result.out
    assert "Too few for intervals, so nothing is certain: 2 runs of each; take 8 or more." in result.out


@pytest.mark.parametrize(
    ("words", "place", "why"),
    [
        ("MINE -m public-hops-mapping", "public-hops-mapping", "takes no problems of kind 'enactment-scenario'"),
        ("MINE -m threshold-policy:upper=many", "upper", "must be a number"),
        ("MINE -m btu-policy -m btu-policy", "--method", "is given twice"),
        ("MINE MINE --seeds 3", "--seeds", "goes with one scenario"),
        ("MINE --jobs 0", "--jobs", "must be a number of processes"),
        ("MINE -o MINE", "mine.json", "must be a folder"),
        ("WORDS", "kind", "must be enactment-scenario or bimodal-scenario"),
        ("MINE WORDS", "kind", "must be enactment-scenario"),
    ],
)
def test_what_cannot_be_is_refused_before_the_runs(words, place, why, run, mine, examples, monkeypatch):
    monkeypatch.setattr(simulate, "solve", None)
    files = {"MINE": mine, "WORDS": examples / "word_count.json"}
    result = run("simulate", *(files.get(word, word) for word in words.split())).ended(2)
    assert place in result.err
    assert why in result.err
    assert result.out == ""
